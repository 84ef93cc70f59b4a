//! The network of the search and its server, which decides by the reference server's own code.

use std::fmt;

use intento::core::contract::{Facts, Fault, Finding, Observation};
use intento::core::input::Input;

use super::world::{Event, World};
use crate::decisions::body;
use crate::profile::Profile;
use crate::server::decide::{Decision, End, Record, State, Token, decide};
use crate::server::{answer_of, fingerprint, json, look_up, with_header, with_type};
use crate::world::RealmNo;

/// The number of no realm.
const NOBODY: RealmNo = 0;

/// A request, and then its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// The realm that waits for the answer; 0: nobody does.
    pub(super) waiter: RealmNo,
    pub(super) attempt: u32,
    /// Was it sent under the intent's lock?
    pub(super) locked: bool,
    /// When the lease that it was sent under ends, by the clock of the realm that sent it.
    pub(super) lease_until_ms: u64,
    pub(super) deadline_ms: u64,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// `late`: nobody waits for it to arrive any more; it may, at any time.
    Travelling {
        late: bool,
    },
    /// The server has reserved the key for it.
    Running {
        token: Token,
    },
    Answered(Reply),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    First(End),
    Again(End),
    InProgress,
    Expired,
    Sealed,
    Unstored,
    /// A run that lost its reservation.
    Busy,
    NetworkFault,
}

/// What the server knows of the one key.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    pub(super) record: Option<Record>,
    tokens: i64,
    pub(super) effects: u32,
}

impl Server {
    pub(super) fn lease_until_ms(&self) -> Option<u64> {
        match self.record.as_ref()?.state {
            State::InProgress { lease_until, .. } => Some(lease_until as u64),
            State::Completed { .. } | State::Tombstone => None,
        }
    }

    pub(super) fn look_up(&mut self, now_ms: u64) -> Finding {
        let (finding, seal) = look_up(self.record.as_ref(), self.effects > 0, Profile::Conforming, now_ms);
        self.record = seal.or(self.record.take());
        finding
    }

    pub(super) fn holds(&self, token: Token) -> bool {
        let holder = self.record.as_ref().filter(|record| !record.sealed).map(|record| record.state);
        matches!(holder, Some(State::InProgress { token: holder, .. }) if holder == token)
    }

    pub(super) fn standing(&self, now_ms: u64) -> String {
        let Some(record) = &self.record else { return "absent".to_owned() };
        let state = match record.state {
            State::InProgress { lease_until, .. } if lease_until as u64 <= now_ms => "lapsed".to_owned(),
            State::InProgress { .. } => "in progress".to_owned(),
            State::Completed { end, .. } => format!("completed, {end:?}"),
            State::Tombstone => "tombstone".to_owned(),
        };
        if record.sealed { format!("{state}, sealed") } else { state }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let awaited = if self.waiter == NOBODY { ", nobody waits" } else { "" };
        write!(f, "request {} ({:?}{awaited})", self.attempt, self.stage)
    }
}

impl World {
    /// What the network and the server do by themselves, in the order in which a fair world does it.
    pub(super) fn enabled_on_the_wire(&self, events: &mut Vec<Event>) {
        for (place, packet) in (0..).zip(&self.packets) {
            match packet.stage {
                Stage::Travelling { late: false } => events.push(Event::Arrive(place)),
                Stage::Running { token } => {
                    events.push(Event::Complete(place, End::Applied));
                    if self.server.holds(token) {
                        events.push(Event::Complete(place, End::Refused));
                    }
                }
                Stage::Answered(_) if self.waits(packet) => events.push(Event::Answer(place)),
                Stage::Travelling { late: true } | Stage::Answered(_) => {}
            }
            if packet.deadline_ms <= self.now_ms && self.waits(packet) {
                events.push(Event::Deadline(place));
            }
        }
    }

    pub(super) fn enabled_faults(&self, events: &mut Vec<Event>) {
        // What is late may come at any time, and costs nothing more.
        let late = (0..).zip(&self.packets).filter(|(_, it)| matches!(it.stage, Stage::Travelling { late: true }));
        events.extend(late.map(|(place, _)| Event::Arrive(place)));
        if self.left.faults == 0 {
            return;
        }
        for (place, packet) in (0..).zip(&self.packets) {
            match packet.stage {
                Stage::Travelling { late: false } => {
                    events.extend([Event::LoseRequest(place), Event::Double(place), Event::Delay(place)]);
                    if matches!(self.decision(), Decision::Execute | Decision::TakeOver { .. }) {
                        events.push(Event::RefuseUnstored(place));
                    }
                }
                Stage::Running { .. } => events.push(Event::ServerDies(place)),
                Stage::Answered(reply) if reply != Reply::NetworkFault => events.push(Event::LoseAnswer(place)),
                Stage::Travelling { late: true } | Stage::Answered(_) => {}
            }
        }
        let completed = self.server.record.as_ref().is_some_and(|it| matches!(it.state, State::Completed { .. }));
        if completed {
            events.push(Event::Prune);
        }
    }

    /// Does a realm that runs wait for it?
    fn waits(&self, packet: &Packet) -> bool {
        self.side_of(packet.waiter).is_some_and(|side| self.realm(side).is_awake())
    }

    fn decision(&self) -> Decision {
        let policy = Profile::Conforming.policy();
        decide(self.server.record.as_ref(), self.now_ms as i64, fingerprint(&body(0)), policy)
    }

