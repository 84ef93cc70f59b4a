//! The attempts that this realm runs: starting them, and carrying each from step to step.

use super::origins::Approach;
use super::{Engine, Parked};
use crate::core::attempt_run::{AttemptRun, Errand, Next};
use crate::core::backoff::{Jitter, backoff_ms};
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, Change, Grant, Refusal};
use crate::core::contract::{Answer, Finding, Observation};
use crate::core::effect::Effect;
use crate::core::input::{Authorized, CommitError, Prepared, Ticket};
use crate::core::intent::{Cause, HeldReason, IntentRecord, State};
use crate::core::key::IntentId;
use crate::core::limits::MINUTE_MS;
use crate::core::record::{Overlay, Payload, Record, RecordKey, Versioned};
use crate::core::shared::Shared;
use crate::core::time::LedgerClock;
use crate::core::transition::apply;

const HELD_FOR_CREDENTIALS: State = State::Held { reason: HeldReason::Auth };

impl Engine {
    /// Starts an attempt of an intent that is due, or that waits only because the network was gone, if it may be sent now.
    /// Says whether one was started.
    pub(super) fn start(&mut self, intent: &IntentRecord) -> bool {
        let now = self.stamp();
        let Some(errand) = self.errand(intent) else { return false };
        // A caller may name an intent of another scope; this queue's credentials are not for it (law 9).
        let foreign = intent.scope != self.settings.scope;
        if foreign || self.suspended || self.runs.contains_key(&intent.id) {
            return false;
        }
        if let Some(claim) = intent.live_claim(&now) {
            let inheritable = claim.lock_held && claim.purpose == errand.purpose();
            if inheritable && self.lock_waits.is_granted(&intent.id) {
                return self.approach(intent, errand);
            }
            if inheritable {
                self.wait_for_lock(&intent.id);
            }
            self.look_at(claim.lease_until_ms);
            return false;
        }
        let due = intent.due_at_ms.is_some_and(|due_at_ms| due_at_ms <= now.at_ms);
        let hurried = intent.state == State::Waiting { cause: Cause::Network };
        // The server's wish to be left alone; asking the app is not asking the server.
        let asks_app = errand == Errand::Reconcile { by_app: true };
        if let Some(floor_at_ms) = intent.floor_at_ms.filter(|floor_at_ms| !asks_app && now.at_ms < *floor_at_ms) {
            self.look_at(floor_at_ms);
            return false;
        }
        (due || hurried) && !self.is_parked(&intent.id) && self.approach(intent, errand)
    }

    /// Begins the run, if the intent's origin is within reach.
    fn approach(&mut self, intent: &IntentRecord, errand: Errand) -> bool {
        let now = self.stamp();
        let origin = &intent.request.origin;
        match self.origins.approach(origin, intent.maybe_sent(), self.online, now, self.now.mono_ms) {
            _ if bug(Bug::OfflineIsAnAttempt) => self.run(intent, errand),
            Approach::Foreign => {
                let hold = Change::Hold { intent: intent.id.clone(), reason: HeldReason::Config };
                self.enqueue(Ticket::Engine, hold);
                false
            }
            Approach::Wait => false,
            Approach::Probe => {
                self.effects.push(Effect::Probe { origin: origin.clone() });
                false
            }
            Approach::Go => self.run(intent, errand),
        }
    }

    fn run(&mut self, intent: &IntentRecord, errand: Errand) -> bool {
        let now = self.now.mono_ms;
        self.begun.retain(|at_ms| now.saturating_sub(*at_ms) < MINUTE_MS);
        self.begun.push(now);
        let mut run = AttemptRun::new(intent.id.clone(), errand);
        let next = run.reached(self.take_lock(&intent.id));
        self.runs.insert(intent.id.clone(), run);
        self.advance(&intent.id, next);
        true
    }

    /// Is there anything that this realm can do about an intent, now or later?
    pub fn has_errand(&self, intent: &IntentRecord) -> bool {
        self.errand(intent).is_some()
    }

