//! Answers that come, get lost, or come late.

use anyhow::Result;
use e2e::bench::Bench;
use e2e::ledger::Tally;
use serde_json::json;

use crate::payment;

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_payment_takes_one_request() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let submitted = page.submit(payment("order-842")).await?;
    assert!(submitted.created);
    assert_eq!(submitted.durability, "strong");
    assert_eq!(submitted.intent.standing(), "queued:not_sent");

    let settled = page.settled(&submitted.intent.id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("fresh")));
    assert_eq!(settled.evidence.as_deref(), Some("reply"));
    assert_eq!(settled.durable, Some(true));
    let answer = settled.answer.expect("the answer is kept");
    assert_eq!((answer.status, &answer.body["status"]), (201, &json!("paid")));
    let told = page.standings(&submitted.intent.id).await?;
    assert_eq!(told, ["queued:not_sent", "sending:in_flight", "succeeded"]);

    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), Tally { effects: 1, executions: 1, wire: 1 });
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}
