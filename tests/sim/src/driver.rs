//! The driver's part: what happens to a realm, its transactions, and doing what its engine asks for. It decides nothing.

use std::rc::Rc;

use intento::core::change::{Applied, Change};
use intento::core::contract::{Facts, Fault, Finding, Observation};
use intento::core::effect::{Dispatch, Effect};
use intento::core::input::{Authorized, CommitError, DueSpan, Input, Lock, Ticket};
use intento::core::intent::{IntentRecord, Purpose};
use intento::core::key::IntentId;
use intento::core::time::Readings;
use intento::ledger::store::{Store, commit_batch};

use crate::laws::{Sending, under_lock};
use crate::server::{answer_of, json};
use crate::world::{Event, RealmNo, World, now, wall_ms};

impl World {
    pub(crate) fn happen(&mut self, event: Event) {
        match event {
            Event::Open(realm) => self.start(realm),
            Event::Query(realm, ..) if self.storm.read() => self.later(Event::Input(realm, Input::DueFailed)),
            Event::InboxQuery(realm, ..) if self.storm.read() => self.later(Event::Input(realm, Input::InboxFailed)),
            Event::Load(realm, intent) if self.storm.read() => self.input(realm, Input::NotLoaded(intent)),
            Event::Input(realm, input) => self.input(realm, input),
            Event::Transaction(realm, batch) => self.transact(realm, batch),
            Event::Query(realm, span, limit) => self.query(realm, span, limit),
            Event::InboxQuery(realm, until_ms, limit) => {
                let Some(scope) = self.realms.get(&realm).map(|realm| realm.engine.scope().clone()) else { return };
                let input = match now(self.ledger.inbox(&scope, until_ms, limit)) {
                    Ok(page) => Input::Inbox(page),
                    Err(_) => Input::InboxFailed,
                };
                self.later(Event::Input(realm, input));
            }
            Event::Load(realm, intent) => {
                let input = match self.ledger.load(&intent) {
                    Ok(Some(intent)) => Input::Loaded { intent, clock: self.ledger.clock() },
                    Ok(None) | Err(_) => Input::NotLoaded(intent),
                };
                self.input(realm, input);
            }
            Event::Probe(realm, origin) => {
                let ok = self.network.up && self.network.probes_pass;
                self.input(realm, Input::Probed { origin, ok });
            }
            Event::Granted(realm, intent, grant) => self.granted(realm, intent, grant),
            Event::Freed(intent) => self.freed(intent),
            Event::Arrive(packet) => self.arrive(packet),
            Event::Complete(packet, token) => self.complete(packet, token),
            Event::Answer(waiter, observation) => self.fetched(waiter, observation),
        }
    }

    fn transact(&mut self, number: RealmNo, batch: Vec<(Ticket, Change)>) {
        let Some(realm) = self.realms.get_mut(&number) else { return };
        // A transaction decides in a task of its page.
        if let Some(waiting) = &mut realm.frozen {
            return waiting.push(Event::Transaction(number, batch));
        }
        let wall_ms = wall_ms(self.now_ms, self.drift_ppm, self.wall_ahead_ms);
        let reading = realm.engine.reading(realm.moment(self.now_ms, wall_ms));
        let readings: Readings = Rc::new(move || reading);
        let (tickets, mut changes): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        self.counts.commits += 1;
        if let Some(fault) = self.storm.commit() {
            self.tally.storage_faults += 1;
            self.ledger.fail_next([fault]);
        }
        let struck = self.ledger.struck.get();
        let (results, clock) = now(commit_batch(&self.ledger, &mut changes, &readings));
        self.trace.committed(reading, &results);
        self.count_commit(number, &changes, &results);
        assert_eq!(tickets.len(), results.len(), "a result for every change");
        let struck = self.ledger.struck.get() > struck;
        // What is refused writes nothing, the clock included.
        let written = !struck && results.iter().any(Result::is_ok);
        if struck {
            self.laws.publishes_never(number);
        } else if written {
            self.laws.published(number);
        }
        let born = self.realms.get(&number).is_some_and(|realm| self.laws.begins_after_the_step(realm.born_ms));
        let newcomer_ms = (written && born).then_some(reading.wall_ms);
        self.laws.after_commit(&self.ledger, &results, self.now_ms, newcomer_ms, self.seed);
        if self.weak {
            self.ledger.remember(self.now_ms);
        }
        let told = changes.iter().zip(&results);
        self.laws.committed(&self.ledger, number, told, struck, self.seed);
        results.iter().for_each(|result| under_lock(&self.locks, number, result, self.seed));
        let results = tickets.into_iter().zip(results).collect();
        self.later(Event::Input(number, Input::Committed { results, clock }));
    }

