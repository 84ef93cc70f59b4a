//! The golden vectors of every contract, their answers read by the fetch adapter out of real `Response`s.

use intento::browser::fetch::{Landed, Wanted};
use intento::core::contract::{Contract, FactValue, Observation};
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

#[wasm_bindgen_test]
async fn a_token_of_a_pointer_stands_for_slashes_and_tildes_too() {
    let answer = r#"{ "a/b": { "~1": 1 }, "a": { "b": 2 }, "c~d": 3, "e~": 4 }"#;
    let pointers = ["/a~1b/~01", "/c~0d", "/e~", "/a/b", "/a~1b/~1"].map(str::to_owned).to_vec();
    let wanted = Wanted { headers: Vec::new(), pointers, response_at: None };
    let make = Function::new_with_args("body", "return Response.json(JSON.parse(body))");
    let response: Response = make.call1(&JsValue::UNDEFINED, &answer.into()).unwrap().unchecked_into();
    let landed = Landed::read(&response, "https://api.shop.example/payments", wanted).await.unwrap();
    let Observation::Reply(facts) = landed.told(None).0 else { panic!("an answer is a reply") };
    let found = |pointer: &str| facts.pointers.get(pointer).cloned();
    let integer = |number| Some(vec![FactValue::Integer(number)]);
    assert_eq!(found("/a~1b/~01"), integer(1));
    assert_eq!([found("/a/b"), found("/c~0d"), found("/e~")], [integer(2), integer(3), integer(4)]);
    assert_eq!(found("/a~1b/~1"), None);
}

async fn bring(contract: &Contract, reply: &Reply) -> Observation {
    let wanted = Wanted { headers: contract.fact_headers(), pointers: contract.fact_pointers(), response_at: None };
    let landed = Landed::read(&response(reply), "https://api.shop.example/payments", wanted).await;
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
