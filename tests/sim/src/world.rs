//! One device, its tabs, a network and a server in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use intento::core::change::{Applied, Change, ContractSnapshot, Submit};
use intento::core::contract::{Facts, Finding, Observation};
use intento::core::effect::{Effect, Outgoing};
use intento::core::input::{Authorized, CommitError, Credentials, DueSpan, Input, Prepared, Ticket, Wake};
use intento::core::intent::{IntentRecord, State};
use intento::core::key::{IntentId, RandomBits, RealmId};
use intento::core::shared::Shared;
use intento::core::submission::{Destinations, Reference, StatedBody, Submission, SubmitContext};

use crate::agenda::Agenda;
use crate::chance::Dice;
use crate::decisions::{body, decision, target};
use crate::laws::Laws;
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::profile::Profile;
use crate::realms::{Realm, name_of};
use crate::schedule::has_lanes;
use crate::server::decide::Token;
use crate::server::{Packet, Server, Waiter, json};
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
const IDLE_TIMERS: u32 = 16;
/// Where nothing is due for so long, and every tab has looked once, a device is put aside as well.
const PUT_ASIDE_MS: u64 = 30 * MINUTE;
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
    /// Room for what an engine asks for.
    pub(crate) emptied: Vec<Effect>,
    /// Submits of which the caller was told nothing yet.
    pub(crate) unsettled: BTreeMap<u64, Box<Submit>>,
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
    /// What a look at the result of an accepted intent is answered, under its key, where a story and not the server says so.
    pub poll_says: Option<fn(&str) -> Facts>,
    /// Looks that left: from where, method, URL.
    pub polls: Vec<(RealmNo, &'static str, String)>,
    /// What the app's `prepare` makes of an attempt.
    pub prepare: fn(&Outgoing) -> Option<Prepared>,
    /// What tabs tell one another does not arrive.
    pub messages_lost: bool,
    pub contract: ContractSnapshot,
    /// What a later build of the app, which some tabs run already, submits under.
    pub deployed: Option<ContractSnapshot>,
    /// Do most intents of this life have a lane?
    pub lanes: bool,
    /// Is the ledger of a weak tier, in a life in which that tells?
    pub weak: bool,
    pub storm: Storm,
    /// A drawn life, and no story: nobody asks what the app was told.
    pub(crate) drawn: bool,
    /// Timers in a row that brought nothing but probes.
    pub(crate) idle_timers: u32,
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
    Query(RealmNo, DueSpan, u32),
    InboxQuery(RealmNo, u64, u32),
    Load(RealmNo, IntentId),
    Probe(RealmNo, String),
    /// The lock on an intent comes to a realm.
    Granted(RealmNo, IntentId, u64),
    /// The lock on an intent has no holder any more.
    Freed(IntentId),
    Arrive(Box<Packet>),
    Complete(Box<Packet>, Token),
    Answer(Waiter, Observation),
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
            emptied: Vec::new(),
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
            poll_says: None,
            polls: Vec::new(),
            prepare: |_| Some(Prepared::default()),
            messages_lost: false,
            contract: Profile::Conforming.contract(),
            deployed: None,
            lanes: false,
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
        world.storm = Storm::new(seed, profile);
        world.handler = |told| Some(told % 7 != 3);
        world.has_locks = !world.dice.one_in(4);
        world.deployed = world.dice.one_in(4).then(|| profile.later_contract());
        world.weak = world.dice.one_in(8);
        world.drift_ppm =
            if world.dice.one_in(3) { world.dice.roll(2 * DRIFT_MAX_PPM) as i64 - DRIFT_MAX_PPM as i64 } else { 0 };
        world.lanes = has_lanes(seed);
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

    pub(crate) fn submit_again(&mut self, realm: RealmNo, submit: Box<Submit>) {
        self.submits += 1;
        let ticket = self.submits;
        self.laws.decides(ticket, &submit.fingerprint);
        self.unsettled.insert(ticket, submit.clone());
        self.tally.submitted_again += 1;
        self.later(Event::Input(realm, Input::Submit { ticket, submit }));
    }

    fn change_of(&mut self, realm: RealmNo, submission: Submission) -> Option<Submit> {
        let scope = self.realms[&realm].engine.scope().clone();
        let owner = RealmId::from(name_of(realm));
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

    /// Has it ended, or does it wait for the app, itself or behind one of its lane that does?
    pub fn is_at_an_end(&self, intent: &IntentRecord) -> bool {
        self.rests(intent) || self.laws.before_in_lane(intent).any(|before| self.rests(before))
    }

    fn rests(&self, intent: &IntentRecord) -> bool {
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

    /// Passes over what would be nothing but failing probes, thousands of them in days without network, or hours in which
    /// nothing is due: timers whose time comes meanwhile fire late, as they do on a device that sleeps. In stories it stays
    /// awake.
    fn doze(&mut self, until_ms: u64) {
        if !self.storm.blows() || self.agenda.next_ms().is_some() || self.now_ms + AWAKE_MS >= until_ms {
            return;
        }
        let quiet_ms = self.next_timer(u64::MAX).map_or(u64::MAX, |(at_ms, _)| at_ms.saturating_sub(self.now_ms));
        let offline = !self.network.up && self.idle_timers >= IDLE_TIMERS;
        let aside = quiet_ms >= PUT_ASIDE_MS && self.idle_timers as usize >= self.realms.len();
        if offline || aside {
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

    /// Does an answer wait for this tab that it has not recorded?
    pub(crate) fn has_facts_for(&self, realm: RealmNo) -> bool {
        let theirs = |event: &Event| {
            matches!(event, Event::Answer(waiter, Observation::Reply(_)) if waiter.realm == realm)
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

    /// Has this tab asked for a claim that is not decided yet?
    pub(crate) fn waits_to_claim(&self, realm: RealmNo) -> bool {
        let claims = |(_, change): &(Ticket, Change)| matches!(change, Change::Claim(_));
        let theirs =
            |event: &Event| matches!(event, Event::Transaction(of, batch) if *of == realm && batch.iter().any(claims));
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

pub(crate) fn wall_ms(now_ms: u64, drift_ppm: i64, ahead_ms: i64) -> u64 {
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
