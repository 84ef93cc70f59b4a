//! One realm's engine: `handle` an input, then do what it asks, then wait until `wake_in_ms`. Nothing here reads a
//! clock, draws randomness or does IO.

mod credentials;
mod inbox;
mod locks;
mod origins;
mod runs;
mod schedule;

use super::attempt_run::{AttemptRun, Terms};
use super::backoff::JitterSource;
use super::bugs::{Bug, bug};
use super::change::{Applied, Change, RecordFacts};
use super::contract::Windows;
use super::effect::Effect;
use super::input::{CommitError, Input, Ticket, Wake};
use super::intent::IntentRecord;
use super::key::{ChangeId, IntentId, RealmId, ScopeHash};
use super::limits::{COMMIT_BATCH_MAX, TIMER_MAX_MS, WATCH_INTERVAL_MS};
use super::map::SortedMap;
use super::shared::Shared;
use super::time::{LedgerClock, Moment, Observed, Reading, RealmClock, Stamp};
use credentials::CredentialsKnown;
use inbox::Inbox;
use locks::LockWaits;
use origins::Origins;
use schedule::Schedule;

/// What an engine is opened with.
#[derive(Clone, Debug)]
pub struct Settings {
    pub scope: ScopeHash,
    pub owner: RealmId,
    pub jitter_seed: u64,
    pub attempt_ms: u64,
    /// The windows of the queue's contract.
    pub windows: Windows,
    /// Origins that intents may go to.
    pub origins: Vec<String>,
    pub online: bool,
    /// Can the app be asked for new credentials?
    pub can_refresh: bool,
    /// Can the app be asked what became of an intent?
    pub can_reconcile: bool,
    /// Does the app prepare requests?
    pub prepares: bool,
    /// Operations whose outcomes the app has a handler for.
    pub handled: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Engine {
    settings: Settings,
    clock: RealmClock,
    now: Moment,
    jitter: JitterSource,
    names_made: u64,
    started: bool,
    suspended: bool,
    online: bool,
    runs: SortedMap<IntentId, AttemptRun>,
    /// When runs were begun within the last minute, oldest first, by the monotonic clock.
    begun: Vec<u64>,
    credentials: CredentialsKnown,
    inbox: Inbox,
    /// Intents that this realm leaves alone until a monotonic time: the app's credentials or the ledger failed.
    parked: SortedMap<IntentId, Parked>,
    origins: Origins,
    /// Intents whose locks this realm waits for, because others run them.
    lock_waits: LockWaits,
    locks_lost: u64,
    /// Intents that somebody waits for, and how long their journal was when the app was last told.
    watched: SortedMap<IntentId, Option<u64>>,
    watched_at_ms: u64,
    changes: Vec<(Ticket, Change)>,
    committing: bool,
    schedule: Schedule,
    /// What is due and only waits for room, as it was read: a claim is decided by what is there then.
    backlog: Vec<Shared<IntentRecord>>,
    effects: Vec<Effect>,
}

#[derive(Clone, Copy, Debug)]
struct Parked {
    /// `None`: its time has come, and only the count of failures is still of use.
    until_mono_ms: Option<u64>,
    failures: u32,
}

impl Engine {
    pub fn new(settings: Settings, now: Moment) -> Self {
        Self {
            clock: RealmClock::new(now),
            now,
            jitter: JitterSource::new(settings.jitter_seed),
            names_made: 0,
            started: false,
            suspended: false,
            online: settings.online,
            runs: SortedMap::new(),
            begun: Vec::new(),
            credentials: CredentialsKnown::default(),
            inbox: Inbox::new(&settings.handled),
            parked: SortedMap::new(),
            origins: Origins::new(&settings.origins),
            lock_waits: LockWaits::default(),
            locks_lost: 0,
            watched: SortedMap::new(),
            watched_at_ms: now.mono_ms,
            changes: Vec::new(),
            committing: false,
            schedule: Schedule::new(),
            backlog: Vec::new(),
            effects: Vec::new(),
            settings,
        }
    }

