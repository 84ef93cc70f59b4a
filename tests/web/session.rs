//! P8.1: cookies only if the app says so, and then bound to the scope on the wire.

use intento::core::key::ScopeHash;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::page::{of_intent, open_with, outcome, submit};
use crate::spy;

async fn sent_with(scope: &str, options: &str) -> (String, Option<String>) {
    spy::install();
    spy::answer_posts(201, r#"{"id":"pay_1"}"#);
    let queue = open_with(scope, options).await.unwrap();
    let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    let id = of_intent(&stored, "id").as_string().unwrap();
    outcome(queue.settled(id, Some(8_000.0))).await.unwrap();
    queue.close();
    spy::sent("intento-scope")
}

#[wasm_bindgen_test]
async fn p8_1_cookies_stay_at_home_unless_the_app_says_otherwise() {
    assert_eq!(sent_with("no-session", "").await, ("omit".to_owned(), None));
}

#[wasm_bindgen_test]
async fn p8_1_a_cookie_session_is_bound_to_its_scope() {
    let hash = ScopeHash::of("cookie-session").to_string();
    assert_eq!(sent_with("cookie-session", r#","session":"cookie""#).await, ("include".to_owned(), Some(hash)));
}

#[wasm_bindgen_test]
async fn p8_1_only_an_app_that_accepts_the_risk_sends_unbound_cookies() {
    let options = r#","session":"cookie","unboundCookies":true"#;
    assert_eq!(sent_with("unbound-session", options).await, ("include".to_owned(), None));
}
