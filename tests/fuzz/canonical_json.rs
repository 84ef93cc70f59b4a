//! Canonical JSON where it meets the engine: equal values are one decision, different ones are not, and the key finds its
//! one place. The page's own canonical text is tried in `pkg-template/test`, and is the host's by the e2e tests.

use intento::core::change::{ContractSnapshot, Submit};
use intento::core::contract::{Carrier, CarrierPlace, Contract, KEY_PLACE};
use intento::core::error::ErrorCode;
use intento::core::json::from_text;
use intento::core::key::{ContractHash, Key, RandomBits, RealmId, ScopeHash};
use intento::core::record::Content;
use intento::core::submission::{Destinations, ExpiresIn, Reference, StatedBody, Submission, SubmitContext};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Number, Value};
use serde_json_canonicalizer::to_string as canonical;

use super::{ORIGIN, config, target};

/// Values that JSON can hold, money and doubles at the edges more than others.
fn values() -> BoxedStrategy<Value> {
    let edges = select(vec![0.0, -0.0, 0.1, 1e21, 1e-7, 5e-324, f64::MAX, 9_007_199_254_740_992.0]);
    let double = prop_oneof![any::<f64>(), edges].prop_filter_map("finite", Number::from_f64);
    let text = prop_oneof![3 => any::<String>(), 1 => Just(KEY_PLACE.to_owned()), 1 => "[\\\\\"ud80]{0,12}"];
    let leaf = prop_oneof![
        2 => double.prop_map(Value::from),
        2 => (-1_i64 << 53..1_i64 << 53).prop_map(Value::from),
        2 => text.prop_map(Value::from),
        1 => select(vec![Value::Null, true.into(), false.into()]),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..5).prop_map(|members| members.into_iter().collect()),
        ]
    })
    .boxed()
}

/// A little other than a value: one of its parts is another.
fn neighbours() -> impl Strategy<Value = (Value, Value)> {
    (values(), values(), any::<Index>()).prop_map(|(value, other, at)| {
        let mut changed = value.clone();
        let places = pointers(&value, "");
        *changed.pointer_mut(at.get::<String>(&places)).unwrap() = other;
        (value, changed)
    })
}

fn pointers(value: &Value, at: &str) -> Vec<String> {
    let inside: Vec<String> = match value {
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(place, item)| pointers(item, &format!("{at}/{place}"))).collect()
        }
        Value::Object(members) => {
            let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
            members.iter().flat_map(|(name, value)| pointers(value, &format!("{at}/{}", escaped(name)))).collect()
        }
        _ => Vec::new(),
    };
    core::iter::once(at.to_owned()).chain(inside).collect()
}

/// Do they say the same? Numbers by their double, as JSON's readers keep them.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(name, value): (&String, &Value)| other.get(name).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}

/// The value in another hand: its members in another order, spaces, every character escaped that `dice` says.
fn written_otherwise(value: &Value, dice: u64) -> String {
    let space = ["", " ", "\n\t", "  "][(dice % 4) as usize];
    let next = |place: usize| dice.rotate_left(7 + place as u32 % 50).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    match value {
        Value::String(text) => escaped(text, dice),
        Value::Array(items) => {
            let items = items.iter().enumerate().map(|(place, item)| written_otherwise(item, next(place)));
            format!("[{space}{}{space}]", items.collect::<Vec<_>>().join(&format!("{space},")))
        }
        Value::Object(members) => {
            let members = members.iter().enumerate().map(|(place, (name, value))| {
                format!("{}{space}:{}", escaped(name, next(place)), written_otherwise(value, next(place)))
            });
            let mut members: Vec<String> = members.collect();
            if !members.is_empty() {
                let by = dice as usize % members.len();
                members.rotate_left(by);
            }
            format!("{{{}{space}}}", members.join(&format!(",{space}")))
        }
        Value::Number(number) if number.is_f64() && dice.is_multiple_of(2) => format!("{:e}", number.as_f64().unwrap()),
        scalar => scalar.to_string(),
    }
}

fn escaped(text: &str, dice: u64) -> String {
    let units = |character: char| -> String {
        character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect()
    };
    let escape = |(place, character): (usize, char)| match character {
        '"' | '\\' | '\0'..='\x1f' => units(character),
        plain if dice >> (place % 64) & 1 == 1 => units(plain),
        plain => plain.to_string(),
    };
    format!("\"{}\"", text.chars().enumerate().map(escape).collect::<String>())
}

