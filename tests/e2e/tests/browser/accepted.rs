//! After a 202 the result is fetched, and nothing is sent again (P2.1).

use anyhow::Result;
use e2e::bench::Bench;
use serde_json::json;

use crate::{charged_once, payment, payment_with};

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_payment_is_looked_up_until_it_is_paid() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "accept_ms": 2_500 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let waiting = page.reaches(&id, "accepted:processing").await?;
    assert!(waiting.maybe_sent && !waiting.safe_to_replace);
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    assert_eq!(settled.answer.map(|answer| answer.body["status"].clone()), Some(json!("paid")));
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_payment_survives_a_reload_and_can_be_declined() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "accept_ms": 2_500 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment_with("order-842", "tok_declined")).await?.intent.id;
    page.reaches(&id, "accepted:processing").await?;
    page.reload().await?;
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.evidence.as_deref()), ("rejected", Some("stored")));
    assert!(settled.intent.safe_to_replace);
    let tally = bench.shop.ledger()?.tally();
    assert_eq!((tally.effects, tally.executions, tally.wire), (0, 1, 1));
    Ok(())
}
