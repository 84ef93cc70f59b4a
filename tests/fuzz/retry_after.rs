//! However a server asks for patience: between nothing and a day, and the same as httpdate reads it.

use std::time::{Duration, SystemTime};

use intento::core::contract::{Facts, Observation, asked_to_wait_ms, server_date_ms};
use intento::core::http_date;
use intento::core::limits::RETRY_AFTER_MAX_MS;
use proptest::collection::btree_map;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{arbitrary, config};

/// The first second of the year 10000, which no HTTP date names.
const END_S: u64 = 253_402_300_800;

fn by_the_library(date: &str) -> Option<u64> {
    let since_epoch = httpdate::parse_http_date(date).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since_epoch.as_millis()).ok()
}

/// Moments, more of them near one another than apart.
fn seconds() -> impl Strategy<Value = u64> {
    prop_oneof![0..END_S, 1_700_000_000..1_700_200_000_u64]
}

/// A date in each of its three forms.
fn right_date() -> BoxedStrategy<String> {
    let date = (seconds(), 0..3_u8).prop_map(|(seconds, form)| {
        let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let words: Vec<&str> = date.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let [weekday, day, month, year, time, _] = words[..] else { panic!("a date of six words: {date}") };
        match form {
            // Two digits are of the century from 1970 on.
            1 if ("1970".."2070").contains(&year) => {
                format!("{weekday}{}, {day}-{month}-{} {time} GMT", rest_of(weekday), &year[2..])
            }
            2 => format!("{weekday} {month} {:>2} {time} {year}", day.trim_start_matches('0')),
            _ => date.clone(),
        }
    });
    date.boxed()
}

fn rest_of(weekday: &str) -> &'static str {
    match weekday {
        "Tue" => "sday",
        "Wed" => "nesday",
        "Thu" => "rsday",
        "Sat" => "urday",
        _ => "day",
    }
}

/// A date, as it is or misprinted.
fn date() -> impl Strategy<Value = String> {
    let wrong = (right_date(), any::<Index>(), "[ -~]{0,2}").prop_map(|(date, at, put)| {
        let at = at.index(date.len());
        [&date[..at], &put, &date[at + 1..]].concat()
    });
    prop_oneof![
        3 => right_date(),
        3 => wrong,
        1 => "[A-Z][a-z]{2},? ?[ 0-9]{0,3}[ -][JFMASOND][a-z]{2}[ -][0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2}( GMT)?",
    ]
}

/// What may stand in a field about patience.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        date(),
        arbitrary::number().prop_map(|number| number.to_string()),
        "[ \t]?[+-]?[0-9]{1,30}(\\.5)?[ \t]?",
        "\"[a-z]\";[rt]=[0-9]{0,25};[rt]=[0-9]{0,25}(, ?\"[a-z]\";r=0;t=[0-9]{1,25})?",
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_the_fields_say_a_wait_is_a_day_at_most(
        status: u16,
        fields in btree_map(
            select(vec![
                "retry-after", "retry-after-ms", "date", "age", "ratelimit", "ratelimit-remaining", "ratelimit-reset",
                "x-ratelimit-remaining", "x-ratelimit-reset",
            ]),
            prop_oneof![2 => field(), 1 => Just("0".to_owned())],
            0..6,
        ),
        wall_ms in arbitrary::number(),
        fault in arbitrary::fault(),
    ) {
        let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let facts = Facts { status, headers, ..Facts::default() };
        prop_assert!(server_date_ms(&facts).is_none_or(|date_ms| date_ms < END_S * 1_000 && date_ms % 1_000 == 0));
        let asked_ms = asked_to_wait_ms(&Observation::Reply(facts), wall_ms);
        prop_assert!(asked_ms.is_none_or(|asked_ms| asked_ms <= RETRY_AFTER_MAX_MS), "{asked_ms:?}");
        prop_assert!(asked_ms.is_none() || fields.keys().any(|name| !matches!(*name, "date" | "age")), "nothing asked");
        prop_assert_eq!(asked_to_wait_ms(&Observation::Fault(fault), wall_ms), None);
    }

    #[test]
    fn retry_after_is_what_the_library_reads(value in field(), date in of(date()), wall_ms in arbitrary::number()) {
        let named = [("retry-after", Some(value.clone())), ("date", date.clone())];
        let named = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let facts = Facts { status: 503, headers: named.collect(), ..Facts::default() };
        let asked_ms = asked_to_wait_ms(&Observation::Reply(facts), wall_ms);
        let trimmed = value.trim_matches([' ', '\t']);
        if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
            let asked_s = trimmed.parse::<u128>().unwrap_or(u128::MAX / 1_000);
            prop_assert_eq!(asked_ms.map(u128::from), Some((asked_s * 1_000).min(RETRY_AFTER_MAX_MS.into())));
        } else if http_date::parse(trimmed).is_none() {
            prop_assert_eq!(asked_ms, None);
        } else if let Some(until_ms) = by_the_library(trimmed) {
            let now_ms = match &date {
                None => wall_ms,
                Some(date) => match (by_the_library(date), http_date::parse(date)) {
                    (Some(date_ms), Some(_)) => date_ms,
                    (None, None) => wall_ms,
                    // What only one of the two takes for a date is not compared: the library does not look at the byte between
                    // date and time in `Wednesday, 15-Nov-23A00:00:00 GMT`.
                    _ => return Ok(()),
                },
            };
            prop_assert_eq!(asked_ms, Some(until_ms.saturating_sub(now_ms).min(RETRY_AFTER_MAX_MS)));
        }
    }

    #[test]
    fn a_date_is_the_moment_that_the_library_reads(right in right_date(), date in prop_oneof![date(), any::<String>()]) {
        prop_assert!(http_date::parse(&right).is_some(), "{}", right);
        prop_assert_eq!(http_date::parse(&right), by_the_library(&right), "{}", right);
        let told_ms = http_date::parse(&date);
        // Of what is misprinted each takes something that the other does not.
        if let (Some(told_ms), Some(wanted_ms)) = (told_ms, by_the_library(&date)) {
            prop_assert_eq!(told_ms, wanted_ms);
        }
        if let Some(told_ms) = told_ms {
            prop_assert_eq!(http_date::parse(&http_date::format(told_ms)), Some(told_ms), "its first form");
        }
    }

    #[test]
    fn every_moment_has_a_date(epoch_ms in arbitrary::number()) {
        let date = http_date::format(epoch_ms);
        prop_assert_eq!(by_the_library(&date), Some((epoch_ms / 1_000).min(END_S - 1) * 1_000), "{}", date);
        prop_assert_eq!(http_date::parse(&date), by_the_library(&date));
    }
}