    /// What this realm can do about an intent.
    fn errand(&self, intent: &IntentRecord) -> Option<Errand> {
        let by_app = self.settings.can_reconcile;
        let reconcile = || {
            let able = (by_app || intent.has_lookup) && (intent.is_reconcilable() || bug(Bug::QuestionOutlivesReason));
            able.then_some(Errand::Reconcile { by_app })
        };
        // What this realm was asked and cannot do is another's; it must not keep the intent from going on.
        if let Some(errand) = reconcile().filter(|_| intent.reconciling.asked) {
            return Some(errand);
        }
        match &intent.state {
            State::Queued | State::Waiting { .. } => Some(Errand::Send),
            State::Accepted if bug(Bug::PollInheritedAsSend) && intent.claim.is_some() => Some(Errand::Send),
            State::Accepted => Some(Errand::Poll),
            State::Held { reason: HeldReason::Auth } => {
                let usable = !self.credentials.are_useless(&intent.id) && !bug(Bug::AuthHeldForEver);
                usable.then_some(Errand::SendWithFreshCredentials)
            }
            State::Held { reason } if !reason.only_asking_helps() => None,
            _ => reconcile(),
        }
    }

    /// Origins whose next probe is due make the ledger worth a look: it knows what waits for them.
    pub(super) fn run_blocked(&mut self) {
        if self.origins.take_due(self.now.mono_ms) {
            self.schedule.stale = true;
        }
    }

    pub(super) fn probed(&mut self, origin: &str, ok: bool) {
        let jitter = self.jitter.draw();
        // A probe that passes knows better than the browser, until that says `offline` again (hazard N1).
        self.online |= self.origins.probed(origin, ok, self.now.mono_ms, jitter);
        self.enqueue(Ticket::Probe(origin.to_owned()), Change::Probed { origin: origin.to_owned(), ok });
    }

    pub(super) fn probe_committed(&mut self, origin: &str, result: Result<Applied, CommitError>) {
        let record = match result {
            Ok(Applied::Probed { origin, .. }) => Some(origin),
            Ok(_) | Err(_) => None,
        };
        let helps = record.as_ref().is_none_or(|record| record.lets_pass());
        // What waits only because the network was gone need not wait on.
        self.schedule.ahead |= self.origins.settle_probe(origin, record);
        self.schedule.stale |= helps;
    }

    pub(super) fn authorized(&mut self, intent: &IntentId, outcome: Authorized) {
        let terms = self.terms();
        let Some(run) = self.runs.get_mut(intent) else { return };
        match outcome {
            Authorized::Granted(credentials) => {
                let next = run.authorized(credentials, terms);
                self.advance(intent, next);
            }
            Authorized::OtherScope => {
                self.credentials.useless(intent);
                self.leave_alone(intent);
                self.enqueue(Ticket::Engine, Change::Hold { intent: intent.clone(), reason: HeldReason::Auth });
            }
            Authorized::Failed => self.leave_alone(intent),
        }
    }

    /// Ends a run that came to nothing. Others may take its place at once; this intent waits a while.
    pub(super) fn leave_alone(&mut self, intent: &IntentId) {
        self.park(intent);
        self.advance(intent, Next::Finished);
    }

    pub(super) fn prepared(&mut self, intent: &IntentId, prepared: Option<Prepared>) {
        let (terms, stamp, jitter) = (self.terms(), self.stamp(), self.jitter.draw());
        let Some(run) = self.runs.get_mut(intent) else { return };
        let next = run.prepared(prepared, &terms, &stamp, jitter);
        self.advance(intent, next);
    }

    pub(super) fn found(&mut self, intent: &IntentId, finding: Finding, answer: Option<Answer>) {
        let (fact, jitter) = (self.make_name(), self.jitter.draw());
        let Some(run) = self.runs.get_mut(intent) else { return };
        let next = run.found(finding, answer, fact, jitter);
        self.advance(intent, next);
    }

