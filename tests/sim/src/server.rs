//! The server's half, deciding by the very code of the reference server; and the network's tricks on the way there and
//! back.

#[path = "../../../examples/reference-server/src/decide.rs"]
#[allow(dead_code, unreachable_pub, missing_debug_implementations, reason = "the server's own file")]
pub mod decide;
mod wire;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use intento::core::contract::{Answer, FactValue, Facts, Fault, Finding};
use intento::core::key::{IntentId, ScopeHash};

use crate::crash::{Mishaps, ServerPoint};
use crate::profile::Profile;
use crate::world::RealmNo;
use decide::{End, Fingerprint, PastRetention, Policy, Record, Repetition, State};

/// What becomes of one request.
#[derive(Clone, Debug)]
pub enum Turn {
    /// Paid, or what is stored already.
    Pay,
    /// It never arrives.
    LostOnTheWay,
    /// It never arrives, and nothing tells.
    Swallowed,
    /// It is run, and its answer is lost.
    LostOnReturn,
    /// It is run, and half of its answer comes.
    Truncated,
    /// It arrives after so long.
    Late(u64),
    /// It is delivered again after so long; the first delivery answers.
    Twice(u64),
    /// A refusal that nothing stores; delivered again after so long it is run, and nobody hears of that.
    RefusedOnce(u64),
    /// As [`Twice`](Self::Twice), but only the second delivery answers: the browser sent it again by itself (P5.3).
    Resent(u64),
    /// A refusal that is stored under the key.
    Decline,
    /// A refusal that is stored, and lost on return.
    DeclineLost,
    /// A refusal from behind the layer that nothing stores: the next delivery may get another.
    DeclineUnstored,
    /// The server dies here, and starts again at once.
    Crash(ServerPoint),
    /// The handler outlives its lease.
    Slow(u64),
    /// It is taken, and run; the answer says where its result will be.
    Accept,
    /// Done or not, the server cannot tell: a stored 500.
    Unknown {
        effect: bool,
    },
    /// Somebody answers so; nothing is run.
    Says(Facts),
    Fails(Fault),
}

/// A request under way.
#[derive(Clone, Debug)]
pub struct Packet {
    pub(crate) realm: RealmNo,
    intent: IntentId,
    attempt: u32,
    key: String,
    body: String,
    turn: Turn,
    legs: Legs,
    delivery: Delivery,
}

/// Who waits for the answer to an attempt.
#[derive(Clone, Debug)]
pub struct Waiter {
    pub(crate) realm: RealmNo,
    intent: IntentId,
    attempt: u32,
}

impl Packet {
    fn waiter(&self) -> Waiter {
        Waiter { realm: self.realm, intent: self.intent.clone(), attempt: self.attempt }
    }

    /// Is it the first delivery of a request of this tab?
    pub(crate) fn is_first_of(&self, realm: RealmNo) -> bool {
        self.realm == realm && self.delivery == Delivery::First
    }
}

/// What the network does to a request and to its answer, each by itself, whatever the server makes of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Legs {
    pub out_ms: u64,
    pub lost_out: bool,
    /// It is delivered once more, after so long.
    pub again_ms: Option<u64>,
    pub back_ms: u64,
    pub lost_back: bool,
    /// Something on the way changes the body: a proxy, a captive portal.
    pub altered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    First,
    Again,
}

/// What an answer under a key was, whatever a contract makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Said {
    /// The effect is there, by this very run.
    Done,
    /// It was there before.
    DoneBefore,
    Refused,
    OtherPayload,
    /// Nothing ever happens under this key.
    Sealed,
    /// Nothing that settles.
    Wait,
}

/// Mistakes of a server, for the laws to catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerBug {
    ReapedWithoutTombstone,
    StaleRunCommits,
    EffectBeforeRow,
    SealNotPlanted,
    UnknownRunAgain,
}

impl ServerBug {
    pub const ALL: &[Self] = &[
        Self::ReapedWithoutTombstone,
        Self::StaleRunCommits,
        Self::EffectBeforeRow,
        Self::SealNotPlanted,
        Self::UnknownRunAgain,
    ];

    /// The mistake, in one sentence.
    pub fn what(self) -> &'static str {
        match self {
            Self::ReapedWithoutTombstone => "After its retention a key is forgotten.",
            Self::StaleRunCommits => "A run commits although another holds its reservation.",
            Self::EffectBeforeRow => "The effect is committed apart from the row that says so.",
            Self::SealNotPlanted => "A lookup promises that nothing will happen, and plants no tombstone.",
            Self::UnknownRunAgain => "A run whose effect is unknown is run again.",
        }
    }
}

#[derive(Debug, Default)]
pub struct Server {
    pub profile: Profile,
    pub bug: Option<ServerBug>,
    /// Does the app's question what became of an intent go here? In stories the story answers it.
    pub asks: bool,
    records: BTreeMap<String, Record>,
    tokens: i64,
    pub script: VecDeque<Turn>,
    pub mishaps: Mishaps,
    /// Whose session the browser's cookies are; `None`: there are no cookies. Requests say which scope they are for.
    pub session: Option<ScopeHash>,
    /// Where it died, in order.
    pub crashes: Vec<ServerPoint>,
    /// Keys whose answer is gone.
    pruned: BTreeSet<String>,
    pub work_ms: u64,
    /// Requests that arrived, and runs that were begun.
    pub arrivals: u64,
    pub executions: u64,
    /// Payments made, by decision.
    pub effects: BTreeMap<String, u32>,
    /// Payments made, by key.
    pub effects_of_key: BTreeMap<String, u32>,
    pub keys_of: BTreeMap<String, BTreeSet<String>>,
    /// Keys whose run committed, and whose server died before it answered.
    died_silent: BTreeSet<String>,
    /// Keys for which somebody was told to wait.
    told_to_wait: BTreeSet<String>,
    /// What reached the device, by key.
    pub said: BTreeMap<String, BTreeSet<Said>>,
    in_flight: BTreeSet<(RealmNo, IntentId, u32)>,
}

