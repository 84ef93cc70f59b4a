//! HTTP dates (RFC 9110 section 5.6.7), in the three forms that a recipient must take.

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Epoch milliseconds of a date from 1970 on; `None` where it is none.
///
/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. What day of the week
/// it was is not checked.
pub fn parse(date: &str) -> Option<u64> {
    let mut words = date.split([' ', ',', '-']).filter(|word| !word.is_empty());
    let mut word = || words.next();
    word()?;
    let (day, month, year, time) = match (word()?, word()?, word()?, word()?, word()) {
        (day, month, year, time, Some("GMT")) => (day, month, year, time),
        (month, day, time, year, None) => (day, month, year, time),
        _ => return None,
    };
    if word().is_some() {
        return None;
    }
    let month = MONTHS.iter().position(|name| *name == month)? as u64;
    let mut clock = time.split(':').map(|part| number(part).filter(|_| part.len() == 2));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if clock.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_since_epoch(full_year(year)?, month, number(day)?)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000)
}

/// The date of a moment, to the second, in the first of the forms. Beyond the year 9999 there is none: its last one.
pub fn format(epoch_ms: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const LAST: u64 = 253_402_300_799;
    let seconds = (epoch_ms / 1_000).min(LAST);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut month, mut day) = (1970, 0, days);
    while day >= year_length(year) {
        day -= year_length(year);
        year += 1;
    }
    while day >= month_length(year, month) {
        day -= month_length(year, month);
        month += 1;
    }
    let name = |names: &[&'static str], place: u64| names.get(place as usize).copied().unwrap_or_default();
    let (weekday, month) = (name(&DAYS, days % 7), name(&MONTHS, month));
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let [day, hour, minute, second] = [day + 1, hour, minute, second].map(two_digits);
    let year = year.to_string();
    [weekday, ", ", &day, " ", month, " ", &year, " ", &hour, ":", &minute, ":", &second, " GMT"].concat()
}

fn two_digits(number: u64) -> String {
    [if number < 10 { "0" } else { "" }, &number.to_string()].concat()
}

/// Two digits are of the half century around 2020: nothing here is older than HTTP.
fn full_year(year: &str) -> Option<u64> {
    let number = number(year)?;
    match year.len() {
        4 if number >= 1970 => Some(number),
        2 if number >= 70 => Some(1900 + number),
        2 => Some(2000 + number),
        _ => None,
    }
}

/// `month` counts from 0, `day` from 1.
fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    let in_month = (1..=month_length(year, month)).contains(&day);
    let before = (1970..year).map(year_length).chain((0..month).map(|month| month_length(year, month)));
    in_month.then(|| before.sum::<u64>() + day - 1)
}

fn year_length(year: u64) -> u64 {
    (0..12).map(|month| month_length(year, month)).sum()
}

fn month_length(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 => 28 + u64::from(is_leap),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

fn number(digits: &str) -> Option<u64> {
    let plain = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use proptest::prelude::*;

    fn by_the_library(date: &str) -> Option<u64> {
        let since_epoch = httpdate::parse_http_date(date).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        u64::try_from(since_epoch.as_millis()).ok()
    }

    #[test]
    fn the_three_forms_name_one_moment() {
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse(date), Some(784_111_777_000), "{date}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for date in [
            "",
            "1999-12-31",
            "Fri, 31 Foo 1999 23:59:59 GMT",
            "Fri, 31 Dec 1999 23:59:59",
            "Fri, 31 Dec 1999 23:59:59 CET",
            "Fri, 31 Dec 1999 23:59:59 GMT GMT",
            "Fri, 32 Dec 1999 23:59:59 GMT",
            "Sun, 29 Feb 1999 00:00:00 GMT",
            "Mon, 29 Feb 2100 00:00:00 GMT",
            "Fri, 00 Dec 1999 23:59:59 GMT",
            "Fri, 31 Dec 1999 24:00:00 GMT",
            "Fri, 31 Dec 1999 23:60:00 GMT",
            "Fri, 31 Dec 1999 23:59 GMT",
            "Fri, 31 Dec 1999 +3:59:59 GMT",
            "Fri, 31 Dec 19999 23:59:59 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
        ] {
            assert_eq!(parse(date), None, "{date}");
        }
    }

    proptest! {
        #[test]
        fn every_second_is_the_one_that_httpdate_names(seconds in 0_u64..253_402_300_800) {
            let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            prop_assert_eq!(parse(&date), Some(seconds * 1_000));
            prop_assert_eq!(format(seconds * 1_000 + seconds % 1_000), date.clone());
            prop_assert_eq!(by_the_library(&date), Some(seconds * 1_000));
        }

        #[test]
        fn text_never_panics(date in "[A-Z][a-z]{2},? ?[ 0-9]{0,3}[ -][JFMASOND][a-z]{2}[ -][0-9]{2,4} [0-9:]{4,8}( GMT)?|.{0,40}") {
            let _ = parse(&date);
        }
    }
}
