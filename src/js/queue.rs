//! One open queue.

use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::face::{Callbacks, Face};
use super::{errors, options};
use crate::browser::codec::to_js;
use crate::browser::driver::{Done, Driver};
use crate::browser::sys::{Deferred, object, promise_of, spawn};
use crate::core::change::{Adopt, Applied, Change};
use crate::core::error::{Error, ErrorCode};
use crate::core::input::CommitError;
use crate::core::intent::IntentRecord;
use crate::core::key::IntentId;
use crate::core::limits::{ADOPT_MAX, LIST_MAX, SETTLED_WITHIN_MS, TIMER_MAX_MS};
use crate::core::snapshot::Snapshot;
use crate::core::submission::{Submission, scope_hash};
use crate::core::time::{Moment, Stamp};
use crate::ledger::store::Store;

/// A queue of one scope. The JavaScript face wraps it; every rejection is a plain error object.
#[wasm_bindgen]
#[derive(Debug)]
pub struct RawQueue {
    driver: Rc<Driver<Face>>,
    base_url: String,
}

/// Opens the queue of one scope. `callbacks` are the members of [`Callbacks`].
#[wasm_bindgen(js_name = openRawQueue)]
pub fn open_raw_queue(plain_options: String, base_url: String, callbacks: JsValue) -> Promise {
    promise_of(Box::pin(async move {
        let opened = async {
            let callbacks = Callbacks::of(&callbacks);
            let opening = options::opening(&plain_options, &callbacks)?;
            let face = Face::new(opening.scope.clone(), callbacks);
            Driver::open(opening, face).await
        };
        let driver = opened.await.map_err(|error: Error| errors::plain(&error, &no_stamp()))?;
        driver.app().attach(&driver);
        Ok(RawQueue { driver, base_url }.into())
    }))
}

#[wasm_bindgen]
impl RawQueue {
    /// Resolves with `{ intent, created, durability }` once the intent is durable. `bytes` are the body of a submission
    /// whose body is no text.
    pub fn submit(&self, submission: String, bytes: Option<Vec<u8>>) -> Promise {
        let submission = options::submission(&submission, bytes, &self.base_url);
        self.submitting(submission, |submission, done| self.driver.submit(submission, done))
    }

    /// As [`submit`](Self::submit): a successor of an intent that ended without an effect.
    pub fn replace(&self, predecessor: String, reason: String, submission: String, bytes: Option<Vec<u8>>) -> Promise {
        let submission = options::submission(&submission, bytes, &self.base_url);
        self.submitting(submission, |submission, done| {
            self.driver.replace(IntentId(predecessor), options::reason(reason)?, submission, done)
        })
    }

    /// Resolves with the snapshot once the intent may run again.
    pub fn resume(&self, intent: String) -> Promise {
        self.steering(IntentId(intent), |driver, intent, done| driver.steer(Change::Resume(intent), done))
    }

    /// Resolves with the snapshot once it is noted that somebody is to find out what became of the intent.
    pub fn reconcile(&self, intent: String) -> Promise {
        let driver = self.driver.clone();
        self.steering_if(
            IntentId(intent),
            move |intent| driver.can_reconcile(intent),
            |driver, intent, done| driver.steer(Change::Reconcile(intent), done),
        )
    }

    /// Resolves with `{ moved, left }`, the snapshots of another scope's intents that are this one's now, and of those
    /// that may have been sent under the other.
    pub fn adopt(&self, from: Option<String>) -> Promise {
        let (driver, alive) = (self.driver.clone(), self.alive());
        promise_of(Box::pin(async move {
            let refuse = |error: Error| errors::plain(&error, &driver.stamp());
            alive.map_err(refuse)?;
            let from = scope_hash(from.as_deref()).map_err(refuse)?;
            let unreadable = |_| refuse(ErrorCode::LedgerUnreadable.into());
            let listed = driver.store().list(&from, LIST_MAX).await.map_err(unreadable)?;
            if listed.len() > ADOPT_MAX || from == *driver.scope() {
                return Err(refuse(Error::new(ErrorCode::OptionInvalid).detail("fromScope")));
            }
            let intents = listed.into_iter().map(|intent| intent.id).collect();
            let adopt = Adopt { from, to: driver.scope().clone(), intents };
            let answered = Rc::new(Deferred::new());
            let promise = answered.promise.clone();
            let now = driver.clone();
            let done = move |result: Result<Applied, CommitError>| match result {
                Ok(Applied::Adopted { moved, left }) => {
                    let stamp = now.stamp();
                    let plain = |intents: &[IntentRecord]| {
                        to_js(&intents.iter().map(|intent| Snapshot::of(intent, &stamp)).collect::<Vec<_>>())
                    };
                    answered.resolve(&object(&[("moved", plain(&moved)), ("left", plain(&left))]));
                }
                Ok(_) => answered.reject(&errors::plain(&ErrorCode::EngineDead.into(), &now.stamp())),
                Err(error) => answered.reject(&errors::plain(&errors::of_commit(error), &now.stamp())),
            };
            driver.steer(Change::Adopt(adopt), Box::new(done));
            JsFuture::from(promise).await
        }))
    }

    /// Resolves with the snapshot once the intent is given up.
    pub fn abandon(&self, intent: String, reason: String) -> Promise {
        match options::reason(reason) {
            Ok(reason) => self.steering(IntentId(intent), move |driver, intent, done| {
                driver.steer(Change::Abandon { intent, reason }, done);
            }),
            Err(error) => Promise::reject(&self.plain(&error)),
        }
    }

