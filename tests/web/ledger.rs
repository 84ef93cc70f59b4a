//! The IndexedDB ledger behaves as the store in memory does, and keeps what it cannot read.

use std::rc::Rc;

use intento::browser::indexeddb::{Durability, IndexedDb};
use intento::core::change::{Applied, Change, ContractSnapshot, Refusal, Submit};
use intento::core::contract::{Contract, Method};
use intento::core::intent::{Request, State};
use intento::core::json::from_text;
use intento::core::key::{ContractHash, Fingerprint, IntentId, Key, RandomBits, RealmId, ScopeHash};
use intento::core::record::{ExpectedVersions, Record, RecordKey, ReferenceName, Versioned, Writes};
use intento::core::shared::Shared;
use intento::core::time::{LedgerClock, Reading, Readings};
use intento::ledger::memory::MemoryStore;
use intento::ledger::store::{Store, StoreError};
use js_sys::Promise;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::page::{of_intent, open, outcome, submit, wait_ms};
use crate::spy::{self, eval, member};

const READING: Reading = Reading::alone(1_700_000_000_000);

fn readings(reading: Reading) -> Readings {
    Rc::new(move || reading)
}

fn submission(seed: u8, reference: &str, amount: u32) -> Submit {
    let contract: Contract = from_text(include_str!("../../contracts/generic.json")).unwrap();
    let url = "https://api.shop.example/payments".to_owned();
    let body = format!("{{\"amount\":{amount}}}");
    Submit {
        intent: IntentId::new(RandomBits([seed; 16])),
        realm: RealmId::from("realm-a"),
        scope: ScopeHash::of("ledger-test"),
        operation: "pay".to_owned(),
        reference: Some(reference.to_owned()),
        key: Key::render(RandomBits([seed ^ 0xff; 16]), &contract.key),
        contract: ContractSnapshot { hash: ContractHash::of("generic"), contract: contract.into() },
        fingerprint: Fingerprint::of("POST", &url, "pay", "application/json", Some(body.as_bytes())),
        request: Request {
            method: Method::Post,
            url,
            origin: "https://api.shop.example".to_owned(),
            headers: vec![("x-shop".to_owned(), "1".to_owned())],
        },
        body: None,
        expires_in_ms: None,
    }
}

fn change(seed: u8, reference: &str, amount: u32) -> Change {
    Change::Submit(Box::new(submission(seed, reference, amount)))
}

/// A ledger of its own, under a name that no other test uses.
async fn fresh(name: &str) -> IndexedDb {
    IndexedDb::open(&format!("intento-test-{name}-{}", js_sys::Math::random())).await.unwrap()
}

async fn one_reference_in_one_batch_is_one_intent(store: &impl Store) {
    let batch = [change(1, "order-1", 5), change(2, "order-1", 5), change(3, "order-1", 6)];
    let done = store.transact(&batch, &readings(READING)).await.unwrap();
    let Ok(Applied::Submitted { intent: first, created: true }) = &done.results[0] else {
        panic!("{:?}", done.results)
    };
    let Ok(Applied::Submitted { intent: same, created: false }) = &done.results[1] else {
        panic!("{:?}", done.results)
    };
    assert_eq!(first.id, same.id);
    assert!(matches!(&done.results[2], Err(Refusal::ReferenceConflict(it)) if it.id == first.id));
    assert_eq!(store.list(&ScopeHash::of("ledger-test"), 10).await.unwrap().len(), 1);
}

async fn a_change_that_ran_before_runs_again_without_effect(store: &impl Store) {
    let scope = ScopeHash::of("ledger-test");
    let submit = [change(1, "order-1", 5)];
    let first = store.transact(&submit, &readings(READING)).await.unwrap();
    let again = store.transact(&submit, &readings(READING)).await.unwrap();
    assert_eq!(first.results, again.results);
    assert_eq!(store.list(&scope, 10).await.unwrap().len(), 1);
}

async fn a_commit_on_changed_or_phantom_records_conflicts(store: &impl Store) {
    let key = RecordKey::Origin("https://a.example".to_owned());
    let writes: Writes = [(key.clone(), Record::Origin(Shared::new(Default::default())))].into();
    let absent: ExpectedVersions = [(key.clone(), 0)].into();
    store.commit(&absent, &writes).await.unwrap();
    assert_eq!(store.commit(&absent, &writes).await, Err(StoreError::Conflict));
    let now: ExpectedVersions = [(key.clone(), 1)].into();
    store.commit(&now, &writes).await.unwrap();
    assert_eq!(store.read(&[key]).await.unwrap()[0].version, 2);
}

