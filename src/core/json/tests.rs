#![allow(unreachable_pub, reason = "`json!` is for types that are public")]

use proptest::prelude::*;
use serde_json::json as expected;

use super::*;
use crate::core::backoff::Jitter;
use crate::core::change::RecordFacts;
use crate::core::contract::{Answer, FactValue, Facts, Fault, Observation};
use crate::core::limits::JSON_DEPTH_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Shelf {
    label: String,
    count: u64,
    room: Option<u16>,
    pairs: Vec<(String, u32)>,
    sold: bool,
    kind: Kind,
    newer: Vec<u16>,
}

json!(struct Shelf { label = "theLabel", count, room, pairs, sold, kind, newer: default });

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Locked { by: Colour, since: u64 },
}

json!(enum Kind { Plain = "plain", Locked { by, since } = "locked" });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Red,
    DarkBlue,
}

json!(words Colour { Red = "red", DarkBlue = "dark_blue" });

fn shelf() -> Shelf {
    Shelf {
        label: "a \"quoted\" \\ line\n\u{1}ação 🛒".to_owned(),
        count: u64::MAX,
        room: None,
        pairs: vec![("x".to_owned(), 1), (String::new(), 2)],
        sold: true,
        kind: Kind::Locked { by: Colour::DarkBlue, since: 7 },
        newer: Vec::new(),
    }
}

/// The document without, or with, a member.
fn with(member: &str, value: Option<serde_json::Value>) -> String {
    let mut document: serde_json::Value = serde_json::from_str(&to_text(&shelf())).unwrap();
    let members = document.as_object_mut().unwrap();
    match value {
        Some(value) => members.insert(member.to_owned(), value),
        None => members.remove(member),
    };
    document.to_string()
}

fn misread(text: &str) -> &'static str {
    from_text::<Shelf>(text).unwrap_err().member
}

#[test]
fn a_value_survives_its_text() {
    let text = to_text(&shelf());
    assert_eq!(from_text(&text), Ok(shelf()));
    let spaced = serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&text).unwrap()).unwrap();
    assert_eq!(from_text(&spaced), Ok(shelf()));
}

#[test]
fn the_form_is_what_the_type_says() {
    let form = expected!({
        "theLabel": shelf().label, "count": u64::MAX, "room": null, "pairs": [["x", 1], ["", 2]], "sold": true,
        "kind": { "locked": { "by": "dark_blue", "since": 7 } }, "newer": [],
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&to_text(&shelf())).unwrap(), form);
    assert_eq!(to_text(&Kind::Plain), "\"plain\"");
}

#[test]
fn members_may_be_missing_where_the_type_says_so_and_unknown_ones_are_passed_over() {
    for text in [with("room", None), with("newer", None), with("later", Some(expected!({ "deep": [1.5e3, {}] })))] {
        assert_eq!(from_text(&text), Ok(shelf()), "{text}");
    }
    for missing in ["theLabel", "count", "pairs", "sold", "kind"] {
        assert_eq!(misread(&with(missing, None)), missing);
    }
}

#[test]
fn a_member_that_is_there_twice_is_misread() {
    let text = to_text(&shelf());
    for twice in [r#""count":1"#, r#""room":null"#, r#""newer":[]"#, r#""sold":true"#] {
        let name = twice.split('"').nth(1).unwrap();
        assert_eq!(misread(&text.replacen('{', &format!("{{{twice},"), 1)), name);
        assert_eq!(misread(&text.strip_suffix('}').map(|open| format!("{open},{twice}}}")).unwrap()), name);
    }
    let unknown_twice = text.replacen('{', r#"{"later":1,"later":2,"#, 1);
    assert_eq!(from_text(&unknown_twice), Ok(shelf()));
}

#[test]
fn what_is_stored_holds_all_its_members() {
    assert_eq!(from_stored(&to_text(&shelf())), Ok(shelf()));
    for missing in ["room", "newer", "count"] {
        assert_eq!(from_stored::<Shelf>(&with(missing, None)), Err(Misread { member: missing }));
    }
    assert_eq!(from_stored(&with("later", Some(expected!(1)))), Ok(shelf()));
}

#[test]
fn what_is_not_of_the_type_is_an_error_that_names_the_member() {
    for (member, wrong) in [
        ("theLabel", expected!(null)),
        ("count", expected!(-1)),
        ("count", expected!(1.0)),
        ("count", expected!("1")),
        ("room", expected!(65_536)),
        ("pairs", expected!([["x"]])),
        ("pairs", expected!([["x", 1, 2]])),
        ("sold", expected!(0)),
        ("kind", expected!("open")),
        ("kind", expected!({ "plain": {}, "locked": {} })),
        ("newer", expected!(null)),
    ] {
        assert_eq!(misread(&with(member, Some(wrong.clone()))), member, "{wrong}");
    }
    assert_eq!(misread(&with("kind", Some(expected!({ "locked": { "by": "green", "since": 7 } })))), "by");
    assert_eq!(misread("[]"), "");
    assert_eq!(misread("{"), "");
}

#[test]
fn malformed_text_is_refused() {
    let malformed = r#"
        |{|}|[1,]|[1 2]|[,1]|{"a"}|{"a":}|{"a":1,}|{a:1}|{"a":1 "b":2}|01|-|-01|1.|.5|1e|1e+|+1|0x1|1.2.3|nul|nulls
        |true false|"|"\"|"\x"|"\u12"|"\u12g4"|"\ud800"|"\ud800A"|"\ud800\ud800"|"\udc00"|"\é"|'a'|[1]]|NaN"#;
    let lines = malformed.lines().map(str::trim).collect::<String>();
    for text in lines.split('|').chain(["\"\n\"", "\"\u{0}\""]) {
        assert_eq!(parse(text), None, "{text:?}");
    }
}

#[test]
fn nesting_has_a_bound() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(JSON_DEPTH_MAX)).is_some());
    assert_eq!(parse(&nested(JSON_DEPTH_MAX + 1)), None);
    assert_eq!(parse(&"[".repeat(1_000_000)), None);
}

