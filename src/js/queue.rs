//! One open queue.

use core::pin::Pin;
use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::drivers::Drivers;
use super::face::{Callbacks, Face};
use super::{errors, options};
use crate::browser::codec::to_js;
use crate::browser::driver::{Done, Driver};
use crate::browser::sys::{Deferred, object, promise_of};
use crate::core::change::{Applied, Change, MoveOut, Purge, Receive};
use crate::core::error::{Error, ErrorCode};
use crate::core::input::CommitError;
use crate::core::intent::IntentRecord;
use crate::core::json::{from_stored, to_text};
use crate::core::key::{IntentId, ScopeHash};
use crate::core::limits::{ADOPT_MAX, ERASED_PAGE_MAX, FINISHED_KEPT_MS, LIST_MAX, SETTLED_WITHIN_MS, TIMER_MAX_MS};
use crate::core::shared::Shared;
use crate::core::snapshot::Snapshot;
use crate::core::submission::{self, Submission, adoption, scope_hash};
use crate::core::time::{Moment, Stamp};
use crate::core::transition::may_be_pruned;
use crate::ledger::store::Store;

/// A queue of one scope. The JavaScript face wraps it; every rejection is a plain error object.
#[wasm_bindgen]
#[derive(Debug)]
pub struct RawQueue {
    drivers: Rc<Drivers>,
    base_url: String,
}

/// Opens the queue of one scope. `callbacks` are the members of `Callbacks`.
#[wasm_bindgen(js_name = openRawQueue)]
pub fn open_raw_queue(plain_options: String, base_url: String, callbacks: JsValue) -> Promise {
    promise_of(Box::pin(async move {
        let drivers = Drivers::open(&plain_options, Callbacks::of(&callbacks)).await;
        let drivers = drivers.map_err(|error| errors::plain(&error, &no_stamp()))?;
        Ok(RawQueue { drivers: Rc::new(drivers), base_url }.into())
    }))
}

