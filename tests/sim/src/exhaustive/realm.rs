//! A realm of the search, and the driver's part: what an effect asks for waits until it happens.
//!
//! What is local to a realm happens at once: credentials, probes, what one tab tells another. When they come makes no
//! difference that the transaction or the query after them, which may wait as long as it likes, does not make.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use intento::core::change::{Applied, Change};
use intento::core::contract::Finding;
use intento::core::effect::{Dispatch, Effect};
use intento::core::engine::{Engine, Settings};
use intento::core::input::{Authorized, CommitError, Credentials, DueSpan, Input, Ticket, Wake};
use intento::core::key::{RandomBits, RealmId, ScopeHash};
use intento::core::limits::TIMER_MAX_MS;
use intento::core::reach::{OriginRecord, ProbeStanding};
use intento::core::record::{ExpectedVersions, Record, RecordKey, Writes};
use intento::core::shared::Shared;
use intento::core::submission::{Destinations, ExpiresIn, SubmitContext};
use intento::core::time::{LedgerClock, Moment, Observed, Readings};
use intento::ledger::store::{Store, commit_batch};

use super::likeness::Seen;
use super::locks::Holder;
use super::network::{Packet, Stage};
use super::world::{Event, START_MS, Side, World};
use crate::decisions::{decision, target};
use crate::laws::sending::{FirstSend, Sender, may_leave};
use crate::laws::{Time, agrees, alone, step_by_step};
use crate::profile::Profile;
use crate::realms::name_of;
use crate::world::{ATTEMPT_MS, ORIGIN, RealmNo, now};

/// The same for every input, and its first three draws are next to nothing: whatever waits a while by chance waits no
/// while, so that it may happen while other things are under way, and how often it has failed makes no difference.
const JITTER_SEED: u64 = 6_694_457_095_317_448_912;
const SCOPE: &str = "user-1";
/// An engine that waits for nothing looks after an hour; here only when nothing else is left to happen.
pub(super) const HOURLY: u64 = u64::MAX;

/// What became of each change of a transaction.
type Results = Vec<(Ticket, Result<Applied, CommitError>)>;

/// A realm, and what waits to happen to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Realm {
    /// 0 while it is dead.
    pub(super) number: RealmNo,
    pub(super) engine: Option<Engine>,
    pub(super) sleep: Sleep,
    /// Something was told to it while it slept.
    pub(super) told: bool,
    /// [`HOURLY`]: it waits for nothing.
    pub(super) wake_at_ms: u64,
    pub(super) commit: Option<Vec<(Ticket, Change)>>,
    pub(super) committed: Option<(Results, Option<Observed>)>,
    pub(super) due: Option<Page>,
    pub(super) inbox: Option<Page>,
    /// The lock that it has waited for is its own, and it does not know yet.
    pub(super) granted: bool,
    pub(super) handling: bool,
    pub(super) asking: bool,
    pub(super) found: Option<Finding>,
    pub(super) likeness: Cell<Option<(Seen, u128)>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sleep {
    #[default]
    Awake,
    /// It was told so before.
    Frozen,
    /// Nothing told it: a stopped process, a device that sleeps.
    Stopped,
}

/// What a query asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) until_ms: u64,
    pub(super) limit: u32,
}

impl Realm {
    pub(super) fn lives(&self) -> bool {
        self.engine.is_some()
    }

    pub(super) fn is_awake(&self) -> bool {
        self.lives() && self.sleep == Sleep::Awake
    }

    /// What waits to happen to it, in the order in which a fair world does it.
    pub(super) fn enabled(&self, side: Side, now_ms: u64, events: &mut Vec<Event>) {
        if !self.is_awake() {
            return;
        }
        let waiting = [
            (self.committed.is_some(), Event::Committed(side)),
            (self.granted, Event::Granted(side)),
            (self.commit.is_some(), Event::Commit(side)),
            (self.due.is_some(), Event::Due(side)),
            (self.inbox.is_some(), Event::Inbox(side)),
            (self.handling, Event::Handled(side)),
            (self.asking, Event::LookUp(side)),
            (self.found.is_some(), Event::Found(side)),
            (self.wake_at_ms <= now_ms, Event::Timer(side)),
        ];
        events.extend(waiting.into_iter().filter(|(waits, _)| *waits).map(|(_, event)| event));
    }
}

