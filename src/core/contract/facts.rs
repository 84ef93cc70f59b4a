//! What an attempt brought back: the few values a contract names, or the kind of nothing that came.

use core::fmt;

use crate::core::json::{FromJson, Reader, ToJson, Value, Writer, json};
use crate::core::map::SortedMap;

/// The values of one complete answer that a contract's rules can name. Its `Debug` shows none of them (law 11).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub status: u16,
    /// Lower-case, without parameters; `None` where the answer names none.
    pub media_type: Option<String>,
    /// Of the headers the contract names, those that were visible. Cross-origin, an unexposed header is absent, and
    /// absent is unknown (P10).
    pub headers: SortedMap<String, String>,
    /// Of the pointers the contract names, what they resolved to: several values where a pointer has a `*`, never
    /// none and never null.
    pub pointers: SortedMap<String, Vec<FactValue>>,
    pub body_empty: bool,
    /// The body was read as a document, by the platform's JSON or by the app's `decode`.
    pub document: bool,
}

json!(struct Facts { status, media_type, headers, pointers, body_empty, document });

impl Facts {
    /// A header's value, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The first text at a pointer.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.pointers.get(pointer)?.iter().find_map(|value| match value {
            FactValue::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (headers, pointers) = (self.headers.len(), self.pointers.len());
        write!(f, "Facts({}, {headers} headers, {pointers} values)", self.status)
    }
}

/// A value in an answer's body. Its `Debug` shows its kind only (law 11).
#[derive(Clone, PartialEq, Eq)]
pub enum FactValue {
    Text(String),
    Bool(bool),
    /// An integer that a double holds exactly.
    Integer(i64),
    /// A number beyond 2^53 - 1, or a fraction: matches no rule (P5.8).
    Inexact,
    /// An object or an array: it is there, and no text.
    Composite,
}

impl fmt::Debug for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text(..)",
            Self::Bool(_) => "Bool(..)",
            Self::Integer(_) => "Integer(..)",
            Self::Inexact => "Inexact",
            Self::Composite => "Composite",
        })
    }
}

/// As it stood in the body, as far as it is known: an inexact number is null, and what is no text an empty list.
impl ToJson for FactValue {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Text(text) => out.string(text),
            Self::Bool(truth) => truth.write(out),
            // By its bits: the reader knows none below zero.
            Self::Integer(number) => out.integer(number.cast_unsigned()),
            Self::Inexact => out.plain("null"),
            Self::Composite => out.plain("[]"),
        }
    }
}

impl FromJson for FactValue {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        match value {
            Some(Value::Text(text)) => Self::Text(text),
            Some(Value::Bool(truth)) => Self::Bool(truth),
            Some(Value::Integer(number)) => Self::Integer(number.cast_signed()),
            Some(Value::Null) => Self::Inexact,
            other => {
                reader.list(other);
                Self::Composite
            }
        }
    }
}

impl FactValue {
    /// Does this value hold the text a rule names? Integers and booleans by their JSON spelling.
    pub fn is(&self, text: &str) -> bool {
        match self {
            Self::Text(value) => value == text,
            Self::Bool(value) => text == if *value { "true" } else { "false" },
            Self::Integer(value) => text == value.to_string(),
            Self::Inexact | Self::Composite => false,
        }
    }
}

/// Why nothing usable came back. None but [`Forbidden`](Self::Forbidden) says whether the server acted (law 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `fetch` rejected: network, CORS, CSP, DNS and TLS look the same to a page.
    Network,
    /// The attempt's own deadline passed, in the head or in the body.
    Timeout,
    /// An opaque redirect: status 0, no headers (P10). Not followed.
    Redirected,
    /// The head arrived and the body did not.
    Truncated,
    /// The body is larger than [`ANSWER_MAX_BYTES`](crate::core::limits::ANSWER_MAX_BYTES).
    TooLarge,
    /// The stored URL is not one that this queue may send to: nothing left the device.
    Forbidden,
    /// An answer came, and ended two engines that were to record it.
    Undecodable,
}

json!(words Fault {
    Network = "network",
    Timeout = "timeout",
    Redirected = "redirected",
    Truncated = "truncated",
    TooLarge = "too_large",
    Forbidden = "forbidden",
    Undecodable = "undecodable",
});

/// What one attempt brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    Reply(Facts),
    Fault(Fault),
}

/// An object, or a word.
impl ToJson for Observation {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Reply(facts) => facts.write(out),
            Self::Fault(fault) => fault.write(out),
        }
    }
}

impl FromJson for Observation {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        match value {
            Some(Value::Text(_)) => Self::Fault(Fault::read(value, reader)),
            other => Self::Reply(Facts::read(other, reader)),
        }
    }
}

/// The answer as the app gets it. Its `Debug` shows no content (law 11).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Answer {
    pub status: u16,
    pub media_type: Option<String>,
    /// `None`: there was none, or it was too large to keep.
    pub body: Option<String>,
    /// The server's name of what is already there, where the contract knows it.
    pub resource: Option<String>,
}

json!(struct Answer { status, media_type, body, resource });

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({}, {} bytes)", self.status, self.body.as_ref().map_or(0, String::len))
    }
}