    fn query(&mut self, realm: RealmNo, span: DueSpan, limit: u32) {
        let Some(scope) = self.realms.get(&realm).map(|realm| realm.engine.scope().clone()) else { return };
        let input = match now(self.ledger.due(&scope, span, limit)) {
            Ok(page) => Input::Due(page),
            Err(_) => Input::DueFailed,
        };
        self.later(Event::Input(realm, input));
    }

    /// Feeds a realm and does what it asks for.
    pub fn input(&mut self, number: RealmNo, input: Input) {
        let Some(realm) = self.realms.get_mut(&number) else { return };
        if let Some(waiting) = &mut realm.frozen {
            return waiting.push(Event::Input(number, input));
        }
        self.laws.runs(number, self.now_ms);
        if let Input::Lock { intent, lock: Lock::Lost } = &input {
            self.locks.unheard.remove(&(number, intent.clone()));
        }
        let moment = realm.moment(self.now_ms, wall_ms(self.now_ms, self.drift_ppm, self.wall_ahead_ms));
        realm.engine.handle(input, moment);
        let mut effects = realm.engine.exchange_effects(core::mem::take(&mut self.emptied));
        let wake_in_ms = realm.engine.wake_in_ms();
        realm.wake_at_ms = self.now_ms.saturating_add(wake_in_ms);
        self.trace.wakes(self.now_ms, number, wake_in_ms);
        for effect in effects.drain(..) {
            self.act(number, effect);
        }
        self.emptied = effects;
    }

    pub(crate) fn act(&mut self, realm: RealmNo, effect: Effect) {
        self.trace.effect(&effect);
        let looks = matches!(
            effect,
            Effect::LoadDue { .. } | Effect::LoadInbox { .. } | Effect::Probe { .. } | Effect::Commit { .. }
        );
        self.idle_timers = if looks { self.idle_timers } else { 0 };
        match effect {
            Effect::Commit { batch } => self.later(Event::Transaction(realm, batch)),
            Effect::LoadDue { span, limit } => {
                self.counts.loads += 1;
                self.later(Event::Query(realm, span, limit));
            }
            Effect::LoadInbox { until_ms, limit } => {
                self.counts.inbox_loads += 1;
                self.later(Event::InboxQuery(realm, until_ms, limit));
            }
            Effect::Deliver { intent, .. } => {
                self.delivered.push((realm, intent.id.clone(), intent.state.clone()));
                let verdict = (self.handler)(self.delivered.len());
                let (at_ms, realms) = (self.ledger.clock().map_or(0, |clock| clock.at_ms), &self.realms);
                let at_ms = (self.now_ms, at_ms);
                self.laws.hands_over(realm, &intent, at_ms, verdict, |realm| realms.contains_key(&realm), self.seed);
                if let Some(ok) = verdict {
                    self.later(Event::Input(realm, Input::Delivered { intent: intent.id.clone(), ok }));
                }
            }
            Effect::Load(intent) => {
                self.counts.looks += 1;
                self.later(Event::Load(realm, intent));
            }
            Effect::Probe { origin } => {
                self.counts.probes += 1;
                self.later(Event::Probe(realm, origin));
            }
            Effect::Lock { intent, wait } => self.lock(realm, intent, wait),
            Effect::Unlock(intent) => self.unlock(realm, &intent),
            Effect::Authorize { intent, refresh } => {
                self.refreshes.push(refresh);
                self.counts.authorizations += 1;
                let outcome = self.storm.authorize().unwrap_or_else(self.authorize);
                self.tally.other_scope += u64::from(matches!(outcome, Authorized::OtherScope));
                self.laws.authorized(realm, &intent, matches!(outcome, Authorized::Granted(_)));
                if matches!(outcome, Authorized::OtherScope) {
                    self.laws.has_no_other_credentials(realm, &intent);
                }
                self.later(Event::Input(realm, Input::Authorized { intent, outcome }));
            }
            Effect::Prepare { intent, outgoing } => {
                let prepared = (self.prepare)(&outgoing);
                self.later(Event::Input(realm, Input::Prepared { intent, prepared }));
            }
            Effect::Reconcile { intent } => {
                self.asked_about.push(intent.id.clone());
                let finding = self.found(&intent);
                let answer = (finding == Finding::Applied).then(|| answer_of(&json(200)));
                self.later(Event::Input(realm, Input::Found { intent: intent.id.clone(), finding, answer }));
            }
            // What it asks about was purged meanwhile: there is nothing left to ask with.
            Effect::Send(dispatch) if dispatch.method == "GET" && self.is_tombstone(&dispatch.intent) => {
                let (observation, intent) = (Observation::Fault(Fault::Network), dispatch.intent);
                self.later(Event::Input(realm, Input::Fetched { intent, observation, answer: None }));
            }
            Effect::Send(dispatch) if self.is_look(&dispatch) => {
                self.polls.push((realm, dispatch.method, dispatch.url.clone()));
                self.tally.polled += 1;
                self.look_at_result(realm, dispatch.intent);
            }
            Effect::Send(dispatch) if self.is_question(&dispatch) => {
                let key = dispatch.headers.iter().find(|(name, _)| name == "Idempotency-Key");
                self.lookups.push((dispatch.method.to_owned(), dispatch.url.clone(), key.map(|(_, key)| key.clone())));
                self.answered(realm, dispatch.intent, (self.lookup_says)());
            }
            Effect::Send(dispatch) => {
                self.counts.sends += 1;
                let scope = self.realms[&realm].engine.scope().clone();
                let at_ms = self.realms[&realm].engine.stamp().at_ms;
                let contract = self.realms[&realm].contract.contract.clone();
                let sending = Sending {
                    ledger: &self.ledger,
                    locks: &self.locks,
                    now_ms: self.now_ms,
                    realm,
                    scope: &scope,
                    contract: &contract,
                    ledger_ms: at_ms,
                    slow_ppm: self.drift_ppm.min(0).unsigned_abs(),
                    dispatch: &dispatch,
                    seed: self.seed,
                };
                self.laws.before_send(&sending);
                self.send(realm, *dispatch);
                self.counts.most_in_flight = self.counts.most_in_flight.max(self.server.in_flight(realm));
            }
            Effect::Done { ticket, result } => {
                if let Ok(Applied::Submitted { intent, .. }) = &result {
                    let is_in = self.ledger.intent(&intent.id).is_some() || self.laws.removed.contains(&intent.id);
                    assert!(is_in, "seed {}: law 1: done before durable", self.seed);
                }
                self.laws.told(ticket, &result, self.seed);
                let again = self.unsettled.remove(&ticket).filter(|_| result == Err(CommitError::Unknown));
                assert!(self.done.insert(ticket, result).is_none(), "seed {}: told twice", self.seed);
                if let Some(submit) = again {
                    self.submit_again(realm, submit);
                }
            }
            Effect::Changed { intent, durable, .. } => {
                let stored = self.ledger.intent(&intent.id).map_or(0, |stored| stored.journal_entries);
                let removed = self.laws.removed.contains(&intent.id);
                assert!(
                    !durable || removed || intent.journal_entries <= stored,
                    "seed {}: told before durable",
                    self.seed
                );
                if !self.drawn {
                    self.told.push((realm, intent, durable));
                }
            }
            Effect::Nudge(intent) => {
                let others = if self.messages_lost { Vec::new() } else { self.realms() };
                for other in others.into_iter().filter(|other| *other != realm) {
                    self.later(Event::Input(other, Input::Peer(intent.clone())));
                }
            }
        }
    }

