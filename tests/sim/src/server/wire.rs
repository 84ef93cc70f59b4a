//! A request's way: to the server, through its transactions, and back.

use core::mem::take;

use intento::core::contract::{Facts, Fault, Observation};
use intento::core::effect::Dispatch;
use intento::core::input::Input;
use intento::core::record::Content;

use super::decide::{Decision, End, Record, State, Token, decide};
use super::{
    Delivery, Packet, Said, ServerBug, Turn, Waiter, answer_of, fingerprint, json, said, with_header, with_type,
};
use crate::crash::ServerPoint;
use crate::realms::scope_hash;
use crate::world::{Event, ORIGIN, RealmNo, World};

impl World {
    pub(crate) fn send(&mut self, realm: RealmNo, dispatch: Dispatch) {
        let carried = dispatch.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"));
        let key = carried.map(|(_, value)| value.trim_matches('"').to_owned()).unwrap_or_default();
        let body = match dispatch.body {
            Some(Content::Text(text)) => text,
            Some(Content::Bytes(_)) | None => String::new(),
        };
        let mut turn = self.server.script.pop_front().unwrap_or_else(|| self.storm.turn());
        let again_ms = self.server.mishaps.repeated_after_ms.take();
        if take(&mut self.server.mishaps.request_lost) {
            turn = Turn::Swallowed;
        }
        let (intent, attempt) = (dispatch.intent, dispatch.attempt);
        self.server.keys_of.entry(body.clone()).or_default().insert(key.clone());
        self.server.in_flight.insert((realm, intent.clone(), attempt));
        let legs = self.storm.legs();
        let mut packet = Packet { realm, intent, attempt, key, body, turn, legs, delivery: Delivery::First };
        self.at(self.now_ms + dispatch.deadline_ms, Event::Answer(packet.waiter(), Observation::Fault(Fault::Timeout)));
        if !self.network.up {
            return self.answer(&packet, Observation::Fault(Fault::Network));
        }
        if let Some(ms) = legs.again_ms {
            let again = Packet { delivery: Delivery::Again, ..packet.clone() };
            self.at(self.now_ms + legs.out_ms + ms, Event::Arrive(Box::new(again)));
        }
        if legs.altered {
            packet.body.push('~');
        }
        if let Some(ms) = again_ms {
            let again = Packet { delivery: Delivery::Again, turn: Turn::Pay, ..packet.clone() };
            self.at(self.now_ms + ms, Event::Arrive(Box::new(again)));
        }
        match packet.turn.clone() {
            _ if legs.lost_out => self.answer(&packet, Observation::Fault(Fault::Network)),
            Turn::LostOnTheWay => self.answer(&packet, Observation::Fault(Fault::Network)),
            Turn::Fails(fault) => self.answer(&packet, Observation::Fault(fault)),
            Turn::Says(facts) => self.reply(&packet, facts, Said::Wait),
            Turn::Late(ms) => self.at(self.now_ms + legs.out_ms + ms, Event::Arrive(Box::new(packet))),
            Turn::Twice(ms) | Turn::Resent(ms) | Turn::RefusedOnce(ms) => {
                let again = Packet { delivery: Delivery::Again, ..packet.clone() };
                self.at(self.now_ms + ms, Event::Arrive(Box::new(again)));
                self.later(Event::Arrive(Box::new(packet)));
            }
            _ if legs.out_ms > 0 => self.at(self.now_ms + legs.out_ms, Event::Arrive(Box::new(packet))),
            _ => self.later(Event::Arrive(Box::new(packet))),
        }
    }

    pub(crate) fn arrive(&mut self, mut packet: Box<Packet>) {
        if matches!(packet.turn, Turn::Swallowed) {
            return;
        }
        self.server.arrivals += 1;
        if let Some(point) = self.server.mishaps.crash.take() {
            packet.turn = Turn::Crash(point);
        }
        if self.server.dies(&packet, ServerPoint::Unreserved) {
            return;
        }
        let now_ms = self.now_ms as i64;
        let scope = self.scopes.get(&packet.realm).map(|scope| scope_hash(scope));
        if self.server.session.is_some() && self.server.session != scope {
            return self.reply(&packet, json(403), Said::Wait);
        }
        let record = self.server.records.get(&packet.key);
        let decision = decide(record, now_ms, fingerprint(&packet.body), self.server.policy());
        self.tally.decided(decision);
        match decision {
            Decision::Execute | Decision::TakeOver { .. } | Decision::Again { .. } => self.reserve(packet),
            Decision::Replay => self.replay(&packet),
            Decision::InProgress => {
                self.server.told_to_wait.insert(packet.key.clone());
                self.reply(&packet, self.server.profile.in_progress(), Said::Wait);
            }
            Decision::Mismatch => self.reply(&packet, self.server.profile.mismatch(), Said::OtherPayload),
            Decision::Expired => {
                self.reply(&packet, with_type(json(410), "urn:intento:problem:key-expired"), Said::Wait);
            }
            Decision::Sealed => {
                let sealed = with_type(json(410), "urn:intento:problem:key-sealed");
                self.reply(&packet, with_header(sealed, "idempotency-key", &packet.key), Said::Sealed);
            }
        }
    }