    /// Takes in one thing that happened. Do what [`take_effects`](Self::take_effects) says
    /// afterwards, in the same task.
    pub fn handle(&mut self, input: Input, now: Moment) {
        if self.started && self.clock.steps_at(now) && !bug(Bug::BridgedStepUnpublished) {
            self.enqueue(Ticket::Engine, Change::Tick);
        }
        self.now = now;
        self.clock.read(now);
        match input {
            Input::Started { clock, origins } => {
                self.started = true;
                self.clock.adopt(clock.unwrap_or(LedgerClock::new(now.wall_ms)));
                self.origins.learn_all(origins);
                self.schedule.stale = true;
                // What a realm that is gone was sending is due when its lease ends: its lock may be free already.
                self.schedule.ahead = true;
            }
            Input::Submit { ticket, submit } => {
                self.changes.push((Ticket::Caller(ticket), Change::Submit(submit)));
            }
            Input::Steer { ticket, change } => {
                if let Change::Resume(intent) = &*change {
                    self.credentials.forget(intent);
                    // Facts that are still to be recorded are offered again when their time comes.
                    if !self.runs.contains_key(intent) {
                        self.parked.remove(intent);
                    }
                }
                self.changes.push((Ticket::Caller(ticket), *change));
            }
            Input::Watch(intent) => {
                self.effects.push(Effect::Load(intent.clone()));
                if !self.watched.contains_key(&intent) {
                    self.watched.insert(intent, None);
                }
            }
            Input::Unwatch(intent) => {
                self.watched.remove(&intent);
            }
            Input::Committed { results, clock } => self.committed(results, clock),
            Input::Due(page) => self.due(page),
            Input::DueFailed => self.due_failed(),
            Input::Inbox(page) => self.inbox_loaded(page),
            Input::InboxFailed => self.inbox_failed(),
            Input::Delivered { intent, ok } => self.delivered(&intent, ok),
            Input::Acknowledge(intent) => self.enqueue(Ticket::Engine, Change::Acknowledge(intent)),
            Input::Loaded { intent, clock } => self.loaded(&intent, clock),
            Input::NotLoaded(intent) => self.not_loaded(&intent),
            Input::Lock { intent, lock } => self.lock_told(&intent, lock),
            Input::Probed { origin, ok } => self.probed(&origin, ok),
            Input::Authorized { intent, outcome } => self.authorized(&intent, outcome),
            Input::Prepared { intent, prepared } => self.prepared(&intent, prepared),
            Input::Found { intent, finding, answer } => self.found(&intent, finding, answer),
            Input::Fetched { intent, observation, answer } => self.fetched(&intent, observation, answer),
            Input::Wake(wake) => self.woken(wake),
            Input::Peer(intent) => {
                self.effects.push(Effect::Load(intent));
                // What has come of one may let another pass.
                self.schedule.stale |= self.schedule.passed_over;
            }
        }
        self.keep_going();
    }

    /// What is to be done now, in this order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        core::mem::take(&mut self.effects)
    }

    /// As [`take_effects`](Self::take_effects), in exchange for an empty list, whose room is used again.
    pub fn exchange_effects(&mut self, emptied: Vec<Effect>) -> Vec<Effect> {
        debug_assert!(emptied.is_empty());
        core::mem::replace(&mut self.effects, emptied)
    }

    /// What came back for an intent and is not known to be in the ledger.
    pub fn unrecorded(&self, intent: &IntentId) -> Option<&RecordFacts> {
        self.runs.get(intent)?.unrecorded().map(|(_, facts)| facts)
    }

