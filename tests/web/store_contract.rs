//! What every store must do, and the stores that every context has.

use std::future::ready;
use std::rc::Rc;

use intento::browser::app_store::AppStore;
use intento::core::change::{Applied, Change, ContractSnapshot, Refusal, Submit};
use intento::core::contract::{Contract, Method};
use intento::core::input::DueSpan;
use intento::core::intent::Request;
use intento::core::json::from_text;
use intento::core::key::{ContractHash, Fingerprint, IntentId, Key, RandomBits, RealmId, ScopeHash};
use intento::core::record::{ExpectedVersions, Record, RecordKey, Versioned, Writes};
use intento::core::shared::Shared;
use intento::core::time::{LedgerClock, Reading, Readings};
use intento::ledger::durability::Durability;
use intento::ledger::memory::MemoryStore;
use intento::ledger::store::{Store, StoreError};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::ledger;
use crate::spy::{eval, member};

/// Tries the whole contract on one store: a name, and what opens an empty store for the test of that name.
macro_rules! keeps_the_contract {
    ($store:ident, $open:expr) => {
        keeps_the_contract!(@each $store, $open,
            one_reference_in_one_batch_is_one_intent,
            a_change_that_ran_before_runs_again_without_effect,
            a_commit_on_changed_or_phantom_records_conflicts,
            a_conflict_writes_nothing_of_its_commit,
            records_come_back_as_they_were_put,
            due_pages_are_in_order_and_name_the_next,
            a_list_is_in_the_order_of_submission_and_no_longer_than_asked,
        );
    };
    (@each $store:ident, $open:expr, $($name:ident),* $(,)?) => {
        mod $store {
            use super::*;
            $(#[wasm_bindgen_test] async fn $name() {
                crate::store_contract::$name(&$open(stringify!($name)).await).await;
            })*
        }
    };
}

keeps_the_contract!(in_memory, |_| ready(MemoryStore::new()));
keeps_the_contract!(in_indexeddb, ledger::fresh);
keeps_the_contract!(in_an_app_s_own, |_| ready(app_store()));

pub(crate) async fn one_reference_in_one_batch_is_one_intent(store: &impl Store) {
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
    assert_eq!(store.list(&ScopeHash::of("ledger-test"), 0, 10).await.unwrap().len(), 1);
}

pub(crate) async fn a_change_that_ran_before_runs_again_without_effect(store: &impl Store) {
    let scope = ScopeHash::of("ledger-test");
    let submit = [change(1, "order-1", 5)];
    let first = store.transact(&submit, &readings(READING)).await.unwrap();
    let again = store.transact(&submit, &readings(READING)).await.unwrap();
    assert_eq!(first.results, again.results);
    assert_eq!(store.list(&scope, 0, 10).await.unwrap().len(), 1);
}

pub(crate) async fn a_commit_on_changed_or_phantom_records_conflicts(store: &impl Store) {
    let key = RecordKey::Origin("https://a.example".to_owned());
    let writes: Writes = [(key.clone(), Record::Origin(Shared::new(Default::default())))].into();
    let absent: ExpectedVersions = [(key.clone(), 0)].into();
    store.commit(&absent, &writes).await.unwrap();
    assert_eq!(store.commit(&absent, &writes).await, Err(StoreError::Conflict));
    let now: ExpectedVersions = [(key.clone(), 1)].into();
    store.commit(&now, &writes).await.unwrap();
    assert_eq!(store.read(&[key]).await.unwrap()[0].version, 2);
}

pub(crate) async fn due_pages_are_in_order_and_name_the_next(store: &impl Store) {
    let scope = ScopeHash::of("ledger-test");
    for seed in 1..=3 {
        let reading = Reading::alone(READING.wall_ms + u64::from(seed) * 1_000);
        store.transact(&[change(seed, &format!("order-{seed}"), 1)], &readings(reading)).await.unwrap();
    }
    let page = store.due(&scope, DueSpan::until(READING.wall_ms + 2_000), 10).await.unwrap();
    let sequences: Vec<u64> = page.due.iter().map(|intent| intent.sequence).collect();
    assert_eq!((sequences, page.next_due_at_ms), (vec![1, 2], Some(READING.wall_ms + 3_000)));
    let cut = store.due(&scope, DueSpan::until(READING.wall_ms + 9_000), 2).await.unwrap();
    assert_eq!(cut.due.len(), 2);
    assert!(cut.next_due_at_ms.is_some_and(|at_ms| at_ms <= READING.wall_ms + 9_000));
    let later = DueSpan { from_ms: READING.wall_ms + 2_000, until_ms: READING.wall_ms + 2_000 };
    let only: Vec<u64> = store.due(&scope, later, 10).await.unwrap().due.iter().map(|intent| intent.sequence).collect();
    assert_eq!(only, [2], "both ends are in it");
    let other =
        store.due(&ScopeHash::of("somebody else"), DueSpan::until(u64::from(u32::MAX) * 1_000), 10).await.unwrap();
    assert!(other.due.is_empty());
}

