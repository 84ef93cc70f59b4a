//! How long a server asks to be left alone.

use super::{Facts, Observation};
use crate::core::backoff::retry_after_ms;
use crate::core::bugs::{Bug, bug};
use crate::core::http_date;
use crate::core::limits::RETRY_AFTER_MAX_MS;

/// A reset above this many seconds is a moment, not a length: some servers send epoch seconds.
const RESET_IS_A_MOMENT_S: u64 = 1_000_000_000;

/// The wait that an answer asks for, clamped to a day. In order: `retry-after-ms`, `Retry-After` on any answer that
/// names it, and on an error the RateLimit fields, where nothing is left (draft-ietf-httpapi-ratelimit-headers-10
/// section 4, and the three fields of its older versions). Malformed fields ask for nothing.
pub fn asked_to_wait_ms(observation: &Observation, wall_ms: u64) -> Option<u64> {
    let Observation::Reply(facts) = observation else { return None };
    let exact = facts.header("retry-after-ms").and_then(whole);
    let asked_ms = exact
        .or_else(|| facts.header("retry-after").and_then(|value| retry_after_ms(value, facts.header("date"), wall_ms)))
        .or_else(|| rate_limited_ms(facts, wall_ms).filter(|_| facts.status >= 400))?;
    Some(if bug(Bug::RetryAfterUnclamped) { asked_ms } else { asked_ms.min(RETRY_AFTER_MAX_MS) })
}

/// The server's clock, where an answer shows it. One that was stored on its way shows an older one (RFC 9110 section
/// 6.6.1, RFC 9111 section 5.1).
pub fn server_date_ms(facts: &Facts) -> Option<u64> {
    let stored = facts.header("age").and_then(whole).is_some_and(|age_s| age_s > 0);
    facts.header("date").filter(|_| !stored).and_then(http_date::parse)
}

fn rate_limited_ms(facts: &Facts, wall_ms: u64) -> Option<u64> {
    let policies = facts.header("ratelimit").map(|list| list.split(',').filter_map(exhausted_s).max());
    let seconds = policies.flatten().or_else(|| {
        [("ratelimit-remaining", "ratelimit-reset"), ("x-ratelimit-remaining", "x-ratelimit-reset")].iter().find_map(
            |(remaining, reset)| {
                let field = |name| facts.header(name).and_then(whole);
                let reset_s = field(reset).filter(|_| field(remaining) == Some(0))?;
                let now_s = server_date_ms(facts).unwrap_or(wall_ms) / 1_000;
                Some(if reset_s > RESET_IS_A_MOMENT_S { reset_s.saturating_sub(now_s) } else { reset_s })
            },
        )
    })?;
    Some(seconds.saturating_mul(1_000))
}

/// The `t` of a policy of which nothing is left: `"default";r=0;t=30`.
fn exhausted_s(policy: &str) -> Option<u64> {
    let parameter = |name: char| {
        let mut parameters = policy.split(';').skip(1).map(str::trim);
        parameters.find_map(|parameter| parameter.strip_prefix(name)?.strip_prefix('='))
    };
    (parameter('r').and_then(whole) == Some(0)).then(|| parameter('t').and_then(whole))?
}

fn whole(value: &str) -> Option<u64> {
    let value = value.trim();
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // More digits than u64 holds is still a number, and far beyond the clamp.
    digits.then(|| value.parse().unwrap_or(u64::MAX))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    const WALL_MS: u64 = 1_700_000_000_000;

    fn asked(status: u16, headers: &[(&str, &str)]) -> Option<u64> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        asked_to_wait_ms(&Observation::Reply(Facts { status, headers, ..Facts::default() }), WALL_MS)
    }

    #[test]
    fn retry_after_takes_precedence_over_the_rate_limit_fields() {
        assert_eq!(asked(429, &[("retry-after", "120"), ("ratelimit", "\"d\";r=0;t=30")]), Some(120_000));
        assert_eq!(asked(429, &[("retry-after-ms", "250"), ("retry-after", "120")]), Some(250));
        assert_eq!(asked(202, &[("retry-after", "3")]), Some(3_000));
    }

    #[test]
    fn rate_limit_fields_count_on_an_error_and_where_nothing_is_left() {
        assert_eq!(asked(429, &[("ratelimit", "\"burst\";r=4;t=2, \"daily\";r=0;t=30;pk=:cHM=:")]), Some(30_000));
        assert_eq!(asked(429, &[("ratelimit", "\"d\";r=5;t=30")]), None);
        assert_eq!(asked(201, &[("ratelimit", "\"d\";r=0;t=30")]), None, "politeness does not hold up a payment");
        assert_eq!(asked(503, &[("ratelimit-remaining", "0"), ("ratelimit-reset", "7")]), Some(7_000));
        assert_eq!(asked(429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000060")]), Some(60_000));
        assert_eq!(asked(429, &[("x-ratelimit-remaining", "3"), ("x-ratelimit-reset", "60")]), None);
    }

    #[test]
    fn moments_are_read_against_the_servers_clock_where_it_is_visible() {
        // The device is a minute behind.
        let date = ("date", "Tue, 14 Nov 2023 22:14:20 GMT");
        let left = ("x-ratelimit-remaining", "0");
        assert_eq!(asked(429, &[date, left, ("x-ratelimit-reset", "1700000090")]), Some(30_000));
        assert_eq!(asked(503, &[date, ("retry-after", "Tue, 14 Nov 2023 22:15:20 GMT")]), Some(60_000));
        assert_eq!(asked(503, &[("retry-after", "Tue, 14 Nov 2023 22:15:20 GMT")]), Some(120_000));
    }

    #[test]
    fn what_is_malformed_asks_for_nothing_and_what_is_huge_for_a_day() {
        for field in ["", "r=0;t=30", "\"d\";r=0", "\"d\";r=0;t=soon", "\"d\";r=-1;t=30", "\"d\";r=0;t=1.5"] {
            assert_eq!(asked(429, &[("ratelimit", field)]), None, "{field}");
        }
        assert_eq!(asked(429, &[("ratelimit", "\"d\";r=0;t=99999999999999999999999")]), Some(RETRY_AFTER_MAX_MS));
        assert_eq!(asked(429, &[("retry-after-ms", "1.5")]), None);
    }

    #[test]
    fn a_date_from_a_cache_is_no_clock() {
        let facts = |age: Option<&str>| {
            let date = ("date".to_owned(), "Tue, 14 Nov 2023 22:13:20 GMT".to_owned());
            let age = age.map(|age| ("age".to_owned(), age.to_owned()));
            Facts { status: 200, headers: core::iter::once(date).chain(age).collect(), ..Facts::default() }
        };
        assert_eq!(server_date_ms(&facts(None)), Some(WALL_MS));
        assert_eq!(server_date_ms(&facts(Some("0"))), Some(WALL_MS));
        assert_eq!(server_date_ms(&facts(Some("9"))), None);
    }
}