    /// What the app finds out: in a storm from the server.
    fn found(&mut self, intent: &IntentRecord) -> Finding {
        if self.server.asks {
            let finding = self.server.look_up(self.laws.key_of(intent), self.now_ms);
            self.tally.found(finding);
            finding
        } else {
            (self.findings)(intent)
        }
    }

    /// What a look at the result of an accepted intent is answered, if it arrives.
    fn look_at_result(&mut self, realm: RealmNo, intent: IntentId) {
        let key = self.laws.key_of(&self.intent(&intent)).to_owned();
        if !self.network.up || self.storm.look_lost() {
            let observation = Observation::Fault(Fault::Network);
            return self.later(Event::Input(realm, Input::Fetched { intent, observation, answer: None }));
        }
        let facts = match self.poll_says {
            Some(says) => says(&key),
            None => self.server.result(&key, self.now_ms),
        };
        self.answered(realm, intent, facts);
    }

    /// What a question without an effect is answered.
    fn answered(&mut self, realm: RealmNo, intent: IntentId, facts: Facts) {
        let answer = Some(answer_of(&facts));
        self.later(Event::Input(realm, Input::Fetched { intent, observation: Observation::Reply(facts), answer }));
    }

    fn is_tombstone(&self, intent: &IntentId) -> bool {
        self.ledger.intent(intent).is_some_and(|intent| intent.erased.is_some())
    }

    /// Does a request leave under a claim to reconcile?
    fn is_question(&self, dispatch: &Dispatch) -> bool {
        let intent = self.ledger.intent(&dispatch.intent);
        intent.is_some_and(|intent| intent.claim.as_ref().is_some_and(|claim| claim.purpose == Purpose::Reconcile))
    }

    /// Does a request ask for the result of what was accepted? The claim for it may be over.
    fn is_look(&self, dispatch: &Dispatch) -> bool {
        let intent = self.ledger.intent(&dispatch.intent);
        let polling = intent.as_ref().and_then(|intent| intent.polling.as_ref());
        dispatch.method == "GET" && polling.is_some_and(|polling| polling.url == dispatch.url)
    }
}