async fn due_pages_are_in_order_and_name_the_next(store: &impl Store) {
    let scope = ScopeHash::of("ledger-test");
    for seed in 1..=3 {
        let reading = Reading::alone(READING.wall_ms + u64::from(seed) * 1_000);
        store.transact(&[change(seed, &format!("order-{seed}"), 1)], &readings(reading)).await.unwrap();
    }
    let page = store.due(&scope, READING.wall_ms + 2_000, 10).await.unwrap();
    let sequences: Vec<u64> = page.due.iter().map(|intent| intent.sequence).collect();
    assert_eq!((sequences, page.next_due_at_ms), (vec![1, 2], Some(READING.wall_ms + 3_000)));
    let cut = store.due(&scope, READING.wall_ms + 9_000, 2).await.unwrap();
    assert_eq!(cut.due.len(), 2);
    assert!(cut.next_due_at_ms.is_some_and(|at_ms| at_ms <= READING.wall_ms + 9_000));
    let other = store.due(&ScopeHash::of("somebody else"), u64::from(u32::MAX) * 1_000, 10).await.unwrap();
    assert!(other.due.is_empty());
}

/// The same behaviour of every store.
macro_rules! store_contract {
    ($($name:ident),* $(,)?) => {
        mod in_memory {
            use super::*;
            $(#[wasm_bindgen_test] async fn $name() { super::$name(&MemoryStore::new()).await; })*
        }
        mod in_indexeddb {
            use super::*;
            $(#[wasm_bindgen_test] async fn $name() { super::$name(&fresh(stringify!($name)).await).await; })*
        }
    };
}

store_contract!(
    one_reference_in_one_batch_is_one_intent,
    a_change_that_ran_before_runs_again_without_effect,
    a_commit_on_changed_or_phantom_records_conflicts,
    due_pages_are_in_order_and_name_the_next,
);

#[wasm_bindgen_test]
async fn records_come_back_as_they_were_put() {
    let store = fresh("round-trip").await;
    let done = store.transact(&[change(7, "order-7", 5)], &readings(READING)).await.unwrap();
    let Ok(Applied::Submitted { intent, .. }) = &done.results[0] else { panic!("{:?}", done.results) };
    assert_eq!(store.durability(), Durability::Strong);
    let found = store.read(&[RecordKey::Intent(intent.id.clone()), RecordKey::Clock]).await.unwrap();
    assert_eq!(found[0], Versioned { version: 1, record: Some(Record::Intent(intent.clone())) });
    assert_eq!(found[1].record, Some(Record::Clock(LedgerClock::new(READING.wall_ms))));
    let absent = store.read(&[RecordKey::Intent(IntentId::from("nobody"))]).await.unwrap();
    assert_eq!(absent[0], Versioned::ABSENT);
}

#[wasm_bindgen_test]
async fn a_dead_handle_is_opened_again_and_a_change_is_not_lost() {
    let store = fresh("dead-handle").await;
    store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    store.close();
    let done = store.transact(&[change(2, "order-2", 5)], &readings(READING)).await.unwrap();
    assert!(done.results[0].is_ok());
    assert_eq!(store.list(&ScopeHash::of("ledger-test"), 10).await.unwrap().len(), 2);
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
        assert_eq!(outcome(queue.intent(id.clone())).await.unwrap_err(), "ledger_unreadable", "{name}");
        assert_eq!(js_sys::Array::from(&outcome(queue.intents()).await.unwrap()).length(), 1, "{name}");
        wait_ms(300).await;
        queue.close();
        assert_eq!(spoil(&id, "row").await, before, "{name}");
    }
}

/// Puts what an expression makes of an intent's row in its place. The row as it is now, as JSON.
async fn spoil(id: &str, change: &str) -> String {
    let done = eval(&format!(
        r#"new Promise((resolve, reject) => {{
            const open = indexedDB.open('intento');
            open.onsuccess = () => {{
                const shelf = open.result.transaction('intents', 'readwrite').objectStore('intents');
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
