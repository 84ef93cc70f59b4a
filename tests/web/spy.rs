//! A spy on the platform: which transactions were asked for and what was put in them, which requests left. Every
//! call goes through to the real thing, unless a test asks for an abort, or for an answer where there is no API.

use js_sys::Reflect;
use wasm_bindgen::{JsCast, JsValue};

const INSTALL: &str = r#"
(() => {
  if (globalThis.__spy) return;
  const spy = (globalThis.__spy = { transactions: [], requests: 0, abortAfterSuccess: false, answer: null, endless: false, readBytes: 0 });
  const entries = new WeakMap();
  const begin = IDBDatabase.prototype.transaction;
  IDBDatabase.prototype.transaction = function (shelves, mode, options) {
    const transaction = begin.call(this, shelves, mode, options);
    if (mode === 'readwrite') {
      const entry = { asked: options?.durability ?? null, real: transaction.durability, puts: [] };
      entries.set(transaction, entry);
      spy.transactions.push(entry);
    }
    return transaction;
  };
  const put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = function (value) {
    const request = put.call(this, value);
    entries.get(this.transaction)?.puts.push({ shelf: this.name, value });
    if (spy.abortAfterSuccess && this.name === 'intents') {
      const { transaction } = this;
      request.addEventListener('success', () => transaction.abort());
    }
    return request;
  };
  const send = globalThis.fetch;
  globalThis.fetch = (...args) => {
    spy.requests += 1;
    if (args[1]?.method === 'POST') spy.sent = { credentials: args[1].credentials, headers: Object.fromEntries(args[1].headers) };
    if (spy.endless && args[1]?.method === 'POST') {
      const headers = { 'content-type': 'application/json' };
      let asked = 0;
      const pull = (controller) => {
        asked += 65536;
        spy.readBytes = Math.max(spy.readBytes, asked);
        controller.enqueue(new Uint8Array(65536).fill(32));
      };
      return Promise.resolve(new Response(new ReadableStream({ pull }), { status: 201, headers }));
    }
    if (spy.answer && args[1]?.method === 'POST') {
      const headers = { 'content-type': 'application/json' };
      return Promise.resolve(new Response(spy.answer.body, { status: spy.answer.status, headers }));
    }
    return send(...args);
  };
})();
"#;

/// Installs the spy, once, and forgets what it saw before.
pub(crate) fn install() {
    eval(INSTALL);
    eval(
        "Object.assign(__spy, { transactions: [], requests: 0, abortAfterSuccess: false, answer: null, endless: false, readBytes: 0 })",
    );
}

/// From now on, transactions that put an intent are aborted after the put's request has succeeded.
pub(crate) fn abort_after_success(on: bool) {
    eval(&format!("__spy.abortAfterSuccess = {on}"));
}

/// From now on, every POST is answered with this JSON: the test server has no API.
pub(crate) fn answer_posts(status: u16, body: &str) {
    eval(&format!("__spy.answer = {{ status: {status}, body: '{body}' }}"));
}

/// From now on, every POST is answered 201 with a body that never ends.
pub(crate) fn answer_posts_without_end() {
    eval("__spy.endless = true");
}

/// The newest POST: how it carries cookies, and one of its headers.
pub(crate) fn sent(header: &str) -> (String, Option<String>) {
    let text = |source: &str| eval(source).as_string();
    (text("__spy.sent.credentials").unwrap(), text(&format!("__spy.sent.headers['{header}'] ?? null")))
}

/// Bytes that were asked for of such a body, of whichever was read the furthest: one that failed is asked for again.
pub(crate) fn read_bytes() -> f64 {
    eval("__spy.readBytes").as_f64().unwrap()
}

/// Readwrite transactions begun since [`install`].
pub(crate) fn transactions() -> u32 {
    eval("__spy.transactions.length").as_f64().unwrap() as u32
}

/// `fetch` calls since [`install`].
pub(crate) fn requests() -> u32 {
    eval("__spy.requests").as_f64().unwrap() as u32
}

/// `asked/real` durability of each transaction that put an intent for which `condition`, a JavaScript expression over
/// its `record`, holds.
pub(crate) fn durabilities_where(condition: &str) -> Vec<String> {
    let found = eval(&format!(
        "__spy.transactions.filter(t => t.puts.some(p => {{ if (p.shelf !== 'intents') return false; \
         const record = JSON.parse(p.value.record); return {condition}; }})).map(t => t.asked + '/' + t.real)"
    ));
    js_sys::Array::from(&found).iter().map(|text| text.as_string().unwrap()).collect()
}

/// Whether transactions of this engine have a durability at all.
pub(crate) fn knows_durability() -> bool {
    eval("'durability' in IDBTransaction.prototype").is_truthy()
}

pub(crate) fn eval(source: &str) -> JsValue {
    js_sys::eval(source).unwrap()
}

pub(crate) fn member(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap()
}

/// A global that is another one, until this is dropped.
pub(crate) struct Replaced {
    name: &'static str,
    was: JsValue,
}

impl Replaced {
    /// `descriptor` is that of the property, as JavaScript without its braces.
    pub(crate) fn global(name: &'static str, descriptor: &str) -> Self {
        // Members of a window are its own: deleted, they are gone. Those of a worker may be its prototype's.
        let was = eval(&format!("Object.getOwnPropertyDescriptor(globalThis, '{name}')"));
        eval(&format!("Object.defineProperty(globalThis, '{name}', {{ configurable: true, {descriptor} }})"));
        Self { name, was }
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        let (global, name) = (js_sys::global(), JsValue::from_str(self.name));
        if self.was.is_undefined() {
            let _ = Reflect::delete_property(&global, &name);
        } else {
            js_sys::Object::define_property(&global, &name, self.was.unchecked_ref());
        }
    }
}