impl World {
    /// A ledger that has talked to the origin just now, by a probe too: what a first probe does is told in stories.
    pub(super) fn know_the_origin(&mut self) {
        let stamp = LedgerClock::new(START_MS).stamp(START_MS);
        let origin = OriginRecord {
            last_answer: Some(stamp),
            answered: true,
            probe: ProbeStanding::Works,
            ..OriginRecord::default()
        };
        let mut writes = Writes::new();
        writes.insert(RecordKey::Origin(ORIGIN.to_owned()), Record::Origin(Shared::new(origin)));
        now(self.ledger.commit(&ExpectedVersions::new(), &writes)).expect("an empty ledger takes it");
    }

    pub(super) fn open(&mut self, side: Side) {
        self.realms_opened += 1;
        let number = self.realms_opened;
        let settings = Settings {
            scope: ScopeHash::of(SCOPE),
            owner: RealmId::from(name_of(number)),
            jitter_seed: JITTER_SEED,
            attempt_ms: ATTEMPT_MS,
            windows: Profile::Conforming.contract().contract.windows(),
            origins: vec![ORIGIN.to_owned()],
            online: true,
            can_refresh: false,
            can_reconcile: true,
            prepares: false,
            handled: if self.left.delivers { vec![decision(0).operation] } else { Vec::new() },
        };
        let engine = Engine::new(settings, moment(self.now_ms));
        let origins = match self.ledger.record(&RecordKey::Origin(ORIGIN.to_owned())) {
            Some(Record::Origin(origin)) => vec![(ORIGIN.into(), origin)],
            _ => Vec::new(),
        };
        let clock = self.ledger.clock();
        *self.realm_mut(side) = Realm { number, engine: Some(engine), wake_at_ms: HOURLY, ..Realm::default() };
        self.feed(side, Input::Started { clock, origins });
    }

    pub(super) fn submit(&mut self, side: Side) {
        let submission = intento::core::submission::Submission { expires_in: ExpiresIn::Never, ..decision(0) };
        let contract = Profile::Conforming.contract();
        let destinations = Destinations::new(&target(), &[]).expect("the app's own origin");
        // Submitted elsewhere: no realm has precedence in telling the outcome, so that the two are alike.
        let realm = RealmId::from("realm-0");
        let scope = ScopeHash::of(SCOPE);
        let context = SubmitContext { scope: &scope, realm: &realm, contract: &contract, destinations: &destinations };
        let change = submission.into_change(context, RandomBits([1; 16]), RandomBits([2; 16])).expect("a decision");
        self.id = Rc::new(change.intent.clone());
        self.feed(side, Input::Submit { ticket: 0, submit: Box::new(change) });
    }

    /// It is gone, whatever it was doing. What it has put on the wire travels on.
    pub(super) fn crash(&mut self, side: Side) {
        let number = self.realm(side).number;
        *self.realm_mut(side) = Realm { wake_at_ms: HOURLY, ..Realm::default() };
        self.forget_waiter(number);
        self.forget_lock_of(number);
    }

    pub(super) fn freeze(&mut self, side: Side) {
        self.feed(side, Input::Wake(Wake::Suspended));
        self.realm_mut(side).sleep = Sleep::Frozen;
    }

    pub(super) fn thaw(&mut self, side: Side) {
        let realm = self.realm_mut(side);
        let (slept, told) = (core::mem::take(&mut realm.sleep), core::mem::take(&mut realm.told));
        if slept == Sleep::Frozen {
            self.feed(side, Input::Wake(Wake::Resumed));
        }
        if told {
            self.feed(side, Input::Peer((*self.id).clone()));
        }
    }

    pub(super) fn timer(&mut self, side: Side) {
        self.feed(side, Input::Wake(Wake::Timer));
        assert!(self.realm(side).wake_at_ms > self.now_ms, "busy loop: {:?}", self.realm(side).engine);
    }

    pub(super) fn ask(&mut self, side: Side) {
        let change = Box::new(Change::Reconcile((*self.id).clone()));
        self.feed(side, Input::Steer { ticket: 1, change });
    }