    pub(super) fn arrive(&mut self, place: u8) {
        match self.decision() {
            Decision::Execute | Decision::TakeOver { .. } | Decision::Again { .. } => self.reserve(place),
            Decision::Replay => {
                let end = match self.server.record.as_ref().map(|record| record.state) {
                    Some(State::Completed { end, .. }) => end,
                    _ => End::Unknown,
                };
                self.reply(place, Reply::Again(end));
            }
            Decision::InProgress => self.reply(place, Reply::InProgress),
            Decision::Expired => self.reply(place, Reply::Expired),
            Decision::Sealed => self.reply(place, Reply::Sealed),
            Decision::Mismatch => panic!("law 2: the server got another payload"),
        }
    }

    /// T0: the right to run, before anything is run.
    fn reserve(&mut self, place: u8) {
        self.server.tokens += 1;
        let token = Token(self.server.tokens);
        let lease_until = (self.now_ms + Profile::Conforming.lease_ms()) as i64;
        let state = State::InProgress { token, lease_until };
        self.server.record = Some(Record { fingerprint: Some(fingerprint(&body(0))), sealed: false, state });
        self.packets[usize::from(place)].stage = Stage::Running { token };
    }

    /// T1: effect, answer and the end of the reservation, together, if the reservation is still this run's.
    pub(super) fn complete(&mut self, place: u8, end: End) {
        let Stage::Running { token } = self.packets[usize::from(place)].stage else { return };
        if !self.server.holds(token) {
            return self.reply(place, Reply::Busy);
        }
        let expires_at = (self.now_ms + Profile::Conforming.retention_ms()) as i64;
        if let Some(record) = &mut self.server.record {
            record.state = State::Completed { token, end, expires_at };
        }
        self.server.effects += u32::from(end == End::Applied);
        assert!(self.server.effects <= 1, "two effects under one key");
        self.check_the_outcome();
        self.reply(place, Reply::First(end));
    }

    fn reply(&mut self, place: u8, reply: Reply) {
        let packet = &mut self.packets[usize::from(place)];
        packet.stage = Stage::Answered(reply);
        if packet.waiter == NOBODY {
            self.packets.remove(usize::from(place));
        }
    }

    pub(super) fn fault(&mut self, fault: Event) {
        match fault {
            Event::LoseRequest(place) | Event::LoseAnswer(place) | Event::ServerDies(place) => {
                self.reply(place, Reply::NetworkFault);
            }
            Event::Double(place) => {
                let packet = self.packets[usize::from(place)];
                let double = Packet { waiter: NOBODY, stage: Stage::Travelling { late: true }, ..packet };
                self.packets.push(double);
            }
            Event::Delay(place) => self.packets[usize::from(place)].stage = Stage::Travelling { late: true },
            Event::RefuseUnstored(place) => self.reply(place, Reply::Unstored),
            Event::Prune => {
                if let Some(record) = &mut self.server.record {
                    record.state = State::Tombstone;
                }
            }
            _ => unreachable!("no fault: {fault:?}"),
        }
    }

    pub(super) fn answer(&mut self, place: u8) {
        let packet = self.packets[usize::from(place)];
        let Stage::Answered(reply) = packet.stage else { return };
        self.packets.remove(usize::from(place));
        let observation = self.observed(reply);
        self.fetched(packet.waiter, observation);
    }

    pub(super) fn deadline(&mut self, place: u8) {
        let packet = &mut self.packets[usize::from(place)];
        let waiter = core::mem::replace(&mut packet.waiter, NOBODY);
        if matches!(packet.stage, Stage::Answered(_)) {
            self.packets.remove(usize::from(place));
        }
        self.fetched(waiter, Observation::Fault(Fault::Timeout));
    }

    fn fetched(&mut self, waiter: RealmNo, observation: Observation) {
        let Some(side) = self.side_of(waiter) else { return };
        let answer = match &observation {
            Observation::Reply(facts) => Some(answer_of(facts)),
            Observation::Fault(_) => None,
        };
        self.feed(side, Input::Fetched { intent: (*self.id).clone(), observation, answer });
    }

    /// Nobody waits any more for what this realm has sent.
    pub(super) fn forget_waiter(&mut self, number: RealmNo) {
        for packet in self.packets.iter_mut().filter(|packet| packet.waiter == number) {
            packet.waiter = NOBODY;
        }
        self.packets.retain(|packet| packet.waiter != NOBODY || !matches!(packet.stage, Stage::Answered(_)));
    }

    fn observed(&self, reply: Reply) -> Observation {
        let key = self.intent.as_ref().map_or("", |intent| intent.key.expose());
        let profile = Profile::Conforming;
        let facts: Facts = match reply {
            Reply::First(end) => profile.first(end, key),
            Reply::Again(end) => profile.again(end, key),
            // As long as a lease, so that asking again is worth while.
            Reply::InProgress => with_header(json(409), "retry-after", "60"),
            Reply::Expired => with_type(json(410), "urn:intento:problem:key-expired"),
            Reply::Sealed => {
                with_header(with_type(json(410), "urn:intento:problem:key-sealed"), "idempotency-key", key)
            }
            Reply::Unstored => profile.unstored_refusal(),
            Reply::Busy => json(503),
            Reply::NetworkFault => return Observation::Fault(Fault::Network),
        };
        Observation::Reply(facts)
    }
}