    pub(super) fn fetched(&mut self, intent: &IntentId, observation: Observation, answer: Option<Answer>) {
        let (fact, jitter) = (self.make_name(), self.jitter.draw());
        let Some(run) = self.runs.get_mut(intent) else { return };
        let next = run.fetched(observation, answer, fact, jitter);
        self.advance(intent, next);
    }

    pub(super) fn run_committed(&mut self, intent: &IntentId, result: Result<Applied, CommitError>) {
        let jitter = self.jitter.draw();
        let result = match result {
            Ok(Applied::Claimed(grant)) => return self.granted(intent, *grant, jitter),
            other => other,
        };
        let Some(run) = self.runs.get_mut(intent) else { return };
        let next = match result {
            Ok(Applied::Recorded { intent: record, origin }) => {
                let name = record.request.origin.clone();
                self.origins.learn(&name, origin);
                if self.origins.needs_check(&name) {
                    self.effects.push(Effect::Probe { origin: name });
                }
                self.parked.remove(intent);
                // It may be held because another realm's were refused.
                let attempt = run.unrecorded().map(|(_, facts)| facts.attempt);
                if record.state != HELD_FOR_CREDENTIALS {
                    self.credentials.forget(intent);
                } else if attempt.is_some_and(|number| record.history.lacked_credentials(number)) {
                    self.credentials.refused(intent, self.settings.can_refresh);
                }
                if self.will_refresh(&record) {
                    self.effects.push(Effect::Nudge(record.id.clone()));
                } else {
                    self.tell(&record);
                }
                return self.end_with(&record);
            }
            Ok(Applied::NotGranted(record) | Applied::NotSent(record) | Applied::Reconciled(record)) => {
                self.parked.remove(intent);
                self.tell(&record);
                return self.end_with(&record);
            }
            Ok(_) => Next::Finished,
            Err(_) if run.unrecorded().is_some() => run.not_recorded(),
            // It has ended, or is held: another realm was quicker.
            Err(CommitError::Refused(Refusal::WrongState(record))) => return self.end_with(&record),
            // The ledger says when to look again.
            Err(CommitError::Refused(Refusal::NotBefore { .. })) => Next::Finished,
            Err(error) => {
                self.park(intent);
                // By the ledger's word the lease goes on, by time that only this realm may have seen: it is published, so
                // that from here on it counts.
                if matches!(error, CommitError::Refused(Refusal::Leased { .. })) {
                    self.enqueue(Ticket::Engine, Change::Tick);
                }
                Next::Finished
            }
        };
        self.advance(intent, next);
    }

    fn granted(&mut self, intent: &IntentId, grant: Grant, jitter: Jitter) {
        let (terms, stamp) = (self.terms(), self.stamp());
        let Some(run) = self.runs.get_mut(intent) else { return };
        let record = grant.intent.clone();
        let next = run.claimed(grant, &terms, &stamp, jitter);
        self.parked.remove(intent);
        self.tell(&record);
        self.advance(intent, next);
    }

    /// Facts that the ledger did not take are offered again when their time has come.
    pub(super) fn record_again(&mut self) {
        let now = self.now.mono_ms;
        let due: Vec<IntentId> = self
            .parked
            .iter()
            .filter(|(id, parked)| {
                parked.until_mono_ms.is_some_and(|at_ms| at_ms <= now) && self.runs.contains_key(*id)
            })
            .map(|(id, _)| id.clone())
            .collect();
        for intent in due {
            if let Some(parked) = self.parked.get_mut(&intent) {
                parked.until_mono_ms = None;
            }
            if let Some(change) = self.runs.get(&intent).and_then(AttemptRun::record_again) {
                self.enqueue(Ticket::Run(intent), change);
            }
        }
    }