    /// The transaction decides by the clocks of now, and what it writes is durable.
    pub(super) fn transact(&mut self, side: Side) {
        let now_ms = self.now_ms;
        let realm = self.realm_mut(side);
        let (Some(batch), Some(engine)) = (realm.commit.take(), &realm.engine) else { return };
        let reading = engine.reading(moment(now_ms));
        let readings: Readings = Rc::new(move || reading);
        let (tickets, mut changes): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let before = self.ledger.clock();
        let ledger = Rc::make_mut(&mut self.ledger);
        let (results, clock) = now(commit_batch(ledger, &mut changes, &readings));
        let (written, after) = (ledger.take_written(), ledger.clock());
        if let (Some(before), Some(after)) = (before, after) {
            assert!(after.at_ms >= before.at_ms && after.epoch == before.epoch, "P3: the clock went back");
            assert_eq!(after.at_ms, after.wall_ms, "P3: no wall clock was stepped");
        }
        for intent in written {
            if let Some(before) = &self.intent {
                let time = Time { clock: after, claimed_for_ms: None };
                step_by_step(before, &intent, &results, time, 0);
            }
            alone(&intent, 0);
            self.intent = Some(intent);
        }
        self.check_the_outcome();
        let results = tickets.into_iter().zip(results).collect();
        self.realm_mut(side).committed = Some((results, clock));
    }

    /// What the client says is what the server did, now and ever after.
    pub(super) fn check_the_outcome(&self) {
        if let Some(intent) = &self.intent {
            agrees(intent, self.server.effects, false, 0);
        }
    }

    pub(super) fn committed(&mut self, side: Side) {
        if let Some((results, clock)) = self.realm_mut(side).committed.take() {
            self.feed(side, Input::Committed { results, clock });
        }
    }

    /// Reads and hands over in one: what is stale is refused by the transaction that comes of it, which may wait.
    pub(super) fn query(&mut self, side: Side) {
        if let Some(page) = self.realm_mut(side).due.take() {
            self.feed(side, self.read_due(page));
        }
    }

    pub(super) fn query_inbox(&mut self, side: Side) {
        if let Some(page) = self.realm_mut(side).inbox.take() {
            self.feed(side, self.read_inbox(page));
        }
    }

    fn read_due(&self, page: Page) -> Input {
        now(self.ledger.due(&ScopeHash::of(SCOPE), DueSpan::until(page.until_ms), page.limit))
            .map_or(Input::DueFailed, Input::Due)
    }

    fn read_inbox(&self, page: Page) -> Input {
        now(self.ledger.inbox(&ScopeHash::of(SCOPE), page.until_ms, page.limit))
            .map_or(Input::InboxFailed, Input::Inbox)
    }

    pub(super) fn handled(&mut self, side: Side) {
        self.realm_mut(side).handling = false;
        self.feed(side, Input::Delivered { intent: (*self.id).clone(), ok: true });
    }

    pub(super) fn look_up(&mut self, side: Side) {
        self.realm_mut(side).asking = false;
        self.realm_mut(side).found = Some(self.server.look_up(self.now_ms));
    }

    pub(super) fn found(&mut self, side: Side) {
        if let Some(finding) = self.realm_mut(side).found.take() {
            self.feed(side, Input::Found { intent: (*self.id).clone(), finding, answer: None });
        }
    }

    /// Feeds a realm, and does at once what is local.
    pub(super) fn feed(&mut self, side: Side, input: Input) {
        let mut inputs = VecDeque::from([(side, input)]);
        while let Some((side, input)) = inputs.pop_front() {
            let now_ms = self.now_ms;
            let realm = self.realm_mut(side);
            if realm.sleep != Sleep::Awake {
                realm.told = true;
                continue;
            }
            let Some(engine) = &mut realm.engine else { continue };
            engine.reseed(JITTER_SEED);
            engine.handle(input, moment(now_ms));
            let effects = engine.take_effects();
            let wake_in_ms = engine.wake_in_ms();
            realm.wake_at_ms = if wake_in_ms < TIMER_MAX_MS { now_ms + wake_in_ms } else { HOURLY };
            for effect in effects {
                self.act(side, effect, &mut inputs);
            }
        }
    }

