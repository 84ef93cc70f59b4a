//! One answer, read by its contract alone. What it means beside the other attempts is [`judge`](super::judge)'s.

use serde::{Deserialize, Serialize};

use super::{ConclusiveWhen, Contract, Facts, Fault, Observation};
use crate::core::key::Key;

/// What kind of answer this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerClass {
    Succeeded,
    /// No effect of this delivery.
    Refused,
    /// The key is known with another payload.
    Mismatched,
    /// 202: taken, the result is to be fetched.
    Accepted,
    /// The key is being worked on, or a 409 of unknown meaning: wait, same key.
    InProgress,
    RateLimited,
    /// Credentials are missing or refused.
    Auth,
    /// Nothing at this address takes this request: wrong URL, method or size.
    Config,
    /// 5xx and its like: never evidence.
    ServerError,
    /// A 5xx that is stored under the key: it will never change (K9).
    StoredError,
    /// An answer this contract has no reading for.
    Unclear,
    /// A captive portal, a proxy, another service worker.
    NotTheServer,
    /// It repeats another key than ours.
    OtherKey,
}

/// One answer or fault, read alone; kept with the attempt so that later facts can be judged beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptReading {
    Answer {
        class: AnswerClass,
        status: u16,
        /// Every delivery of this key, earlier or later, gets the same (P5.2).
        conclusive: bool,
        /// `None`: the marker's header was not visible.
        replayed: Option<bool>,
    },
    Fault {
        fault: Fault,
    },
}

impl AttemptReading {
    /// Could this attempt have had an effect that its answer does not tell?
    pub fn leaves_unknown(&self) -> bool {
        match self {
            Self::Fault { fault } => *fault != Fault::Forbidden,
            Self::Answer { class, .. } => match class {
                AnswerClass::Succeeded
                | AnswerClass::Refused
                | AnswerClass::Mismatched
                | AnswerClass::RateLimited
                | AnswerClass::Auth
                | AnswerClass::Config => false,
                AnswerClass::Accepted
                | AnswerClass::InProgress
                | AnswerClass::ServerError
                | AnswerClass::StoredError
                | AnswerClass::Unclear
                | AnswerClass::NotTheServer
                | AnswerClass::OtherKey => true,
            },
        }
    }
}

/// Reads one observation by its contract.
pub fn read(contract: &Contract, key: &Key, observation: &Observation) -> AttemptReading {
    read_by(contract, key, observation, |class, _| class)
}

/// Reads what came back from a look at the result of an accepted intent: what would settle counts only if it is
/// stored under the key.
pub fn read_polled(contract: &Contract, key: &Key, observation: &Observation) -> AttemptReading {
    read_by(contract, key, observation, |class, marks| match class {
        AnswerClass::Succeeded | AnswerClass::Refused if !marks.stored() => AnswerClass::Unclear,
        class => class,
    })
}

fn read_by(
    contract: &Contract,
    key: &Key,
    observation: &Observation,
    narrow: fn(AnswerClass, &Marks) -> AnswerClass,
) -> AttemptReading {
    match observation {
        Observation::Fault(fault) => AttemptReading::Fault { fault: *fault },
        Observation::Reply(facts) => {
            let marks = Marks::of(contract, key, facts);
            let (class, by_rule) = classify(contract, facts, &marks);
            let class = narrow(class, &marks);
            let conclusive = class == AnswerClass::Refused
                && (by_rule || (contract.refusal.conclusive == ConclusiveWhen::Stored && marks.stored()));
            AttemptReading::Answer { class, status: facts.status, conclusive, replayed: marks.replayed }
        }
    }
}

/// What an answer says of the key it belongs to.
struct Marks {
    echo: Echo,
    replayed: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Absent,
    Ours,
    Other,
}

impl Marks {
    fn of(contract: &Contract, key: &Key, facts: &Facts) -> Self {
        let header = |name: &str| facts.headers.get(&name.to_ascii_lowercase());
        let echo = match contract.echo.as_ref().and_then(|echo| header(&echo.header)) {
            None => Echo::Absent,
            Some(value) if unquoted(value) == key.expose() => Echo::Ours,
            Some(_) => Echo::Other,
        };
        let replayed = contract.replay.as_ref().and_then(|marker| {
            let value = header(&marker.header)?;
            Some(marker.values.iter().any(|marked| marked.eq_ignore_ascii_case(value.trim())))
        });
        Self { echo, replayed }
    }

