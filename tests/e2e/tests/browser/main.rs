//! What intento promises, seen from both ends: what the app was told, and what the server's file says.

mod accepted;
mod answers;
mod background_sync;
mod bad_input;
mod bodies;
mod canonical_json;
mod contracts;
mod copies;
mod crashes;
mod credentials;
mod deaths;
mod doctor;
mod engines;
mod environments;
mod evicted;
mod examples;
mod frozen;
mod hostile;
mod inbox;
mod manners;
mod moved;
mod network;
mod reconcile;
mod references;
mod refusals;
mod reports;
mod secrets;
mod server_busy;
mod steering;
mod tabs;
mod tiers;
mod webview;
mod workers;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::ledger::Tally;
use e2e::told::Settled;
use serde_json::{Value, json};

/// Decisions that several realms make at the same time: twice what one of them sends at once.
const MANY: i64 = 12;

/// A payment of that order, as an app submits it.
fn payment(order: &str) -> Value {
    payment_with(order, "tok_visa")
}

fn payment_with(order: &str, card: &str) -> Value {
    let body = json!({ "amount": 15_000, "currency": "BRL", "card": card, "order": order });
    json!({
        "operation": "authorize-payment",
        "reference": order,
        "request": { "method": "POST", "url": "/payments", "body": body },
    })
}

/// One charge by one run of the handler, however many requests it took.
const fn charged_once(wire: i64) -> Tally {
    Tally { effects: 1, executions: 1, wire }
}

/// The answer was lost once: paid once, and replayed to the same key.
fn paid_once_over_a_lost_answer(bench: &Bench, settled: &Settled) -> Result<()> {
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

/// No charge and no run of the handler.
const fn untouched(wire: i64) -> Tally {
    Tally { effects: 0, executions: 0, wire }
}

/// Two realms made the same [`MANY`] decisions at the same time; `decided` is the intent of each, and whether it was made
/// for it. Each is one intent, one request and one charge.
async fn assert_each_was_sent_once(bench: &Bench, decided: [Vec<(String, bool)>; 2]) -> Result<()> {
    let [mine, theirs] = decided.each_ref().map(|of| of.iter().map(|(id, _)| id).collect::<BTreeSet<_>>());
    assert_eq!((mine.len() as i64, &mine), (MANY, &theirs), "both know the same intents");
    assert_eq!(decided.iter().flatten().filter(|(_, created)| *created).count() as i64, MANY, "each was made once");
    eventually("all are paid", async || Ok((bench.shop.ledger()?.tally().effects >= MANY).then_some(()))).await?;
    // For a second sender to be caught at it.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), Tally { effects: MANY, executions: MANY, wire: MANY });
    assert_eq!(ledger.keys().len() as i64, MANY);
    Ok(())
}
