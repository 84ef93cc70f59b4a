//! The stored form of every kind of record.

use intento::core::json::to_text;
use intento::core::record::{Record, RecordKey};
use intento::ledger::format::{FORMAT, Row};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::arbitrary::record;
use super::config;
use super::damage::{damaged, flipped};

/// A key, and the text of a record of its kind.
fn stored() -> BoxedStrategy<(RecordKey, String)> {
    record().prop_map(|(key, record)| (key, record.to_text().unwrap())).boxed()
}

fn read(key: &RecordKey, row: &Row) -> Record {
    Record::from_row(key, row.v, &row.record, &row.checksum)
}

/// Every member of every object: the pointer to the object, and the member's name.
fn members(value: &Value, at: &str) -> Vec<(String, String)> {
    match value {
        Value::Object(members) => {
            let of = |(name, value)| {
                let inside = self::members(value, &format!("{at}/{name}"));
                core::iter::once((at.to_owned(), String::clone(name))).chain(inside)
            };
            members.iter().flat_map(of).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(place, item)| members(item, &format!("{at}/{place}"))).collect()
        }
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_record_comes_back_as_it_was((key, record) in record()) {
        let text = record.to_text().unwrap();
        prop_assert_eq!(Record::from_text(&key, &text), record.clone());
        let spaced = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&text).unwrap()).unwrap();
        prop_assert_eq!(Record::from_text(&key, &spaced), record, "its members in another order, and spaces");
    }

    #[test]
    fn a_row_comes_back_as_it_was((key, record) in record(), version: u64) {
        let row = Row::new(&key, version, &record).unwrap();
        prop_assert_eq!(read(&key, &row), record);
    }

    /// Most of them would still be a record: another amount, another key.
    #[test]
    fn law_8_with_one_byte_flipped_a_row_is_undecodable((key, record) in record(), at: Index, bits in 1_u8..) {
        let row = Row::new(&key, 1, &record).unwrap();
        let text = flipped(&row.record, at, bits);
        // What stands for bytes that are no text may be flipped into bytes that are none either.
        if text != row.record {
            prop_assert_eq!(read(&key, &Row { record: text, ..row.clone() }), Record::Undecodable);
        }
        let checksum = flipped(&row.checksum, at, bits);
        prop_assert_eq!(read(&key, &Row { checksum, ..row }), Record::Undecodable);
    }

    #[test]
    fn law_8_a_damaged_row_is_undecodable(
        (key, row, text) in record().prop_flat_map(|(key, record)| {
            let row = Row::new(&key, 1, &record).unwrap();
            let text = damaged(Just(row.record.clone()));
            (Just(key), Just(row), text)
        }),
    ) {
        if text != row.record {
            prop_assert_eq!(read(&key, &Row { record: text, ..row.clone() }), Record::Undecodable);
        }
        for without in [Row { checksum: String::new(), ..row.clone() }, Row { record: String::new(), ..row }] {
            prop_assert_eq!(read(&key, &without), Record::Undecodable);
        }
    }

    /// Whatever its text says to this build.
    #[test]
    fn law_8_a_row_of_another_format_is_undecodable((key, record) in record(), v: u32) {
        let row = Row { v, ..Row::new(&key, 1, &record).unwrap() };
        prop_assert_eq!(read(&key, &row) == Record::Undecodable, v != FORMAT);
    }

    #[test]
    fn law_8_a_row_that_lies_under_another_key_is_undecodable((key, record) in record(), (other, _) in record()) {
        if key != other {
            prop_assert_eq!(read(&other, &Row::new(&key, 1, &record).unwrap()), Record::Undecodable);
        }
    }

    /// What is read is JSON, and is what its own text says.
    #[test]
    fn law_8_damaged_text_is_a_record_or_is_undecodable(
        (key, text) in stored().prop_flat_map(|(key, text)| (Just(key), damaged(Just(text)))),
    ) {
        let record = Record::from_text(&key, &text);
        let Some(again) = record.to_text() else { return Ok(()) };
        prop_assert_eq!(Record::from_text(&key, &again), record);
        let strict = serde_json::from_str::<Value>(&text);
        let too_large = strict.as_ref().is_err_and(|error| error.to_string().starts_with("number out of range"));
        prop_assert!(strict.is_ok() || too_large, "{}", text);
    }

    /// Every text under every key.
    #[test]
    fn law_8_a_record_that_lies_under_another_s_key_is_undecodable((key, record) in record(), (other, _) in record()) {
        use RecordKey::{Intent, Journal};
        let same_kind = core::mem::discriminant(&key) == core::mem::discriminant(&other);
        // The rest do not say whose they are.
        let says_whose = matches!((&key, &other), (Intent(_), Intent(_)) | (Journal(..), Journal(..))) && key != other;
        if !same_kind || says_whose {
            prop_assert_eq!(Record::from_text(&other, &record.to_text().unwrap()), Record::Undecodable);
        }
    }

    /// One whose name is damaged must not pass for one that was never set: a body, a claim, the window.
    #[test]
    fn law_8_without_one_of_its_members_a_record_is_undecodable((key, record) in record(), number: Index) {
        let mut damaged: Value = serde_json::from_str(&record.to_text().unwrap()).unwrap();
        let mut members = members(&damaged, "");
        // The first rows of the format have none: there the checksum must tell.
        let later = ["lane", "erased", "blocks", "moved_from"];
        members.retain(|(parent, name)| !(parent.is_empty() && later.contains(&name.as_str())));
        if members.is_empty() {
            return Ok(());
        }
        let (parent, name) = number.get(&members);
        let parent = damaged.pointer_mut(parent).and_then(Value::as_object_mut).unwrap();
        let value = parent.remove(name).unwrap();
        parent.insert(format!("{name}'"), value);
        prop_assert_eq!(Record::from_text(&key, &damaged.to_string()), Record::Undecodable, "without {}", name);
    }

    /// Another build of this format may know more of them.
    #[test]
    fn a_member_that_nobody_knows_is_passed_over((key, record) in record()) {
        let mut newer: Value = serde_json::from_str(&record.to_text().unwrap()).unwrap();
        let Value::Object(members) = &mut newer else { return Ok(()) };
        members.insert("later".to_owned(), serde_json::json!([{ "deep": 1.5 }]));
        prop_assert_eq!(Record::from_text(&key, &newer.to_string()), record);
    }

    /// Which of two would count, the order of the others would decide.
    #[test]
    fn a_member_that_is_there_twice_is_undecodable((key, record) in record(), number: Index) {
        let text = record.to_text().unwrap();
        let Ok(Value::Object(members)) = serde_json::from_str(&text) else { return Ok(()) };
        let (name, _) = members.iter().nth(number.index(members.len())).unwrap();
        let twice = format!("{},{}:0}}", text.strip_suffix('}').unwrap(), to_text(name.as_str()));
        prop_assert_eq!(Record::from_text(&key, &twice), Record::Undecodable);
    }
}
