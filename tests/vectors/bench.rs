//! One intent under one contract, over a ledger in a map. Every change goes through `apply`.

use std::collections::BTreeMap;

use intento::core::backoff::Jitter;
use intento::core::change::{Applied, Change, ContractSnapshot, Grant, RecordFacts, Refusal, TakeClaim};
use intento::core::contract::{Answer, CarrierPlace, Contract, KEY_PLACE, Observation};
use intento::core::error::Error;
use intento::core::intent::{IntentRecord, Purpose};
use intento::core::json::to_text;
use intento::core::key::{ChangeId, ContractHash, IntentId, RandomBits, RealmId, ScopeHash};
use intento::core::limits::ATTEMPT_DEADLINE_MS;
use intento::core::record::{Content, Overlay, Record, RecordKey, Stop, Versioned};
use intento::core::submission::{Destinations, ExpiresIn, Reference, StatedBody, Submission, SubmitContext, Target};
use intento::core::time::{Reading, Stamp};
use intento::core::transition::apply;
use serde_json::{Value, json};

use super::vector::Vector;

pub const ORIGIN: &str = "https://api.shop.example";
const START_MS: u64 = 1_800_000_000_000;
/// Refusals in a row that only ask to wait, before a bench gives up: a lease, a floor, a gate.
const WAITS_MAX: usize = 4;

pub struct Bench {
    records: BTreeMap<RecordKey, Versioned>,
    wall_ms: u64,
    intent: IntentId,
    key: String,
    contract: Contract,
    attempts: u32,
    /// After the newest attempt.
    pub seen: Option<Seen>,
}

/// What an attempt brings back.
pub enum Told {
    Facts(Observation, String),
    /// Its realm died: nothing was recorded.
    Nothing,
}

/// The records after an attempt.
pub struct Seen {
    pub intent: IntentRecord,
    pub resource: Option<String>,
    /// How long the server asked to wait.
    pub floor_ms: Option<u64>,
    pub gated: bool,
}

