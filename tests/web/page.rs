//! A page that uses the exported surface as the JavaScript face does.

use intento::js::queue::{RawQueue, open_raw_queue};
use js_sys::{JSON, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::convert::TryFromJsValue;
use wasm_bindgen_futures::JsFuture;

use crate::spy::{eval, member};

const GENERIC: &str = include_str!("../../contracts/generic.json");

/// Opens a queue that sends to the test server itself: it answers, and it is not an API.
pub(crate) async fn open(scope: &str) -> Result<RawQueue, JsValue> {
    open_with(scope, "").await
}

/// As [`open`], with more members of the options.
pub(crate) async fn open_with(scope: &str, more: &str) -> Result<RawQueue, JsValue> {
    let origin = eval("location.origin").as_string().unwrap();
    let contract_text = JSON::stringify(&JsValue::from_str(GENERIC)).unwrap();
    let options = format!(
        r#"{{"scope":"{scope}","contractText":{contract_text},"baseUrl":"{origin}","extraOrigins":[],"probeUrl":null,
            "attemptDeadlineMs":2000{more}}}"#
    );
    let callbacks = eval("globalThis.__callbacks ?? {}");
    let opened = JsFuture::from(open_raw_queue(options, origin, callbacks)).await?;
    Ok(RawQueue::try_from_js_value(opened).unwrap())
}

/// Submits `{ amount }` under a reference.
pub(crate) fn submit(queue: &RawQueue, reference: &str, amount: u32) -> Promise {
    let submission = format!(
        r#"{{"operation":"pay","hasReference":true,"reference":"{reference}","method":"POST","url":"/payments",
            "headers":[],"body":{{"kind":"json","text":"{{\"amount\":{amount}}}"}},"hasExpiresIn":true,"expiresIn":null}}"#
    );
    queue.submit(submission, None)
}

/// What a promise settles to: the value, or the error's code.
pub(crate) async fn outcome(promise: Promise) -> Result<JsValue, String> {
    JsFuture::from(promise).await.map_err(|error| member(&error, "code").as_string().unwrap_or_default())
}

/// A member of the stored intent's snapshot in what `submit` resolves with.
pub(crate) fn of_intent(stored: &JsValue, name: &str) -> JsValue {
    member(&member(stored, "intent"), name)
}

pub(crate) async fn wait_ms(ms: u32) {
    let promise = eval(&format!("new Promise((done) => setTimeout(done, {ms}))"));
    JsFuture::from(Promise::from(promise)).await.unwrap();
}
