//! Records as the structured values that IndexedDB keeps: their columns, and the record beside them.

use js_sys::Reflect;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

use super::sys::set;
use crate::core::record::{Record, RecordKey, Versioned};
use crate::ledger::format::{Columns, FORMAT};

/// A plain value: maps as objects, `None` as null, numbers as numbers. `None` where it cannot be carried exactly.
pub fn to_js<T: Serialize + ?Sized>(value: &T) -> Option<JsValue> {
    value.serialize(&serde_wasm_bindgen::Serializer::json_compatible()).ok()
}

pub fn from_js<T: DeserializeOwned>(value: JsValue) -> Option<T> {
    serde_wasm_bindgen::from_value(value).ok()
}

/// What is put on a shelf. `None`: the record holds a number that JavaScript cannot carry, which no bound allows.
pub fn encode(key: &RecordKey, version: u64, record: &Record) -> Option<JsValue> {
    let value = match record {
        Record::Clock(clock) => to_js(clock),
        Record::Counters(counters) => to_js(counters),
        Record::Reference(head) => to_js(head),
        Record::Intent(intent) => to_js(intent),
        Record::Payload(payload) => to_js(payload),
        Record::Journal(entry) => to_js(entry),
        Record::Contract(contract) => to_js(contract),
        Record::Origin(origin) => to_js(origin),
        Record::Undecodable => None,
    }?;
    let row = to_js(&Columns::new(key, version, record))?;
    set(&row, "record", &value);
    Some(row)
}

/// What was found under a key. A row that exists and cannot be read is [`Record::Undecodable`], never absent.
pub fn decode(key: &RecordKey, row: &JsValue) -> Versioned {
    if row.is_undefined() || row.is_null() {
        return Versioned::ABSENT;
    }
    let version = member(row, "version").and_then(|version| version.as_f64()).map_or(1, |version| version as u64);
    let readable = member(row, "v").and_then(|v| v.as_f64()) == Some(f64::from(FORMAT));
    let value = member(row, "record").filter(|_| readable);
    let record = value.and_then(|value| decode_record(key, value)).unwrap_or(Record::Undecodable);
    Versioned { version, record: Some(record) }
}

fn decode_record(key: &RecordKey, value: JsValue) -> Option<Record> {
    match key {
        RecordKey::Clock => from_js(value).map(Record::Clock),
        RecordKey::Counters(_) => from_js(value).map(Record::Counters),
        RecordKey::Reference(_) => from_js(value).map(Record::Reference),
        RecordKey::Intent(_) => from_js(value).map(|intent| Record::Intent(Box::new(intent))),
        RecordKey::Payload(_) => from_js(value).map(Record::Payload),
        RecordKey::Journal(..) => from_js(value).map(Record::Journal),
        RecordKey::Contract(_) => from_js(value).map(|contract| Record::Contract(Box::new(contract))),
        RecordKey::Origin(_) => from_js(value).map(Record::Origin),
    }
}

fn member(row: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(row, &JsValue::from_str(name)).ok()
}
