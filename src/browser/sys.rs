//! Bound by hand: what `web_sys` keeps behind its unstable flag, and globals that exist in windows and workers alike.

use core::pin::Pin;

use gloo_timers::callback::Timeout;
use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbDatabase, IdbTransaction};

#[wasm_bindgen]
extern "C" {
    /// `IDBDatabase.transaction` with the options argument of Indexed Database API 3.0, section 4.4. By this name, so that the
    /// face can stand in between and abort what a dead engine had begun.
    #[wasm_bindgen(catch, js_namespace = ["IDBDatabase", "prototype", "transaction"], js_name = call)]
    pub fn begin_transaction(
        database: &IdbDatabase,
        shelves: &JsValue,
        mode: &str,
        options: &JsValue,
    ) -> Result<DurableTransaction, JsValue>;

    #[wasm_bindgen(extends = IdbTransaction)]
    pub type DurableTransaction;

    /// `undefined` in engines without the option.
    #[wasm_bindgen(method, getter)]
    pub fn durability(this: &DurableTransaction) -> Option<String>;

    #[wasm_bindgen(catch, js_name = fetch)]
    pub fn fetch(url: &str, init: &JsValue) -> Result<Promise, JsValue>;

    /// `LockManager.request`; throws where there are no locks. By this name, and not looked up, so that the face can stand
    /// in between and release what a dead engine held.
    #[wasm_bindgen(catch, js_namespace = ["navigator", "locks"], js_name = request)]
    pub fn request_lock(name: &str, options: &JsValue, granted: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    pub fn performance_now() -> f64;
}

/// A member of the global object; `None` where it is missing, null, or refuses to be read (hazards I13, L1).
pub fn global(name: &str) -> Option<JsValue> {
    let value = Reflect::get(&js_sys::global(), &JsValue::from_str(name)).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}

/// An object with these members, and no others: `fetch` reads what it inherits, and a page's `Object.prototype` may have been
/// written to.
pub fn object(members: &[(&str, JsValue)]) -> JsValue {
    let object = js_sys::Object::<JsValue>::create(JsValue::NULL.unchecked_ref());
    for (name, value) in members {
        set(&object, name, value);
    }
    object.into()
}

/// Sets a member of an object that is ours: neither frozen nor a proxy, so that this cannot fail.
pub fn set(object: &JsValue, name: &str, value: &JsValue) {
    let _ = Reflect::set(object, &JsValue::from_str(name), value);
}

/// Work that goes on by itself. Boxed, so that the executor is compiled once and not once a kind of work.
pub type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Starts work, in a task of its own.
pub fn spawn(work: Work) {
    wasm_bindgen_futures::spawn_local(work);
}

/// A promise of what a future will say.
pub fn promise_of(answer: Pin<Box<dyn Future<Output = Result<JsValue, JsValue>>>>) -> Promise {
    let deferred = Deferred::new();
    let promise = deferred.promise.clone();
    spawn(Box::pin(async move {
        match answer.await {
            Ok(value) => deferred.resolve(&value),
            Err(reason) => deferred.reject(&reason),
        }
    }));
    promise
}

/// A promise and the two functions that settle it.
#[derive(Debug)]
pub struct Deferred {
    pub promise: Promise,
    /// Always there: the executor runs before `new Promise` returns (ECMAScript, section 27.2.3.1). There is no
    /// default function to stand in for it, since making one is an `eval` that a strict policy refuses.
    settlers: Option<(Function, Function)>,
}

impl Deferred {
    pub fn new() -> Self {
        let mut settlers = None;
        let promise = Promise::new(&mut |resolve, reject| settlers = Some((resolve, reject)));
        Self { promise, settlers }
    }

    /// A function that resolves it, for a callback that outlives this.
    pub fn resolver(&self) -> impl Fn(&JsValue) + 'static {
        let settlers = self.settlers.clone();
        move |value| {
            if let Some((resolve, _)) = &settlers {
                let _ = resolve.call1(&JsValue::UNDEFINED, value);
            }
        }
    }

    pub fn resolve(&self, value: &JsValue) {
        self.resolver()(value);
    }

    pub fn reject(&self, reason: &JsValue) {
        if let Some((_, reject)) = &self.settlers {
            let _ = reject.call1(&JsValue::UNDEFINED, reason);
        }
    }
}

impl Default for Deferred {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls one of the app's functions with what it takes, and waits for its answer for so long. `None`: it is not there, it
/// threw, it answered nothing, or it was late.
pub async fn call(function: Option<Function>, arguments: Array, deadline_ms: u32) -> Option<JsValue> {
    let answer = function?.apply(&JsValue::UNDEFINED, &arguments).ok()?;
    let late = Deferred::new();
    let resolve = late.resolver();
    let deadline = Timeout::new(deadline_ms, move || resolve(&JsValue::UNDEFINED));
    let first = Promise::race(&Array::of2(&Promise::resolve(&answer), &late.promise));
    let value = JsFuture::from(first).await;
    drop(deadline);
    value.ok().filter(|value| !value.is_undefined())
}
