//! What intento promises, seen from both ends: what the app was told, and what the server's file says.

mod accepted;
mod answers;
mod bad_input;
mod bodies;
mod canonical_json;
mod contracts;
mod crashes;
mod credentials;
mod deaths;
mod engines;
mod environments;
mod evicted;
mod frozen;
mod hostile;
mod inbox;
mod manners;
mod network;
mod reconcile;
mod references;
mod refusals;
mod secrets;
mod server_busy;
mod steering;
mod tiers;

use e2e::ledger::Tally;
use serde_json::{Value, json};

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

/// No charge and no run of the handler.
const fn untouched(wire: i64) -> Tally {
    Tally { effects: 0, executions: 0, wire }
}
