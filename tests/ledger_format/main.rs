//! What earlier versions have stored is read by this one.
//!
//! `tests/fixtures/ledger-v1.json` holds rows of format 1 as they were written once. It is never regenerated, only added
//! to: a row in it that cannot be read any more is a ledger on somebody's device that cannot.
#![cfg(not(target_arch = "wasm32"))]

mod expected;

use intento::core::record::Record;
use intento::ledger::format::{FORMAT, Row};
use serde::{Deserialize, Serialize};

const FIXTURE: &str = include_str!("../fixtures/ledger-v1.json");

/// A row and where it lies.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Stored {
    shelf: String,
    id: String,
    v: u32,
    version: u64,
    record: String,
    checksum: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inbox: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_reference: Option<String>,
}

impl Stored {
    fn new(shelf: &str, row: Row) -> Self {
        let Row { id, v, version, record, checksum, scope, due, inbox, sequence, head_reference } = row;
        let shelf = shelf.to_owned();
        Self { shelf, id, v, version, record, checksum, scope, due, inbox, sequence, head_reference }
    }
}

fn stored() -> Vec<Stored> {
    serde_json::from_str(FIXTURE).unwrap()
}

/// While this build writes format 1 it also writes what it reads byte for byte, columns and checksum included.
#[test]
fn law_8_every_row_of_format_1_is_read_and_written_back_as_it_was() {
    let stored = stored();
    let expected = expected::records();
    for (key, record) in &expected {
        let written = Stored::new(key.shelf().name(), Row::new(key, 7, record).unwrap());
        let row = stored.iter().find(|row| row.shelf == written.shelf && row.id == written.id);
        let row = row.unwrap_or_else(|| panic!("add this row:\n{}", serde_json::to_string(&written).unwrap()));
        assert_eq!(Record::from_row(key, row.v, &row.record, &row.checksum), *record, "{key:?}");
        assert_eq!(*row, written, "{key:?}");
    }
    assert_eq!(stored.len(), expected.len(), "a row of which nobody knows what it says");
}

#[test]
fn law_8_one_of_a_greater_format_is_not_read() {
    for (key, record) in expected::records() {
        let row = Row { v: FORMAT + 1, ..Row::new(&key, 7, &record).unwrap() };
        assert_eq!(Record::from_row(&key, row.v, &row.record, &row.checksum), Record::Undecodable);
    }
}
