//! A vector as it is written in `tests/contracts/*.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    pub contract: String,
    pub vectors: Vec<Vector>,
}

/// One vector, of one of the kinds of [`Kind`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Vector {
    /// A sentence for people: why it is so.
    pub name: String,
    /// Where the provider, or HTTP, says so.
    pub source: String,
    #[serde(default = "post")]
    pub method: String,
    /// The contract's place of the key in braces, where it stands in the path.
    #[serde(default = "payments")]
    pub path: String,

    /// The attempts before.
    #[serde(default)]
    pub history: Vec<Step>,
    /// What the last attempt brings: an answer, or a fault, or nothing that was recorded.
    pub answer: Option<Reply>,
    pub fault: Option<String>,
    /// How long after the attempt before it the last one is claimed.
    #[serde(default)]
    pub after_ms: u64,
    pub then: Option<Then>,

    pub wire: Option<Wire>,
    /// The code of the error that a submission gets.
    pub error: Option<String>,
    /// A change to the contract that makes it one that is refused.
    pub refused: Option<Value>,
    /// The field that the refusal names.
    pub field: Option<String>,
    /// An answer to the contract's lookup.
    pub lookup: Option<Reply>,
    pub finding: Option<String>,
}

pub enum Kind<'a> {
    Verdict(&'a Then),
    Wire(&'a Wire),
    NotSubmitted(&'a str),
    Refused { change: &'a Value, field: &'a str },
    Lookup { answer: &'a Reply, finding: &'a str },
}

/// One attempt: what it brings, and how long after the one before it is claimed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Step {
    pub answer: Option<Reply>,
    /// A [`Fault`](intento::core::contract::Fault) by its stored name, or neither: its realm died.
    pub fault: Option<String>,
    #[serde(default)]
    pub after_ms: u64,
}

/// An answer. `{key}` in a header or in the body is the intent's key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Reply {
    pub status: u16,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// `application/json` where there is a JSON body and this is absent.
    pub media_type: Option<String>,
    /// A JSON body.
    pub body: Option<Value>,
    /// A body that is no JSON.
    pub text: Option<String>,
    /// What the app's `decode` makes of `text`.
    pub decoded: Option<Value>,
}

/// The record after the last attempt. Members that are absent are absent from the record, too; `evidence` of a success
/// is always an answer here.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Then {
    pub state: String,
    pub cause: Option<String>,
    pub reason: Option<String>,
    pub replay: Option<String>,
    pub evidence: Option<String>,
    #[serde(default)]
    pub safe_to_replace: bool,
    /// The floor that the server's words put under the next attempt.
    pub waits_at_least_ms: Option<u64>,
    /// Nothing is sent to this origin for now.
    #[serde(default)]
    pub gated: bool,
    pub resource: Option<String>,
}

/// How the key travels; `{key}` is the key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Wire {
    pub header: Option<Value>,
    pub first_sent: Option<String>,
    pub url: Option<String>,
    pub body: Option<Value>,
    pub key: Option<KeyLooks>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyLooks {
    pub length: usize,
    /// The characters it is made of.
    pub of: String,
}

impl Vector {
    pub fn kind(&self) -> Result<Kind<'_>, String> {
        match self {
            Self { then: Some(then), wire: None, error: None, refused: None, lookup: None, .. } => {
                Ok(Kind::Verdict(then))
            }
            Self { then: None, wire: Some(wire), error: None, refused: None, lookup: None, .. } => Ok(Kind::Wire(wire)),
            Self { then: None, wire: None, error: Some(code), refused: None, lookup: None, .. } => {
                Ok(Kind::NotSubmitted(code))
            }
            Self { then: None, wire: None, error: None, refused: Some(change), field: Some(field), .. } => {
                Ok(Kind::Refused { change, field })
            }
            Self {
                then: None,
                wire: None,
                error: None,
                refused: None,
                lookup: Some(answer),
                finding: Some(it),
                ..
            } => Ok(Kind::Lookup { answer, finding: it }),
            _ => Err("it is of no kind, or of several".to_owned()),
        }
    }

    /// Every attempt, the last one too.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let last = Step { answer: self.answer.clone(), fault: self.fault.clone(), after_ms: self.after_ms };
        self.history.iter().cloned().chain([last])
    }
}

impl Then {
    /// A vector that says too little could not fail.
    pub fn complete(&self) -> Result<(), String> {
        let says = match self.state.as_str() {
            "waiting" => self.cause.is_some(),
            "held" => self.reason.is_some(),
            "succeeded" => self.replay.is_some(),
            "rejected" => self.evidence.is_some(),
            _ => true,
        };
        if says { Ok(()) } else { Err(format!("it must say more of {}", self.state)) }
    }
}

impl Reply {
    pub fn with_key(&self, key: &str) -> Self {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.replace("{key}", key)));
        let body = self.body.as_ref().map(|body| filled(body, key));
        Self { headers: headers.collect(), body, ..self.clone() }
    }

    /// The body as it travels; empty: there is none.
    pub fn text(&self) -> String {
        self.body.as_ref().map_or_else(|| self.text.clone().unwrap_or_default(), Value::to_string)
    }

    pub fn content_type(&self) -> Option<String> {
        let json = self.body.as_ref().map(|_| "application/json".to_owned());
        self.media_type.clone().or(json)
    }
}

/// A value with the key in its texts.
pub fn filled(value: &Value, key: &str) -> Value {
    match value {
        Value::String(text) => Value::from(text.replace("{key}", key)),
        Value::Array(elements) => elements.iter().map(|element| filled(element, key)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), filled(member, key)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn post() -> String {
    "POST".to_owned()
}

fn payments() -> String {
    "/payments".to_owned()
}
