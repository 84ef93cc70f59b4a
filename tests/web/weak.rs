//! The weak tier beyond what every store does: localStorage with its limits, its lock, and tabs that die in between.

use std::cell::Cell;
use std::rc::Rc;

use intento::browser::local_storage::LocalStorage;
use intento::core::change::Applied;
use intento::core::key::ScopeHash;
use intento::core::limits::{SECTION_DEADLINE_MS, WEAK_MAX_CHARS};
use intento::core::record::{Record, RecordKey};
use intento::core::time::Readings;
use intento::ledger::store::{Store, StoreError};
use js_sys::{Array, Promise};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, future_to_promise};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::spy::{Replaced, eval};
use crate::store_contract::{READING, change, readings};

keeps_the_contract!(in_local_storage, fresh);

/// A ledger of its own, under a name that no other test uses.
pub(crate) async fn fresh(name: &str) -> LocalStorage {
    clear(name);
    LocalStorage::open(&called(name)).await.unwrap()
}

fn called(name: &str) -> String {
    format!("test.{name}")
}

fn clear(name: &str) {
    let beginning = called(name);
    eval(&format!(
        "Object.keys(localStorage).filter((n) => n.startsWith('{beginning}/')).forEach((n) => localStorage.removeItem(n))"
    ));
}

fn scope() -> ScopeHash {
    ScopeHash::of("ledger-test")
}

async fn references(store: &LocalStorage) -> Vec<Option<String>> {
    let listed = store.list(&scope(), 0, 500).await.unwrap();
    listed.iter().map(|intent| intent.reference.clone()).collect()
}

async fn settle(source: &str) -> JsValue {
    JsFuture::from(eval(source).unchecked_into::<Promise>()).await.unwrap()
}

/// Hazards L1, L3, L4: blocked, null, or there and not writable.
#[wasm_bindgen_test]
async fn l1_l3_l4_a_store_that_cannot_be_written_is_none() {
    for broken in [
        "get() { throw new DOMException('denied', 'SecurityError') }",
        "value: null",
        "value: undefined",
        "value: { getItem: () => null, removeItem() {}, setItem() { throw new DOMException('full', 'QuotaExceededError') } }",
        "value: { getItem: () => null, removeItem() {}, setItem() {} }",
    ] {
        let replaced = Replaced::global("localStorage", broken);
        let opened = LocalStorage::open(&called("broken")).await;
        drop(replaced);
        assert!(opened.is_none(), "{broken}");
    }
}

/// Hazard L6 (getsentry/sentry-javascript#1165): nothing is read, changed and written back as a list.
#[wasm_bindgen_test]
async fn l6_many_writers_lose_nothing_and_double_nothing() {
    clear("writers");
    let tries = Array::new();
    for seed in 1..=20_u8 {
        let store = LocalStorage::open(&called("writers")).await.unwrap();
        tries.push(&future_to_promise(async move {
            // Every reference twice, from two writers.
            let reference = format!("order-{}", seed.div_ceil(2));
            let done = store.transact(&[change(seed, &reference, 5)], &readings(READING)).await.unwrap();
            let Ok(Applied::Submitted { created, .. }) = done.results[0] else { panic!("{:?}", done.results) };
            Ok(JsValue::from_bool(created))
        }));
    }
    let created = Array::from(&JsFuture::from(Promise::all(&tries)).await.unwrap());
    assert_eq!(created.iter().filter(JsValue::is_truthy).count(), 10);
    let store = LocalStorage::open(&called("writers")).await.unwrap();
    assert_eq!(references(&store).await.len(), 10);
    clear("writers");
}

