//! What a worker stores in: it has no localStorage to fall back to (hazard L8).

use wasm_bindgen_test::wasm_bindgen_test;

use crate::page::{of_intent, open, open_with, outcome, submit};
use crate::spy::{self, Replaced, eval, member};
use crate::store_contract::give_app_store;

/// The page, which has a weak tier, must not be taken for gone because the worker has none.
#[wasm_bindgen_test]
async fn l8_without_indexeddb_there_is_nothing_to_store_in_and_that_is_said() {
    assert!(eval("typeof localStorage === 'undefined' && typeof document === 'undefined'").is_truthy(), "no worker");
    spy::install();
    let absent = Replaced::global("indexedDB", "value: undefined");
    let refused = open("worker-absent").await;
    drop(absent);
    assert_eq!(member(&refused.unwrap_err(), "code"), "storage_unavailable");
    assert_eq!(spy::requests(), 0);
}

/// What an app brings is its own, wherever it runs.
#[wasm_bindgen_test]
async fn l8_an_app_s_own_store_needs_no_indexeddb() {
    spy::install();
    spy::answer_posts(201, r#"{"id":"pay_1"}"#);
    let absent = Replaced::global("indexedDB", "value: undefined");
    give_app_store();
    let queue = open_with("worker-own", r#","storeDurability":"weak""#).await.unwrap();
    eval("delete globalThis.__callbacks");
    let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    assert_eq!(member(&stored, "durability"), "weak");
    let settled = queue.settled(of_intent(&stored, "id").as_string().unwrap(), Some(8_000.0));
    assert_eq!(member(&outcome(settled).await.unwrap(), "kind"), "succeeded");
    queue.close();
    drop(absent);
}