    fn act(&mut self, side: Side, effect: Effect, inputs: &mut VecDeque<(Side, Input)>) {
        match effect {
            Effect::Commit { batch } => self.realm_mut(side).commit = Some(batch),
            // From the beginning: what is due here always fits a page.
            Effect::LoadDue { span: DueSpan { until_ms, .. }, limit } if self.left.queries_wait => {
                self.realm_mut(side).due = Some(Page { until_ms, limit });
            }
            Effect::LoadDue { span: DueSpan { until_ms, .. }, limit } => {
                inputs.push_back((side, self.read_due(Page { until_ms, limit })));
            }
            Effect::LoadInbox { until_ms, limit } if self.left.queries_wait => {
                self.realm_mut(side).inbox = Some(Page { until_ms, limit });
            }
            Effect::LoadInbox { until_ms, limit } => {
                inputs.push_back((side, self.read_inbox(Page { until_ms, limit })));
            }
            Effect::Deliver { .. } => self.realm_mut(side).handling = true,
            Effect::Load(intent) => {
                let clock = self.ledger.clock();
                let loaded = |intent| Input::Loaded { intent, clock };
                inputs.push_back((side, self.intent.clone().map_or(Input::NotLoaded(intent), loaded)));
            }
            Effect::Lock { intent, wait } => {
                if let Some(lock) = self.lock(side, wait) {
                    inputs.push_back((side, Input::Lock { intent, lock }));
                }
            }
            Effect::Unlock(_) => self.unlock(side),
            Effect::Probe { origin } => inputs.push_back((side, Input::Probed { origin, ok: true })),
            Effect::Authorize { intent, .. } => {
                let outcome = Authorized::Granted(Credentials::default());
                inputs.push_back((side, Input::Authorized { intent, outcome }));
            }
            Effect::Prepare { .. } => unreachable!("this app prepares nothing"),
            Effect::Reconcile { .. } => self.realm_mut(side).asking = true,
            Effect::Send(dispatch) => self.send(side, &dispatch),
            Effect::Done { result, .. } => {
                if let Ok(Applied::Submitted { .. }) = &result {
                    assert!(self.intent.is_some(), "law 1: done before durable");
                }
            }
            Effect::Changed { intent, durable, .. } => {
                let stored = self.intent.as_ref().map_or(0, |stored| stored.journal_entries);
                assert!(durable && intent.journal_entries <= stored, "told before durable");
            }
            Effect::Nudge(intent) => {
                if self.realm(side.other()).lives() {
                    inputs.push_back((side.other(), Input::Peer(intent)));
                }
            }
        }
    }

    /// An attempt leaves. As long as the lease of another runs, by the clock of its own realm, none may (law 5).
    fn send(&mut self, side: Side, dispatch: &Dispatch) {
        let intent = self.intent.clone().expect("law 1: sent unstored");
        let realm = self.realm(side);
        let (number, ledger_ms) = (realm.number, realm.engine.as_ref().map_or(0, |engine| engine.stamp().at_ms));
        let scope = ScopeHash::of(SCOPE);
        let has_lock = self.locks.holder == Holder::Realm(number);
        let sender = Sender { realm: number, scope: &scope, ledger_ms, has_lock, clocks_disagree: false };
        may_leave(&intent, sender, dispatch, 0);
        let mut first = self.first_send.borrow_mut();
        assert!(first.get_or_insert_with(|| FirstSend::of(dispatch, 0)).is_like(dispatch), "law 2: other bytes");
        drop(first);
        let live = self.packets.iter().find(|packet| packet.waiter != number && self.is_sending(packet));
        assert!(live.is_none(), "law 5: two live senders");
        let claim = intent.claim.as_ref();
        let lease_until_ms = claim.map_or(0, |claim| claim.lease_until_ms);
        self.packets.push(Packet {
            waiter: number,
            attempt: dispatch.attempt,
            locked: claim.is_some_and(|claim| claim.lock_held),
            lease_until_ms: (self.now_ms + lease_until_ms).saturating_sub(ledger_ms),
            deadline_ms: self.now_ms + dispatch.deadline_ms,
            stage: Stage::Travelling { late: false },
        });
    }
}

impl World {
    /// Has the realm that waits for it the right to send still? A claim that was made with the lock ends with it.
    fn is_sending(&self, packet: &Packet) -> bool {
        let lives = self.side_of(packet.waiter).is_some();
        let has_lock = !packet.locked || self.locks.holder == Holder::Realm(packet.waiter);
        lives && has_lock && packet.lease_until_ms > self.now_ms
    }
}

/// Both clocks of a realm: nobody steps them.
pub(super) fn moment(now_ms: u64) -> Moment {
    Moment { wall_ms: now_ms, mono_ms: now_ms }
}