    /// Resolves when the intent has ended or is held, or with what is known after `within_ms`.
    pub fn settled(&self, intent: String, within_ms: Option<f64>) -> Promise {
        if let Err(error) = self.alive() {
            return Promise::reject(&self.plain(&error));
        }
        let within_ms = within_ms.map_or(SETTLED_WITHIN_MS, |ms| ms.clamp(0.0, TIMER_MAX_MS as f64) as u32);
        self.driver.app().wait(&self.driver, IntentId(intent), within_ms)
    }

    /// Resolves with the snapshot; its state is `cancelled` only if the intent was never sent, and now never will be.
    pub fn cancel(&self, intent: String) -> Promise {
        self.steering(IntentId(intent), |driver, intent, done| driver.steer(Change::Cancel(intent), done))
    }

    /// Resolves with the snapshots of this scope, in the order of submission.
    pub fn intents(&self) -> Promise {
        let (driver, alive) = (self.driver.clone(), self.alive());
        promise_of(Box::pin(async move {
            let refuse = |error: Error| errors::plain(&error, &driver.stamp());
            alive.map_err(refuse)?;
            let listed = driver.store().list(driver.scope(), LIST_MAX).await;
            let listed = listed.map_err(|_| refuse(ErrorCode::LedgerUnreadable.into()))?;
            let stamp = driver.stamp();
            let snapshots = listed.iter().map(|intent| Snapshot::of(intent, &stamp));
            Ok(to_js(&snapshots.collect::<Vec<_>>()))
        }))
    }

    /// Resolves with one snapshot, or null where this scope has no such intent.
    pub fn intent(&self, intent: String) -> Promise {
        let (driver, alive) = (self.driver.clone(), self.alive());
        promise_of(Box::pin(async move {
            let refuse = |error: Error| errors::plain(&error, &driver.stamp());
            alive.map_err(refuse)?;
            let found = driver.find(&IntentId(intent)).await.map_err(refuse)?;
            Ok(to_js(&found.map(|intent| Snapshot::of(&intent, &driver.stamp()))))
        }))
    }

    /// What the newest transaction was: `strong` or `strong_relaxed`.
    pub fn durability(&self) -> String {
        self.driver.store().durability().as_str().to_owned()
    }

    /// Stops sending from here. Idempotent.
    pub fn close(&self) {
        self.driver.close();
        self.driver.app().dismiss(&self.driver);
    }

    fn submitting(
        &self,
        submission: Result<Submission, Error>,
        ask: impl FnOnce(Submission, Done) -> Result<(), Error>,
    ) -> Promise {
        let answered = Rc::new(Deferred::new());
        let promise = answered.promise.clone();
        let (driver, later) = (self.driver.clone(), answered.clone());
        let done = move |result| match result {
            Ok(Applied::Submitted { intent, created }) => later.resolve(&object(&[
                ("intent", to_js(&Snapshot::of(&intent, &driver.stamp()))),
                ("created", created.into()),
                ("durability", driver.store().durability().as_str().into()),
            ])),
            Ok(_) => later.reject(&errors::plain(&ErrorCode::EngineDead.into(), &driver.stamp())),
            Err(error) => later.reject(&errors::plain(&errors::of_commit(error), &driver.stamp())),
        };
        let asked = self.alive().and(submission);
        if let Err(error) = asked.and_then(|submission| ask(submission, Box::new(done))) {
            answered.reject(&self.plain(&error));
        }
        promise
    }

    /// Asks for a change of one of this scope's intents; resolves with its snapshot afterwards.
    fn steering(&self, intent: IntentId, ask: impl FnOnce(&Rc<Driver<Face>>, IntentId, Done) + 'static) -> Promise {
        self.steering_if(intent, |_| true, ask)
    }

    /// As [`steering`](Self::steering), for what cannot be done about every intent.
    fn steering_if(
        &self,
        intent: IntentId,
        may: impl FnOnce(&IntentRecord) -> bool + 'static,
        ask: impl FnOnce(&Rc<Driver<Face>>, IntentId, Done) + 'static,
    ) -> Promise {
        if let Err(error) = self.alive() {
            return Promise::reject(&self.plain(&error));
        }
        let driver = self.driver.clone();
        let answered = Deferred::new();
        let promise = answered.promise.clone();
        spawn(Box::pin(async move {
            // Another scope's intent is not this queue's to change (law 9).
            match driver.find(&intent).await {
                Ok(Some(found)) if may(&found) => {}
                Ok(Some(_)) => {
                    let error = Error::new(ErrorCode::ReconcileUnavailable);
                    return answered.reject(&errors::plain(&error, &driver.stamp()));
                }
                Ok(None) => return answered.reject(&errors::plain(&ErrorCode::UnknownIntent.into(), &driver.stamp())),
                Err(error) => return answered.reject(&errors::plain(&error, &driver.stamp())),
            }
            let now = driver.clone();
            let done = move |result: Result<Applied, CommitError>| match result {
                Ok(applied) => {
                    let snapshot = applied.intent().map(|intent| Snapshot::of(intent, &now.stamp()));
                    answered.resolve(&to_js(&snapshot));
                }
                Err(error) => answered.reject(&errors::plain(&errors::of_commit(error), &now.stamp())),
            };
            ask(&driver, intent, Box::new(done));
        }));
        promise
    }

    fn alive(&self) -> Result<(), Error> {
        if self.driver.is_closed() { Err(ErrorCode::Closed.into()) } else { Ok(()) }
    }

    fn plain(&self, error: &Error) -> JsValue {
        errors::plain(error, &self.driver.stamp())
    }
}

/// Before a ledger is open there is no ledger time; errors of that stage carry no intent.
fn no_stamp() -> Stamp {
    let Moment { wall_ms, .. } = crate::browser::clock::moment();
    Stamp { at_ms: wall_ms, epoch: 0, wall_ms }
}
