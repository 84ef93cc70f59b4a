//! What an app gets to know, as the test page passes it on.

use serde::Deserialize;
use serde_json::Value;

/// `IntentSnapshot` of the package.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    pub id: String,
    pub operation: String,
    pub reference: Option<String>,
    pub state: String,
    pub key_hash: String,
    pub cause: Option<String>,
    pub held_reason: Option<String>,
    pub maybe_sent: bool,
    pub safe_to_replace: bool,
    pub next_attempt_at: Option<u64>,
    pub attempt_count: u32,
    pub attempts: Vec<Attempt>,
    pub contradicted: bool,
    pub predecessor: Option<String>,
    pub successor: Option<String>,
}

/// `AttemptView` of the package.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    pub number: u32,
    pub result: String,
    pub status: Option<u16>,
    pub replayed: bool,
    pub retry_after_ms: Option<u64>,
}

/// A submit that was accepted: the intent and its receipt.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Submitted {
    pub intent: Snapshot,
    pub created: bool,
    pub durability: String,
}

/// `Settled` of the package, the members of every kind in one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Settled {
    pub kind: String,
    pub intent: Snapshot,
    pub durable: Option<bool>,
    pub answer: Option<Answer>,
    pub replay: Option<String>,
    pub evidence: Option<String>,
    pub cause: Option<String>,
    pub reason: Option<String>,
    pub remedy: Option<String>,
}

/// The server's answer as the app gets it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    /// The server's name of what was there already.
    pub resource: Option<String>,
}

/// An error as the app catches it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Failure {
    pub name: String,
    pub code: Option<String>,
    pub blame: Option<String>,
    pub remedy: Option<String>,
    pub detail: Option<String>,
    pub message: String,
    pub existing: Option<Snapshot>,
    /// Everything a log could hold of it.
    pub printed: String,
}

/// One thing the app was told, in order.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Told {
    pub by: By,
    pub intent: Snapshot,
}

/// How the app was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Change,
    Settled,
    /// By `onOutcome`.
    Outcome,
}

impl Snapshot {
    /// Its state with its cause or reason: `waiting:network`.
    pub fn standing(&self) -> String {
        let why = self.cause.as_ref().or(self.held_reason.as_ref());
        why.map_or_else(|| self.state.clone(), |why| format!("{}:{why}", self.state))
    }

    /// What each attempt came to, oldest first.
    pub fn results(&self) -> Vec<&str> {
        self.attempts.iter().map(|attempt| attempt.result.as_str()).collect()
    }
}

/// The standings an app was told of one intent, repetitions left out.
pub fn standings(told: &[Told], id: &str) -> Vec<String> {
    let mut standings: Vec<String> =
        told.iter().filter(|told| told.intent.id == id).map(|told| told.intent.standing()).collect();
    standings.dedup();
    standings
}