/// A page that dies between two writes leaves the whole transaction to the next one.
#[wasm_bindgen_test]
async fn a_transaction_that_a_dead_page_left_is_finished_by_the_next() {
    let store = fresh("dead-page").await;
    store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    // Every write after the log throws: as if the page had died there.
    eval(
        "globalThis.__set = Storage.prototype.setItem;
         Storage.prototype.setItem = function (name, value) {
           if (name.includes('dead-page') && !name.endsWith('/commit')) throw new DOMException('full', 'QuotaExceededError');
           return __set.call(this, name, value);
         }",
    );
    let done = store.transact(&[change(2, "order-2", 5)], &readings(READING)).await;
    eval("Storage.prototype.setItem = __set");
    assert!(done.unwrap().results[0].is_ok(), "it is in: its log is");
    let half_done = eval("localStorage.getItem('test.dead-page/commit') !== null");
    assert!(half_done.is_truthy());
    let wanted = [Some("order-1".to_owned()), Some("order-2".to_owned())];
    assert_eq!(references(&store).await, wanted, "read through the log");
    store.transact(&[change(3, "order-3", 5)], &readings(READING)).await.unwrap();
    assert!(eval("localStorage.getItem('test.dead-page/commit')").is_null());
    assert_eq!(references(&store).await.len(), 3);
    clear("dead-page");
}

/// Hazard L4 (snowplow#308): fine at first, refused later. Nothing of it is in, and what was in is safe.
#[wasm_bindgen_test]
async fn l4_a_write_that_is_refused_stores_nothing() {
    let store = fresh("refused").await;
    store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    eval(
        "globalThis.__set = Storage.prototype.setItem;
         Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }",
    );
    let refused = store.transact(&[change(2, "order-2", 5)], &readings(READING)).await;
    eval("Storage.prototype.setItem = __set");
    assert_eq!(refused.err(), Some(StoreError::Aborted));
    assert_eq!(references(&store).await, [Some("order-1".to_owned())]);
    clear("refused");
}

/// Hazard L7 (mixpanel-js#384): new work is refused before the origin's space is gone, and nothing else is.
#[wasm_bindgen_test]
async fn l7_new_work_is_bounded_and_what_is_there_goes_on() {
    let store = fresh("bounded").await;
    store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    let taken = eval(
        "Object.keys(localStorage).filter((n) => n.startsWith('test.bounded/')).reduce((sum, n) => sum + n.length + localStorage[n].length, 0)",
    );
    let filler = |chars: usize| eval(&format!("localStorage.setItem('test.bounded/filler', 'x'.repeat({chars}))"));
    let filler_name = "test.bounded/filler".len();
    filler(WEAK_MAX_CHARS - taken.as_f64().unwrap() as usize - filler_name - 100);
    let refused = store.transact(&[change(2, "order-2", 5)], &readings(READING)).await;
    assert_eq!(refused.err(), Some(StoreError::Aborted));
    let again = store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    assert!(matches!(again.results[0], Ok(Applied::Submitted { .. })), "what is there is still found");
    let key = RecordKey::Origin("https://a.example".to_owned());
    let record = || Record::Origin(intento::core::shared::Shared::new(Default::default()));
    store.commit(&[(key.clone(), 0)].into(), &[(key.clone(), record())].into()).await.expect("and written");
    filler(1);
    store.transact(&[change(2, "order-2", 5)], &readings(READING)).await.unwrap();
    clear("bounded");
}

/// Hazard L9: one value that is not what was written is held with its bytes, and the others go on.
#[wasm_bindgen_test]
async fn l9_a_damaged_value_is_kept_and_passed_over() {
    let store = fresh("damaged").await;
    for (seed, reference) in [(1, "order-1"), (2, "order-2")] {
        store.transact(&[change(seed, reference, 5)], &readings(READING)).await.unwrap();
    }
    let victim = store.list(&scope(), 0, 1).await.unwrap()[0].id.clone();
    let name = format!("test.damaged/intents/{}", victim.0);
    for garbage in ["{", "null", "\"text\"", "{\"v\":1,\"version\":1,\"checksum\":\"1\",\"record\":\"{}\"}"] {
        eval(&format!("localStorage.setItem('{name}', '{garbage}')"));
        assert_eq!(references(&store).await, [Some("order-2".to_owned())], "{garbage}");
        let found = store.read(&[RecordKey::Intent(victim.clone())]).await.unwrap();
        assert_eq!(found[0].record, Some(Record::Undecodable), "{garbage}");
        let again = store.transact(&[change(3, "order-1", 5)], &readings(READING)).await.unwrap();
        assert!(again.results[0].is_err(), "its reference is not given to another: {:?}", again.results);
        assert_eq!(eval(&format!("localStorage.getItem('{name}')")).as_string().as_deref(), Some(garbage));
    }
    clear("damaged");
}