    /// T0: the right to run, before anything is run.
    fn reserve(&mut self, packet: Box<Packet>) {
        let refused_once = matches!(packet.turn, Turn::RefusedOnce(_)) && packet.delivery == Delivery::First;
        if refused_once || matches!(packet.turn, Turn::DeclineUnstored) {
            return self.reply(&packet, self.server.profile.unstored_refusal(), Said::Refused);
        }
        self.server.tokens += 1;
        let token = Token(self.server.tokens);
        let state = State::InProgress { token, lease_until: (self.now_ms + self.server.profile.lease_ms()) as i64 };
        let record = Record { fingerprint: Some(fingerprint(&packet.body)), sealed: false, state };
        self.server.records.insert(packet.key.clone(), record);
        if self.server.dies(&packet, ServerPoint::Reserved) {
            return;
        }
        self.server.executions += 1;
        if matches!(packet.turn, Turn::Accept) {
            let location = format!("{ORIGIN}/payments/{}", token.0);
            self.reply(&packet, with_header(json(202), "location", &location), Said::Wait);
        }
        let work_ms = match packet.turn {
            Turn::Slow(ms) => ms,
            Turn::Crash(ServerPoint::Running) => self.server.work_ms / 2,
            _ => self.server.work_ms,
        };
        self.at(self.now_ms + work_ms, Event::Complete(packet, token));
    }

    /// T1: effect, answer and the end of the reservation, together, if the reservation is still this run's.
    pub(crate) fn complete(&mut self, packet: Box<Packet>, token: Token) {
        // Up to here, and before the reservation is let go, whatever was done is undone by the database.
        for point in [ServerPoint::Running, ServerPoint::Uncommitted, ServerPoint::Releasing] {
            if self.server.dies(&packet, point) {
                return;
            }
        }
        let Some(record) = self.server.records.get_mut(&packet.key) else { return };
        let holds = matches!(record.state, State::InProgress { token: holder, .. } if holder == token);
        if (!holds || record.sealed) && self.server.bug != Some(ServerBug::StaleRunCommits) {
            self.tally.stale_tokens += 1;
            return self.reply(&packet, json(503), Said::Wait);
        }
        let (end, effect) = match packet.turn {
            Turn::Decline | Turn::DeclineLost => (End::Refused, false),
            Turn::Unknown { effect } => (End::Unknown, effect),
            _ => (End::Applied, true),
        };
        let expires_at = (self.now_ms + self.server.profile.retention_ms()) as i64;
        let dies = matches!(packet.turn, Turn::Crash(ServerPoint::Committed));
        if !(dies && self.server.bug == Some(ServerBug::EffectBeforeRow)) {
            record.state = State::Completed { token, end, expires_at };
        }
        if effect {
            *self.server.effects.entry(packet.body.clone()).or_default() += 1;
            *self.server.effects_of_key.entry(packet.key.clone()).or_default() += 1;
        }
        self.laws.after_effect(&self.server, &packet.key, self.seed);
        if matches!(packet.turn, Turn::Accept) {
            return;
        }
        let facts = self.server.profile.first(end, &packet.key);
        if self.server.dies(&packet, ServerPoint::Committed) {
            self.server.died_silent.insert(packet.key);
            return;
        }
        self.server.dies(&packet, ServerPoint::Answering);
        self.reply(&packet, facts, said(end, Said::Done));
    }

    fn replay(&mut self, packet: &Packet) {
        assert!(!self.server.pruned.contains(&packet.key), "seed {}: R2: an answer that is gone", self.seed);
        self.tally.replayed_after_crash += u64::from(self.server.died_silent.contains(&packet.key));
        self.tally.replayed_after_wait += u64::from(self.server.told_to_wait.contains(&packet.key));
        let end = match self.server.records.get(&packet.key).map(|record| record.state) {
            Some(State::Completed { end, .. }) => end,
            _ => End::Unknown,
        };
        let facts = self.server.profile.again(end, &packet.key);
        self.reply(packet, facts, said(end, Said::DoneBefore));
    }

    fn reply(&mut self, packet: &Packet, facts: Facts, said: Said) {
        // What goes to a tab that is gone is lost as it is.
        let lost = self.realms.contains_key(&packet.realm) && take(&mut self.server.mishaps.answer_lost);
        let heard = if matches!(packet.turn, Turn::Resent(_)) { Delivery::Again } else { Delivery::First };
        let observation = match packet.turn {
            _ if packet.delivery != heard => return,
            _ if lost || packet.legs.lost_back => Observation::Fault(Fault::Network),
            Turn::LostOnReturn | Turn::DeclineLost => Observation::Fault(Fault::Network),
            Turn::Truncated | Turn::Crash(ServerPoint::Answering) => Observation::Fault(Fault::Truncated),
            _ => Observation::Reply(facts),
        };
        if matches!(observation, Observation::Reply(_)) {
            self.server.said.entry(packet.key.clone()).or_default().insert(said);
        }
        self.answer(packet, observation);
    }

    fn answer(&mut self, packet: &Packet, observation: Observation) {
        let wait = self.latency() + packet.legs.back_ms;
        self.at(self.now_ms + wait, Event::Answer(packet.waiter(), observation));
    }

    /// The first that comes to an attempt is what it brought: an answer, or its own deadline.
    pub(crate) fn fetched(&mut self, waiter: Waiter, observation: Observation) {
        let Waiter { realm, intent, attempt } = waiter;
        if self.server.in_flight.remove(&(realm, intent.clone(), attempt)) {
            let answer = match &observation {
                Observation::Reply(facts) => Some(answer_of(facts)),
                Observation::Fault(_) => None,
            };
            self.input(realm, Input::Fetched { intent, observation, answer });
        }
    }
}
