//! The JSON parser under everything else, beside serde_json.

use intento::core::json::{Value, from_text, parse};
use intento::core::limits::JSON_DEPTH_MAX;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::config;
use super::damage::{damaged, token};

/// Characters of the largest text that a test of size reads.
const LARGE: usize = 1 << 20;

fn documents() -> impl Strategy<Value = String> + Clone {
    let leaf = vec(any::<(u64, bool)>(), 0..3).prop_map(|pairs| serde_json::json!(pairs));
    let leaf =
        prop_oneof![leaf, any::<f64>().prop_map(|it| serde_json::json!(it)), any::<String>().prop_map(Into::into)];
    let tree = leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5).prop_map(|it| serde_json::json!(it)),
        ]
    });
    tree.prop_map(|value| value.to_string()).boxed()
}

/// A JSON string, or nearly one: half characters, escapes of everything, the end in the middle.
fn string() -> impl Strategy<Value = String> {
    let unit = any::<u16>().prop_map(|unit| format!("\\u{unit:04x}"));
    let surrogate = (0xd700_u16..0xe100).prop_map(|unit| format!("\\u{unit:04X}"));
    let escape = select(vec!["\\n", "\\/", "\\\"", "\\\\", "\\b", "\\x", "\\", "\"", "\\u12", "\\u+123", "\u{7f}"]);
    let plain = any::<char>().prop_map(String::from);
    let part = prop_oneof![3 => surrogate, 2 => unit, 1 => escape.prop_map(str::to_owned), 3 => plain];
    (vec(part, 0..8), prop::bool::weighted(0.9))
        .prop_map(|(parts, closed)| format!("\"{}{}", parts.concat(), if closed { "\"" } else { "" }))
}

/// How deep brackets are nested, outside strings.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn values(value: &Value) -> usize {
    1 + match value {
        Value::List(items) => items.iter().map(values).sum(),
        Value::Object(members) => members.iter().map(|(_, value)| values(value)).sum(),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(config())]

    /// Its depth apart, what is taken is what serde_json takes.
    #[test]
    fn what_is_read_is_what_the_library_reads(text in prop_oneof![damaged(documents()), token().boxed(), string().boxed()]) {
        let read = parse(&text);
        prop_assert!(read.as_ref().is_none_or(|value| values(value) <= text.len()));
        // A scalar is a level, too.
        if depth(&text) >= JSON_DEPTH_MAX {
            return Ok(());
        }
        let strict = serde_json::from_str::<serde_json::Value>(&text);
        // A number that no double holds is well-formed, and the library reads no further.
        let too_large = strict.as_ref().is_err_and(|error| error.to_string().starts_with("number out of range"));
        prop_assert!(too_large || read.is_some() == strict.is_ok(), "{}", text);
    }

    #[test]
    fn a_string_is_what_the_library_reads(text in string()) {
        prop_assert_eq!(from_text::<String>(&text).ok(), serde_json::from_str::<String>(&text).ok(), "{}", text);
    }

    #[test]
    fn nesting_ends_at_its_bound(brackets in vec(select(vec!["[", "{\"a\":"]), 1..2 * JSON_DEPTH_MAX)) {
        let closed = brackets.iter().rev().map(|open| if *open == "[" { "]" } else { "}" });
        let text = [brackets.concat(), "0".to_owned(), closed.collect()].concat();
        prop_assert_eq!(parse(&text).is_some(), brackets.len() < JSON_DEPTH_MAX);
    }
}

/// Each is read in one pass: twice over for each of a million characters, and nobody would wait for the end.
#[test]
fn large_texts_are_read_in_one_pass() {
    let of = |part: &str| part.repeat(LARGE / part.len());
    let list = |item: &str| format!("[{}0]", of(&format!("{item},")));
    for text in [
        format!("\"{}\"", of("é")),
        format!("\"{}\"", of("\\n")),
        format!("\"{}\"", of("\\ud83d\\ude00")),
        format!("[{}]", of(" \t\n\r")),
        of("1"),
        format!("1e{}", of("1")),
        list("1"),
        list("\"\""),
        list("[{}]"),
        format!("{{{}\"a\":0}}", of("\"a\":0,")),
    ] {
        assert!(parse(&text).is_some(), "{} ...", &text[..12]);
        assert_eq!(parse(&text[..text.len() - 1]).is_some(), text.starts_with('1'), "{} ... cut", &text[..12]);
    }
    for unclosed in ["[", "{\"a\":", "[{\"a\":"] {
        assert_eq!(parse(&of(unclosed)), None);
    }
}