fn submit(body: String, carrier: Option<Carrier>, path: &str) -> Result<Submit, ErrorCode> {
    let mut contract: Contract = from_text(include_str!("../../contracts/generic.json")).unwrap();
    contract.carrier = carrier.unwrap_or(contract.carrier);
    let contract = ContractSnapshot { hash: ContractHash::of("contract"), contract: contract.into() };
    let target = target(path);
    let context = SubmitContext {
        scope: &ScopeHash::of("user-1"),
        realm: &RealmId::from("realm-a"),
        contract: &contract,
        destinations: &Destinations::new(&target, &[]).unwrap(),
    };
    let submission = Submission {
        operation: "pay".to_owned(),
        reference: Reference::OptedOut,
        lane: None,
        method: "POST".to_owned(),
        target: target.clone(),
        headers: Vec::new(),
        body: Some(StatedBody::json(body)),
        expires_in: ExpiresIn::Default,
        card_data: false,
    };
    submission.into_change(context, RandomBits([1; 16]), RandomBits([2; 16])).map_err(|error| error.code)
}

fn carried(place: CarrierPlace, name: &str) -> Option<Carrier> {
    Some(Carrier { place, name: name.to_owned(), quoted: false, first_sent: None })
}

fn key() -> Key {
    submit("{}".to_owned(), None, "/").unwrap().key
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_value_is_one_decision_however_it_is_written(value in values(), dice: u64) {
        let text = canonical(&value).unwrap();
        let again: Value = serde_json::from_str(&written_otherwise(&value, dice)).unwrap();
        prop_assert_eq!(&canonical(&again).unwrap(), &text, "{}", written_otherwise(&value, dice));
        prop_assert_eq!(&canonical(&serde_json::from_str::<Value>(&text).unwrap()).unwrap(), &text, "its own text");
        prop_assert!(same(&serde_json::from_str(&text).unwrap(), &value), "nothing is rounded");
    }

    /// What makes the fingerprint is the text, and the text is the value.
    #[test]
    fn p9_two_values_have_one_fingerprint_only_if_they_are_equal((one, other) in neighbours()) {
        let of = |value: &Value| submit(canonical(value).unwrap(), None, "/payments").unwrap();
        let (first, second) = (of(&one), of(&other));
        prop_assert_eq!(first.fingerprint == second.fingerprint, same(&one, &other));
        prop_assert_eq!(first.body == second.body, same(&one, &other));
    }

    /// The app's own text that looks like the place is not it.
    #[test]
    fn a_key_stands_in_a_body_once_and_where_it_belongs(members in btree_map("[a-z]{1,3}", values(), 0..5), named in "[k-z]{4}") {
        let key = key();
        let members: Map<String, Value> = members.into_iter().collect();
        let mut placed = members.clone();
        placed.insert(named.clone(), "the place".into());
        let place = format!("\"{named}\":\"the place\"");
        let text = canonical(&Value::Object(placed)).unwrap();
        prop_assume!(text.matches(&place).count() == 1);
        let text = text.replace(&place, &format!("\"{named}\":{KEY_PLACE}"));
        let carrier = || carried(CarrierPlace::Body, &format!("/{named}"));

        let submitted = submit(text.clone(), carrier(), "/payments").unwrap();
        let Some(Content::Text(body)) = submitted.body.map(|body| body.content) else { panic!("a body is text") };
        let mut wanted = members.clone();
        wanted.insert(named.clone(), key.expose().into());
        prop_assert!(same(&serde_json::from_str(&body).unwrap(), &Value::Object(wanted)), "{}", body);

        let without = canonical(&Value::Object(members)).unwrap();
        prop_assert_eq!(submit(without, carrier(), "/payments").err(), Some(ErrorCode::KeyPlaceInvalid));
        let twice = format!("[{text},{KEY_PLACE}]");
        prop_assert_eq!(submit(twice, carrier(), "/payments").err(), Some(ErrorCode::KeyPlaceInvalid));
    }

    #[test]
    fn a_key_stands_in_a_url_once_or_nowhere(path in "(/[a-z]{0,2}|/%7Btxid%7D|%7B){1,3}(\\?((a|txid|key)=?[a-z]?&?){0,3}(%7Btxid%7D)?)?") {
        let key = key();
        for (place, name) in [(CarrierPlace::Query, "key"), (CarrierPlace::Path, "txid")] {
            match submit("{}".to_owned(), carried(place, name), &path) {
                Ok(submitted) => {
                    let url = submitted.request.url;
                    prop_assert_eq!(url.matches(key.expose()).count(), 1, "{}", url);
                    let back = match place {
                        CarrierPlace::Path => url.replace(key.expose(), "%7Btxid%7D"),
                        _ => url.trim_end_matches(&format!("key={}", key.expose())).trim_end_matches(['?', '&']).to_owned(),
                    };
                    let stated = format!("{ORIGIN}{path}");
                    let stated = if place == CarrierPlace::Path { &stated } else { stated.trim_end_matches(['?', '&']) };
                    prop_assert_eq!(back, stated);
                }
                Err(code) => prop_assert_eq!(code, ErrorCode::KeyPlaceInvalid),
            }
        }
    }
}