    /// How long the driver may sleep unless something happens. Changes with every input.
    pub fn wake_in_ms(&self) -> u64 {
        let now = self.now.mono_ms;
        let stamp = self.stamp();
        let due = self.schedule.next_due_at_ms.filter(|_| self.has_room());
        let retry = self.schedule.retry_at_mono_ms.filter(|_| self.has_room());
        let inbox = self.inbox.next_due_at_ms().filter(|_| self.started && !self.suspended);
        let waits = [
            due.map(|due_at_ms| due_at_ms.saturating_sub(stamp.at_ms)),
            inbox.map(|due_at_ms| due_at_ms.saturating_sub(stamp.at_ms)),
            retry.map(|at_ms| at_ms.saturating_sub(now)),
            self.pace_ends_at_ms().map(|at_ms| at_ms.saturating_sub(now)),
            self.parked.values().filter_map(|parked| parked.until_mono_ms).min().map(|at_ms| at_ms.saturating_sub(now)),
            self.origins.next_probe_at_ms().map(|at_ms| at_ms.saturating_sub(now)),
            (!self.watched.is_empty()).then(|| (self.watched_at_ms + WATCH_INTERVAL_MS).saturating_sub(now)),
        ];
        waits.into_iter().flatten().min().unwrap_or(TIMER_MAX_MS).min(TIMER_MAX_MS)
    }

    /// Is something under way here, or does this realm wait for another to let go of what it runs?
    pub fn is_busy(&self) -> bool {
        let reading = self.schedule.loading || self.inbox.is_busy();
        let waiting = !self.runs.is_empty() || !self.lock_waits.is_empty();
        reading || self.committing || !self.changes.is_empty() || waiting
    }

    /// When there is next an outcome to hand over here, on the ledger clock.
    pub fn next_delivery_at_ms(&self) -> Option<u64> {
        self.inbox.next_due_at_ms()
    }

    /// Starts chance anew. For a search of all that can happen: chance must not tell two states apart.
    pub fn reseed(&mut self, jitter_seed: u64) {
        self.jitter = JitterSource::new(jitter_seed);
    }

    /// The ledger time at the last input.
    pub fn stamp(&self) -> Stamp {
        self.clock.stamp()
    }

    /// What this realm brings to a transaction that decides now.
    pub fn reading(&self, now: Moment) -> Reading {
        let now = if bug(Bug::ReadingsOfThePast) { self.now } else { now };
        Reading { locks_lost: self.locks_lost, ..self.clock.clone().read(now) }
    }

    pub fn scope(&self) -> &ScopeHash {
        &self.settings.scope
    }

    fn woken(&mut self, wake: Wake) {
        match wake {
            // What is due says so by itself; a timer with nothing to show for it has been idle all along.
            Wake::Timer if self.wake_in_ms() == 0 => return,
            Wake::Timer => {}
            Wake::Online => {
                self.online = true;
                self.origins.ask_again(true);
                self.schedule.ahead = true;
            }
            Wake::Offline => {
                self.online = false;
                self.origins.doubt();
            }
            Wake::Visible => self.origins.ask_again(false),
            Wake::Suspended => {
                self.suspended = true;
                self.backlog.clear();
                self.release_locks();
            }
            Wake::Resumed => {
                self.suspended = false;
                self.origins.ask_again(false);
            }
        }
        self.schedule.stale = true;
        // Whoever ended an intent may have died before it could say so, or may not know it.
        self.inbox.look();
    }

    /// After every input: offer unrecorded facts whose time has come, look at the ledger, look at what is watched,
    /// send what has gathered.
    fn keep_going(&mut self) {
        self.record_again();
        self.run_blocked();
        self.look_at_watched();
        self.begin_backlog();
        self.load_due();
        self.load_inbox();
        self.flush();
    }

    fn look_at_watched(&mut self) {
        if self.now.mono_ms.saturating_sub(self.watched_at_ms) < WATCH_INTERVAL_MS {
            return;
        }
        self.watched_at_ms = self.now.mono_ms;
        let watched = self.watched.keys().filter(|intent| !self.runs.contains_key(*intent));
        self.effects.extend(watched.cloned().map(Effect::Load));
    }

    fn committed(&mut self, results: Vec<(Ticket, Result<Applied, CommitError>)>, clock: Option<Observed>) {
        self.committing = false;
        if let Some(clock) = clock {
            self.clock.take_over(clock);
        }
        for (ticket, result) in results {
            match ticket {
                Ticket::Caller(ticket) => self.done(ticket, result),
                Ticket::Run(intent) => self.run_committed(&intent, result),
                Ticket::Delivery(intent) => self.delivery_committed(&intent, result),
                Ticket::Probe(origin) => self.probe_committed(&origin, result),
                Ticket::Engine => {
                    if let Ok(Applied::Held(intent)) = result {
                        self.tell(&intent);
                    }
                }
            }
        }
    }

