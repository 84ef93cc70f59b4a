//! A contract alone: what it must be, and what it makes of answers. This file is the fixtures with which other tests make
//! answers, too.

mod judging;
mod reading;
mod terms;
mod validating;

use super::{AnswerClass, AttemptReading, Contract, FactValue, Facts, Observation, generic, read};
use crate::core::key::{Key, RandomBits};

/// An answer with a JSON body.
pub(crate) fn json(status: u16) -> Facts {
    Facts { status, media_type: Some("application/json".to_owned()), document: true, ..Facts::default() }
}

pub(crate) fn html(status: u16) -> Facts {
    Facts { status, media_type: Some("text/html".to_owned()), ..Facts::default() }
}

pub(crate) fn with_header(mut facts: Facts, name: &str, value: &str) -> Facts {
    facts.headers.insert(name.to_owned(), value.to_owned());
    facts
}

pub(crate) fn echoing(facts: Facts, key: &Key) -> Facts {
    with_header(facts, "idempotency-key", key.expose())
}

pub(crate) fn marked(facts: Facts) -> Facts {
    with_header(facts, "idempotent-replayed", "true")
}

pub(crate) fn with_value(mut facts: Facts, pointer: &str, value: FactValue) -> Facts {
    facts.pointers.insert(pointer.to_owned(), vec![value]);
    facts.document = true;
    facts
}

pub(crate) fn mismatch(status: u16) -> Facts {
    with_value(json(status), "/type", FactValue::Text("urn:intento:problem:payload-mismatch".to_owned()))
}

fn key() -> Key {
    Key::render(RandomBits([0x5a; 16]), &generic().key)
}

fn reading(facts: Facts) -> AttemptReading {
    read(&generic(), &key(), &Observation::Reply(facts))
}

fn class(facts: Facts) -> AnswerClass {
    match reading(facts) {
        AttemptReading::Answer { class, .. } => class,
        AttemptReading::Fault { .. } => unreachable!("an answer is read as an answer"),
    }
}

fn is_conclusive(facts: Facts) -> bool {
    matches!(reading(facts), AttemptReading::Answer { conclusive: true, .. })
}