#[wasm_bindgen]
impl RawQueue {
    /// Resolves with `{ intent, created, durability }` once the intent is durable. `bytes` are the body of a submission
    /// whose body is no text.
    pub fn submit(&self, submission: String, bytes: Option<Vec<u8>>) -> Promise {
        let submission = options::submission(&submission, bytes, &self.base_url);
        // In this very task, where nobody else can know the reference.
        if let Some(driver) = self.drivers.only() {
            let submitted = self.alive().and(submission).and_then(|submission| submit(driver, submission));
            return submitted.unwrap_or_else(|error| Promise::reject(&self.plain(&error)));
        }
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            let submission = submission?;
            let driver = drivers.of_reference(&submission).await?;
            submit(&driver, submission).map(JsValue::from)
        }))
    }

    /// As [`submit`](Self::submit): a successor of an intent that ended without an effect.
    pub fn replace(&self, predecessor: String, reason: String, submission: String, bytes: Option<Vec<u8>>) -> Promise {
        let submission = options::submission(&submission, bytes, &self.base_url);
        let (reason, predecessor) = (submission::reason(reason), IntentId::from(predecessor));
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            let driver = drivers.of_intent(&predecessor).await?;
            let (promise, done) = promised(&driver);
            driver.replace(predecessor, reason?, submission?, done).map(|()| promise.into())
        }))
    }

    /// Resolves with the snapshot once the intent may run again.
    pub fn resume(&self, intent: String) -> Promise {
        let intent = IntentId::from(intent);
        self.steering(Change::Resume(intent.clone()), intent)
    }

    /// Resolves with the snapshot; its lane is null if the intent was held, and stands in nobody's way now.
    pub fn skip(&self, intent: String) -> Promise {
        let intent = IntentId::from(intent);
        self.steering(Change::Skip(intent.clone()), intent)
    }

    /// Resolves with the snapshot once it is noted that somebody is to find out what became of the intent.
    pub fn reconcile(&self, intent: String) -> Promise {
        let intent = IntentId::from(intent);
        self.steering(Change::Reconcile(intent.clone()), intent)
    }

    /// Resolves with the snapshot once the intent is given up.
    pub fn abandon(&self, intent: String, reason: String) -> Promise {
        let intent = IntentId::from(intent);
        match submission::reason(reason) {
            Ok(reason) => self.steering(Change::Abandon { intent: intent.clone(), reason }, intent),
            Err(error) => Promise::reject(&self.plain(&error)),
        }
    }

    /// Resolves with the snapshot; its state is `cancelled` only if the intent was never sent, and now never will be.
    pub fn cancel(&self, intent: String) -> Promise {
        let intent = IntentId::from(intent);
        self.steering(Change::Cancel(intent.clone()), intent)
    }

    /// Resolves with a `{ moved, left }` for each ledger: the snapshots of another scope's intents that are this one's now, and
    /// of those that may have been sent under the other.
    pub fn adopt(&self, from: Option<String>) -> Promise {
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            let from = scope_hash(from.as_deref())?;
            let adopted = js_sys::Array::new();
            for driver in drivers.all() {
                let listed = listed(driver, &from, 0, ADOPT_MAX as u32 + 1).await?;
                let adopt = adoption(from.clone(), driver.scope().clone(), &listed)?;
                adopted.push(&steer(driver, Change::Adopt(adopt)));
            }
            Ok(Promise::all(&adopted).into())
        }))
    }

    /// Goes through one page of this scope's intents in one ledger, from a sequence on, and does what `work` names: `purge` takes
    /// all of it away, `prune` what law 8 lets go, `move` packs it and holds it. Resolves with `[next, done]`: where the next page
    /// begins, undefined where none is worth a look, and what was done; or with null where there is no such ledger.
    pub fn sweep(&self, ledger: usize, from: f64, work: String) -> Promise {
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            let Some(driver) = drivers.all().nth(ledger) else { return Ok(JsValue::NULL) };
            let page = listed(driver, driver.scope(), from as u64, ERASED_PAGE_MAX).await?;
            let (scope, now, prunes) = (driver.scope().clone(), driver.stamp(), work == "prune");
            // What was submitted later is younger still.
            let old = |last: &&Shared<IntentRecord>| {
                !prunes || now.at_ms.saturating_sub(last.created.at_ms) >= FINISHED_KEPT_MS
            };
            let next = page.last().filter(old).map(|last| last.sequence.saturating_add(1) as f64);
            let wanted = page.iter().filter(|intent| !prunes || may_be_pruned(intent, &now));
            let intents: Vec<IntentId> = wanted.map(|intent| intent.id.clone()).collect();
            let change = match work.as_str() {
                _ if intents.is_empty() => None,
                "purge" => Some(Change::Purge(Purge { scope, intents })),
                "move" => Some(Change::MoveOut(MoveOut { scope, intents })),
                _ => Some(Change::Prune(intents)),
            };
            let done = change.map_or(JsValue::UNDEFINED, |change| steer(driver, change));
            Ok(Promise::all(&js_sys::Array::of2(&next.into(), &done)).into())
        }))
    }

    /// Takes over one part of a parcel, opened: the text that a sweep with `move` gave. Resolves with its intents' snapshots.
    pub fn receive(&self, parcel: String) -> Promise {
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            let driver = drivers.newest();
            let parcel = from_stored(&parcel).map_err(|_| ErrorCode::ParcelInvalid)?;
            let receive = Receive { scope: driver.scope().clone(), realm: driver.realm().clone(), parcel };
            Ok(steer(driver, Change::Receive(Box::new(receive))))
        }))
    }

    /// Resolves when the intent has ended or is held, or with what is known after `within_ms`.
    pub fn settled(&self, intent: String, within_ms: Option<f64>) -> Promise {
        let within_ms = within_ms.map_or(SETTLED_WITHIN_MS, |ms| ms.clamp(0.0, TIMER_MAX_MS as f64) as u32);
        let (drivers, intent) = (self.drivers.clone(), IntentId::from(intent));
        self.answering(Box::pin(async move {
            let driver = drivers.of_intent(&intent).await?;
            // Closed meanwhile: those who wait have been told, and nobody would be.
            if driver.is_closed() {
                return Err(ErrorCode::Closed.into());
            }
            Ok(driver.app().wait(&driver, intent, within_ms).into())
        }))
    }

    /// Resolves with the snapshots of this scope: ledger by ledger, in the order of submission.
    pub fn intents(&self) -> Promise {
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            let mut all = Vec::new();
            for driver in drivers.all() {
                let now = driver.stamp();
                all.extend(
                    listed(driver, driver.scope(), 0, LIST_MAX).await?.iter().map(|intent| Snapshot::of(intent, &now)),
                );
            }
            Ok(to_js(&all))
        }))
    }

    /// Resolves with one snapshot, or null where this scope has no such intent. With an operation, `name` is a reference.
    pub fn intent(&self, name: String, operation: Option<String>) -> Promise {
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            for driver in drivers.all() {
                let intent = match &operation {
                    None => Some(IntentId::from(name.clone())),
                    Some(operation) => driver.referred(operation, &name).await?,
                };
                let Some(intent) = intent else { continue };
                if let Some(found) = driver.find(&intent).await? {
                    return Ok(to_js(&Snapshot::of(&found, &driver.stamp())));
                }
            }
            Ok(JsValue::NULL)
        }))
    }

    /// Resolves with `{ busy, due, nextAt }`, an [`Outlook`](crate::browser::driver::Outlook) of all ledgers together.
    pub fn outlook(&self) -> Promise {
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            let (mut busy, mut due, mut next_at_ms) = (false, 0, None);
            for driver in drivers.all() {
                let outlook = driver.outlook().await?;
                busy |= outlook.busy;
                due += outlook.due;
                next_at_ms = outlook.next_at_ms.into_iter().chain(next_at_ms).min();
            }
            let next_at = next_at_ms.map_or(JsValue::NULL, |at_ms| (at_ms as f64).into());
            Ok(object(&[("busy", busy.into()), ("due", due.into()), ("nextAt", next_at)]))
        }))
    }

    /// Resolves with the name that the ledger was given when it was made, or null: one that the browser has evicted, and that
    /// was made again, has another (hazard I15).
    pub fn ledger(&self) -> Promise {
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            Ok(drivers.newest().store().name().await.map_or(JsValue::NULL, JsValue::from))
        }))
    }

    /// The scope's hash.
    #[wasm_bindgen(js_name = scopeHash)]
    pub fn scope_hash(&self) -> String {
        self.drivers.newest().scope().0.to_string()
    }

    /// The package's version.
    pub fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    /// What the ledger promises: `strong`, `strong_relaxed`, `weak` or `volatile`.
    pub fn durability(&self) -> String {
        self.drivers.newest().store().durability().as_str().to_owned()
    }

    /// Was there a ledger that could not be read, and did the app go on without it (P6.2)?
    #[wasm_bindgen(js_name = startedEmpty)]
    pub fn started_empty(&self) -> bool {
        self.drivers.started_empty
    }

    /// Stops sending from here. Idempotent.
    pub fn close(&self) {
        for driver in self.drivers.all() {
            driver.close();
            driver.app().dismiss(driver);
        }
    }

    /// Asks for a change of one of this scope's intents; resolves with its snapshot afterwards.
    fn steering(&self, change: Change, intent: IntentId) -> Promise {
        let drivers = self.drivers.clone();
        self.answering(Box::pin(async move {
            let driver = drivers.of_intent(&intent).await?;
            // Another scope's intent is not this queue's to change (law 9).
            let found = driver.find(&intent).await?.ok_or(ErrorCode::UnknownIntent)?;
            // What cannot be asked about is told by the change itself.
            if matches!(change, Change::Reconcile(_)) && found.is_reconcilable() && !driver.can_reconcile(&found) {
                return Err(ErrorCode::ReconcileUnavailable.into());
            }
            Ok(steer(&driver, change))
        }))
    }

    /// A promise of what a future will say, unless the queue is closed.
    fn answering(&self, answer: Pin<Box<dyn Future<Output = Result<JsValue, Error>>>>) -> Promise {
        let (driver, alive) = (self.drivers.newest().clone(), self.alive());
        promise_of(Box::pin(async move {
            let answer = match alive {
                Ok(()) => answer.await,
                Err(closed) => Err(closed),
            };
            answer.map_err(|error| errors::plain(&error, &driver.stamp()))
        }))
    }

    fn alive(&self) -> Result<(), Error> {
        if self.drivers.newest().is_closed() { Err(ErrorCode::Closed.into()) } else { Ok(()) }
    }

    fn plain(&self, error: &Error) -> JsValue {
        errors::plain(error, &self.drivers.newest().stamp())
    }
}