#[test]
fn numbers_are_exact_or_are_none() {
    assert_eq!(parse("18446744073709551615"), Some(Value::Integer(u64::MAX)));
    for other in ["18446744073709551616", "-1", "-0", "1.0", "1e3", "1E-3", "0.5", "-1.5e+3"] {
        assert_eq!(parse(other), Some(Value::OtherNumber), "{other}");
    }
}

fn documents() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(expected!(null)),
        any::<bool>().prop_map(|truth| expected!(truth)),
        any::<i64>().prop_map(|number| expected!(number)),
        any::<u64>().prop_map(|number| expected!(number)),
        any::<f64>().prop_map(|number| expected!(number)),
        any::<String>().prop_map(|text| expected!(text)),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(|items| expected!(items)),
            prop::collection::btree_map(any::<String>(), inner, 0..8).prop_map(|members| expected!(members)),
        ]
    })
}

fn same(value: &Value, document: &serde_json::Value) -> bool {
    use serde_json::Value as Expected;
    match (value, document) {
        (Value::Null, Expected::Null) => true,
        (Value::Bool(truth), Expected::Bool(wanted)) => truth == wanted,
        (Value::Integer(number), Expected::Number(wanted)) => wanted.as_u64() == Some(*number),
        (Value::OtherNumber, Expected::Number(wanted)) => wanted.as_u64().is_none(),
        (Value::Text(text), Expected::String(wanted)) => text == wanted,
        (Value::List(items), Expected::Array(wanted)) => {
            items.len() == wanted.len() && items.iter().zip(wanted).all(|(item, wanted)| same(item, wanted))
        }
        (Value::Object(members), Expected::Object(wanted)) => {
            members.len() == wanted.len()
                && members.iter().all(|(name, value)| wanted.get(name).is_some_and(|wanted| same(value, wanted)))
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn documents_are_read_as_serde_json_writes_them(document in documents()) {
        for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            prop_assert!(parse(&text).is_some_and(|value| same(&value, &document)), "{text}");
        }
    }

    #[test]
    fn strings_are_written_as_serde_json_reads_them(text: String) {
        let written = to_text(text.as_str());
        prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text.clone());
        prop_assert_eq!(from_text::<String>(&written), Ok(text));
    }

    /// What is accepted is what serde_json accepts; only its depth is another.
    #[test]
    fn damaged_text_never_panics_and_never_passes_unseen(document in documents(), at: prop::sample::Index, byte: u8) {
        let mut bytes = document.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) {
            let strict = serde_json::from_str::<serde_json::Value>(&text);
            // A number that no double holds is well-formed all the same.
            let too_large = strict.as_ref().is_err_and(|error| error.to_string().starts_with("number out of range"));
            prop_assume!(!too_large);
            prop_assert_eq!(parse(&text).is_some(), strict.is_ok(), "{}", text);
        }
    }
}

/// What stands in a reply, as the face keeps it for the next engine.
#[test]
fn facts_come_back_as_they_were() {
    let values = vec![
        FactValue::Text("a \"b\"".to_owned()),
        FactValue::Bool(false),
        FactValue::Integer(0),
        FactValue::Integer(-9_007_199_254_740_991),
        FactValue::Integer(9_007_199_254_740_991),
        FactValue::Inexact,
        FactValue::Composite,
    ];
    let reply = Facts {
        status: 402,
        media_type: Some("application/json".to_owned()),
        headers: [("etag".to_owned(), "\"1\"".to_owned()), ("date".to_owned(), String::new())].into(),
        pointers: [("/errors/*/code".to_owned(), values), ("/empty".to_owned(), Vec::new())].into(),
        body_empty: false,
        document: true,
    };
    let answer =
        Answer { status: 402, media_type: None, body: Some("{}".to_owned()), resource: Some("pay-1".to_owned()) };
    let facts = |observation, answer| RecordFacts {
        intent: "an-intent".into(),
        attempt: 3,
        fence: 1 << 53,
        fact: "realm-7".into(),
        observation,
        answer,
        jitter: Jitter(u32::MAX),
    };
    let replied = facts(Observation::Reply(reply), Some(answer));
    let faults = [Fault::Network, Fault::Undecodable].map(|fault| facts(Observation::Fault(fault), None));
    for facts in faults.iter().chain([&replied]) {
        assert_eq!(from_text(&to_text(facts)).as_ref(), Ok(facts));
    }
    assert_eq!(replied.undecodable(), faults[1]);
}
