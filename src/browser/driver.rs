//! The driver: one loop a realm. Feeds inputs to the engine, does what it asks, waits. It decides nothing.

mod reading;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use super::channel::Channel;
use super::clock::moment;
use super::fetch::{self, Brought, Fetch, Flight};
use super::indexeddb::DATABASE;
use super::lifecycle::{Lifecycle, is_online};
use super::locks::Locks;
use super::replies::Replies;
use super::sys::spawn;
use super::tiers::Ledger;
use super::{entropy, probe};
use crate::core::change::{Applied, Change, ContractSnapshot, Replace, Submit};
use crate::core::contract::{Answer, Finding, Observation};
use crate::core::effect::{Effect, Outgoing};
use crate::core::engine::{Engine, Settings};
use crate::core::error::Error;
use crate::core::input::{Authorized, CommitError, DuePage, Input, Lock, Prepared, Ticket, Wake};
use crate::core::intent::IntentRecord;
use crate::core::key::{IntentId, RealmId, ScopeHash};
use crate::core::map::SortedMap;
use crate::core::shared::Shared;
use crate::core::submission::{Destinations, Submission, SubmitContext};
use crate::core::time::{Readings, Stamp};
use crate::ledger::store::{Store, commit_batch};
use gloo_timers::callback::Timeout;
use wasm_bindgen::JsValue;

pub use reading::Outlook;

/// What a queue is opened with, checked.
#[derive(Debug)]
pub struct Opening {
    pub scope: ScopeHash,
    pub contract: ContractSnapshot,
    pub destinations: Destinations,
    pub origins: Vec<String>,
    /// The app's probe, and the origin it speaks for.
    pub probe: Option<(String, String)>,
    pub attempt_ms: u64,
    /// Has the app a way to get credentials?
    pub can_refresh: bool,
    /// Can the app be asked what became of an intent?
    pub can_reconcile: bool,
    /// Does the app prepare requests?
    pub prepares: bool,
    /// Operations whose outcomes the app has a handler for.
    pub handled: Vec<String>,
    pub session: Session,
    pub fetch: Fetch,
}

/// Whether requests carry the browser's cookies, and whose they say they are (P8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    /// No cookies: `authorize` brings the credentials.
    None,
    /// Cookies, with the scope's hash on the wire for the server to check against its session.
    Cookie,
    /// Cookies that nothing binds to the scope; the app accepts that another sign-in could send this one's intents.
    UnboundCookie,
}

/// What a driver needs of the app: credentials for an attempt, and somebody to tell.
pub trait App {
    /// Credentials for one attempt; new ones, if those it has were refused.
    fn authorize(&self, refresh: bool) -> impl Future<Output = Authorized> + 'static;
    /// Lets the app prepare a request; `None` if it threw, or took too long.
    fn prepare(&self, outgoing: &Outgoing) -> impl Future<Output = Option<Prepared>> + 'static;
    /// Asks the app what became of an intent.
    fn reconcile(&self, news: News) -> impl Future<Output = (Finding, Option<Answer>)> + 'static;
    /// Lets the app read a body that is no JSON; `None` if it cannot.
    fn decode(&self, answer: &Answer) -> impl Future<Output = Option<JsValue>> + 'static;
    /// Hands an outcome to the app's handler; true once that has resolved.
    fn deliver(&self, outcome: News) -> impl Future<Output = bool> + 'static;
    /// An intent's record changed. `answer` is there only if it could not be written.
    fn changed(&self, news: &News);
    /// An intent that is waited for cannot be found.
    fn missing(&self, intent: &IntentId);
    /// Where replies are kept until they are recorded.
    fn replies(&self) -> &Replies;
}

/// What is now known of an intent.
#[derive(Debug)]
pub struct News {
    pub intent: Shared<IntentRecord>,
    pub stamp: Stamp,
    pub durable: bool,
    pub answer: Option<Answer>,
}

/// A caller's answer.
pub type Done = Box<dyn FnOnce(Result<Applied, CommitError>)>;

/// One realm's running queue.
pub struct Driver<A> {
    engine: RefCell<Engine>,
    store: Ledger,
    locks: Locks,
    opening: Rc<Opening>,
    realm: RealmId,
    app: A,
    callers: RefCell<SortedMap<u64, Done>>,
    tickets: Cell<u64>,
    timer: RefCell<Option<Timeout>>,
    channel: RefCell<Option<Channel>>,
    lifecycle: RefCell<Option<Lifecycle>>,
    closed: Cell<bool>,
}

