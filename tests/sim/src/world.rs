//! One device, its tabs, a network and a server in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use intento::core::change::{Applied, Change, ContractSnapshot, Submit};
use intento::core::contract::{Facts, Finding, Observation};
use intento::core::effect::{Dispatch, Effect, Outgoing};
use intento::core::input::{Authorized, CommitError, Credentials, Input, Lock, Prepared, Ticket, Wake};
use intento::core::intent::{IntentRecord, Purpose, State};
use intento::core::key::{IntentId, RandomBits, RealmId};
use intento::core::shared::Shared;
use intento::core::submission::{Destinations, Reference, StatedBody, Submission, SubmitContext};
use intento::core::time::Readings;
use intento::ledger::store::{Store, commit_batch};

use crate::agenda::Agenda;
use crate::chance::Dice;
use crate::decisions::{body, decision, target};
use crate::laws::{Laws, Sending, under_lock};
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::profile::Profile;
use crate::realms::Realm;
use crate::server::decide::Token;
use crate::server::{Packet, Server, answer_of, json, with_header};
use crate::storm::Storm;
use crate::tally::Tally;
use crate::trace::Trace;

pub const SECOND: u64 = 1_000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;
pub const DAY: u64 = 24 * HOUR;
pub const ORIGIN: &str = "https://api.shop.example";
pub const ATTEMPT_MS: u64 = 30 * SECOND;
/// How wrong a quartz clock may run: five times what is sold.
const DRIFT_MAX_PPM: u64 = 500;
/// No life takes so many.
const EVENTS_MAX: u64 = 1_000_000;
/// In a storm no commit takes an intent of this operation.
pub const POISON: &str = "poison";
const START_WALL_MS: u64 = 1_800_000_000_000;

/// Timers in a row, without network, that brought nothing but probes: then a device is left alone and sleeps.
const IDLE_TIMERS: u32 = 60;
/// It is awake again this long before something is done with it.
const AWAKE_MS: u64 = 10 * MINUTE;

/// Names one realm; never used twice.
pub type RealmNo = usize;

