//! The app, as the driver sees it: its callbacks, and those who wait for an intent.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use gloo_timers::callback::Timeout;
use js_sys::{Function, Promise};
use serde::Deserialize;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use super::{errors, settled};
use crate::browser::codec::{from_js, to_js};
use crate::browser::driver::{App, Driver, News};
use crate::browser::sys::{Deferred, spawn};
use crate::core::contract::Answer;
use crate::core::error::{Error, ErrorCode};
use crate::core::input::{Authorized, Credentials};
use crate::core::intent::{IntentRecord, State};
use crate::core::key::{IntentId, ScopeHash};
use crate::core::limits::{AUTHORIZE_DEADLINE_MS, DELIVER_DEADLINE_MS};
use crate::core::snapshot::Snapshot;

/// The app's callbacks and its waiting calls.
#[derive(Debug)]
pub(super) struct Face {
    scope: ScopeHash,
    authorize: Option<Function>,
    changed: Function,
    deliver: Function,
    driver: RefCell<Weak<Driver<Face>>>,
    waiting: RefCell<Vec<Waiting>>,
    /// Outcomes that are known and could not be written.
    undurable: RefCell<BTreeMap<IntentId, (IntentRecord, Option<Answer>)>>,
}

#[derive(Debug)]
struct Waiting {
    intent: IntentId,
    answered: Rc<Deferred>,
    _patience: Timeout,
}

#[derive(Deserialize)]
struct PlainAuthorization {
    scope: String,
    headers: Vec<(String, String)>,
}

impl Face {
    pub(super) fn new(scope: ScopeHash, authorize: Option<Function>, changed: Function, deliver: Function) -> Self {
        Self {
            scope,
            authorize,
            changed,
            deliver,
            driver: RefCell::default(),
            waiting: RefCell::default(),
            undurable: RefCell::default(),
        }
    }

    pub(super) fn attach(&self, driver: &Rc<Driver<Self>>) {
        *self.driver.borrow_mut() = Rc::downgrade(driver);
    }

    /// Waits until the intent has ended or is held, for `within_ms` at most; then answers what is known.
    pub(super) fn wait(&self, driver: &Rc<Driver<Self>>, intent: IntentId, within_ms: u32) -> Promise {
        let answered = Rc::new(Deferred::new());
        let promise = answered.promise.clone();
        if let Some((record, answer)) = self.undurable.borrow().get(&intent) {
            answered.resolve(&settled::plain(record, &driver.stamp(), false, answer.as_ref()));
            return promise;
        }
        let patience = {
            let (driver, intent, answered) = (Rc::downgrade(driver), intent.clone(), answered.clone());
            Timeout::new(within_ms, move || {
                if let Some(driver) = driver.upgrade() {
                    driver.app().stop_waiting(&driver, &intent, &answered);
                    spawn(Box::pin(answer_now(driver, intent, answered)));
                }
            })
        };
        self.waiting.borrow_mut().push(Waiting { intent: intent.clone(), answered, _patience: patience });
        driver.watch(intent);
        promise
    }

    /// Nobody will be told any more: the queue is closed.
    pub(super) fn dismiss(&self, driver: &Driver<Self>) {
        let closed = errors::plain(&ErrorCode::Closed.into(), &driver.stamp());
        self.waiting.take().iter().for_each(|waiting| waiting.answered.reject(&closed));
    }

    fn stop_waiting(&self, driver: &Rc<Driver<Self>>, intent: &IntentId, answered: &Rc<Deferred>) {
        let nobody_else = {
            let mut waiting = self.waiting.borrow_mut();
            waiting.retain(|waiting| !Rc::ptr_eq(&waiting.answered, answered));
            waiting.iter().all(|waiting| waiting.intent != *intent)
        };
        if nobody_else {
            driver.unwatch(intent.clone());
        }
    }

    /// The intent, if telling it is what delivers its outcome: the app has no handler for it (P7.2).
    fn unacknowledged(&self, news: &News) -> Option<(Rc<Driver<Self>>, IntentId)> {
        let due = news.durable && news.intent.delivery.due_at_ms.is_some();
        let driver = self.driver.borrow().upgrade().filter(|driver| due && !driver.handles(&news.intent.operation))?;
        Some((driver, news.intent.id.clone()))
    }

    /// Those who wait for this intent, to be answered now.
    fn take_waiting(&self, intent: &IntentId) -> Vec<Rc<Deferred>> {
        let mut waiting = self.waiting.borrow_mut();
        let (theirs, others) = core::mem::take(&mut *waiting).into_iter().partition(|one| one.intent == *intent);
        *waiting = others;
        let theirs: Vec<Waiting> = theirs;
        theirs.into_iter().map(|one| one.answered).collect()
    }
}

