//! The app, as the driver sees it: its callbacks, and those who wait for an intent.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use gloo_timers::callback::Timeout;
use js_sys::{Array, Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

use super::{errors, settled};
use crate::browser::codec::{from_js, member, to_js};
use crate::browser::driver::{App, Driver, News};
use crate::browser::replies::Replies;
use crate::browser::sys::{Deferred, call, object, spawn};
use crate::core::contract::{Answer, Finding};
use crate::core::effect::Outgoing;
use crate::core::error::{Error, ErrorCode};
use crate::core::input::{Authorized, Credentials, Prepared};
use crate::core::intent::IntentRecord;
use crate::core::json::json;
use crate::core::key::{IntentId, ScopeHash};
use crate::core::limits::{
    AUTHORIZE_DEADLINE_MS, DECODE_DEADLINE_MS, DELIVER_DEADLINE_MS, PREPARE_DEADLINE_MS, RECONCILE_DEADLINE_MS,
};
use crate::core::map::SortedMap;
use crate::core::record::Content;
use crate::core::shared::Shared;
use crate::core::snapshot::Snapshot;

/// The app's callbacks and its waiting calls.
#[derive(Debug)]
pub(super) struct Face {
    scope: ScopeHash,
    callbacks: Callbacks,
    driver: RefCell<Weak<Driver<Face>>>,
    waiting: RefCell<Vec<Waiting>>,
    /// Outcomes that are known and could not be written.
    undurable: RefCell<SortedMap<IntentId, Undurable>>,
}

type Undurable = (Shared<IntentRecord>, Option<Answer>);

/// The app's functions, as the JavaScript face wraps them. Those that are `None` the app did not give.
#[derive(Clone, Debug)]
pub(super) struct Callbacks {
    /// `(refresh)` answers `{ scope, headers: [name, value][] }` as JSON.
    pub(super) authorize: Option<Function>,
    /// `({ attempt, method, url, headers, text, bytes })` answers `{ plain, bytes }`, of which `plain` is
    /// `{ headers, text }` as JSON.
    pub(super) prepare: Option<Function>,
    /// `(snapshot, key)` answers `{ finding, answer }` as JSON.
    pub(super) reconcile: Option<Function>,
    /// `({ status, mediaType, body })` answers a JSON value, or undefined.
    pub(super) decode: Option<Function>,
    /// `(url, init)` answers a `Response`, in place of the platform's `fetch`.
    pub(super) fetch: Option<Function>,
    /// `(snapshot)` says whether anybody listens.
    pub(super) changed: Option<Function>,
    /// `(operation, outcome)` resolves when the handler has.
    pub(super) deliver: Option<Function>,
    pub(super) replies: Replies,
    /// Of the app's own store, or of the one in memory: see [`AppStore`](crate::browser::app_store::AppStore).
    pub(super) store_read: Option<Function>,
    pub(super) store_scan: Option<Function>,
    pub(super) store_commit: Option<Function>,
}

impl Callbacks {
    pub(super) fn of(object: &JsValue) -> Self {
        let function = |name: &str| Reflect::get(object, &JsValue::from_str(name)).ok()?.dyn_into().ok();
        Self {
            authorize: function("authorize"),
            prepare: function("prepare"),
            reconcile: function("reconcile"),
            decode: function("decode"),
            fetch: function("fetch"),
            changed: function("changed"),
            deliver: function("deliver"),
            replies: Replies {
                keep: function("keepReply"),
                forget: function("forgetReply"),
                next: function("nextReply"),
            },
            store_read: function("storeRead"),
            store_scan: function("storeScan"),
            store_commit: function("storeCommit"),
        }
    }
}

#[derive(Debug)]
struct Waiting {
    intent: IntentId,
    answered: Rc<Deferred>,
    _patience: Timeout,
}

struct PlainPrepared {
    headers: Vec<(String, String)>,
    text: Option<String>,
}

json!(read struct PlainPrepared { headers, text });

struct PlainFound {
    finding: Finding,
    answer: Option<PlainAnswer>,
}

json!(read struct PlainFound { finding, answer });

struct PlainAnswer {
    status: u16,
    media_type: Option<String>,
    body: Option<String>,
}

json!(read struct PlainAnswer { status, media_type = "mediaType", body });

struct PlainAuthorization {
    scope: String,
    headers: Vec<(String, String)>,
}

json!(read struct PlainAuthorization { scope, headers });

impl Face {
    pub(super) fn new(scope: ScopeHash, callbacks: Callbacks) -> Self {
        Self {
            scope,
            callbacks,
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
        let (authorize, scope) = (self.callbacks.authorize.clone(), self.scope.clone());
        async move {
            if authorize.is_none() {
                return Authorized::Granted(Credentials::default());
            }
            let answer = call(authorize, Array::of1(&refresh.into()), AUTHORIZE_DEADLINE_MS).await;
            match answer.and_then(|answer| from_js(&answer)) {
                Some(PlainAuthorization { scope: theirs, .. }) if ScopeHash::of(&theirs) != scope => {
                    Authorized::OtherScope
                }
                Some(PlainAuthorization { headers, .. }) => Authorized::Granted(Credentials(headers)),
                None => Authorized::Failed,
            }
        }
    }

    fn prepare(&self, outgoing: &Outgoing) -> impl Future<Output = Option<Prepared>> + 'static {
        let (text, bytes) = match &outgoing.body {
            None => (JsValue::NULL, JsValue::NULL),
            Some(Content::Text(text)) => (JsValue::from_str(text), JsValue::NULL),
            Some(Content::Bytes(bytes)) => (JsValue::NULL, Uint8Array::from(bytes.as_slice()).into()),
        };
        let plain = object(&[
            ("attempt", outgoing.attempt.into()),
            ("method", JsValue::from_str(outgoing.method)),
            ("url", JsValue::from_str(&outgoing.url)),
            ("headers", to_js(&outgoing.headers)),
            ("text", text),
            ("bytes", bytes),
        ]);
        let prepare = self.callbacks.prepare.clone();
        async move {
            let answer = call(prepare, Array::of1(&plain), PREPARE_DEADLINE_MS).await?;
            let PlainPrepared { headers, text } = from_js(&member(&answer, "plain")?)?;
            let bytes = member(&answer, "bytes")?.dyn_into::<Uint8Array>().ok();
            let bytes = bytes.map(|bytes| Content::Bytes(bytes.to_vec()));
            Some(Prepared { headers, body: text.map(Content::Text).or(bytes) })
        }
    }

    fn reconcile(&self, news: News) -> impl Future<Output = (Finding, Option<Answer>)> + 'static {
        let reconcile = self.callbacks.reconcile.clone();
        let snapshot = to_js(&Snapshot::of(&news.intent, &news.stamp));
        let arguments = Array::of2(&snapshot, &JsValue::from_str(news.intent.key.expose()));
        async move {
            let deadline_ms = u32::try_from(RECONCILE_DEADLINE_MS).unwrap_or(u32::MAX);
            let plain = call(reconcile, arguments, deadline_ms).await.and_then(|plain| from_js(&plain));
            let Some(PlainFound { finding, answer }) = plain else { return (Finding::Unknown, None) };
            let answer = answer.map(|PlainAnswer { status, media_type, body }| Answer {
                status,
                media_type,
                body,
                resource: None,
            });
            (finding, answer)
        }
    }

    fn decode(&self, answer: &Answer) -> impl Future<Output = Option<JsValue>> + 'static {
        let decode = self.callbacks.decode.clone();
        let plain = decode.as_ref().map(|_| settled::plain_answer(answer));
        async move { call(decode, Array::of1(&plain?), DECODE_DEADLINE_MS).await }
    }

    fn deliver(&self, outcome: News) -> impl Future<Output = bool> + 'static {
        let deliver = self.callbacks.deliver.clone();
        let News { intent, stamp, durable, answer } = outcome;
        async move {
            let plain = settled::plain(&intent, &stamp, durable, answer.as_ref());
            let arguments = Array::of2(&JsValue::from_str(&intent.operation), &plain);
            let deadline_ms = u32::try_from(DELIVER_DEADLINE_MS).unwrap_or(u32::MAX);
            call(deliver, arguments, deadline_ms).await.is_some()
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
        let (changed, snapshot) = (self.callbacks.changed.clone(), to_js(&Snapshot::of(intent, &news.stamp)));
        let unacknowledged = self.unacknowledged(news);
        spawn(Box::pin(async move {
            let heard = changed.and_then(|changed| changed.call1(&JsValue::UNDEFINED, &snapshot).ok());
            if let Some((driver, intent)) = unacknowledged.filter(|_| heard.is_some_and(|heard| heard.is_truthy())) {
                driver.acknowledge(intent);
            }
        }));
        if !intent.is_at_rest() {
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

    fn replies(&self) -> &Replies {
        &self.callbacks.replies
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