    fn stored(&self) -> bool {
        self.echo == Echo::Ours || self.replayed == Some(true)
    }
}

/// The class, and whether a rule calls it conclusive. Order: what contradicts, the contract's rules, what comes from
/// in front of the layer, who is speaking, the defaults of RFC 9110 section 15.
fn classify(contract: &Contract, facts: &Facts, marks: &Marks) -> (AnswerClass, bool) {
    if marks.echo == Echo::Other {
        return (AnswerClass::OtherKey, false);
    }
    if let Some(rule) = contract.rules.iter().find(|rule| rule.when.holds(facts, marks.replayed)) {
        return (rule.then, rule.conclusive && rule.then == AnswerClass::Refused);
    }
    let class = if contract.before_layer.contains(&facts.status) {
        in_front_of_the_layer(facts.status)
    } else if !speaks_as_the_server(contract, facts, marks) {
        not_recognised(facts.status)
    } else {
        by_status(contract, facts.status, marks)
    };
    (class, false)
}

fn in_front_of_the_layer(status: u16) -> AnswerClass {
    match status {
        401 | 403 | 407 => AnswerClass::Auth,
        408 | 425 => AnswerClass::ServerError,
        429 => AnswerClass::RateLimited,
        511 => AnswerClass::NotTheServer,
        500..=599 => AnswerClass::ServerError,
        _ => AnswerClass::Config,
    }
}

/// Is this answer in the server's own voice? An echo or a marker proves it; else the media type must be one of the
/// contract's. 204 and 205 have no body to name the type of.
fn speaks_as_the_server(contract: &Contract, facts: &Facts, marks: &Marks) -> bool {
    if marks.stored() || contract.success.media_types.is_empty() || matches!(facts.status, 204 | 205) {
        return true;
    }
    if facts.body_empty {
        return false;
    }
    facts.media_type.as_deref().is_some_and(|media_type| {
        contract.success.media_types.iter().any(|wanted| match wanted.strip_prefix('+') {
            Some(suffix) => media_type.rsplit_once('+').is_some_and(|(_, own)| own == suffix),
            None => wanted == media_type,
        })
    })
}

/// An unrecognised 5xx or 409 is still a reason to wait; anything else unrecognised is not the server.
fn not_recognised(status: u16) -> AnswerClass {
    match status {
        511 => AnswerClass::NotTheServer,
        409 | 423 => AnswerClass::InProgress,
        408 | 425 | 500..=599 => AnswerClass::ServerError,
        _ => AnswerClass::NotTheServer,
    }
}

fn by_status(contract: &Contract, status: u16, marks: &Marks) -> AnswerClass {
    let replayed = marks.replayed == Some(true);
    if contract.success.statuses.iter().any(|(low, high)| (*low..=*high).contains(&status)) {
        return AnswerClass::Succeeded;
    }
    match status {
        202 => AnswerClass::Accepted,
        511 => AnswerClass::NotTheServer,
        500..=599 if replayed => AnswerClass::StoredError,
        408 | 421 | 425 | 500..=599 => AnswerClass::ServerError,
        // An echo alone does not tell a stored 409 from "still working on it"; the marker does.
        409 | 423 if !replayed => AnswerClass::InProgress,
        429 => AnswerClass::RateLimited,
        // "Not found" says nothing of the request unless it was stored under the key: the address may be wrong.
        404 | 405 if !marks.stored() => AnswerClass::Config,
        400..=499 => AnswerClass::Refused,
        _ => AnswerClass::Unclear,
    }
}

impl super::When {
    fn holds(&self, facts: &Facts, replayed: Option<bool>) -> bool {
        (self.status.is_empty() || self.status.contains(&facts.status))
            && self.replayed.is_none_or(|wanted| replayed == Some(wanted))
            && self
                .pointer
                .as_ref()
                .is_none_or(|pointer| facts.pointers.get(&pointer.at).is_some_and(|value| value.is(&pointer.is)))
    }
}

/// The content of an RFC 8941 string, or the value itself. Keys hold nothing that such a string escapes.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}
