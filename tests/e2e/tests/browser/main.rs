//! What intento promises, seen from both ends: what the app was told, and what the server's file says.

mod answers;

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
