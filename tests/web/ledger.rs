//! The IndexedDB ledger beyond what every store does: its handles, its second belt, and what it cannot read.

use intento::browser::indexeddb::IndexedDb;
use intento::core::change::Applied;
use intento::core::intent::State;
use intento::core::key::{IntentId, ScopeHash};
use intento::core::record::{Record, RecordKey, ReferenceName, Writes};
use intento::core::shared::Shared;
use intento::ledger::durability::Durability;
use intento::ledger::store::{Store, StoreError};
use js_sys::{Array, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::{JsFuture, future_to_promise};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::page::{of_intent, open, outcome, submit, wait_ms};
use crate::spy::{self, eval, member};
use crate::store_contract::{READING, change, readings};

/// A ledger of its own, under a name that no other test uses.
pub(crate) async fn fresh(name: &str) -> IndexedDb {
    IndexedDb::open(&unused_name(name)).await.unwrap()
}

fn unused_name(name: &str) -> String {
    format!("intento-test-{name}-{}", js_sys::Math::random())
}

#[wasm_bindgen_test]
async fn p6_1_the_tier_is_strong_where_the_engine_says_that_it_is_strict() {
    let store = fresh("tier").await;
    assert_eq!(store.durability(), Durability::StrongRelaxed, "nothing is known yet");
    store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    let tier = if spy::knows_durability() { Durability::Strong } else { Durability::StrongRelaxed };
    assert_eq!(store.durability(), tier);
}

#[wasm_bindgen_test]
async fn two_handles_make_one_intent_of_one_reference() {
    let name = unused_name("two-handles");
    let tries = Array::new();
    for seed in 1..=8 {
        let store = IndexedDb::open(&name).await.unwrap();
        tries.push(&future_to_promise(async move {
            let done = store.transact(&[change(seed, "order-1", 5)], &readings(READING)).await.unwrap();
            let Ok(Applied::Submitted { created, .. }) = done.results[0] else { panic!("{:?}", done.results) };
            Ok(JsValue::from_bool(created))
        }));
    }
    let created = Array::from(&JsFuture::from(Promise::all(&tries)).await.unwrap());
    assert_eq!(created.iter().filter(JsValue::is_truthy).count(), 1);
}

#[wasm_bindgen_test]
async fn a_dead_handle_is_opened_again_and_a_change_is_not_lost() {
    let store = fresh("dead-handle").await;
    store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    store.close();
    let done = store.transact(&[change(2, "order-2", 5)], &readings(READING)).await.unwrap();
    assert!(done.results[0].is_ok());
    assert_eq!(store.list(&ScopeHash::of("ledger-test"), 0, 10).await.unwrap().len(), 2);
}

/// From now on, every transaction of the handle that is used next fails so; `how` sees the transaction as `it`.
fn sicken(how: &str) {
    eval(&format!(
        "globalThis.__begin = IDBDatabase.prototype.transaction;
         globalThis.__sick = null;
         IDBDatabase.prototype.transaction = function (...asked) {{
            __sick ??= this;
            if (this !== __sick) return __begin.apply(this, asked);
            const it = __begin.apply(this, asked);
            {how};
            return it;
         }}"
    ));
}

fn heal() {
    eval("IDBDatabase.prototype.transaction = __begin");
}

/// Expensify/react-native-onyx#832 (hazards I8, I9): a handle on which everything fails, and that never says that it is closed.
#[wasm_bindgen_test]
async fn i9_what_fails_on_a_handle_that_looks_healthy_runs_again_on_another() {
    for (number, how) in [
        "queueMicrotask(() => it.abort())",
        "it.objectStore = () => { throw new DOMException('without an in-progress transaction', 'UnknownError') }",
        "it.abort(); throw new DOMException('The database connection is closing.', 'InvalidStateError')",
    ]
    .into_iter()
    .enumerate()
    {
        let store = fresh(&format!("sick-{number}")).await;
        store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
        sicken(how);
        let written = store.transact(&[change(2, "order-2", 5)], &readings(READING)).await;
        heal();
        assert!(written.is_ok_and(|done| done.results[0].is_ok()), "{how}");
        sicken(how);
        let read = store.list(&ScopeHash::of("ledger-test"), 0, 10).await;
        heal();
        assert_eq!(read.map(|intents| intents.len()), Ok(2), "{how}");
    }
}

#[wasm_bindgen_test]
async fn the_second_belt_refuses_another_head_for_one_reference() {
    let store = fresh("belt").await;
    let done = store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    let Ok(Applied::Submitted { intent, .. }) = &done.results[0] else { panic!("{:?}", done.results) };
    let mut thief = (**intent).clone();
    thief.id = IntentId::from("another");
    let writes: Writes = [(RecordKey::Intent(thief.id.clone()), Record::Intent(Shared::new(thief.clone())))].into();
    let refused = store.commit(&[(RecordKey::Intent(thief.id), 0)].into(), &writes).await;
    assert_eq!(refused, Err(StoreError::Aborted));
}

#[wasm_bindgen_test]
async fn law_8_what_cannot_be_read_is_kept_and_is_not_absent() {
    spy::install();
    let queue = open("unreadable").await.unwrap();
    let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    queue.close();
    let id = member(&member(&stored, "intent"), "id").as_string().unwrap();
    spoil(&id, NEWER).await;
    let queue = open("unreadable").await.unwrap();
    assert_eq!(outcome(submit(&queue, "order-1", 1)).await.unwrap_err(), "ledger_unreadable");
    queue.close();
    let store = IndexedDb::open("intento").await.unwrap();
    let found = store.read(&[RecordKey::Intent(IntentId::from(id))]).await.unwrap();
    assert_eq!(found[0].record, Some(Record::Undecodable));
    let scope = ScopeHash::of("unreadable");
    let name = RecordKey::Reference(ReferenceName::new(&scope, "pay", "order-1"));
    assert!(store.read(&[name]).await.unwrap()[0].record.is_some());
    // Nor does it stop its neighbours.
    let queue = open("unreadable").await.unwrap();
    assert_eq!(member(&outcome(submit(&queue, "order-2", 1)).await.unwrap(), "created"), true);
    queue.close();
}

/// What may have become of a row; each is an expression over `row`.
const NEWER: &str = "({ ...row, v: 2, record: '{\"later\":true}' })";
const DAMAGES: [(&str, &str); 5] = [
    ("newer", NEWER),
    ("newer-by-number-alone", "({ ...row, v: 2 })"),
    ("flipped", "({ ...row, record: row.record.replace('/payments', '/payment3') })"),
    ("checksum", "({ ...row, checksum: '1' + row.checksum })"),
    ("without-checksum", "(({ checksum, ...rest }) => rest)(row)"),
];

/// The queue runs, sends what lies beside it, and is asked for that very decision again.
#[wasm_bindgen_test]
async fn law_8_a_row_that_cannot_be_read_stays_byte_for_byte() {
    for (name, damage) in DAMAGES {
        spy::install();
        let queue = open(name).await.unwrap();
        let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
        queue.close();
        let id = of_intent(&stored, "id").as_string().unwrap();
        let before = spoil(&id, damage).await;
        spy::answer_posts(201, r#"{"id":"pay_1"}"#);
        let queue = open(name).await.unwrap();
        let beside = outcome(submit(&queue, "order-2", 1)).await.unwrap();
        let settled = queue.settled(of_intent(&beside, "id").as_string().unwrap(), Some(8_000.0));
        assert_eq!(member(&outcome(settled).await.unwrap(), "kind"), "succeeded", "{name}");
        assert_eq!(outcome(submit(&queue, "order-1", 1)).await.unwrap_err(), "ledger_unreadable", "{name}");
        assert_eq!(outcome(queue.intent(id.clone(), None)).await.unwrap_err(), "ledger_unreadable", "{name}");
        assert_eq!(js_sys::Array::from(&outcome(queue.intents()).await.unwrap()).length(), 1, "{name}");
        wait_ms(300).await;
        queue.close();
        assert_eq!(spoil(&id, "row").await, before, "{name}");
    }
}

/// Puts what an expression makes of an intent's row in its place. The row as it is now, as JSON.
async fn spoil(id: &str, change: &str) -> String {
    spoil_on("intents", id, change).await
}

async fn spoil_on(shelf: &str, id: &str, change: &str) -> String {
    let done = eval(&format!(
        r#"new Promise((resolve, reject) => {{
            const open = indexedDB.open('intento');
            open.onsuccess = () => {{
                const shelf = open.result.transaction('{shelf}', 'readwrite').objectStore('{shelf}');
                const read = shelf.get('{id}');
                read.onsuccess = () => {{
                    const row = read.result;
                    const changed = {change};
                    shelf.put(changed).onsuccess = () => {{ open.result.close(); resolve(JSON.stringify(changed)); }};
                }};
            }};
            open.onerror = reject;
        }})"#
    ));
    JsFuture::from(Promise::from(done)).await.unwrap().as_string().unwrap()
}

#[wasm_bindgen_test]
async fn a_null_state_is_not_a_state() {
    // Guards the stored spelling that the durability tests match on.
    let queued = intento::browser::codec::to_js(&State::Queued);
    assert_eq!(queued, "queued");
}

/// The clock says nothing of an intent: looking one up needs only its own row.
#[wasm_bindgen_test]
async fn law_8_an_intent_is_found_beside_a_clock_that_cannot_be_read() {
    let queue = open("clockless").await.unwrap();
    let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    let id = of_intent(&stored, "id").as_string().unwrap();
    spoil_on("meta", "clock", "({ ...row, checksum: 'x' + row.checksum })").await;
    let found = outcome(queue.intent(id.clone(), None)).await;
    spoil_on("meta", "clock", "({ ...row, checksum: row.checksum.replace('x', '') })").await;
    queue.close();
    assert_eq!(member(&found.unwrap(), "id"), id.as_str());
}
