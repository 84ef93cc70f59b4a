//! A refusal settles only where it is evidence, and licenses another payment only where nothing can follow (P5).

use anyhow::Result;
use e2e::bench::Bench;
use e2e::ledger::Tally;
use e2e::told::Settled;
use serde_json::{Value, json};

use crate::payment_with;

/// No charge, and the handler ran once.
const fn refused_once(wire: i64) -> Tally {
    Tally { effects: 0, executions: 1, wire }
}

/// A card that the bank declines, under these faults.
async fn declined(faults: Value) -> Result<(Bench, Settled)> {
    let bench = Bench::start().await?;
    bench.shop.arm(faults).await?;
    let page = bench.page().await?;
    let id = page.submit(payment_with("order-842", "tok_declined")).await?.intent.id;
    let settled = page.settled(&id).await?;
    let last = page.standings(&id).await?.pop();
    assert_eq!(last, Some(settled.intent.standing()), "told by event as by settled()");
    // The same decision again finds the finished intent, and asks nobody.
    let wire = bench.shop.ledger()?.tally().wire;
    let again = page.submit(payment_with("order-842", "tok_declined")).await?;
    assert_eq!((again.intent.id, again.created), (id, false));
    page.settled(&settled.intent.id).await?;
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), refused_once(wire));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok((bench, settled))
}

fn verdict(settled: &Settled) -> (&str, Option<&str>, bool) {
    (&settled.kind, settled.evidence.as_deref(), settled.intent.safe_to_replace)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_refusal_settles_and_licenses_another_payment() -> Result<()> {
    let (bench, settled) = declined(json!({})).await?;
    assert_eq!(verdict(&settled), ("rejected", Some("stored"), true));
    assert_eq!(settled.answer.map(|answer| answer.status), Some(402));
    assert_eq!(bench.shop.ledger()?.tally(), refused_once(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_refusal_is_replayed() -> Result<()> {
    let (bench, settled) = declined(json!({ "drop_after_commit": 1 })).await?;
    assert_eq!(verdict(&settled), ("rejected", Some("stored"), true));
    assert_eq!(settled.intent.results(), ["network", "rejected"]);
    assert_eq!(bench.shop.ledger()?.tally(), refused_once(2));
    assert!(bench.shop.ledger()?.wire()[1].replayed);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_unknown_standing_licenses_nothing() -> Result<()> {
    let (bench, settled) = declined(json!({ "echo": false })).await?;
    assert_eq!(verdict(&settled), ("rejected", Some("unstored"), false));
    assert_eq!(bench.shop.ledger()?.tally(), refused_once(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_refusal_settles_after_a_hiccup() -> Result<()> {
    let (bench, settled) = declined(json!({ "unavailable": 1 })).await?;
    assert_eq!(verdict(&settled), ("rejected", Some("stored"), true));
    assert_eq!(settled.intent.results(), ["server_error", "rejected"]);
    assert_eq!(bench.shop.ledger()?.tally(), refused_once(2));
    Ok(())
}

/// The 503 may have been a charge, for all that is known, and nothing says that the refusal is not another delivery's.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_unknown_standing_after_a_hiccup_is_no_refusal() -> Result<()> {
    let (bench, settled) = declined(json!({ "unavailable": 1, "echo": false })).await?;
    assert_eq!((settled.kind.as_str(), settled.reason.as_deref()), ("held", Some("unresolved")));
    assert!(!settled.intent.safe_to_replace && settled.intent.maybe_sent);
    assert_eq!(bench.shop.ledger()?.tally().effects, 0);
    Ok(())
}