#[derive(Debug)]
pub struct World {
    pub now_ms: u64,
    pub(crate) wall_ahead_ms: i64,
    /// How much faster the wall clock runs than the tabs' own clocks, in millionths; negative: slower.
    pub drift_ppm: i64,
    pub seed: u64,
    pub dice: Dice,
    pub ledger: Ledger,
    pub server: Server,
    pub network: Network,
    pub locks: Locks,
    /// Do realms that open now have Web Locks? In stories only where they matter.
    pub has_locks: bool,
    pub laws: Laws,
    pub(crate) realms: BTreeMap<RealmNo, Realm>,
    pub(crate) realms_opened: usize,
    pub(crate) scopes: BTreeMap<RealmNo, String>,
    destinations: Destinations,
    submits: u64,
    agenda: Agenda<Event>,
    /// Submits of which the caller was told nothing yet.
    unsettled: BTreeMap<u64, Box<Submit>>,
    /// What callers were told of their tickets.
    pub done: BTreeMap<u64, Result<Applied, CommitError>>,
    /// What the app was told, in a story: realm, intent, durable.
    pub told: Vec<(RealmNo, Shared<IntentRecord>, bool)>,
    pub counts: Counts,
    /// Everything takes 1 ms, or up to this much if larger.
    pub latency_max_ms: u64,
    pub authorize: fn() -> Authorized,
    /// Whether new credentials were asked for, at each time that any were.
    pub refreshes: Vec<bool>,
    /// Outcomes handed to an app's handler: where, which, as what.
    pub delivered: Vec<(RealmNo, IntentId, State)>,
    /// What the handler says to the n-th: taken, refused, or nothing at all.
    pub handler: fn(usize) -> Option<bool>,
    /// What the app's `reconcile` says.
    pub findings: fn(&IntentRecord) -> Finding,
    /// Intents that the app was asked about.
    pub asked_about: Vec<IntentId>,
    /// What the contract's lookup is answered.
    pub lookup_says: fn() -> Facts,
    /// Lookups that left: method, URL, and what carried the key.
    pub lookups: Vec<(String, String, Option<String>)>,
    /// What a look at the result of an accepted intent is answered, under its key.
    pub poll_says: fn(&str) -> Facts,
    /// Looks that left: from where, method, URL.
    pub polls: Vec<(RealmNo, &'static str, String)>,
    /// What the app's `prepare` makes of an attempt.
    pub prepare: fn(&Outgoing) -> Option<Prepared>,
    /// What tabs tell one another does not arrive.
    pub messages_lost: bool,
    pub contract: ContractSnapshot,
    /// What a later build of the app, which some tabs run already, submits under.
    pub deployed: Option<ContractSnapshot>,
    /// Is the ledger of a weak tier?
    pub weak: bool,
    pub storm: Storm,
    /// A drawn life, and no story: nobody asks what the app was told.
    drawn: bool,
    /// Timers in a row that brought nothing but probes.
    idle_timers: u32,
    pub tally: Tally,
    /// Realms that were frozen once, and run again.
    pub(crate) thawed: BTreeSet<RealmNo>,
    /// Who was granted an intent last, and who was refused it since.
    pub(crate) wanted_by: BTreeMap<IntentId, Vec<RealmNo>>,
    pub trace: Trace,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Queries for what is due.
    pub loads: u64,
    /// Single intents read.
    pub looks: u64,
    pub inbox_loads: u64,
    pub commits: u64,
    pub sends: u64,
    pub probes: u64,
    pub authorizations: u64,
    pub timers: u64,
    pub most_in_flight: usize,
}

/// What the device's network does. `hint` is what the browser says of it.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub up: bool,
    pub hint: bool,
    /// Do probes reach a server that can be reached? Some policies forbid it.
    pub probes_pass: bool,
}

