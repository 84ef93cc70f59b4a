//! The server's half as a model: reserves a key, runs once, stores the answer, replays it. And the network's tricks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use intento::core::contract::{Answer, Facts, Fault, Observation};
use intento::core::effect::Dispatch;
use intento::core::input::Input;
use intento::core::key::IntentId;
use intento::core::record::Content;

use super::{Event, RealmNo, World};

/// What becomes of one request.
#[derive(Clone, Debug)]
pub enum Turn {
    /// Paid, or what is stored already.
    Pay,
    /// It never arrives.
    LostOnTheWay,
    /// It is run, and its answer is lost.
    LostOnReturn,
    /// It is run, and half of its answer comes.
    Truncated,
    /// It arrives after so long.
    Late(u64),
    /// It is delivered again after so long; the first delivery answers.
    Twice(u64),
    /// A refusal that is stored under the key.
    Decline,
    /// A refusal that is stored, and lost on return.
    DeclineLost,
    /// A refusal that nothing stores.
    DeclineUnstored,
    /// Somebody answers so; nothing is run.
    Says(Facts),
    Fails(Fault),
}

/// A request under way.
#[derive(Clone, Debug)]
pub struct Packet {
    realm: RealmNo,
    intent: IntentId,
    attempt: u32,
    key: String,
    body: String,
    turn: Turn,
    delivery: Delivery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    First,
    Again,
}

#[derive(Clone, Debug)]
enum Known {
    Busy,
    Stored(u16),
}

#[derive(Default)]
pub struct Server {
    known: BTreeMap<String, Known>,
    pub script: VecDeque<Turn>,
    /// After the script: a random turn, or a plain one.
    pub chaos: bool,
    pub work_ms: u64,
    /// Requests that arrived, and runs that were begun.
    pub arrivals: u64,
    pub executions: u64,
    /// Payments made, by decision.
    pub effects: BTreeMap<String, u32>,
    pub keys_of: BTreeMap<String, BTreeSet<String>>,
    in_flight: BTreeSet<(RealmNo, IntentId, u32)>,
}

impl Server {
    pub fn plan(&mut self, turns: impl IntoIterator<Item = Turn>) {
        self.script.extend(turns);
    }

    pub fn in_flight(&self, realm: RealmNo) -> usize {
        self.in_flight.iter().filter(|(of, ..)| *of == realm).count()
    }
}

impl World {
    pub(super) fn send(&mut self, realm: RealmNo, dispatch: Dispatch) {
        let carried = dispatch.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"));
        let key = carried.map(|(_, value)| value.clone()).unwrap_or_default();
        let body = match dispatch.body {
            Some(Content::Text(text)) => text,
            Some(Content::Bytes(_)) | None => String::new(),
        };
        let turn = self.next_turn();
        let (intent, attempt) = (dispatch.intent, dispatch.attempt);
        self.server.keys_of.entry(body.clone()).or_default().insert(key.clone());
        self.server.in_flight.insert((realm, intent.clone(), attempt));
        let packet = Packet { realm, intent, attempt, key, body, turn, delivery: Delivery::First };
        self.at(self.now_ms + dispatch.deadline_ms, Event::Deadline(packet.clone()));
        if !self.network.up {
            return self.answer(&packet, Observation::Fault(Fault::Network));
        }
        match packet.turn.clone() {
            Turn::LostOnTheWay => self.answer(&packet, Observation::Fault(Fault::Network)),
            Turn::Fails(fault) => self.answer(&packet, Observation::Fault(fault)),
            Turn::Says(facts) => self.answer(&packet, Observation::Reply(facts)),
            Turn::Late(ms) => self.at(self.now_ms + ms, Event::Arrive(packet)),
            Turn::Twice(ms) => {
                let again = Packet { delivery: Delivery::Again, ..packet.clone() };
                self.at(self.now_ms + ms, Event::Arrive(again));
                self.later(Event::Arrive(packet));
            }
            _ => self.later(Event::Arrive(packet)),
        }
    }

    fn next_turn(&mut self) -> Turn {
        if let Some(turn) = self.server.script.pop_front() {
            return turn;
        }
        if !self.server.chaos {
            return Turn::Pay;
        }
        match self.dice.roll(20) {
            0..=3 => Turn::LostOnReturn,
            4 | 5 => Turn::LostOnTheWay,
            6 => Turn::Truncated,
            7 => Turn::Late(self.dice.roll(120_000)),
            8 | 9 => Turn::Twice(self.dice.roll(60_000)),
            10 | 11 => Turn::Says(json(503)),
            12 => Turn::Says(with_header(json(429), "retry-after", "3")),
            13 => Turn::Says(html(200)),
            14 => Turn::DeclineUnstored,
            15 => Turn::DeclineLost,
            _ => Turn::Pay,
        }
    }

    pub(super) fn arrive(&mut self, packet: Packet) {
        self.server.arrivals += 1;
        match self.server.known.get(&packet.key) {
            Some(Known::Stored(status)) => {
                let replayed = with_header(json(*status), "idempotent-replayed", "true");
                let replayed = with_header(replayed, "idempotency-key", &packet.key);
                self.reply(&packet, replayed);
            }
            Some(Known::Busy) => self.reply(&packet, with_header(json(409), "retry-after", "1")),
            None => match packet.turn {
                Turn::DeclineUnstored => self.reply(&packet, json(402)),
                Turn::Decline | Turn::DeclineLost => {
                    self.server.executions += 1;
                    self.server.known.insert(packet.key.clone(), Known::Stored(402));
                    self.reply(&packet, with_header(json(402), "idempotency-key", &packet.key));
                }
                _ => {
                    self.server.executions += 1;
                    self.server.known.insert(packet.key.clone(), Known::Busy);
                    self.at(self.now_ms + self.server.work_ms, Event::Complete(packet));
                }
            },
        }
    }

    pub(super) fn complete(&mut self, packet: Packet) {
        *self.server.effects.entry(packet.body.clone()).or_default() += 1;
        self.server.known.insert(packet.key.clone(), Known::Stored(201));
        self.reply(&packet, with_header(json(201), "idempotency-key", &packet.key));
    }

    fn reply(&mut self, packet: &Packet, facts: Facts) {
        let observation = match packet.turn {
            _ if packet.delivery == Delivery::Again => return,
            Turn::LostOnReturn | Turn::DeclineLost => Observation::Fault(Fault::Network),
            Turn::Truncated => Observation::Fault(Fault::Truncated),
            _ => Observation::Reply(facts),
        };
        self.answer(packet, observation);
    }

    fn answer(&mut self, packet: &Packet, observation: Observation) {
        let wait = self.latency();
        let (realm, intent) = (packet.realm, packet.intent.clone());
        if self.server.in_flight.remove(&(realm, intent.clone(), packet.attempt)) {
            let answer = answer_of(&observation);
            self.at(self.now_ms + wait, Event::Input(realm, Input::Fetched { intent, observation, answer }));
        }
    }

    /// The attempt's own deadline, unless something came before.
    pub(super) fn fetched(&mut self, packet: &Packet, observation: Observation) {
        self.answer(packet, observation);
    }
}

fn answer_of(observation: &Observation) -> Option<Answer> {
    match observation {
        Observation::Reply(facts) => Some(Answer {
            status: facts.status,
            media_type: facts.media_type.clone(),
            body: (!facts.body_empty).then(|| "{}".to_owned()),
            resource: None,
        }),
        Observation::Fault(_) => None,
    }
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
