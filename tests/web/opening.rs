//! Opening a ledger that is not as this build would make it.

use intento::browser::indexeddb::IndexedDb;
use intento::core::error::ErrorCode;
use intento::core::key::ScopeHash;
use intento::ledger::store::Store;
use js_sys::Promise;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::spy::{Replaced, eval};

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
    assert!(store.list(&ScopeHash::of("nobody"), 0, 1).await.unwrap().is_empty());
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

/// Timers run fifty times faster, until this is dropped.
fn hurried() -> Replaced {
    eval("globalThis.__timer = setTimeout");
    Replaced::global("setTimeout", "value: (run, ms, ...more) => __timer(run, ms / 50, ...more)")
}

async fn until(script: &str) {
    JsFuture::from(eval(script).unchecked_into::<Promise>()).await.unwrap();
}

/// jakearchibald/idb#227 (hazard I10): a request that nothing ever comes of. The next one may be answered; what comes of the
/// first one after all is closed, since it would stand in others' way.
#[wasm_bindgen_test]
async fn i10_an_open_that_never_settles_is_given_up_and_tried_once_more() {
    let silent = |times: u32| {
        eval(&format!(
            "globalThis.__silent = [];
             globalThis.__open = IDBFactory.prototype.open;
             IDBFactory.prototype.open = function (...asked) {{
                if (__silent.length >= {times}) return __open.apply(this, asked);
                const request = {{ result: {{ closed: false, close() {{ this.closed = true; }} }} }};
                __silent.push(request);
                return request;
             }}"
        ))
    };
    let restore = || eval("IDBFactory.prototype.open = __open");
    let hurried = hurried();
    silent(1);
    let opened = IndexedDb::open("opening-silent").await;
    restore();
    assert!(opened.is_ok(), "{:?}", opened.err());
    assert!(eval("__silent[0].onsuccess(); __silent[0].result.closed").is_truthy(), "a late success is closed");

    silent(u32::MAX);
    let given_up = IndexedDb::open("opening-silent").await;
    restore();
    drop(hurried);
    assert_eq!(given_up.err(), Some(ErrorCode::LedgerUnreadable), "never absent: a ledger may be there");
    assert_eq!(eval("__silent.length"), 2);
}

/// vm0-ai/vm0#19770 (hazard I4): an old tab keeps its handle, another version waits for it, and everybody waits for that.
#[wasm_bindgen_test]
async fn i4_behind_a_tab_that_lets_no_version_in_opening_ends_and_works_afterwards() {
    let first = IndexedDb::open("opening-blocked").await.unwrap();
    let made = first.ledger_name().await;
    first.close();
    until(
        "new Promise((done) => {
            const request = indexedDB.open('opening-blocked');
            request.onsuccess = () => { globalThis.__old = request.result; done(); };
        })",
    )
    .await;
    until(
        "new Promise((blocked) => {
            const request = indexedDB.open('opening-blocked', 2);
            globalThis.__let_in = new Promise((done) => { request.onsuccess = () => done(request.result.close()); });
            request.onblocked = () => blocked();
        })",
    )
    .await;
    let hurried = hurried();
    let behind = IndexedDb::open("opening-blocked").await;
    drop(hurried);
    assert_eq!(behind.err(), Some(ErrorCode::LedgerUnreadable));
    eval("__old.close()");
    until("__let_in").await;
    let store = IndexedDb::open("opening-blocked").await.unwrap();
    assert_eq!(store.ledger_name().await, made, "it is the same ledger");
}