    fn done(&mut self, ticket: u64, result: Result<Applied, CommitError>) {
        let news = !matches!(&result, Ok(Applied::Submitted { created: false, .. }));
        let skipped = matches!(&result, Ok(Applied::Skipped(_)));
        let intent = result.as_ref().ok().and_then(Applied::intent).cloned();
        if let Ok(Applied::Adopted { moved, .. }) = &result {
            moved.iter().for_each(|intent| self.tell(intent));
            self.schedule.stale = true;
        }
        if let Ok(
            Applied::Purged { ended: changed, .. }
            | Applied::MovedOut { moved: changed, .. }
            | Applied::Received(changed),
        ) = &result
        {
            changed.iter().for_each(|intent| self.tell(intent));
            // Lanes have passed their turns on, and what has come is due.
            self.schedule.stale = true;
        }
        self.effects.push(Effect::Done { ticket, result });
        if let Some(intent) = intent {
            // What it stood in the way of is due.
            self.schedule.stale |= skipped;
            if news {
                self.tell(&intent);
            }
            self.heed(&intent);
        }
    }

    /// What changed is durable: tell the app, and the other realms.
    fn tell(&mut self, intent: &Shared<IntentRecord>) {
        self.changed(intent);
        self.effects.push(Effect::Nudge(intent.id.clone()));
    }

    /// An intent as the ledger has it. One that is only watched is news if its journal has grown, or if those who
    /// wait for it can be answered.
    fn loaded(&mut self, intent: &Shared<IntentRecord>, clock: Option<LedgerClock>) {
        self.follow(clock);
        self.look_for_lock(intent);
        self.heed(intent);
        let told = self.watched.get(&intent.id).copied().flatten();
        if self.will_refresh(intent) {
            return;
        }
        if intent.is_at_rest() || told != Some(intent.journal_entries) {
            self.changed(intent);
        }
    }

    /// Its news may be of anything.
    fn not_loaded(&mut self, intent: &IntentId) {
        self.give_up_lock(intent);
        self.schedule.stale = true;
        self.inbox.look();
    }

    fn changed(&mut self, intent: &Shared<IntentRecord>) {
        if let Some(told) = self.watched.get_mut(&intent.id) {
            *told = Some(intent.journal_entries);
        }
        self.effects.push(Effect::Changed { intent: intent.clone(), durable: true, answer: None });
    }

    fn enqueue(&mut self, ticket: Ticket, change: Change) {
        self.changes.push((ticket, change));
    }

    /// One transaction at a time: what gathers while it runs shares the next one.
    fn flush(&mut self) {
        if self.committing || self.changes.is_empty() || !self.started {
            return;
        }
        self.committing = true;
        let later = self.changes.split_off(self.changes.len().min(COMMIT_BATCH_MAX));
        let batch = core::mem::replace(&mut self.changes, later);
        self.effects.push(Effect::Commit { batch });
    }

    fn terms(&mut self) -> Terms {
        Terms {
            owner: self.settings.owner.clone(),
            scope: self.settings.scope.clone(),
            nonce: self.make_name(),
            attempt_ms: self.settings.attempt_ms,
            windows: self.settings.windows.clone(),
            prepares: self.settings.prepares,
            locks_lost: self.locks_lost,
        }
    }

    /// Follows the ledger's clock. A realm that only reads would otherwise measure due times on one that the ledger has
    /// left behind: one wild reading of another realm's wall clock, and what is due would never be due here.
    fn follow(&mut self, clock: Option<LedgerClock>) {
        if let Some(clock) = clock.filter(|_| !bug(Bug::ReaderKeepsItsClock)) {
            self.clock.follow(clock);
        }
    }

    /// A name that no other realm and no other moment makes.
    fn make_name(&mut self) -> ChangeId {
        self.names_made += 1;
        ChangeId::from([&self.settings.owner.0, "-", &self.names_made.to_string()].concat())
    }
}
