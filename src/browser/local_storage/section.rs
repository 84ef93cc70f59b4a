//! One synchronous task under an exclusive Web Lock (P6.3).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use wasm_bindgen_futures::JsFuture;
use web_sys::AbortController;

use crate::browser::clock::moment;
use crate::browser::locks::ask;
use crate::browser::sys::{Deferred, object, spawn};
use crate::core::limits::{SECTION_DEADLINE_MS, SECTION_KEPT_MS, SECTION_TRIES_MAX};
use crate::core::time::Moment;
use crate::ledger::store::{StoreError, Transacted};

/// What is done; more than once only where it was not begun.
pub(super) type Section = Rc<dyn Fn() -> Result<Transacted, StoreError>>;

type Done = Result<Transacted, StoreError>;

enum Entered {
    Done(Done),
    /// The lock came too late to be used: somebody may have taken it already.
    Late,
    /// Somebody holds the lock, and does not give it back.
    Waiting,
    /// There are no locks here (hazards T1, T5).
    Refused,
}

/// Does `work` while nobody else does such work under this name. A page that was stopped before its turn and goes on
/// after it does nothing; the lock is taken from one that holds it without end.
pub(super) async fn section(name: &str, work: Section) -> Done {
    let mut steal = false;
    for _ in 0..SECTION_TRIES_MAX {
        match enter(name, &work, steal).await {
            Entered::Done(done) => return done,
            Entered::Late => {}
            Entered::Waiting => steal = true,
            Entered::Refused => break,
        }
    }
    Err(StoreError::Unreadable)
}

async fn enter(name: &str, work: &Section, steal: bool) -> Entered {
    let asked = moment();
    let (entered, ended) = (Rc::new(RefCell::new(None)), Rc::new(Deferred::new()));
    let granted = {
        let (work, entered, ended) = (work.clone(), entered.clone(), ended.clone());
        Closure::<dyn FnMut(JsValue) -> JsValue>::new(move |_| {
            let in_time = elapsed_ms(asked) <= u64::from(SECTION_DEADLINE_MS);
            *entered.borrow_mut() = Some(if in_time { Entered::Done(work()) } else { Entered::Late });
            ended.resolve(&JsValue::UNDEFINED);
            if in_time { kept() } else { JsValue::UNDEFINED }
        })
    };
    let abort = AbortController::new().ok();
    let options = match &abort {
        _ if steal => object(&[("steal", JsValue::TRUE)]),
        Some(abort) => object(&[("signal", abort.signal().into())]),
        None => return Entered::Refused,
    };
    let Some(end) = ask(name, &options, granted.as_ref()) else { return Entered::Refused };
    let over = ended.clone();
    spawn(Box::pin(async move {
        let _ = JsFuture::from(end).await;
        drop(granted);
        over.resolve(&JsValue::UNDEFINED);
    }));
    let waited = Rc::new(Cell::new(false));
    let patience = {
        let (waited, abort) = (waited.clone(), abort.clone());
        Timeout::new(2 * SECTION_DEADLINE_MS, move || {
            waited.set(true);
            abort.iter().for_each(AbortController::abort);
        })
    };
    let _ = JsFuture::from(ended.promise.clone()).await;
    drop(patience);
    // Of no effect on a lock that was granted; the face forgets what is aborted.
    abort.iter().for_each(AbortController::abort);
    let entered = entered.borrow_mut().take();
    entered.unwrap_or(if waited.get() { Entered::Waiting } else { Entered::Refused })
}

/// By whichever clock saw more: a monotonic one may stand still while the device sleeps.
fn elapsed_ms(since: Moment) -> u64 {
    let now = moment();
    now.mono_ms.saturating_sub(since.mono_ms).max(now.wall_ms.saturating_sub(since.wall_ms))
}

/// A promise that keeps the lock for a moment.
fn kept() -> JsValue {
    let kept = Deferred::new();
    let promise = kept.promise.clone();
    Timeout::new(SECTION_KEPT_MS, move || kept.resolve(&JsValue::UNDEFINED)).forget();
    promise.into()
}
