//! Web Locks in a real browser: had, taken, waited for, stolen, given back (P2.4, P2.5).

use std::cell::RefCell;
use std::rc::Rc;

use intento::browser::locks::Locks;
use intento::core::input::Lock;
use intento::core::key::IntentId;
use js_sys::Promise;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::spy::eval;

type Told = Rc<RefCell<Vec<Lock>>>;

fn ask(locks: &Locks, intent: &IntentId, wait: bool) -> Told {
    let told = Told::default();
    let hears = told.clone();
    locks.request(intent.clone(), wait, move |lock| hears.borrow_mut().push(lock));
    told
}

async fn a_moment() {
    let promise: Promise = eval("new Promise((resolve) => setTimeout(resolve, 100))").into();
    JsFuture::from(promise).await.unwrap();
}

async fn run(script: &str) {
    let promise: Promise = eval(script).into();
    JsFuture::from(promise).await.unwrap();
}

#[wasm_bindgen_test]
async fn p2_4_one_realm_holds_a_lock_and_the_next_gets_it_when_it_is_released() {
    let (mine, theirs, intent) = (Locks::default(), Locks::default(), IntentId::from("lock-1"));
    let first = ask(&mine, &intent, false);
    a_moment().await;
    let (refused, waits) = (ask(&theirs, &intent, false), Told::default());
    a_moment().await;
    assert_eq!((first.take(), refused.take()), (vec![Lock::Held], vec![Lock::Taken]));

    let hears = waits.clone();
    theirs.request(intent.clone(), true, move |lock| hears.borrow_mut().push(lock));
    a_moment().await;
    assert_eq!(waits.borrow()[..], []);
    mine.release(&intent);
    a_moment().await;
    assert_eq!((waits.take(), first.take()), (vec![Lock::Held], vec![]), "who releases is told nothing");
    theirs.release(&intent);
}

#[wasm_bindgen_test]
async fn p2_5_who_ceases_to_wait_is_granted_nothing() {
    let (mine, theirs, intent) = (Locks::default(), Locks::default(), IntentId::from("lock-2"));
    ask(&mine, &intent, false);
    a_moment().await;
    let waits = ask(&theirs, &intent, true);
    a_moment().await;
    theirs.release(&intent);
    mine.release(&intent);
    a_moment().await;
    assert_eq!(waits.borrow()[..], []);
    let again = ask(&mine, &intent, false);
    a_moment().await;
    assert_eq!(again.take(), [Lock::Held], "nobody has kept it");
    mine.release(&intent);
}

#[wasm_bindgen_test]
async fn p2_5_a_stolen_lock_is_told_of_once() {
    let (mine, intent) = (Locks::default(), IntentId::from("lock-3"));
    let told = ask(&mine, &intent, false);
    a_moment().await;
    run("navigator.locks.request('intento/lock-3', { steal: true }, () => {})").await;
    a_moment().await;
    assert_eq!(told.take(), [Lock::Held, Lock::Lost]);
}

/// Insecure contexts have none, and opaque origins refuse (hazards T1, T5).
#[wasm_bindgen_test]
async fn t1_where_there_are_no_locks_that_is_said() {
    let (mine, intent) = (Locks::default(), IntentId::from("lock-4"));
    eval("Object.defineProperty(navigator, 'locks', { configurable: true, value: undefined })");
    let missing = ask(&mine, &intent, false);
    a_moment().await;
    eval(
        "Object.defineProperty(navigator, 'locks', { configurable: true, value: { request: () => Promise.reject(new Error('opaque')) } })",
    );
    let refused = ask(&mine, &intent, false);
    a_moment().await;
    eval(
        "Object.defineProperty(navigator, 'locks', { configurable: true, value: { request: () => new Promise(() => {}) } })",
    );
    let silent = ask(&mine, &intent, false);
    run("new Promise((resolve) => setTimeout(resolve, 2200))").await;
    eval("delete navigator.locks");
    assert_eq!((missing.take(), refused.take()), (vec![Lock::Unavailable], vec![Lock::Unavailable]));
    assert_eq!(silent.take(), [Lock::Unavailable]);
}
