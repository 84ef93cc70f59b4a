//! Law 1: durable before sent, at `complete`, with strict durability where the engine has it.

use intento::core::limits::ANSWER_MAX_BYTES;
use js_sys::{Array, Promise};
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::page::{of_intent, open, outcome, submit, wait_ms};
use crate::spy::{self, member};

#[wasm_bindgen_test]
async fn submit_claim_and_outcome_are_strict() {
    spy::install();
    spy::answer_posts(201, r#"{"id":"pay_1"}"#);
    let queue = open("strict").await.unwrap();
    let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    let (tier, strict) = match spy::knows_durability() {
        true => ("strong", "strict/strict"),
        false => ("strong_relaxed", "strict/undefined"),
    };
    assert_eq!(member(&stored, "durability"), tier);
    let id = of_intent(&stored, "id").as_string().unwrap();
    let settled = outcome(queue.settled(id, Some(8_000.0))).await.unwrap();
    assert_eq!(member(&settled, "kind"), "succeeded");
    queue.close();
    for (change, condition) in [
        ("submit", "record.state === 'queued'"),
        ("claim", "record.claim !== null"),
        ("outcome", "record.state.succeeded !== undefined"),
    ] {
        let found = spy::durabilities_where(condition);
        assert!(!found.is_empty(), "no transaction for {change}");
        assert!(found.iter().all(|durability| durability == strict), "{change}: {found:?}");
    }
}

#[wasm_bindgen_test]
async fn an_abort_after_request_success_rejects_submit_and_sends_nothing() {
    spy::install();
    let queue = open("aborted").await.unwrap();
    spy::abort_after_success(true);
    let refused = outcome(submit(&queue, "order-1", 1)).await;
    assert_eq!(refused.unwrap_err(), "storage_failed");
    wait_ms(300).await;
    assert_eq!(spy::requests(), 0);
    let listed = outcome(queue.intents()).await.unwrap();
    assert_eq!(Array::from(&listed).length(), 0);

    spy::abort_after_success(false);
    let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    assert_eq!(member(&stored, "created"), true);
    queue.close();
}

#[wasm_bindgen_test]
async fn a_thousand_submits_in_one_turn_share_at_most_five_transactions() {
    spy::install();
    let queue = open("thousand").await.unwrap();
    let submits: Array = (0..1_000).map(|n| submit(&queue, &format!("order-{n}"), n + 1)).collect();
    let stored = JsFuture::from(Promise::all(&submits)).await.unwrap();
    let transactions = spy::transactions();
    queue.close();
    assert_eq!(Array::from(&stored).length(), 1_000);
    assert!(transactions <= 5, "{transactions} transactions");
    let ids: js_sys::Set = js_sys::Set::new(&Array::from(&stored).map(&mut |stored, _, _| of_intent(&stored, "id")));
    assert_eq!(ids.size(), 1_000);
}

#[wasm_bindgen_test]
async fn an_answer_beyond_the_bound_is_not_read_on() {
    spy::install();
    spy::answer_posts_without_end();
    let queue = open("endless").await.unwrap();
    let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    let id = of_intent(&stored, "id").as_string().unwrap();
    for _ in 0..100 {
        let known = outcome(queue.intent(id.clone(), None)).await.unwrap();
        if member(&known, "cause") == "truncated" {
            queue.close();
            // Beyond the bound by what the stream keeps ready.
            let most = (ANSWER_MAX_BYTES + 4 * 65_536) as f64;
            assert!(spy::read_bytes() < most, "{} bytes were read", spy::read_bytes());
            return;
        }
        wait_ms(100).await;
    }
    panic!("it never ended");
}
