//! Opening a ledger that is not as this build would make it.

use intento::browser::indexeddb::IndexedDb;
use intento::core::error::ErrorCode;
use intento::core::key::ScopeHash;
use intento::ledger::store::Store;
use js_sys::Promise;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::spy::eval;

/// Opens a database with a version of its own, and closes it again.
async fn raise(name: &str, version: u32) {
    let raised = eval(&format!(
        "new Promise((done, fail) => {{
            const request = indexedDB.open('{name}', {version});
            request.onsuccess = () => done(request.result.close());
            request.onerror = request.onblocked = fail;
        }})"
    ));
    JsFuture::from(raised.unchecked_into::<Promise>()).await.unwrap();
}

/// A stale worker, or a build that was rolled back (hazard I6).
#[wasm_bindgen_test]
async fn i6_a_ledger_of_a_greater_version_is_opened_as_it_is() {
    let first = IndexedDb::open("opening-greater").await.unwrap();
    let made = first.ledger_name().await;
    first.close();
    raise("opening-greater", 7).await;
    let store = IndexedDb::open("opening-greater").await.unwrap();
    assert!(made.is_some());
    assert_eq!(store.ledger_name().await, made, "it is the same ledger");
    assert!(store.list(&ScopeHash::of("nobody"), 1).await.unwrap().is_empty());
}

/// Never taken for an empty one (law 8).
#[wasm_bindgen_test]
async fn law_8_a_database_without_the_ledger_s_shelves_is_unreadable() {
    raise("opening-foreign", 2).await;
    assert_eq!(IndexedDb::open("opening-foreign").await.err(), Some(ErrorCode::LedgerUnreadable));
}

#[wasm_bindgen_test]
async fn i15_a_ledger_that_is_made_again_has_another_name() {
    let first = IndexedDb::open("opening-evicted").await.unwrap();
    let before = first.ledger_name().await;
    first.close();
    let gone = eval(
        "new Promise((done, fail) => {
            const request = indexedDB.deleteDatabase('opening-evicted');
            request.onsuccess = () => done();
            request.onerror = request.onblocked = fail;
        })",
    );
    JsFuture::from(gone.unchecked_into::<Promise>()).await.unwrap();
    let after = IndexedDb::open("opening-evicted").await.unwrap().ledger_name().await;
    assert!(before.is_some() && after.is_some() && before != after, "{before:?}, {after:?}");
}
