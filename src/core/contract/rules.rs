//! What a contract's rules ask of an answer.

use super::{AnswerClass, FactValue, Facts};
use crate::core::json::json;

/// `when` every named condition holds, the answer is of class `then`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub when: When,
    pub then: AnswerClass,
    /// Stored under the key, or a pure function of the request (P5.2). Only for `rejected`.
    pub conclusive: bool,
    /// Only for `already_done`: a JSON pointer to the server's name of what is already there.
    pub resource: Option<String>,
}

json!(struct Rule { when, then, conclusive: default, resource });

/// Every condition that is named must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// Any of these.
    pub status: Vec<u16>,
    /// With or without the replay marker.
    pub replayed: Option<bool>,
    pub header: Option<HeaderIs>,
    pub pointer: Option<PointerIs>,
}

json!(struct When { status: default, replayed, header, pointer });

/// A header, and the values it may have, compared without case; none named: it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderIs {
    pub name: String,
    pub is: Vec<String>,
}

json!(struct HeaderIs { name, is: default });

/// A JSON pointer (RFC 6901) into the answer's body, and the texts it may hold; none named: there is something other
/// than null. The token `*` stands for every element of an array and every member of an object; one that fits is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerIs {
    pub at: String,
    pub is: Vec<String>,
}

json!(struct PointerIs { at, is: default });

/// A header in which a server says whether asking again helps. Other values, and silence, say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryHint {
    pub header: String,
    /// Values that mean: again, with the same key.
    pub retry: Vec<String>,
    /// Values that mean: asking again brings the same.
    pub stop: Vec<String>,
}

json!(struct RetryHint { header, retry: default, stop: default });

impl When {
    pub(super) fn holds(&self, facts: &Facts, replayed: Option<bool>) -> bool {
        self.fits_status(facts.status)
            && self.replayed.is_none_or(|wanted| replayed == Some(wanted))
            && self.header.as_ref().is_none_or(|header| header.holds(facts))
            && self.pointer.as_ref().is_none_or(|pointer| pointer.holds(facts))
    }

    /// Does it look at more than the status and the marker?
    pub(super) fn looks_inside(&self) -> bool {
        self.header.is_some() || self.pointer.is_some()
    }

    pub(super) fn fits_status(&self, status: u16) -> bool {
        self.status.is_empty() || self.status.contains(&status)
    }
}

impl HeaderIs {
    fn holds(&self, facts: &Facts) -> bool {
        facts.header(&self.name).is_some_and(|value| self.is.is_empty() || names(&self.is, value))
    }
}

impl PointerIs {
    pub(super) fn holds(&self, facts: &Facts) -> bool {
        let fits = |value: &FactValue| self.is.is_empty() || self.is.iter().any(|text| value.is(text));
        facts.pointers.get(&self.at).is_some_and(|values| values.iter().any(fits))
    }
}

/// What a server's hint asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    Retry,
    Stop,
}

impl RetryHint {
    pub(super) fn advice(&self, facts: &Facts) -> Option<Advice> {
        let value = facts.header(&self.header)?;
        if names(&self.retry, value) { Some(Advice::Retry) } else { names(&self.stop, value).then_some(Advice::Stop) }
    }
}

pub(super) fn names(values: &[String], value: &str) -> bool {
    values.iter().any(|wanted| wanted.eq_ignore_ascii_case(value.trim()))
}
