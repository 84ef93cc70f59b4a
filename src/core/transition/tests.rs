//! `apply` against its laws and rules. This file is the bench: a ledger in a map, and short ways to say changes.

mod adopt;
mod bounds;
mod claims;
mod contracts;
mod erase;
mod evidence;
mod guard;
mod lanes;
mod parcel;
mod polling;
mod reconcile;
mod rerun;
mod secrets;
mod steering;
mod submits;

use std::collections::BTreeMap;

use crate::core::attempt::AttemptState;
use crate::core::backoff::Jitter;
use crate::core::change::{Applied, Change, ContractSnapshot, Grant, NotSent, RecordFacts, Refusal, Submit, TakeClaim};
use crate::core::contract::{Answer, Contract, Facts, Fault, Method, Observation, generic};
use crate::core::intent::{HeldReason, IntentRecord, Purpose, Request, State};
use crate::core::journal::JournalEvent;
use crate::core::json::to_text;
use crate::core::key::{ChangeId, ContractHash, Fingerprint, IntentId, Key, RandomBits, RealmId, ScopeHash};
use crate::core::limits::{ATTEMPT_DEADLINE_MS, BACKOFF_CAP_MS, LEASE_SLACK_MS};
use crate::core::record::{Body, Content, Overlay, Payload, Record, RecordKey, Stop, Versioned};
use crate::core::time::{LedgerClock, Moment, Reading, RealmClock};
use crate::core::transition::apply;

const HOUR: u64 = 60 * 60 * 1_000;
const START: u64 = 1_800_000_000_000;
const LEASE: u64 = ATTEMPT_DEADLINE_MS + LEASE_SLACK_MS;
const ORIGIN: &str = "https://api.shop.example";

/// A ledger and the clocks of the device. Without a realm its clock is read as by one that has just started.
#[derive(Clone, Debug)]
struct Bench {
    records: BTreeMap<RecordKey, Versioned>,
    wall_ms: u64,
    mono_ms: u64,
    realm: Option<RealmClock>,
    facts: u32,
}

impl Bench {
    fn new() -> Self {
        Self { records: BTreeMap::new(), wall_ms: START, mono_ms: 0, realm: None, facts: 0 }
    }

    /// A bench with one submitted intent.
    fn with(submit: &Submit) -> Self {
        let mut bench = Self::new();
        bench.apply(&Change::Submit(Box::new(submit.clone()))).unwrap();
        bench
    }

    fn wait(&mut self, ms: u64) {
        self.wall_ms += ms;
        self.mono_ms += ms;
    }

    /// From now on one realm follows the clock, as after a reload.
    fn reload(&mut self) {
        let mut realm = RealmClock::new(self.moment());
        realm.adopt(self.clock());
        self.realm = Some(realm);
    }

    fn moment(&self) -> Moment {
        Moment { wall_ms: self.wall_ms, mono_ms: self.mono_ms }
    }

    /// One change in a transaction of its own.
    fn apply(&mut self, change: &Change) -> Result<Applied, Refusal> {
        self.batch(core::slice::from_ref(change)).pop().unwrap()
    }

    /// Several changes in one transaction. Checks what every transaction must keep.
    fn batch(&mut self, changes: &[Change]) -> Vec<Result<Applied, Refusal>> {
        let now = self.moment();
        let alone = Reading::alone(self.wall_ms);
        let reading = self.realm.as_mut().map_or(alone, |realm| realm.read(now));
        let mut overlay = Overlay::default();
        let results = changes.iter().map(|change| {
            loop {
                match apply(&mut overlay, change, reading) {
                    Ok(applied) => return Ok(applied),
                    Err(Stop::Refused(refusal)) => return Err(refusal),
                    Err(Stop::Unread(keys)) => {
                        for key in keys {
                            let found = self.records.get(&key).cloned().unwrap_or(Versioned::ABSENT);
                            overlay.insert(key, found);
                        }
                    }
                }
            }
        });
        let results = results.collect();
        if let (Some(realm), Ok(Some(Record::Clock(clock)))) = (&mut self.realm, overlay.get(&RecordKey::Clock)) {
            realm.adopt(clock.observe(reading));
        }
        let (expected, writes) = overlay.into_commit();
        for (key, record) in writes {
            let version = self.records.get(&key).map_or(0, |found| found.version) + 1;
            if record == Record::Gone {
                self.records.remove(&key);
                continue;
            }
            assert!(version == 1 || expected.contains_key(&key), "{key:?} was replaced unread");
            assert!(version == 1 || !matches!(key, RecordKey::Journal(..)), "a journal only grows");
            self.records.insert(key, Versioned { version, record: Some(record) });
        }
        results
    }

    fn record(&self, key: &RecordKey) -> Option<&Record> {
        self.records.get(key).and_then(|versioned| versioned.record.as_ref())
    }

    fn intent(&self, id: &IntentId) -> IntentRecord {
        match self.record(&RecordKey::Intent(id.clone())) {
            Some(Record::Intent(intent)) => (**intent).clone(),
            other => panic!("no intent: {other:?}"),
        }
    }