    pub(super) fn advance(&mut self, intent: &IntentId, next: Next) {
        match next {
            Next::Lock => self.effects.push(Effect::Lock { intent: intent.clone(), wait: false }),
            Next::Authorize => {
                let refresh = self.credentials.need_refresh(intent);
                self.effects.push(Effect::Authorize { intent: intent.clone(), refresh });
            }
            Next::Commit(change) => self.enqueue(Ticket::Run(intent.clone()), change),
            Next::Prepare(outgoing) => {
                self.effects.push(Effect::Prepare { intent: intent.clone(), outgoing });
            }
            Next::AskApp(intent) => self.effects.push(Effect::Reconcile { intent }),
            Next::Send(dispatch) => self.effects.push(Effect::Send(dispatch)),
            Next::TellUndurable => {
                self.tell_undurable(intent);
                self.park(intent);
            }
            Next::Finished => {
                self.end(intent);
                self.schedule.stale = true;
            }
        }
    }

    /// Ends a run that has come to this.
    fn end_with(&mut self, intent: &Shared<IntentRecord>) {
        self.end(&intent.id);
        self.heed(intent);
        self.schedule.stale |= self.schedule.passed_over && self.backlog.is_empty();
    }

    fn end(&mut self, intent: &IntentId) {
        if self.runs.remove(intent).is_some_and(|run| run.holds_lock()) {
            self.effects.push(Effect::Unlock(intent.clone()));
        }
    }

    /// Is this intent held only until the app has been asked for new credentials? That is not worth telling.
    pub(super) fn will_refresh(&self, intent: &IntentRecord) -> bool {
        intent.state == HELD_FOR_CREDENTIALS && self.credentials.need_refresh(&intent.id) && !self.suspended
    }

    /// The ledger did not take what came back; the app learns what it says all the same, judged as the ledger would.
    fn tell_undurable(&mut self, intent: &IntentId) {
        let Some((flight, facts)) = self.runs.get(intent).and_then(AttemptRun::unrecorded) else { return };
        let mut overlay = Overlay::default();
        let known = |record| Versioned { version: 1, record: Some(record) };
        let stamp = self.stamp();
        let clock = LedgerClock { at_ms: stamp.at_ms, ..LedgerClock::new(stamp.wall_ms) };
        overlay.insert(RecordKey::Clock, known(Record::Clock(clock)));
        overlay.insert(RecordKey::Intent(intent.clone()), known(Record::Intent(flight.intent.clone())));
        overlay.insert(
            RecordKey::Payload(intent.clone()),
            known(Record::Payload(Shared::new(Payload { body: None, answer: None }))),
        );
        let contract = known(Record::Contract(flight.contract.clone()));
        overlay.insert(RecordKey::Contract(flight.intent.contract.clone()), contract);
        overlay.insert(RecordKey::Counters(flight.intent.scope.clone()), Versioned::ABSENT);
        overlay.insert(RecordKey::Origin(flight.intent.request.origin.clone()), Versioned::ABSENT);
        if let Some(lane) = flight.intent.lane_key() {
            overlay.insert(lane, Versioned::ABSENT);
        }
        let answer = facts.answer.clone();
        let change = Change::Record(Box::new(facts.clone()));
        let reading = self.clock.read(self.now);
        if let Ok(Applied::Recorded { intent, .. }) = apply(&mut overlay, &change, reading) {
            self.effects.push(Effect::Changed { intent, durable: false, answer });
        }
    }

    fn park(&mut self, intent: &IntentId) {
        let jitter = self.jitter.draw();
        let failures = self.parked.get(intent).map_or(0, |parked| parked.failures).saturating_add(1);
        let pause_ms = if bug(Bug::ParkedForEver) { u64::MAX } else { backoff_ms(failures, jitter).max(50) };
        let until_mono_ms = Some(self.now.mono_ms.saturating_add(pause_ms));
        self.parked.insert(intent.clone(), Parked { until_mono_ms, failures });
    }

    fn is_parked(&self, intent: &IntentId) -> bool {
        let until = self.parked.get(intent).and_then(|parked| parked.until_mono_ms);
        until.is_some_and(|at_ms| at_ms > self.now.mono_ms)
    }
}
