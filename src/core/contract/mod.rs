//! A contract: how one server speaks idempotency, as data. This folder is the only place that reads a status.

mod facts;
mod judge;
mod reading;
mod validate;

#[cfg(all(test, not(target_arch = "wasm32")))]
pub(crate) mod tests;

pub use facts::{Answer, FactValue, Facts, Fault, Observation};
pub use judge::{Judgement, judge};
pub use reading::{AnswerClass, AttemptReading, read, read_polled};
pub use validate::ContractFault;
pub(crate) use validate::{is_credential, is_token};

use serde::{Deserialize, Serialize};

/// How one server speaks idempotency. Always chosen by the app; stored with each intent as a snapshot, so that a
/// deploy cannot change how an old key travels (law 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    pub id: String,
    pub carrier: Carrier,
    pub key: KeyRules,
    /// Where the server repeats the key. A different key there is `conflicting_answers`.
    #[serde(default)]
    pub echo: Option<HeaderName>,
    /// How long the server remembers a key, from the first send.
    pub retention_ms: u64,
    /// How much of the retention is not used, for clocks and for the length of an attempt.
    pub margin_ms: u64,
    pub methods: Vec<Method>,
    pub success: Success,
    /// What marks a stored answer that is given again.
    #[serde(default)]
    pub replay: Option<ReplayMarker>,
    pub refusal: Refusal,
    /// Statuses from in front of the idempotency layer: they never settle (P5.3).
    pub before_layer: Vec<u16>,
    /// Read in order, before the defaults of RFC 9110.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Where the result of a 202 is. Without it, a 202 is held.
    #[serde(default)]
    pub poll: Option<Poll>,
}

/// How the result of an accepted intent is fetched: `GET`, with the key and with credentials. An answer there is
/// evidence only if it carries the key's echo or the replay marker: a status page's 200 says nothing by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// The path to ask where `Location` is not visible; `None`: then the intent is held.
    #[serde(default)]
    pub path: Option<String>,
}

/// How the key travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carrier {
    #[serde(rename = "in")]
    pub place: CarrierPlace,
    /// The header's name.
    pub name: String,
    /// As an RFC 8941 string; else raw.
    #[serde(default)]
    pub quoted: bool,
}

/// Where in a request the key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarrierPlace {
    Header,
}

impl Carrier {
    /// The header's name and its value for a key. Keys hold no character that a quoted string would escape.
    pub fn header(&self, key: &super::key::Key) -> (String, String) {
        let value = if self.quoted { format!("\"{}\"", key.expose()) } else { key.expose().to_owned() };
        (self.name.clone(), value)
    }
}

/// What a key must look like for this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRules {
    pub format: KeyFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyFormat {
    /// A dashed version 4 UUID.
    Uuid,
    /// 32 lower-case hex digits.
    Hex32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderName {
    pub header: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    #[serde(rename = "POST")]
    Post,
    #[serde(rename = "PUT")]
    Put,
    #[serde(rename = "PATCH")]
    Patch,
    #[serde(rename = "DELETE")]
    Delete,
}

impl Method {
    pub const ALL: [Self; 4] = [Self::Post, Self::Put, Self::Patch, Self::Delete];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// The method of that exact name; methods are case-sensitive (RFC 9110 section 9.1).
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }
}

/// What a recognised answer looks like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Success {
    /// Inclusive ranges.
    pub statuses: Vec<(u16, u16)>,
    /// Media types of the server's own answers, without parameters; `+json` matches every structured suffix. An
    /// answer in another type, or with no type where a body is due, is from somebody else.
    pub media_types: Vec<String>,
}

/// A header whose presence with one of these values marks a replay. Compared without case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayMarker {
    pub header: String,
    pub values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub conclusive: ConclusiveWhen,
    /// The transport provably delivers one request once, so that a refusal of unknown standing may be replaced (P5.4).
    #[serde(default)]
    pub single_delivery: bool,
}

/// When a refusal from inside the layer is conclusive (P5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConclusiveWhen {
    /// It carries the key's echo or the replay marker (P5.5).
    Stored,
    /// Only where a rule says so.
    ByRule,
}

/// `when` every named condition holds, the answer is of class `then`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    pub when: When,
    pub then: AnswerClass,
    /// Stored under the key, or a pure function of the request (P5.2). Only for `refused`.
    #[serde(default)]
    pub conclusive: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct When {
    /// Any of these.
    #[serde(default)]
    pub status: Vec<u16>,
    /// With or without the replay marker.
    #[serde(default)]
    pub replayed: Option<bool>,
    /// A JSON pointer (RFC 6901) into the answer's body, and the text it must hold.
    #[serde(default)]
    pub pointer: Option<PointerIs>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointerIs {
    pub at: String,
    pub is: String,
}

impl Contract {
    /// How long after the first send an attempt may still end.
    pub fn window_ms(&self) -> u64 {
        self.retention_ms.saturating_sub(self.margin_ms)
    }

    /// Lower-case names of the headers whose values are facts.
    pub fn fact_headers(&self) -> Vec<String> {
        let named = [self.echo.as_ref().map(|echo| &echo.header), self.replay.as_ref().map(|replay| &replay.header)];
        let mut names: Vec<String> = vec!["retry-after".to_owned(), "date".to_owned()];
        names.extend(named.into_iter().flatten().map(|name| name.to_ascii_lowercase()));
        if self.poll.is_some() {
            names.push("location".to_owned());
        }
        names.dedup();
        names
    }

    /// The JSON pointers whose values are facts.
    pub fn fact_pointers(&self) -> Vec<String> {
        let mut pointers: Vec<String> =
            self.rules.iter().filter_map(|rule| rule.when.pointer.as_ref()).map(|pointer| pointer.at.clone()).collect();
        pointers.sort();
        pointers.dedup();
        pointers
    }
}

/// The contract that ships as `contracts/generic.json`, for tests.
#[cfg(all(test, not(target_arch = "wasm32")))]
pub(crate) fn generic() -> Contract {
    let text = include_str!("../../../contracts/generic.json");
    #[expect(clippy::unwrap_used, reason = "a test fixture")]
    let contract: Contract = serde_json::from_str(text).unwrap();
    contract
}