impl<A: App + 'static> Driver<A> {
    /// The driver of a ledger; it drains once it is [started](Self::start).
    pub fn new(opening: Rc<Opening>, store: Ledger, app: A) -> Result<Rc<Self>, Error> {
        let owner = RealmId::new(entropy::draw()?);
        let seed = entropy::draw()?.0.iter().fold(0, |seed: u64, byte| (seed << 8) ^ (seed >> 56) ^ u64::from(*byte));
        let settings = Settings {
            scope: opening.scope.clone(),
            owner: owner.clone(),
            jitter_seed: seed,
            attempt_ms: opening.attempt_ms,
            windows: opening.contract.contract.windows(),
            origins: opening.origins.clone(),
            online: is_online(),
            can_refresh: opening.can_refresh,
            can_reconcile: opening.can_reconcile,
            prepares: opening.prepares,
            handled: opening.handled.clone(),
        };
        Ok(Rc::new(Self {
            engine: RefCell::new(Engine::new(settings, moment())),
            store,
            locks: Locks::default(),
            opening,
            realm: owner,
            app,
            callers: RefCell::default(),
            tickets: Cell::new(0),
            timer: RefCell::default(),
            channel: RefCell::default(),
            lifecycle: RefCell::default(),
            closed: Cell::new(false),
        }))
    }

    /// Starts to drain.
    pub async fn start(self: &Rc<Self>) -> Result<(), Error> {
        let (clock, origins) = self.remembered().await;
        let clock = clock?;
        self.listen();
        self.feed(Input::Started { clock, origins });
        Ok(())
    }

    /// Makes a change before the driver is started; what came of it is to be [fed](Self::feed) to it afterwards.
    pub async fn commit(self: &Rc<Self>, change: Change) -> Option<Input> {
        let ticket = Ticket::Caller(self.ticket(Box::new(|_| {})));
        self.carry_out(Effect::Commit { batch: vec![(ticket, change)] }, None).await
    }

    /// Checks a submission and queues it; `done` hears when it is durable or why it is not.
    pub fn submit(self: &Rc<Self>, submission: Submission, done: Done) -> Result<(), Error> {
        let submit = Box::new(self.change_of(submission)?);
        let ticket = self.ticket(done);
        self.feed(Input::Submit { ticket, submit });
        Ok(())
    }

    fn change_of(&self, submission: Submission) -> Result<Submit, Error> {
        let context = SubmitContext {
            scope: &self.opening.scope,
            realm: &self.realm,
            contract: &self.opening.contract,
            destinations: &self.opening.destinations,
        };
        let (intent, key) = entropy::draw_two()?;
        submission.into_change(context, intent, key)
    }

    /// Cancels, resumes or abandons.
    pub fn steer(self: &Rc<Self>, change: Change, done: Done) {
        let ticket = self.ticket(done);
        self.feed(Input::Steer { ticket, change: Box::new(change) });
    }

    /// Checks a successor's request; it takes over the predecessor's operation and reference.
    pub fn replace(
        self: &Rc<Self>,
        predecessor: IntentId,
        reason: String,
        submission: Submission,
        done: Done,
    ) -> Result<(), Error> {
        let successor = self.change_of(submission)?;
        self.steer(Change::Replace(Box::new(Replace { predecessor, successor, reason })), done);
        Ok(())
    }

    /// The app, which has no handler for it, has been told this outcome.
    pub fn acknowledge(self: &Rc<Self>, intent: IntentId) {
        self.feed(Input::Acknowledge(intent));
    }

    /// Does the app have a handler for the outcomes of this operation?
    pub fn handles(&self, operation: &str) -> bool {
        self.opening.handled.iter().any(|handled| handled == operation)
    }

    pub fn watch(self: &Rc<Self>, intent: IntentId) {
        self.feed(Input::Watch(intent));
    }

    pub fn unwatch(self: &Rc<Self>, intent: IntentId) {
        self.feed(Input::Unwatch(intent));
    }

    pub fn store(&self) -> &Ledger {
        &self.store
    }

    pub fn app(&self) -> &A {
        &self.app
    }

    pub fn realm(&self) -> &RealmId {
        &self.realm
    }

    pub fn scope(&self) -> &ScopeHash {
        &self.opening.scope
    }

    /// The ledger time now.
    pub fn stamp(&self) -> Stamp {
        self.engine.borrow().stamp()
    }

    /// Could anybody here find out what became of it: the app, or the contract it was made under?
    pub fn can_reconcile(&self, intent: &IntentRecord) -> bool {
        self.opening.can_reconcile || intent.has_lookup
    }

    /// Stops this realm: nothing new is sent; what is on the wire is still recorded.
    pub fn close(self: &Rc<Self>) {
        if self.closed.replace(true) {
            return;
        }
        *self.lifecycle.borrow_mut() = None;
        *self.channel.borrow_mut() = None;
        self.feed(Input::Wake(Wake::Suspended));
        *self.timer.borrow_mut() = None;
    }

    pub fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// One input, then everything the engine asks for, in this same task: a guard that has just passed is followed
    /// by its `fetch` before anything else can run (P2.6).
    pub fn feed(self: &Rc<Self>, input: Input) {
        let fetched = match &input {
            Input::Fetched { intent, .. } => Some(intent.clone()),
            _ => None,
        };
        let effects = {
            let mut engine = self.engine.borrow_mut();
            engine.handle(input, moment());
            if let Some(facts) = fetched.and_then(|intent| engine.unrecorded(&intent)) {
                self.app.replies().keep(facts);
            }
            engine.take_effects()
        };
        let mut changed = Vec::new();
        for effect in effects {
            match effect {
                Effect::Nudge(intent) => changed.push(intent),
                effect => self.perform(effect),
            }
        }
        if let Some(channel) = self.channel.borrow().as_ref().filter(|_| !changed.is_empty()) {
            channel.nudge(&changed);
        }
        self.set_timer();
    }

    fn perform(self: &Rc<Self>, effect: Effect) {
        let flight = match effect {
            Effect::Done { ticket, result } => {
                let done = self.callers.borrow_mut().remove(&ticket);
                return if let Some(done) = done {
                    done(result)
                };
            }
            Effect::Changed { intent, durable, answer } => {
                return self.app.changed(&News { intent, stamp: self.stamp(), durable, answer });
            }
            Effect::Lock { intent, wait } => {
                let (driver, id) = (Rc::downgrade(self), intent.clone());
                let tell = move |lock| {
                    if let Some(driver) = driver.upgrade().filter(|_| lock != Lock::Held) {
                        driver.locks.release(&id);
                    }
                    feed_weak(&driver, Input::Lock { intent: id.clone(), lock });
                };
                return self.locks.request(intent, wait, tell);
            }
            Effect::Unlock(intent) => return self.locks.release(&intent),
            // In this task, not in the one that waits for the answer.
            Effect::Send(ref dispatch) => Some(fetch::send(dispatch, &self.opening)),
            _ => None,
        };
        let driver = self.clone();
        spawn(Box::pin(async move {
            if let Some(input) = driver.carry_out(effect, flight).await {
                driver.feed(input);
            }
        }));
    }

    /// Does what takes time; what came of it is the next input.
    async fn carry_out(self: &Rc<Self>, effect: Effect, flight: Option<Flight>) -> Option<Input> {
        let scope = &self.opening.scope;
        Some(match effect {
            Effect::Commit { batch } => {
                let (tickets, mut changes): (Vec<Ticket>, Vec<Change>) = batch.into_iter().unzip();
                let driver = self.clone();
                let readings: Readings = Rc::new(move || driver.engine.borrow().reading(moment()));
                let (results, clock) = commit_batch(&self.store, &mut changes, &readings).await;
                for (change, result) in changes.iter().zip(&results) {
                    if let Change::Record(facts) = change {
                        match result {
                            Ok(_) | Err(CommitError::Refused(_)) => self.app.replies().forget(facts),
                            Err(_) => self.app.replies().keep(facts),
                        }
                    }
                }
                Input::Committed { results: tickets.into_iter().zip(results).collect(), clock }
            }
            Effect::LoadDue { span, limit } => match self.beside(self.store.due(scope, span, limit)).await {
                (Ok(page), (clock, origins)) => Input::Due(DuePage { origins, clock: clock.unwrap_or(None), ..page }),
                (Err(_), _) => Input::DueFailed,
            },
            Effect::LoadInbox { until_ms, limit } => {
                match self.beside(self.store.inbox(scope, until_ms, limit)).await {
                    (Ok(page), (clock, _)) => Input::Inbox(DuePage { clock: clock.unwrap_or(None), ..page }),
                    (Err(_), _) => Input::InboxFailed,
                }
            }
            Effect::Load(intent) => match self.look(&intent).await {
                Ok((Some(intent), clock)) => Input::Loaded { intent, clock },
                Ok((None, _)) => {
                    self.app.missing(&intent);
                    Input::NotLoaded(intent)
                }
                // It will be asked for again while somebody waits.
                Err(_) => Input::NotLoaded(intent),
            },
            Effect::Probe { origin } => {
                let url = self.opening.probe.as_ref().filter(|(_, speaks_for)| *speaks_for == origin);
                let ok = probe::probe(&origin, url.map(|(url, _)| url.as_str()), &self.opening.fetch).await;
                Input::Probed { origin, ok }
            }
            Effect::Authorize { intent, refresh } => {
                let outcome = self.app.authorize(refresh).await;
                Input::Authorized { intent, outcome }
            }
            Effect::Prepare { intent, outgoing } => {
                let prepared = self.app.prepare(&outgoing).await;
                Input::Prepared { intent, prepared }
            }
            Effect::Send(dispatch) => {
                let (observation, answer) = self.told(flight?).await;
                Input::Fetched { intent: dispatch.intent, observation, answer }
            }
            Effect::Reconcile { intent } => {
                let id = intent.id.clone();
                let asked = News { intent, stamp: self.stamp(), durable: true, answer: None };
                let (finding, answer) = self.app.reconcile(asked).await;
                Input::Found { intent: id, finding, answer }
            }
            Effect::Deliver { intent, answer } => {
                let id = intent.id.clone();
                let outcome = News { intent, stamp: self.stamp(), durable: true, answer };
                let ok = self.app.deliver(outcome).await;
                Input::Delivered { intent: id, ok }
            }
            Effect::Done { .. }
            | Effect::Changed { .. }
            | Effect::Nudge(_)
            | Effect::Lock { .. }
            | Effect::Unlock(_) => return None,
        })
    }

    /// What a flight brings, read by the app where only the app can.
    async fn told(&self, flight: Flight) -> Brought {
        let landed = match flight.land().await {
            Ok(landed) => landed,
            Err(fault) => return (Observation::Fault(fault), None),
        };
        let decoded = match landed.undecoded() {
            Some(answer) => self.app.decode(&answer).await,
            None => None,
        };
        landed.told(decoded)
    }

    fn listen(self: &Rc<Self>) {
        let driver = Rc::downgrade(self);
        let woken = move |wake| {
            let Some(driver) = driver.upgrade() else { return };
            match wake {
                Wake::Visible | Wake::Resumed => driver.store.resume(),
                _ => {}
            }
            driver.feed(Input::Wake(wake));
            if wake == Wake::Suspended {
                driver.store.suspend();
            }
        };
        *self.lifecycle.borrow_mut() = Some(Lifecycle::listen(woken));
        let driver = Rc::downgrade(self);
        *self.channel.borrow_mut() = Channel::open(DATABASE, move |intent| feed_weak(&driver, Input::Peer(intent)));
    }

    fn set_timer(self: &Rc<Self>) {
        if self.closed.get() {
            return;
        }
        let wait_ms = u32::try_from(self.engine.borrow().wake_in_ms()).unwrap_or(u32::MAX);
        let driver = Rc::downgrade(self);
        *self.timer.borrow_mut() = Some(Timeout::new(wait_ms, move || feed_weak(&driver, Input::Wake(Wake::Timer))));
    }

    fn ticket(&self, done: Done) -> u64 {
        let ticket = self.tickets.get() + 1;
        self.tickets.set(ticket);
        self.callers.borrow_mut().insert(ticket, done);
        ticket
    }
}

fn feed_weak<A: App + 'static>(driver: &Weak<Driver<A>>, input: Input) {
    if let Some(driver) = driver.upgrade() {
        driver.feed(input);
    }
}

impl<A> core::fmt::Debug for Driver<A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Driver").field("engine", &self.engine).finish_non_exhaustive()
    }
}
