//! The golden vectors of every contract, their answers read by the fetch adapter out of real `Response`s.

use intento::browser::fetch::{Landed, Wanted};
use intento::core::contract::{Contract, Observation};
use js_sys::{Function, JSON};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};
use web_sys::Response;

use crate::vectors::run_all;
use crate::vectors::vector::Reply;

#[wasm_bindgen_test]
async fn every_vector_comes_to_the_same_in_the_browser() {
    let report = run_all(bring).await;
    console_log!("vectors={} passed={}", report.total, report.passed());
    assert!(report.total > 300, "the vectors are there");
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
}

async fn bring(contract: &Contract, reply: &Reply) -> Observation {
    let wanted = Wanted { headers: contract.fact_headers(), pointers: contract.fact_pointers(), response_at: None };
    let landed = Landed::read(&response(reply), "https://api.shop.example/payments", wanted, || {}).await;
    let decoded = reply.decoded.as_ref().and_then(|decoded| JSON::parse(&decoded.to_string()).ok());
    match landed {
        Ok(landed) => landed.told(decoded).0,
        Err(fault) => Observation::Fault(fault),
    }
}

/// As `fetch` would resolve with it.
fn response(reply: &Reply) -> Response {
    let make = Function::new_with_args(
        "status, headers, body",
        "return new Response(body === '' ? null : body, { status, headers: JSON.parse(headers) })",
    );
    let mut headers: serde_json::Map<String, serde_json::Value> =
        reply.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    if let Some(content_type) = reply.content_type() {
        headers.insert("content-type".to_owned(), content_type.into());
    }
    let headers = JsValue::from_str(&serde_json::Value::Object(headers).to_string());
    let made = make.call3(&JsValue::UNDEFINED, &reply.status.into(), &headers, &JsValue::from_str(&reply.text()));
    made.unwrap().unchecked_into()
}