impl Server {
    fn policy(&self) -> Policy {
        let policy = self.profile.policy();
        match self.bug {
            Some(ServerBug::ReapedWithoutTombstone) => Policy { past_retention: PastRetention::Forgotten, ..policy },
            Some(ServerBug::UnknownRunAgain) => Policy { after_unknown: Repetition::Executed, ..policy },
            _ => policy,
        }
    }

    pub fn plan(&mut self, turns: impl IntoIterator<Item = Turn>) {
        self.script.extend(turns);
    }

    pub fn in_flight(&self, realm: RealmNo) -> usize {
        self.in_flight.iter().filter(|(of, ..)| *of == realm).count()
    }

    /// The sweeper's first step: answers past their retention are erased.
    pub fn prune(&mut self, now_ms: u64) {
        let over = |record: &&Record| matches!(record.state, State::Completed { expires_at, .. } if expires_at <= now_ms as i64);
        let keys = self.records.iter().filter(|(_, record)| over(record)).map(|(key, _)| key.clone());
        self.pruned.extend(keys);
    }

    /// Its second step: what was erased is known to have been used.
    pub fn bury(&mut self) {
        for key in &self.pruned {
            if let Some(record) = self.records.get_mut(key) {
                record.state = State::Tombstone;
            }
        }
    }

    /// Answers that are gone.
    pub fn pruned(&self) -> usize {
        self.pruned.len()
    }

    /// Is this where the server dies of this request?
    fn dies(&mut self, packet: &Packet, point: ServerPoint) -> bool {
        let dies = matches!(packet.turn, Turn::Crash(at) if at == point);
        if dies {
            self.crashes.push(point);
        }
        dies
    }

    /// Has an answer of this kind, under this key, reached the device?
    pub fn has_said(&self, key: &str, what: Said) -> bool {
        self.said.get(key).is_some_and(|said| said.contains(&what))
    }

    /// What is at the place that an answer "taken" named.
    pub fn result(&mut self, key: &str, now_ms: u64) -> Facts {
        match self.records.get(key).map(|record| record.state) {
            Some(State::Completed { end, expires_at, .. }) if (now_ms as i64) < expires_at => {
                self.said.entry(key.to_owned()).or_default().insert(said(end, Said::DoneBefore));
                self.profile.again(end, key)
            }
            Some(State::InProgress { .. }) => json(202),
            _ => json(404),
        }
    }

    /// What the server knows of a key. Where asking seals what was not done, that is for good.
    pub fn look_up(&mut self, key: &str, now_ms: u64) -> Finding {
        let paid = self.effects_of_key.get(key).is_some_and(|count| *count > 0);
        let (finding, seal) = look_up(self.records.get(key), paid, self.profile, now_ms);
        if let Some(record) = seal.filter(|_| self.bug != Some(ServerBug::SealNotPlanted)) {
            self.records.insert(key.to_owned(), record);
        }
        finding
    }
}

/// What a lookup finds, and the record by which it seals the key, if it does.
pub(crate) fn look_up(record: Option<&Record>, paid: bool, profile: Profile, now_ms: u64) -> (Finding, Option<Record>) {
    let state = record.map_or(State::Tombstone, |record| record.state);
    match state {
        _ if paid => (Finding::Applied, None),
        State::Completed { end: End::Unknown, .. } => (Finding::Unknown, None),
        State::InProgress { lease_until, .. } if now_ms < lease_until as u64 => (Finding::Unknown, None),
        _ if !profile.seals() => (Finding::NotFound, None),
        State::InProgress { .. } | State::Completed { .. } | State::Tombstone => {
            let fingerprint = record.and_then(|record| record.fingerprint);
            // What lapsed can no longer commit.
            let state = if matches!(state, State::InProgress { .. }) { State::Tombstone } else { state };
            (Finding::NotApplied, Some(Record { fingerprint, sealed: true, state }))
        }
    }
}

fn said(end: End, done: Said) -> Said {
    match end {
        End::Applied => done,
        End::Refused => Said::Refused,
        End::Unknown => Said::Wait,
    }
}

/// Not SHA-256: what matters here is that equal bodies have equal fingerprints, and others have others.
pub(crate) fn fingerprint(body: &str) -> Fingerprint {
    let mut bytes = [0; 32];
    for (place, byte) in bytes.iter_mut().zip(body.bytes()) {
        *place = byte;
    }
    Fingerprint(bytes)
}

/// What of an answer is kept for the app.
pub(crate) fn answer_of(facts: &Facts) -> Answer {
    let body = (!facts.body_empty).then(|| "{}".to_owned());
    Answer { status: facts.status, media_type: facts.media_type.clone(), body, resource: None }
}

pub fn json(status: u16) -> Facts {
    Facts { status, media_type: Some("application/json".to_owned()), document: true, ..Facts::default() }
}

pub fn html(status: u16) -> Facts {
    Facts { status, media_type: Some("text/html".to_owned()), ..Facts::default() }
}

pub fn with_header(mut facts: Facts, name: &str, value: &str) -> Facts {
    facts.headers.insert(name.to_owned(), value.to_owned());
    facts
}

pub fn with_type(facts: Facts, kind: &str) -> Facts {
    with_value(facts, "/type", kind)
}

pub fn with_value(mut facts: Facts, pointer: &str, text: &str) -> Facts {
    facts.pointers.insert(pointer.to_owned(), vec![FactValue::Text(text.to_owned())]);
    facts
}
