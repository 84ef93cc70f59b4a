//! Where a request carries its idempotency key, and what a key may look like.

use std::ops::RangeInclusive;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::problem::Problem;

pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Where the key stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// `k` and `"k"` in a header are the same key.
    RawOrQuoted(HeaderName),
    /// All of a header's value; quotes would belong to the key.
    Raw(HeaderName),
    /// An RFC 8941 string in a header, with its quotes.
    Quoted(HeaderName),
    /// A member of the JSON body.
    Member(&'static str),
}

/// How keys are written. Lengths are characters.
#[derive(Debug, Clone)]
pub(crate) struct KeyFormat {
    pub(crate) chars: RangeInclusive<usize>,
    pub(crate) alphabet: fn(char) -> bool,
}

/// A request's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) text: String,
    /// The header as it was sent, for the echo. `None`: the key came in the body.
    pub(crate) presented: Option<HeaderValue>,
}

impl Key {
    /// Reads the one key of a request.
    ///
    /// # Errors
    /// `KeyMissing` where there is none, `KeyMalformed` for anything but exactly one well-formed key.
    pub(crate) fn read(
        carrier: &Carrier,
        format: &KeyFormat,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Self, Problem> {
        let key = match carrier {
            Carrier::Member(name) => Self { text: member(body, name)?, presented: None },
            Carrier::RawOrQuoted(name) | Carrier::Raw(name) | Carrier::Quoted(name) => {
                let presented = only(headers, name)?;
                let text = presented.to_str().map_err(|_| Problem::KeyMalformed)?;
                Self { text: unwrap(carrier, text)?, presented: Some(presented.clone()) }
            }
        };
        let well_formed = format.chars.contains(&key.text.chars().count()) && key.text.chars().all(format.alphabet);
        well_formed.then_some(key).ok_or(Problem::KeyMalformed)
    }
}

/// Visible ASCII without a comma: a proxy that joins repeated headers must not be able to make a key.
pub(crate) fn visible_without_comma(char: char) -> bool {
    char.is_ascii_graphic() && char != ','
}

/// Visible ASCII and spaces, which is what a header can carry.
pub(crate) fn printable(char: char) -> bool {
    char.is_ascii_graphic() || char == ' '
}

/// Two keys mean two reservations to one reader and none to another.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a HeaderValue, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(Problem::KeyMissing),
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => Err(Problem::KeyMalformed),
    }
}

fn unwrap(carrier: &Carrier, text: &str) -> Result<String, Problem> {
    let quoted = match carrier {
        Carrier::Quoted(_) => true,
        Carrier::RawOrQuoted(_) => text.starts_with('"'),
        Carrier::Raw(_) | Carrier::Member(_) => false,
    };
    if !quoted {
        return Ok(text.to_owned());
    }
    let item: sfv::Item = sfv::Parser::new(text).parse().map_err(|_| Problem::KeyMalformed)?;
    match item.bare_item {
        sfv::BareItem::String(key) if item.params.is_empty() => Ok(key.into()),
        _ => Err(Problem::KeyMalformed),
    }
}

fn member(body: &[u8], name: &str) -> Result<String, Problem> {
    let body: Value = serde_json::from_slice(body).map_err(|_| Problem::KeyMissing)?;
    match body.get(name) {
        None | Some(Value::Null) => Err(Problem::KeyMissing),
        Some(Value::String(key)) => Ok(key.clone()),
        Some(_) => Err(Problem::KeyMalformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef";
    const LONG: KeyFormat = KeyFormat { chars: 16..=255, alphabet: visible_without_comma };
    const SHORT: KeyFormat = KeyFormat { chars: 1..=20, alphabet: printable };

    fn read(carrier: &Carrier, format: &KeyFormat, text: &str) -> Result<String, Problem> {
        let value = HeaderValue::from_str(text).expect("a header value");
        let headers = HeaderMap::from_iter([(IDEMPOTENCY_KEY, value)]);
        Key::read(carrier, format, &headers, b"").map(|key| key.text)
    }

    #[test]
    fn each_carrier_reads_quotes_its_own_way() {
        let quoted = format!("\"{KEY}\"");
        let (either, raw, string) =
            (Carrier::RawOrQuoted(IDEMPOTENCY_KEY), Carrier::Raw(IDEMPOTENCY_KEY), Carrier::Quoted(IDEMPOTENCY_KEY));
        assert_eq!(read(&either, &LONG, KEY).as_deref(), Ok(KEY));
        assert_eq!(read(&either, &LONG, &quoted).as_deref(), Ok(KEY));
        assert_eq!(read(&either, &LONG, r#""0123456789abcd\"\\""#).as_deref(), Ok(r#"0123456789abcd"\"#));
        assert_eq!(read(&raw, &SHORT, KEY).as_deref(), Ok(KEY));
        assert_eq!(read(&raw, &SHORT, &quoted), Ok(quoted.clone()));
        assert_eq!(read(&string, &SHORT, &quoted).as_deref(), Ok(KEY));
        assert_eq!(read(&string, &SHORT, KEY), Err(Problem::KeyMalformed), "a bare key is no string");
        assert_eq!(read(&string, &SHORT, "abcdef"), Err(Problem::KeyMalformed), "a token is no string");
    }

    #[test]
    fn our_own_keys_have_no_other_shape() {
        let malformed = [
            "short",
            "0123456789abcdef, 0123456789abcdef",
            "0123456789abcdef,fedcba9876543210",
            "\"0123456789abcdef\", \"0123456789abcdef\"",
            "\"0123456789abcdef,0123456789abcdef\"",
            "\"0123456789abcdef",
            "\"0123456789abcdef\";p=1",
            "0123456789 abcdef",
            "0123456789abcde\u{e9}",
        ];
        let carrier = Carrier::RawOrQuoted(IDEMPOTENCY_KEY);
        for text in malformed {
            assert_eq!(read(&carrier, &LONG, text), Err(Problem::KeyMalformed), "{text}");
        }
        assert_eq!(read(&carrier, &LONG, &"k".repeat(256)), Err(Problem::KeyMalformed));
        assert!(read(&carrier, &LONG, &"k".repeat(255)).is_ok());
    }

    #[test]
    fn a_member_of_the_body_is_a_key_if_it_is_a_string_that_fits() {
        let read = |body: &str| Key::read(&Carrier::Member("key"), &SHORT, &HeaderMap::new(), body.as_bytes());
        assert_eq!(read(r#"{"key":"k-1"}"#), Ok(Key { text: "k-1".to_owned(), presented: None }));
        for body in ["", "[]", "{}", r#"{"key":null}"#, r#"{"other":"k-1"}"#] {
            assert_eq!(read(body), Err(Problem::KeyMissing), "{body}");
        }
        for body in [r#"{"key":1}"#, r#"{"key":""}"#, r#"{"key":"123456789012345678901"}"#] {
            assert_eq!(read(body), Err(Problem::KeyMalformed), "{body}");
        }
    }

    #[test]
    fn a_repeated_header_is_no_key() {
        let mut twice = HeaderMap::new();
        twice.append(IDEMPOTENCY_KEY, HeaderValue::from_static(KEY));
        twice.append(IDEMPOTENCY_KEY, HeaderValue::from_static(KEY));
        let read = Key::read(&Carrier::Raw(IDEMPOTENCY_KEY), &SHORT, &twice, b"");
        assert_eq!(read, Err(Problem::KeyMalformed));
    }
}
