//! Web Locks, named after intents (P2.4). This realm never steals one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::AbortController;

use super::sys::{Deferred, object, request_lock, spawn};
use crate::core::input::Lock;
use crate::core::key::IntentId;
use crate::core::limits::LOCK_DEADLINE_MS;
use crate::core::map::SortedMap;

/// The locks that one realm holds or has asked for.
#[derive(Debug, Default)]
pub struct Locks(RefCell<SortedMap<IntentId, Rc<Request>>>);

#[derive(Debug)]
struct Request {
    stage: Cell<Stage>,
    /// Pending for as long as the lock is held.
    hold: Deferred,
    /// Ends a wait.
    abort: Option<AbortController>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asked,
    Held,
    /// Released, refused, lost, or no longer wanted: nothing is told any more.
    Over,
}

impl Locks {
    /// Asks for a lock: now or not at all, or with `wait`. `tell` hears what came of it, in a task of its own, and of the
    /// loss of a lock that was held; nothing after [`release`](Self::release).
    pub fn request(&self, intent: IntentId, wait: bool, tell: impl Fn(Lock) + 'static) {
        let request = Rc::new(Request {
            stage: Cell::new(Stage::Asked),
            hold: Deferred::new(),
            abort: wait.then(AbortController::new).and_then(Result::ok),
        });
        let name = ["intento/", &intent.0].concat();
        self.0.borrow_mut().insert(intent, request.clone());
        spawn(Box::pin(async move { request.run(&name, Rc::new(tell)).await }));
    }

    /// Gives a lock back, or ceases to wait for it, in this task.
    pub fn release(&self, intent: &IntentId) {
        let Some(request) = self.0.borrow_mut().remove(intent) else { return };
        request.stage.set(Stage::Over);
        request.hold.resolve(&JsValue::UNDEFINED);
        if let Some(abort) = &request.abort {
            abort.abort();
        }
    }
}

impl Request {
    /// From the request to the lock's end.
    async fn run(self: Rc<Self>, name: &str, tell: Rc<dyn Fn(Lock)>) {
        let granted = {
            let (request, tell) = (self.clone(), tell.clone());
            Closure::<dyn FnMut(JsValue) -> JsValue>::new(move |lock: JsValue| request.answered(&lock, &*tell))
        };
        let options = match &self.abort {
            Some(abort) => object(&[("signal", abort.signal().into())]),
            None => object(&[("ifAvailable", JsValue::TRUE)]),
        };
        let end = ask(name, &options, granted.as_ref());
        // A browser that does not answer must not keep an attempt from being made.
        let silent = self.abort.is_none().then(|| {
            let (request, tell) = (self.clone(), tell.clone());
            Timeout::new(LOCK_DEADLINE_MS, move || request.over(Stage::Asked, Lock::Unavailable, &*tell))
        });
        let lost = match end {
            Some(end) => JsFuture::from(end).await.is_err(),
            None => true,
        };
        drop(silent);
        if lost {
            self.over(Stage::Held, Lock::Lost, &*tell);
            // SecurityError, InvalidStateError, or no locks at all (hazards T1, T5).
            self.over(Stage::Asked, Lock::Unavailable, &*tell);
        }
    }

    /// The browser grants the lock, or says that it is taken; the lock is held until what this returns is settled.
    fn answered(&self, lock: &JsValue, tell: &dyn Fn(Lock)) -> JsValue {
        if lock.is_null() {
            self.over(Stage::Asked, Lock::Taken, tell);
        } else if self.stage.get() == Stage::Asked {
            self.stage.set(Stage::Held);
            tell(Lock::Held);
            return self.hold.promise.clone().into();
        }
        JsValue::UNDEFINED
    }

    fn over(&self, stage: Stage, lock: Lock, tell: &dyn Fn(Lock)) {
        if self.stage.get() == stage {
            self.stage.set(Stage::Over);
            tell(lock);
        }
    }
}

/// A promise that settles when the lock is released, and rejects when it is stolen or cannot be had. `None` where there are
/// no locks.
pub(super) fn ask(name: &str, options: &JsValue, granted: &JsValue) -> Option<Promise> {
    request_lock(name, options, granted).ok()
}