impl Bench {
    /// A ledger with one submitted intent.
    pub fn open(contract: &Contract, vector: &Vector) -> Result<Self, Error> {
        let text = to_text(contract);
        let snapshot = ContractSnapshot { hash: ContractHash::of(&text), contract: contract.clone().into() };
        let base = target("/");
        let context = SubmitContext {
            scope: &ScopeHash::of("user-1"),
            realm: &realm(),
            contract: &snapshot,
            destinations: &Destinations::new(&base, &[])?,
        };
        let submission = Submission {
            operation: "authorize-payment".to_owned(),
            reference: Reference::Named("order-842".to_owned()),
            lane: None,
            method: vector.method.clone(),
            target: target(&vector.path),
            headers: Vec::new(),
            body: (vector.method != "DELETE").then(|| StatedBody::json(body(contract))),
            expires_in: ExpiresIn::Default,
            card_data: false,
        };
        let submit = submission.into_change(context, RandomBits([0x11; 16]), RandomBits([0x5a; 16]))?;
        let mut bench = Self {
            records: BTreeMap::new(),
            wall_ms: START_MS,
            intent: submit.intent.clone(),
            key: submit.key.expose().to_owned(),
            contract: contract.clone(),
            attempts: 0,
            seen: None,
        };
        match bench.apply(&Change::Submit(Box::new(submit))) {
            Ok(_) => Ok(bench),
            Err(refusal) => panic!("a first submit was refused: {refusal:?}"),
        }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn wait(&mut self, ms: u64) {
        self.wall_ms += ms;
    }

    pub fn intent(&self) -> Result<&IntentRecord, String> {
        match self.record(&RecordKey::Intent(self.intent.clone())) {
            Some(Record::Intent(intent)) => Ok(intent),
            _ => Err("the intent is not stored".to_owned()),
        }
    }

    /// The body as it travels.
    pub fn body(&self) -> Result<String, String> {
        match self.record(&RecordKey::Payload(self.intent.clone())) {
            Some(Record::Payload(payload)) => match payload.body.as_ref().map(|body| &body.content) {
                Some(Content::Text(text)) => Ok(text.clone()),
                _ => Err("it has no text for a body".to_owned()),
            },
            _ => Err("the payload is not stored".to_owned()),
        }
    }

    /// Claims to send as soon as `apply` allows it, and records what came. Where it is held or ends instead of being
    /// sent, that is what is seen.
    pub fn attempt(&mut self, told: Told) -> Result<Seen, String> {
        self.attempts += 1;
        let Some(grant) = self.claim()? else { return self.see() };
        let Told::Facts(observation, text) = told else { return self.see() };
        let answer = match &observation {
            Observation::Reply(facts) => {
                let body = (!text.is_empty()).then_some(text);
                Some(Answer { status: facts.status, media_type: facts.media_type.clone(), body, resource: None })
            }
            Observation::Fault(_) => None,
        };
        let change = Change::Record(Box::new(RecordFacts {
            intent: self.intent.clone(),
            attempt: grant.attempt.ok_or("a claim to send makes an attempt")?,
            fence: grant.fence,
            fact: ChangeId::from(format!("fact-{}", self.attempts)),
            observation,
            answer,
            jitter: Jitter(u32::MAX / 2),
        }));
        self.apply(&change).map_err(|refusal| format!("not recorded: {refusal:?}"))?;
        self.see()
    }

    fn claim(&mut self) -> Result<Option<Grant>, String> {
        let due_ms = self.intent()?.due_at_ms.unwrap_or(0);
        self.wall_ms = self.wall_ms.max(due_ms);
        let take = Change::Claim(TakeClaim {
            intent: self.intent.clone(),
            nonce: ChangeId::from(format!("nonce-{}", self.attempts)),
            owner: realm(),
            scope: ScopeHash::of("user-1"),
            purpose: Purpose::Send,
            lock: None,
            attempt_ms: ATTEMPT_DEADLINE_MS,
            windows: self.contract.windows(),
            fresh_credentials: true,
        });
        for _ in 0..WAITS_MAX {
            match self.apply(&take) {
                Ok(Applied::Claimed(grant)) => return Ok(Some(*grant)),
                Ok(Applied::NotGranted(_)) => return Ok(None),
                Err(Refusal::NotBefore { at_ms } | Refusal::Leased { until_ms: at_ms }) => self.wall_ms = at_ms,
                other => return Err(format!("not claimed from {}: {other:?}", super::state_of(self.intent()?))),
            }
        }
        Err("it is never claimed".to_owned())
    }

    fn see(&self) -> Result<Seen, String> {
        let intent = self.intent()?.clone();
        let now = Stamp { at_ms: self.wall_ms, epoch: 0, wall_ms: self.wall_ms };
        let resource = match self.record(&RecordKey::Payload(self.intent.clone())) {
            Some(Record::Payload(payload)) => payload.answer.as_ref().and_then(|(_, answer)| answer.resource.clone()),
            _ => None,
        };
        let gated = match self.record(&RecordKey::Origin(ORIGIN.to_owned())) {
            Some(Record::Origin(origin)) => origin.gate_ends_at_ms(&now).is_some(),
            _ => false,
        };
        let floor_ms = intent.floor_at_ms.map(|floor_at_ms| floor_at_ms.saturating_sub(self.wall_ms));
        Ok(Seen { intent, resource, floor_ms, gated })
    }

    fn record(&self, key: &RecordKey) -> Option<&Record> {
        self.records.get(key).and_then(|versioned| versioned.record.as_ref())
    }

    /// One change in a transaction of its own.
    fn apply(&mut self, change: &Change) -> Result<Applied, Refusal> {
        let reading = Reading::alone(self.wall_ms);
        let mut overlay = Overlay::default();
        let applied = loop {
            match apply(&mut overlay, change, reading) {
                Ok(applied) => break applied,
                Err(Stop::Refused(refusal)) => return Err(refusal),
                Err(Stop::Unread(keys)) => {
                    for key in keys {
                        let found = self.records.get(&key).cloned().unwrap_or(Versioned::ABSENT);
                        overlay.insert(key, found);
                    }
                }
            }
        };
        for (key, record) in overlay.into_commit().1 {
            let version = self.records.get(&key).map_or(0, |found| found.version) + 1;
            self.records.insert(key, Versioned { version, record: Some(record) });
        }
        Ok(applied)
    }
}

fn realm() -> RealmId {
    RealmId::from("realm-a")
}

/// A URL as the platform serialises it: braces in a path are escaped.
fn target(path: &str) -> Target {
    Target {
        href: format!("{ORIGIN}{}", path.replace('{', "%7B").replace('}', "%7D")),
        scheme: "https:".to_owned(),
        host: "api.shop.example".to_owned(),
        origin: ORIGIN.to_owned(),
        has_credentials: false,
    }
}

/// The canonical body of the decision, with the place of the key where the contract wants it.
fn body(contract: &Contract) -> String {
    const PLACE: &str = "the key";
    let mut body = json!({ "amount": 15_000 });
    if contract.carrier.place == CarrierPlace::Body {
        let mut at = &mut body;
        for token in contract.carrier.name.split('/').skip(1) {
            at = &mut at[token];
        }
        *at = Value::from(PLACE);
    }
    body.to_string().replace(&Value::from(PLACE).to_string(), KEY_PLACE)
}