    fn only(&self) -> IntentRecord {
        let mut intents = self.records.keys().filter(|key| matches!(key, RecordKey::Intent(_)));
        match (intents.next(), intents.next()) {
            (Some(RecordKey::Intent(id)), None) => self.intent(&id.clone()),
            _ => panic!("not exactly one intent"),
        }
    }

    fn clock(&self) -> LedgerClock {
        match self.record(&RecordKey::Clock) {
            Some(Record::Clock(clock)) => *clock,
            other => panic!("no clock: {other:?}"),
        }
    }

    fn journal(&self, id: &IntentId) -> Vec<JournalEvent> {
        let entries = self.records.iter().filter_map(|(key, versioned)| match (key, &versioned.record) {
            (RecordKey::Journal(of, _), Some(Record::Journal(entry))) if of == id => Some(entry.event.clone()),
            _ => None,
        });
        entries.collect()
    }

    /// Claims to send, under a nonce, once any floor and lease are over.
    fn claim(&mut self, id: &IntentId, nonce: &str) -> Grant {
        let take = TakeClaim { scope: self.intent(id).scope, ..take(id, nonce) };
        match self.apply(&Change::Claim(take)) {
            Ok(Applied::Claimed(grant)) => *grant,
            other => panic!("not granted: {other:?}"),
        }
    }

    /// Records what the attempt of a grant brought.
    fn tell(&mut self, grant: &Grant, observation: Observation) -> IntentRecord {
        self.facts += 1;
        let facts = facts(grant, &format!("fact-{}", self.facts), observation);
        match self.apply(&Change::Record(Box::new(facts))) {
            Ok(Applied::Recorded { intent, .. }) => (*intent).clone(),
            other => panic!("not recorded: {other:?}"),
        }
    }

    /// One whole attempt, then time for the next.
    fn attempt(&mut self, id: &IntentId, observation: Observation) -> IntentRecord {
        let nonce = format!("nonce-{}", self.intent(id).fence + 1);
        let grant = self.claim(id, &nonce);
        let intent = self.tell(&grant, observation);
        self.wait(BACKOFF_CAP_MS);
        intent
    }
}

fn submit(number: u8) -> Submit {
    let bits = |salt: u8| RandomBits(core::array::from_fn(|at| number.wrapping_mul(31).wrapping_add(salt ^ at as u8)));
    let body = format!("{{\"amount\":{number}}}");
    Submit {
        intent: IntentId::new(bits(1)),
        realm: RealmId::from("realm-a"),
        scope: ScopeHash::of("user-1"),
        operation: "authorize-payment".to_owned(),
        reference: Some(format!("order-{number}")),
        lane: None,
        key: Key::render(bits(2), &generic().key),
        contract: snapshot(generic()),
        fingerprint: Fingerprint::of(
            "POST",
            "/payments",
            "authorize-payment",
            "application/json",
            Some(body.as_bytes()),
        ),
        request: Request {
            method: Method::Post,
            url: format!("{ORIGIN}/payments"),
            origin: ORIGIN.to_owned(),
            headers: Vec::new(),
        },
        body: Some(Body { media_type: "application/json".to_owned(), content: Content::Text(body) }),
        expires_in_ms: Some(24 * HOUR),
        card_data: false,
    }
}

fn snapshot(contract: Contract) -> ContractSnapshot {
    let hash = ContractHash::of(&to_text(&contract));
    ContractSnapshot { hash, contract: contract.into() }
}

fn take(id: &IntentId, nonce: &str) -> TakeClaim {
    TakeClaim {
        intent: id.clone(),
        nonce: ChangeId::from(nonce),
        owner: RealmId::from("realm-a"),
        scope: ScopeHash::of("user-1"),
        purpose: Purpose::Send,
        lock: None,
        attempt_ms: ATTEMPT_DEADLINE_MS,
        windows: generic().windows(),
        fresh_credentials: false,
    }
}

fn facts(grant: &Grant, fact: &str, observation: Observation) -> RecordFacts {
    let answer = match &observation {
        Observation::Reply(facts) => Some(Answer {
            status: facts.status,
            media_type: facts.media_type.clone(),
            body: Some("{}".to_owned()),
            resource: None,
        }),
        Observation::Fault(_) => None,
    };
    RecordFacts {
        intent: grant.intent.id.clone(),
        attempt: grant.attempt.unwrap(),
        fence: grant.fence,
        fact: ChangeId::from(fact),
        observation,
        answer,
        jitter: Jitter(u32::MAX / 2),
    }
}

fn not_sent(grant: &Grant) -> Change {
    Change::NotSent(NotSent {
        intent: grant.intent.id.clone(),
        attempt: grant.attempt.unwrap(),
        fence: grant.fence,
        jitter: Jitter(u32::MAX / 2),
    })
}

/// Success, in the server's own voice.
fn paid(submit: &Submit) -> Observation {
    Observation::Reply(Facts {
        status: 201,
        media_type: Some("application/json".to_owned()),
        headers: [("idempotency-key".to_owned(), submit.key.expose().to_owned())].into(),
        ..Facts::default()
    })
}