/// P6.3: a page that was stopped before its turn came does nothing when it goes on.
#[wasm_bindgen_test]
async fn p6_3_a_section_that_is_entered_too_late_does_nothing() {
    let store = fresh("late").await;
    let name = called("late");
    // Somebody holds the lock until the clock has gone on: as a stopped page would find it.
    eval(&format!(
        "globalThis.__held = new Promise((held) => navigator.locks.request('{name}', () => new Promise((free) => {{ globalThis.__free = free; held() }})))"
    ));
    settle("__held").await;
    let (decided, requests) = (Rc::new(Cell::new(0)), LockRequests::counted());
    let counted: Readings = {
        let decided = decided.clone();
        Rc::new(move || {
            decided.set(decided.get() + 1);
            READING
        })
    };
    let once = {
        let other = fresh("in-time").await;
        other.transact(&[change(1, "order-1", 5)], &counted).await.unwrap();
        decided.replace(0)
    };
    requests.forget();
    let late = future_to_promise(async move {
        let done = store.transact(&[change(1, "order-1", 5)], &counted).await;
        Ok(JsValue::from_bool(done.is_ok()))
    });
    settle(&format!(
        "new Promise((done) => setTimeout(() => {{
            const now = Date.now;
            Date.now = () => now() + {SECTION_DEADLINE_MS} + 1;
            __free();
            setTimeout(() => {{ Date.now = now; done() }}, 20);
        }}, 50))"
    ))
    .await;
    assert!(JsFuture::from(late).await.unwrap().is_truthy(), "it asks again");
    assert_eq!((requests.count(), decided.get()), (2, once), "granted twice, done once");
    clear("late");
}

/// A stopped page keeps its lock for ever (measured): after twice the deadline the lock is taken from it.
#[wasm_bindgen_test]
async fn p6_3_a_lock_that_is_never_given_back_is_taken() {
    let store = fresh("stolen").await;
    let name = called("stolen");
    eval(&format!(
        "globalThis.__held = new Promise((held) => navigator.locks.request('{name}', () => new Promise(() => held())).catch(() => globalThis.__stolen = true))"
    ));
    settle("__held").await;
    let started = js_sys::Date::now();
    store.transact(&[change(1, "order-1", 5)], &readings(READING)).await.unwrap();
    let waited_ms = js_sys::Date::now() - started;
    assert!(waited_ms >= f64::from(2 * SECTION_DEADLINE_MS) - 5.0, "{waited_ms} ms");
    assert!(eval("globalThis.__stolen === true").is_truthy());
    clear("stolen");
}

/// P6.3: without Web Locks nothing orders the writers, and the tier does not open.
#[wasm_bindgen_test]
async fn p6_3_without_web_locks_there_is_no_weak_tier() {
    eval("Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true })");
    let opened = LocalStorage::open(&called("lockless")).await;
    eval("delete navigator.locks");
    assert!(opened.is_none());
}

/// Counts what is asked of the browser's locks, until this is dropped.
struct LockRequests;

impl LockRequests {
    fn counted() -> Self {
        eval(
            "globalThis.__request = LockManager.prototype.request; globalThis.__asked = 0;
             LockManager.prototype.request = function (...args) { __asked += 1; return __request.apply(this, args) }",
        );
        Self
    }

    fn forget(&self) {
        eval("__asked = 0");
    }

    fn count(&self) -> u32 {
        eval("__asked").as_f64().unwrap() as u32
    }
}

impl Drop for LockRequests {
    fn drop(&mut self) {
        eval("LockManager.prototype.request = __request");
    }
}