pub(crate) async fn a_conflict_writes_nothing_of_its_commit(store: &impl Store) {
    let [held, other] = ["https://a.example", "https://b.example"].map(|origin| RecordKey::Origin(origin.to_owned()));
    let record = || Record::Origin(Shared::new(Default::default()));
    store.commit(&[(held.clone(), 0)].into(), &[(held.clone(), record())].into()).await.unwrap();
    let expected: ExpectedVersions = [(held.clone(), 0), (other.clone(), 0)].into();
    let writes: Writes = [(held.clone(), record()), (other.clone(), record())].into();
    assert_eq!(store.commit(&expected, &writes).await, Err(StoreError::Conflict));
    let found = store.read(&[held, other]).await.unwrap();
    assert_eq!((found[0].version, &found[1]), (1, &Versioned::ABSENT));
}

pub(crate) async fn records_come_back_as_they_were_put(store: &impl Store) {
    let done = store.transact(&[change(7, "order-7", 5)], &readings(READING)).await.unwrap();
    let Ok(Applied::Submitted { intent, .. }) = &done.results[0] else { panic!("{:?}", done.results) };
    let keys = [RecordKey::Intent(IntentId::from("nobody")), RecordKey::Intent(intent.id.clone()), RecordKey::Clock];
    let found = store.read(&keys).await.unwrap();
    assert_eq!(found[0], Versioned::ABSENT);
    assert_eq!(found[1], Versioned { version: 1, record: Some(Record::Intent(intent.clone())) });
    assert_eq!(found[2].record, Some(Record::Clock(LedgerClock::new(READING.wall_ms))));
}

pub(crate) async fn a_list_is_in_the_order_of_submission_and_no_longer_than_asked(store: &impl Store) {
    // Not in the order of their ids.
    for seed in [3, 1, 2] {
        store.transact(&[change(seed, &format!("order-{seed}"), 1)], &readings(READING)).await.unwrap();
    }
    let listed = store.list(&ScopeHash::of("ledger-test"), 0, 2).await.unwrap();
    let references: Vec<Option<&str>> = listed.iter().map(|intent| intent.reference.as_deref()).collect();
    assert_eq!(references, [Some("order-3"), Some("order-1")]);
}

/// The least that an app's store can be: rows by name, compared and put in one synchronous step. The next queue that is
/// opened gets it.
pub(crate) fn give_app_store() -> JsValue {
    eval(
        "(() => {
            const rows = new Map();
            return globalThis.__callbacks = {
                storeRead: async (names) => JSON.stringify(JSON.parse(names).map((name) => rows.get(name) ?? null)),
                storeScan: async (prefix) => JSON.stringify([...rows].filter(([name]) => name.startsWith(prefix))),
                storeCommit: async (versions, texts) => {
                    const version = (name) => (rows.has(name) ? JSON.parse(rows.get(name)).version : 0);
                    if (JSON.parse(versions).some(([name, expected]) => version(name) !== expected)) return false;
                    for (const [name, text] of JSON.parse(texts)) rows.set(name, text);
                    return true;
                },
            };
        })()",
    )
}

fn app_store() -> AppStore {
    let store = give_app_store();
    eval("delete globalThis.__callbacks");
    let function = |name| member(&store, name).unchecked_into();
    AppStore {
        durability: Durability::Strong,
        read: function("storeRead"),
        scan: function("storeScan"),
        commit: function("storeCommit"),
    }
}

pub(crate) const READING: Reading = Reading::alone(1_700_000_000_000);

pub(crate) fn readings(reading: Reading) -> Readings {
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
        lane: None,
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
        card_data: false,
    }
}

pub(crate) fn change(seed: u8, reference: &str, amount: u32) -> Change {
    Change::Submit(Box::new(submission(seed, reference, amount)))
}
