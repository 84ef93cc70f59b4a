//! How long to wait: full jitter, and the floor a server asks for.

use super::limits::{BACKOFF_BASE_MS, BACKOFF_CAP_MS, RETRY_AFTER_MAX_MS};

/// A sample for full jitter, in 1/2^32 of the ceiling. Drawn before a change is first tried, so that a re-run waits the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter(pub u32);

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

/// `Retry-After` in seconds as milliseconds, clamped to a day. RFC 9110 section 10.2.3: a non-negative integer;
/// anything else is no request to wait (HTTP dates are not read yet).
pub fn retry_after_ms(value: &str) -> Option<u64> {
    let digits = value.trim_matches([' ', '\t']);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // More digits than u64 holds is still a number, and far beyond the clamp.
    let seconds = digits.parse::<u64>().unwrap_or(u64::MAX);
    Some(seconds.saturating_mul(1_000).min(RETRY_AFTER_MAX_MS))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn retry_after_takes_whole_seconds_only() {
        assert_eq!(retry_after_ms("7"), Some(7_000));
        assert_eq!(retry_after_ms(" 0 "), Some(0));
        for garbage in ["", "-5", "1.5", "abc", "7s", "0x10", "Fri, 31 Dec 1999 23:59:59 GMT"] {
            assert_eq!(retry_after_ms(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn retry_after_is_clamped_not_overflowed() {
        for huge in ["9999999999", "99999999999999999999999999"] {
            assert_eq!(retry_after_ms(huge), Some(RETRY_AFTER_MAX_MS));
        }
    }

    proptest! {
        #[test]
        fn backoff_stays_under_its_ceiling(failures in 0u32..10_000, sample: u32) {
            let wait = backoff_ms(failures, Jitter(sample));
            prop_assert!(wait < BACKOFF_CAP_MS);
            prop_assert!(failures > 1 || wait < BACKOFF_BASE_MS);
        }

        #[test]
        fn retry_after_never_panics(value in ".{0,40}") {
            if let Some(wait) = retry_after_ms(&value) {
                prop_assert!(wait <= RETRY_AFTER_MAX_MS);
            }
        }
    }
}