#[derive(Debug)]
pub enum Event {
    Open(RealmNo),
    Input(RealmNo, Input),
    Transaction(RealmNo, Vec<(Ticket, Change)>),
    Query(RealmNo, u64, u32),
    InboxQuery(RealmNo, u64, u32),
    Load(RealmNo, IntentId),
    Probe(RealmNo, String),
    /// The lock on an intent comes to a realm.
    Granted(RealmNo, IntentId, u64),
    /// The lock on an intent has no holder any more.
    Freed(IntentId),
    Arrive(Packet),
    Complete(Packet, Token),
    Answer(Packet, Observation),
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self {
            now_ms: 0,
            wall_ahead_ms: 0,
            drift_ppm: 0,
            seed,
            dice: Dice::new(seed),
            ledger: Ledger::default(),
            server: Server::default(),
            network: Network { up: true, hint: true, probes_pass: true },
            locks: Locks::default(),
            has_locks: false,
            laws: Laws::default(),
            realms: BTreeMap::new(),
            realms_opened: 0,
            scopes: BTreeMap::new(),
            destinations: Destinations::new(&target(), &[]).unwrap(),
            submits: 0,
            agenda: Agenda::default(),
            unsettled: BTreeMap::new(),
            done: BTreeMap::new(),
            told: Vec::new(),
            counts: Counts::default(),
            latency_max_ms: 1,
            authorize: || Authorized::Granted(Credentials(vec![("authorization".to_owned(), "Bearer t".to_owned())])),
            refreshes: Vec::new(),
            delivered: Vec::new(),
            handler: |_| Some(true),
            findings: |_| Finding::Unknown,
            asked_about: Vec::new(),
            lookup_says: || json(404),
            lookups: Vec::new(),
            poll_says: |key| with_header(json(201), "idempotency-key", key),
            polls: Vec::new(),
            prepare: |_| Some(Prepared::default()),
            messages_lost: false,
            contract: Profile::Conforming.contract(),
            deployed: None,
            weak: false,
            storm: Storm::default(),
            drawn: false,
            idle_timers: 0,
            tally: Tally::default(),
            thawed: BTreeSet::new(),
            wanted_by: BTreeMap::new(),
            trace: Trace::default(),
        }
    }

    /// A world in which everything can go wrong, before a server of this kind.
    pub fn stormy(seed: u64, profile: Profile) -> Self {
        let mut world = Self::new(seed);
        world.contract = profile.contract();
        world.server.profile = profile;
        world.server.asks = true;
        world.server.work_ms = world.dice.roll(3 * SECOND);
        world.network.probes_pass = !world.dice.one_in(12);
        world.ledger.abort_operation(POISON);
        world.storm = Storm::new(seed, matches!(profile, Profile::Conforming | Profile::Stripe));
        world.handler = |told| Some(told % 7 != 3);
        world.has_locks = !world.dice.one_in(4);
        world.deployed = world.dice.one_in(4).then(|| profile.later_contract());
        world.weak = world.dice.one_in(8);
        world.drift_ppm =
            if world.dice.one_in(3) { world.dice.roll(2 * DRIFT_MAX_PPM) as i64 - DRIFT_MAX_PPM as i64 } else { 0 };
        world.drawn = true;
        world
    }

    /// Submits decision `number`; what came of it is in `done` under the ticket.
    pub fn submit(&mut self, realm: RealmNo, number: u32) -> u64 {
        self.submit_with(realm, number, |_| {})
    }

    pub fn submit_with(&mut self, realm: RealmNo, number: u32, change: impl FnOnce(&mut Submission)) -> u64 {
        let mut submission = decision(number);
        change(&mut submission);
        let submit = self.change_of(realm, submission).unwrap();
        let ticket = self.submits;
        self.laws.decides(ticket, &submit.fingerprint);
        let submit = Box::new(submit);
        // Whoever is told that the fate of a submit is unknown makes the same one again (P1.1).
        if self.storm.blows() {
            self.unsettled.insert(ticket, submit.clone());
        }
        self.input(realm, Input::Submit { ticket, submit });
        ticket
    }

    fn submit_again(&mut self, realm: RealmNo, submit: Box<Submit>) {
        self.submits += 1;
        let ticket = self.submits;
        self.laws.decides(ticket, &submit.fingerprint);
        self.unsettled.insert(ticket, submit.clone());
        self.tally.submitted_again += 1;
        self.later(Event::Input(realm, Input::Submit { ticket, submit }));
    }

    fn change_of(&mut self, realm: RealmNo, submission: Submission) -> Option<Submit> {
        let scope = self.realms[&realm].engine.scope().clone();
        let owner = RealmId::from(format!("realm-{realm}"));
        let contract = self.realms[&realm].contract.clone();
        let context =
            SubmitContext { scope: &scope, realm: &owner, contract: &contract, destinations: &self.destinations };
        self.submits += 1;
        let bits =
            |salt: u64| RandomBits(u128::from(self.submits * 2 + salt).wrapping_mul(u128::MAX / 97).to_be_bytes());
        submission.into_change(context, bits(0), bits(1)).ok()
    }

    pub fn cancel(&mut self, realm: RealmNo, intent: &IntentId) -> bool {
        self.submits += 1;
        let ticket = self.submits;
        self.input(realm, Input::Steer { ticket, change: Box::new(Change::Cancel(intent.clone())) });
        self.run_for(SECOND);
        matches!(self.done.get(&ticket), Some(Ok(Applied::Cancelled { cancelled: true, .. })))
    }

    /// A successor as the app states it, with another card.
    pub fn successor(&mut self, realm: RealmNo, predecessor: &IntentRecord) -> Option<Submit> {
        let order = predecessor.reference.as_ref().map_or(Some(0), |it| it.strip_prefix("order-")?.parse().ok())?;
        let mut submission = decision(order);
        if predecessor.reference.is_none() {
            submission.reference = Reference::OptedOut;
        }
        submission.operation.clone_from(&predecessor.operation);
        submission.body = Some(StatedBody::json(format!("{{\"order\":{order},\"again\":{}}}", self.submits)));
        self.change_of(realm, submission)
    }

    pub fn steer(&mut self, realm: RealmNo, change: Change) {
        self.ask(realm, change);
    }

    pub(crate) fn next_ticket(&mut self) -> u64 {
        self.submits += 1;
        self.submits
    }

    /// The intent of a submit that is done.
    pub fn intent_of(&self, ticket: u64) -> IntentRecord {
        match self.done.get(&ticket) {
            Some(Ok(applied)) => self.intent(&applied.intent().unwrap().id),
            other => panic!("seed {}: submit {ticket}: {other:?}", self.seed),
        }
    }

    pub fn intent(&self, id: &IntentId) -> IntentRecord {
        (*self.ledger.intent(id).unwrap()).clone()
    }

    pub fn state_of(&self, ticket: u64) -> State {
        self.intent_of(ticket).state
    }

    /// Is everything that was submitted terminal or held?
    pub fn is_settled(&self) -> bool {
        self.laws.intents().all(|intent| self.is_at_an_end(intent))
    }

    pub fn is_at_an_end(&self, intent: &IntentRecord) -> bool {
        let theirs = self.realms.iter().filter(|(_, realm)| *realm.engine.scope() == intent.scope);
        let held = matches!(intent.state, State::Held { .. });
        intent.has_ended() || (held && self.laws.is_held_for_good(intent, theirs.map(|(number, _)| *number)))
    }

    /// Lets virtual time pass.
    pub fn run_for(&mut self, ms: u64) {
        self.run_until(self.now_ms + ms, |_| false);
    }

    /// Runs to a moment, or until something holds. Says whether it holds.
    pub fn run_until(&mut self, until_ms: u64, holds: impl Fn(&Self) -> bool) -> bool {
        self.idle_timers = 0;
        while !holds(self) {
            self.doze(until_ms);
            assert!(self.agenda.added() < EVENTS_MAX, "seed {}: law 12: there is no end to it", self.seed);
            let event = self.agenda.next_ms();
            let wake = self.next_timer(event.unwrap_or(u64::MAX));
            let next = wake.map(|(at_ms, _)| at_ms).or(event);
            let Some(at_ms) = next.filter(|at_ms| *at_ms <= until_ms) else {
                self.now_ms = until_ms;
                return holds(self);
            };
            self.now_ms = self.now_ms.max(at_ms);
            self.storm.now_ms = self.now_ms;
            match wake {
                Some((_, realm)) => self.timer(realm),
                None => {
                    if let Some(event) = self.agenda.pop() {
                        self.happen(event);
                    }
                }
            }
        }
        true
    }

    /// The first timer that fires before then, and whose it is.
    fn next_timer(&self, before_ms: u64) -> Option<(u64, RealmNo)> {
        let mut first = None;
        let mut first_ms = before_ms;
        for (number, realm) in &self.realms {
            if realm.frozen.is_none() && realm.wake_at_ms < first_ms {
                first_ms = realm.wake_at_ms;
                first = Some((first_ms, *number));
            }
        }
        first
    }

    /// Passes over what would be nothing but failing probes, thousands of them in days without network: timers whose time
    /// comes meanwhile fire late, as they do on a device that sleeps. In stories it stays awake.
    fn doze(&mut self, until_ms: u64) {
        let idle = self.storm.blows()
            && !self.network.up
            && self.idle_timers >= IDLE_TIMERS
            && self.agenda.next_ms().is_none();
        if idle && self.now_ms + AWAKE_MS < until_ms {
            self.now_ms = until_ms - AWAKE_MS;
        }
    }

    fn timer(&mut self, realm: RealmNo) {
        self.counts.timers += 1;
        self.idle_timers += 1;
        self.input(realm, Input::Wake(Wake::Timer));
        let Some(realm) = self.realms.get(&realm) else { return };
        assert!(realm.wake_at_ms > self.now_ms, "seed {}: busy loop: {:?}", self.seed, realm.engine);
    }

    pub(crate) fn happen(&mut self, event: Event) {
        match event {
            Event::Open(realm) => self.start(realm),
            Event::Query(realm, ..) if self.storm.read() => self.later(Event::Input(realm, Input::DueFailed)),
            Event::InboxQuery(realm, ..) if self.storm.read() => self.later(Event::Input(realm, Input::InboxFailed)),
            Event::Load(realm, intent) if self.storm.read() => self.input(realm, Input::NotLoaded(intent)),
            Event::Input(realm, input) => self.input(realm, input),
            Event::Transaction(realm, batch) => self.transact(realm, batch),
            Event::Query(realm, until_ms, limit) => self.query(realm, until_ms, limit),
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
                    Ok(Some(record)) => Input::Loaded(record),
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
            Event::Answer(packet, observation) => self.fetched(packet, observation),
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
        self.laws.after_commit(&self.ledger, self.now_ms, newcomer_ms, self.seed);
        if self.weak {
            self.ledger.remember(self.now_ms);
        }
        let told = changes.iter().zip(&results);
        self.laws.committed(&self.ledger, number, told, struck, self.seed);
        results.iter().for_each(|result| under_lock(&self.locks, number, result, self.seed));
        let results = tickets.into_iter().zip(results).collect();
        self.later(Event::Input(number, Input::Committed { results, clock }));
    }

    fn query(&mut self, realm: RealmNo, until_ms: u64, limit: u32) {
        let Some(scope) = self.realms.get(&realm).map(|realm| realm.engine.scope().clone()) else { return };
        let input = match now(self.ledger.due(&scope, until_ms, limit)) {
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
        let effects = realm.engine.take_effects();
        let wake_in_ms = realm.engine.wake_in_ms();
        realm.wake_at_ms = self.now_ms.saturating_add(wake_in_ms);
        self.trace.wakes(self.now_ms, number, wake_in_ms);
        for effect in effects {
            self.act(number, effect);
        }
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
            Effect::LoadDue { until_ms, limit } => {
                self.counts.loads += 1;
                self.later(Event::Query(realm, until_ms, limit));
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
            Effect::Send(dispatch) if self.is_for(&dispatch, Purpose::Reconcile) => {
                let key = dispatch.headers.iter().find(|(name, _)| name == "Idempotency-Key");
                self.lookups.push((dispatch.method.to_owned(), dispatch.url.clone(), key.map(|(_, key)| key.clone())));
                self.answered(realm, dispatch.intent, (self.lookup_says)());
            }
            Effect::Send(dispatch) if self.is_for(&dispatch, Purpose::Poll) => {
                self.polls.push((realm, dispatch.method, dispatch.url.clone()));
                let key = self.intent(&dispatch.intent).key;
                self.answered(realm, dispatch.intent, (self.poll_says)(key.expose()));
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
                    dispatch: &dispatch,
                    seed: self.seed,
                };
                self.laws.before_send(&sending);
                self.send(realm, *dispatch);
                self.counts.most_in_flight = self.counts.most_in_flight.max(self.server.in_flight(realm));
            }
            Effect::Done { ticket, result } => {
                if let Ok(Applied::Submitted { intent, .. }) = &result {
                    assert!(self.ledger.intent(&intent.id).is_some(), "seed {}: law 1: done before durable", self.seed);
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
                assert!(!durable || intent.journal_entries <= stored, "seed {}: told before durable", self.seed);
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
            let finding = self.server.look_up(intent.key.expose(), self.now_ms);
            self.tally.found(finding);
            finding
        } else {
            (self.findings)(intent)
        }
    }

    /// What a question without an effect is answered.
    fn answered(&mut self, realm: RealmNo, intent: IntentId, facts: Facts) {
        let answer = Some(answer_of(&facts));
        self.later(Event::Input(realm, Input::Fetched { intent, observation: Observation::Reply(facts), answer }));
    }

    /// Does a request leave under a claim of this purpose?
    fn is_for(&self, dispatch: &Dispatch, purpose: Purpose) -> bool {
        let intent = self.ledger.intent(&dispatch.intent);
        intent.is_some_and(|intent| intent.claim.as_ref().is_some_and(|claim| claim.purpose == purpose))
    }

    /// Does an answer wait for this tab that it has not recorded?
    pub(crate) fn has_facts_for(&self, realm: RealmNo) -> bool {
        let theirs = |event: &Event| {
            matches!(event, Event::Answer(packet, Observation::Reply(_)) if packet.realm == realm)
                || matches!(event, Event::Transaction(of, batch) if *of == realm
                    && batch.iter().any(|(_, change)| matches!(change, Change::Record(_))))
        };
        self.agenda.iter().any(theirs)
    }

    /// What is going to happen.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Event> {
        self.agenda.iter()
    }

    /// Is a commit of this tab under way?
    pub(crate) fn is_committing(&self, realm: RealmNo) -> bool {
        let theirs = |event: &Event| matches!(event, Event::Transaction(of, ..) | Event::Input(of, Input::Committed { .. }) if *of == realm);
        self.agenda.iter().any(theirs)
    }

    /// Has this tab claimed an intent to send it, and does not know yet?
    pub(crate) fn is_claiming(&self, realm: RealmNo) -> bool {
        let to_send = |applied: &Applied| matches!(applied, Applied::Claimed(grant) if grant.attempt.is_some());
        let theirs = |event: &Event| {
            matches!(event, Event::Input(of, Input::Committed { results, .. }) if *of == realm
                && results.iter().any(|(_, result)| result.as_ref().is_ok_and(to_send)))
        };
        self.agenda.iter().any(theirs)
    }

    /// Does an intent wait that nobody has claimed?
    pub(crate) fn is_waiting(&self) -> bool {
        self.laws.intents().any(|intent| matches!(intent.state, State::Waiting { .. }) && intent.claim.is_none())
    }

    /// Is a request on the wire?
    pub(crate) fn is_sending(&self) -> bool {
        self.realms.keys().any(|realm| self.server.in_flight(*realm) > 0)
    }

    pub(crate) fn latency(&mut self) -> u64 {
        if self.storm.blows() { self.storm.latency() } else { 1 + self.dice.roll(self.latency_max_ms) }
    }

    /// Something will happen after a moment.
    pub(crate) fn later(&mut self, event: Event) {
        let wait = self.latency();
        self.at(self.now_ms + wait, event);
    }

    pub(crate) fn at(&mut self, at_ms: u64, event: Event) {
        self.agenda.add(at_ms, event);
    }

    /// The device's wall clock.
    pub fn wall_ms(&self) -> u64 {
        wall_ms(self.now_ms, self.drift_ppm, self.wall_ahead_ms)
    }

    /// The keys that travelled for one decision.
    pub fn keys_of(&self, number: u32) -> BTreeSet<String> {
        self.server.keys_of.get(&body(number)).cloned().unwrap_or_default()
    }

    pub fn effects_of(&self, number: u32) -> u32 {
        self.server.effects.get(&body(number)).copied().unwrap_or(0)
    }
}

fn wall_ms(now_ms: u64, drift_ppm: i64, ahead_ms: i64) -> u64 {
    let drift_ms = now_ms as i64 / 1_000 * drift_ppm / 1_000;
    (START_WALL_MS + now_ms).saturating_add_signed(drift_ms + ahead_ms)
}

/// The result of a future that never waits: the store in memory is one.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a store in memory does not wait"),
    }
}