impl App for Face {
    fn authorize(&self, refresh: bool) -> impl Future<Output = Authorized> + 'static {
        let (authorize, scope) = (self.authorize.clone(), self.scope.clone());
        async move {
            let Some(authorize) = authorize else { return Authorized::Granted(Credentials::default()) };
            let Ok(answer) = authorize.call1(&JsValue::UNDEFINED, &refresh.into()) else { return Authorized::Failed };
            match within(Promise::resolve(&answer), AUTHORIZE_DEADLINE_MS).await.and_then(from_js) {
                Some(PlainAuthorization { scope: theirs, .. }) if ScopeHash::of(&theirs) != scope => {
                    Authorized::OtherScope
                }
                Some(PlainAuthorization { headers, .. }) => Authorized::Granted(Credentials(headers)),
                None => Authorized::Failed,
            }
        }
    }

    fn deliver(&self, outcome: News) -> impl Future<Output = bool> + 'static {
        let deliver = self.deliver.clone();
        let News { intent, stamp, durable, answer } = outcome;
        async move {
            let plain = settled::plain(&intent, &stamp, durable, answer.as_ref());
            let operation = JsValue::from_str(&intent.operation);
            let Ok(handled) = deliver.call2(&JsValue::UNDEFINED, &operation, &plain) else { return false };
            let deadline_ms = u32::try_from(DELIVER_DEADLINE_MS).unwrap_or(u32::MAX);
            within(Promise::resolve(&handled), deadline_ms).await.is_some()
        }
    }

    fn changed(&self, news: &News) {
        let intent = &news.intent;
        if news.durable {
            self.undurable.borrow_mut().remove(&intent.id);
        } else {
            self.undurable.borrow_mut().insert(intent.id.clone(), (intent.clone(), news.answer.clone()));
        }
        // In a task of its own: a listener may call back into the queue.
        let (changed, snapshot) = (self.changed.clone(), to_js(&Snapshot::of(intent, &news.stamp)));
        let unacknowledged = self.unacknowledged(news);
        spawn(Box::pin(async move {
            let heard = changed.call1(&JsValue::UNDEFINED, &snapshot.unwrap_or(JsValue::UNDEFINED));
            if let Some((driver, intent)) = unacknowledged.filter(|_| heard.is_ok_and(|heard| heard.is_truthy())) {
                driver.acknowledge(intent);
            }
        }));
        if !intent.state.is_terminal() && !matches!(intent.state, State::Held { .. }) {
            return;
        }
        let theirs = self.take_waiting(&intent.id);
        let Some(driver) = self.driver.borrow().upgrade().filter(|_| !theirs.is_empty()) else { return };
        let unacknowledged = self.unacknowledged(news);
        let (intent, durable, answer) = (intent.clone(), news.durable, news.answer.clone());
        spawn(Box::pin(async move {
            driver.unwatch(intent.id.clone());
            let answer = if durable { driver.answer(&intent.id).await } else { answer };
            let plain = settled::plain(&intent, &driver.stamp(), durable, answer.as_ref());
            theirs.iter().for_each(|one| one.resolve(&plain));
            if let Some((driver, intent)) = unacknowledged {
                driver.acknowledge(intent);
            }
        }));
    }

    fn missing(&self, intent: &IntentId) {
        let Some(driver) = self.driver.borrow().upgrade() else { return };
        let unknown = errors::plain(&ErrorCode::UnknownIntent.into(), &driver.stamp());
        self.take_waiting(intent).iter().for_each(|one| one.reject(&unknown));
    }
}

/// Patience is over: what the ledger says now is the answer.
async fn answer_now(driver: Rc<Driver<Face>>, intent: IntentId, answered: Rc<Deferred>) {
    match driver.find(&intent).await {
        Ok(Some(record)) => {
            let answer = if record.has_ended() { driver.answer(&intent).await } else { None };
            answered.resolve(&settled::plain(&record, &driver.stamp(), true, answer.as_ref()));
        }
        Ok(None) => answered.reject(&errors::plain(&Error::new(ErrorCode::UnknownIntent), &driver.stamp())),
        Err(error) => answered.reject(&errors::plain(&error, &driver.stamp())),
    }
}

/// The promise's value, if it comes in time.
async fn within(promise: Promise, deadline_ms: u32) -> Option<JsValue> {
    let late = Deferred::new();
    let resolve = late.resolver();
    let deadline = Timeout::new(deadline_ms, move || resolve(&JsValue::UNDEFINED));
    let first = Promise::race(&js_sys::Array::of2(&promise, &late.promise));
    let value = JsFuture::from(first).await;
    drop(deadline);
    value.ok().filter(|value| !value.is_undefined())
}
