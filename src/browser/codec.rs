//! What crosses to JavaScript, as JSON text; and records as IndexedDB keeps them: a row of plain columns, and the
//! record's text beside them.

use js_sys::{JSON, Reflect};
use wasm_bindgen::JsValue;

use super::sys::set;
use crate::core::json::{FromJson, ToJson, Writer, from_text, to_text};
use crate::core::record::{Record, RecordKey, Versioned};
use crate::ledger::format::Row;

/// A plain value: `None` as null, numbers as numbers.
pub fn to_js<T: ToJson + ?Sized>(value: &T) -> JsValue {
    // What the writer makes always parses.
    JSON::parse(&to_text(value)).unwrap_or(JsValue::UNDEFINED)
}

/// Reads JSON text that the face has made.
pub fn from_js<T: FromJson>(text: &JsValue) -> Option<T> {
    from_text(&text.as_string()?).ok()
}

/// What is put on a shelf. `None`: a record that was not read is not written.
pub fn encode(key: &RecordKey, version: u64, record: &Record) -> Option<JsValue> {
    let Row { id, v, version, record, checksum, scope, due, inbox, sequence, head_reference } =
        Row::new(key, version, record)?;
    // The columns through one text: set one by one, they take longer.
    let mut row = Writer::default();
    row.plain("{");
    row.member("id", &id);
    row.member("v", &v);
    row.member("version", &version);
    row.member("checksum", &checksum);
    // A row without the column is not in its index.
    for (name, text) in [("scope", scope), ("head_reference", head_reference)] {
        text.iter().for_each(|text| row.member(name, text));
    }
    for (name, value) in [("due", due), ("inbox", inbox), ("sequence", sequence)] {
        value.iter().for_each(|value| row.member(name, value));
    }
    row.close('}');
    let row = JSON::parse(&row.finish()).ok()?;
    // But for the record itself, whose every quote would be escaped on the way.
    set(&row, "record", &JsValue::from_str(&record));
    Some(row)
}

/// What was found under a key. A row that exists and cannot be read is [`Record::Undecodable`], never absent.
pub fn decode(key: &RecordKey, row: &JsValue) -> Versioned {
    if row.is_undefined() || row.is_null() {
        return Versioned::ABSENT;
    }
    let number = |name| member(row, name).and_then(|value| value.as_f64());
    let text = |name| member(row, name).and_then(|value| value.as_string()).unwrap_or_default();
    let v = number("v").map_or(0, |v| v as u32);
    let record = Record::from_row(key, v, &text("record"), &text("checksum"));
    Versioned { version: number("version").map_or(1, |version| version as u64), record: Some(record) }
}

/// A member of a row.
pub fn member(row: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(row, &JsValue::from_str(name)).ok()
}
