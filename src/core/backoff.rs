//! How long to wait: full jitter, and the floor a server asks for.

use super::bugs::{Bug, bug};
use super::http_date;
use super::json::{FromJson, Reader, ToJson, Value, Writer};
use super::limits::{BACKOFF_BASE_MS, BACKOFF_CAP_MS, RETRY_AFTER_MAX_MS};

/// A sample for full jitter, in 1/2^32 of the ceiling. Drawn before a change is first tried, so that a re-run waits the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter(pub u32);

impl ToJson for Jitter {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }
}

impl FromJson for Jitter {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        Self(u32::read(value, reader))
    }
}

/// A small deterministic generator (SplitMix64) for jitter only. Keys never come from here.
#[derive(Clone, Debug)]
pub struct JitterSource(u64);

impl JitterSource {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn draw(&mut self) -> Jitter {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Jitter(((z ^ (z >> 31)) >> 32) as u32)
    }
}

/// Milliseconds before try number `failures + 1`: uniform in `[0, min(cap, base * 2^(failures-1))]`.
pub fn backoff_ms(failures: u32, jitter: Jitter) -> u64 {
    let doublings = failures.saturating_sub(1).min(16);
    let ceiling = BACKOFF_CAP_MS.min(BACKOFF_BASE_MS << doublings);
    (ceiling * u64::from(jitter.0)) >> 32
}

/// `Retry-After` as milliseconds from now, clamped to a day (RFC 9110 section 10.2.3): whole seconds, or an HTTP date
/// against the response's own `Date`, so that a wrong clock here does not matter; where that is not visible, against
/// this clock. Anything else is no request to wait.
pub fn retry_after_ms(value: &str, date: Option<&str>, wall_ms: u64) -> Option<u64> {
    let value = value.trim_matches([' ', '\t']);
    let asked_ms = if value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty() {
        // More digits than u64 holds is still a number, and far beyond the clamp.
        value.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1_000)
    } else {
        let now_ms = date.and_then(http_date::parse).unwrap_or(wall_ms);
        http_date::parse(value)?.saturating_sub(now_ms)
    };
    Some(if bug(Bug::RetryAfterUnclamped) { asked_ms } else { asked_ms.min(RETRY_AFTER_MAX_MS) })
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_000_000_000_000;

    fn asked(value: &str) -> Option<u64> {
        retry_after_ms(value, None, NOW)
    }

    #[test]
    fn retry_after_takes_whole_seconds() {
        assert_eq!(asked("7"), Some(7_000));
        assert_eq!(asked(" 0 "), Some(0));
        for garbage in ["", "-5", "1.5", "abc", "7s", "0x10", "Fri, 31 Foo 1999 23:59:59 GMT", "1999-12-31"] {
            assert_eq!(asked(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn retry_after_is_clamped_not_overflowed() {
        let year_2099 = "Tue, 01 Dec 2099 00:00:00 GMT";
        for huge in ["9999999999", "99999999999999999999999999", year_2099] {
            assert_eq!(asked(huge), Some(RETRY_AFTER_MAX_MS));
        }
    }

    /// RFC 9110 section 10.2.3 with section 6.6.1: the server's two dates belong together.
    #[test]
    fn retry_after_as_a_date_counts_from_the_answers_own_date() {
        let (date, a_minute_later) = ("Fri, 31 Dec 1999 23:58:59 GMT", "Fri, 31 Dec 1999 23:59:59 GMT");
        for clock_here in [0, NOW, NOW * 2] {
            assert_eq!(retry_after_ms(a_minute_later, Some(date), clock_here), Some(60_000));
        }
        assert_eq!(retry_after_ms(date, Some(a_minute_later), NOW), Some(0), "a date that has passed");
        let (hidden, at) = (None, 946_684_739_000);
        assert_eq!(retry_after_ms(a_minute_later, hidden, at), Some(60_000));
        assert_eq!(retry_after_ms(a_minute_later, Some("garbage"), at), Some(60_000));
    }

    proptest! {
        #[test]
        fn backoff_stays_under_its_ceiling(failures in 0u32..10_000, sample: u32) {
            let wait = backoff_ms(failures, Jitter(sample));
            prop_assert!(wait < BACKOFF_CAP_MS);
            prop_assert!(failures > 1 || wait < BACKOFF_BASE_MS);
        }

        #[test]
        fn retry_after_never_panics(value in ".{0,40}", date in proptest::option::of(".{0,40}"), wall_ms: u64) {
            if let Some(wait) = retry_after_ms(&value, date.as_deref(), wall_ms) {
                prop_assert!(wait <= RETRY_AFTER_MAX_MS);
            }
        }
    }
}