/// A promise of what became of a submission.
fn submit(driver: &Rc<Driver<Face>>, submission: Submission) -> Result<Promise, Error> {
    let (promise, done) = promised(driver);
    driver.submit(submission, done).map(|()| promise)
}

/// Asks for a change; a promise, as a value, of what it did.
fn steer(driver: &Rc<Driver<Face>>, change: Change) -> JsValue {
    let (promise, done) = promised(driver);
    driver.steer(change, done);
    promise.into()
}

/// A promise of what a change did, and what settles it.
fn promised(driver: &Rc<Driver<Face>>) -> (Promise, Done) {
    let answered = Deferred::new();
    let promise = answered.promise.clone();
    let driver = driver.clone();
    let done = move |result: Result<Applied, CommitError>| match result {
        Ok(applied) => answered.resolve(&plain(&applied, &driver)),
        Err(error) => answered.reject(&errors::plain(&errors::of_commit(error), &driver.stamp())),
    };
    (promise, Box::new(done))
}

/// What a change did, as its caller is told.
fn plain(applied: &Applied, driver: &Driver<Face>) -> JsValue {
    let now = driver.stamp();
    let snapshot = to_js(&applied.intent().map(|intent| Snapshot::of(intent, &now)));
    match applied {
        Applied::Submitted { created, .. } => object(&[
            ("intent", snapshot),
            ("created", (*created).into()),
            ("durability", driver.store().durability().as_str().into()),
        ]),
        Applied::Adopted { moved, left } => {
            object(&[("moved", snapshots(moved, &now)), ("left", snapshots(left, &now))])
        }
        Applied::Purged { dropped, .. } => snapshots(dropped, &now),
        Applied::MovedOut { parcel, moved, left } => object(&[
            ("parcel", to_text(parcel).into()),
            ("moved", snapshots(moved, &now)),
            ("left", snapshots(left, &now)),
        ]),
        Applied::Received(intents) => snapshots(intents, &now),
        _ => snapshot,
    }
}

fn snapshots(intents: &[Shared<IntentRecord>], now: &Stamp) -> JsValue {
    to_js(&intents.iter().map(|intent| Snapshot::of(intent, now)).collect::<Vec<_>>())
}

async fn listed(
    driver: &Driver<Face>,
    scope: &ScopeHash,
    from: u64,
    limit: u32,
) -> Result<Vec<Shared<IntentRecord>>, Error> {
    let listed = driver.store().list(scope, from, limit).await;
    listed.map_err(|_| ErrorCode::LedgerUnreadable.into())
}

/// Before a ledger is open there is no ledger time; errors of that stage carry no intent.
fn no_stamp() -> Stamp {
    let Moment { wall_ms, .. } = crate::browser::clock::moment();
    Stamp { at_ms: wall_ms, epoch: 0, wall_ms }
}
