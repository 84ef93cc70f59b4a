//! Which tier a queue stores in, and what it does about the others.

use intento::js::queue::RawQueue;
use js_sys::Array;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::page::{of_intent, open_with, outcome, submit};
use crate::spy::{self, Replaced, eval, member};

fn without_indexed_db() -> Replaced {
    Replaced::global("indexedDB", "value: undefined")
}

/// Every `open` fails as with a damaged backing store (hazard I11).
fn unreadable_indexed_db() -> Replaced {
    let open = "open() { throw new DOMException('Internal error.', 'UnknownError'); }";
    Replaced::global("indexedDB", &format!("value: {{ {open} }}"))
}

fn code(refused: Result<RawQueue, wasm_bindgen::JsValue>) -> Option<String> {
    member(&refused.err()?, "code").as_string()
}

/// Nothing may be left for the tests of other files, which open the same weak ledger.
fn forget_weak() {
    eval(
        "Object.keys(localStorage).filter((name) => name.startsWith('intento')).forEach((name) => localStorage.removeItem(name))",
    );
}

/// Submits without a way to be sent: `authorize` is not there, but the origin never answers as an API would.
async fn id_of(queue: &RawQueue, reference: &str) -> String {
    let stored = outcome(submit(queue, reference, 1)).await.unwrap();
    of_intent(&stored, "id").as_string().unwrap()
}

#[wasm_bindgen_test]
async fn p6_2_the_weak_tier_is_for_where_there_is_no_indexeddb() {
    forget_weak();
    let absent = without_indexed_db();
    let queue = open_with("tiers-weak", "").await.unwrap();
    assert_eq!(queue.durability(), "weak");
    let stored = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    assert_eq!(member(&stored, "durability"), "weak", "the receipt says so");
    queue.close();
    drop(absent);
    forget_weak();
}

/// IndexedDB is back: what the weak tier holds goes on where it is, under its key (hazard L10).
#[wasm_bindgen_test]
async fn l10_what_a_weak_ledger_holds_is_known_and_drained_beside_the_strong_one() {
    forget_weak();
    spy::install();
    let absent = without_indexed_db();
    let weak = open_with("tiers-drained", "").await.unwrap();
    let id = id_of(&weak, "order-1").await;
    weak.close();
    drop(absent);

    spy::answer_posts(201, r#"{"id":"pay_1"}"#);
    let queue = open_with("tiers-drained", "").await.unwrap();
    assert!(queue.durability().starts_with("strong"));
    let again = outcome(submit(&queue, "order-1", 1)).await.unwrap();
    assert_eq!(
        (of_intent(&again, "id").as_string(), member(&again, "created").as_bool()),
        (Some(id.clone()), Some(false))
    );
    let conflict = outcome(submit(&queue, "order-1", 2)).await;
    assert_eq!(conflict.unwrap_err(), "reference_conflict");
    let new = id_of(&queue, "order-2").await;
    let settled = outcome(queue.settled(id.clone(), Some(20_000.0))).await.unwrap();
    assert_eq!(member(&settled, "kind"), "succeeded");
    let mut listed: Vec<_> = Array::from(&outcome(queue.intents()).await.unwrap())
        .iter()
        .map(|one| member(&one, "id").as_string().unwrap())
        .collect();
    let mut both = [id, new];
    listed.sort();
    both.sort();
    assert_eq!(listed, both);
    queue.close();
    forget_weak();
}

/// Law 8: what exists and cannot be read is no reason to begin another.
#[wasm_bindgen_test]
async fn p6_2_a_ledger_that_cannot_be_read_is_not_replaced() {
    forget_weak();
    let unreadable = unreadable_indexed_db();
    assert_eq!(code(open_with("tiers-unreadable", "").await).as_deref(), Some("ledger_unreadable"));
    let volatile = open_with("tiers-unreadable", r#","minDurability":"volatile""#).await;
    assert_eq!(code(volatile).as_deref(), Some("ledger_unreadable"));
    let queue = open_with("tiers-unreadable", r#","onUnreadable":"start-empty""#).await.unwrap();
    assert_eq!((queue.durability().as_str(), queue.started_empty()), ("weak", true));
    assert!(eval("localStorage.getItem('intento.weak/started_empty') > 1.6e12").is_truthy(), "it is noted");
    queue.close();
    drop(unreadable);
    forget_weak();
}

/// The page noted that there was a strong ledger: one that is gone whole is not "none".
#[wasm_bindgen_test]
async fn p6_2_a_strong_ledger_that_was_there_is_not_forgotten_with_indexeddb() {
    forget_weak();
    let scope = intento::core::key::ScopeHash::of("tiers-noted");
    eval(&format!("localStorage.setItem('intento/ledger/{}', 'a ledger')", scope.0));
    let absent = without_indexed_db();
    assert_eq!(code(open_with("tiers-noted", "").await).as_deref(), Some("ledger_unreadable"));
    drop(absent);
    forget_weak();
}

#[wasm_bindgen_test]
async fn min_durability_refuses_what_is_below_it() {
    forget_weak();
    let absent = without_indexed_db();
    for asked in ["strong", "strong_relaxed"] {
        let refused = open_with("tiers-min", &format!(r#","minDurability":"{asked}""#)).await;
        assert_eq!(code(refused).as_deref(), Some("durability_too_low"), "{asked}");
    }
    assert_eq!(code(open_with("tiers-min", r#","minDurability":"most""#).await).as_deref(), Some("option_invalid"));
    drop(absent);
    let strong = open_with("tiers-min", r#","minDurability":"strong_relaxed""#).await.unwrap();
    strong.close();
    assert_eq!(open_with("tiers-min", r#","minDurability":"strong""#).await.is_ok(), spy::knows_durability());
    forget_weak();
}

/// In memory only where the app asks for it, and never beside a tier that is there.
#[wasm_bindgen_test]
async fn the_volatile_tier_is_opt_in() {
    forget_weak();
    let volatile = r#","minDurability":"volatile""#;
    let strong = open_with("tiers-volatile", volatile).await.unwrap();
    assert!(strong.durability().starts_with("strong"));
    strong.close();
    let absent = without_indexed_db();
    let null = Replaced::global("localStorage", "value: null");
    let refused = code(open_with("tiers-nowhere", "").await);
    crate::store_contract::give_app_store();
    let queue = open_with("tiers-nowhere", volatile).await.unwrap();
    eval("delete globalThis.__callbacks");
    let tier = queue.durability();
    let again = (id_of(&queue, "order-1").await, id_of(&queue, "order-1").await);
    drop((null, absent));
    assert_eq!((refused.as_deref(), tier.as_str()), (Some("storage_unavailable"), "volatile"));
    assert_eq!(again.0, again.1);
    queue.close();
}
