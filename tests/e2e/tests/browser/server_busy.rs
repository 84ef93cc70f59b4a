//! A server that asks for patience gets it.

use anyhow::Result;
use e2e::bench::Bench;
use serde_json::json;

use crate::{charged_once, payment};

const RETRY_AFTER_MS: i64 = 2_000;
/// Two clocks, each in whole milliseconds.
const ROUNDING_MS: i64 = 2;

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_holds_across_a_reload_and_an_online_event() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "unavailable": 2, "retry_after_s": RETRY_AFTER_MS / 1_000 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    page.reaches(&id, "waiting:server_error").await?;
    // Each of these is a reason to look again, none of them to send again.
    page.call::<()>("dispatchEvent(new Event('online'))", json!([])).await?;
    page.reload().await?;
    page.call::<()>("dispatchEvent(new Event('online'))", json!([])).await?;

    let settled = page.settled(&id).await?;
    assert_eq!(settled.kind, "succeeded");
    assert_eq!(settled.intent.results(), ["server_error", "server_error", "succeeded"]);
    assert_eq!(settled.intent.attempts[0].retry_after_ms, Some(RETRY_AFTER_MS as u64));
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(3));
    assert_eq!(ledger.statuses(), [Some(503), Some(503), Some(201)]);
    for gap_ms in ledger.gaps_ms() {
        assert!(gap_ms >= RETRY_AFTER_MS - ROUNDING_MS, "asked for {RETRY_AFTER_MS} ms, came back after {gap_ms}");
    }
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_without_retry_after_is_asked_again() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "unavailable": 2, "retry_after_s": null })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!(settled.kind, "succeeded");
    assert_eq!(settled.intent.attempts[0].retry_after_ms, None);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(3));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}
