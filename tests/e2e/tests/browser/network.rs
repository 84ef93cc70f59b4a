//! Offline is not an attempt (P4).

use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::page::Page;
use serde_json::json;

use crate::{charged_once, payment, untouched};

/// Long enough for a queue that tried to send to be caught at it.
const A_WHILE: Duration = Duration::from_millis(2_500);

async fn stays_unsent(page: &Page, id: &str) -> Result<()> {
    let known = page.settled_within(id, A_WHILE).await?;
    assert_eq!((known.kind.as_str(), known.cause.as_deref()), ("pending", Some("not_sent")));
    assert_eq!((known.intent.state.as_str(), known.intent.attempt_count), ("queued", 0));
    assert!(!known.intent.maybe_sent);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn offline_then_online() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    page.go_offline().await?;
    let kept = page.submit(payment("order-842")).await?.intent;
    let dropped = page.submit(payment("order-843")).await?.intent;
    let mut short_lived = payment("order-844");
    short_lived["expiresIn"] = json!(1_000);
    let expired = page.submit(short_lived).await?.intent;
    stays_unsent(&page, &kept.id).await?;
    assert!(page.cancel(&dropped.id).await?);
    let cancelled = page.settled(&dropped.id).await?;
    assert_eq!((cancelled.kind.as_str(), cancelled.intent.safe_to_replace), ("cancelled", true));
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));

    page.go_online().await?;
    assert_eq!(page.settled(&kept.id).await?.kind, "succeeded");
    assert_eq!(page.settled(&expired.id).await?.kind, "expired");
    assert!(!page.cancel(&kept.id).await?, "too late");
    assert_eq!(page.standings(&kept.id).await?, ["queued:not_sent", "sending:in_flight", "succeeded"]);
    assert_eq!(page.standings(&dropped.id).await?, ["queued:not_sent", "cancelled"]);
    assert_eq!(page.standings(&expired.id).await?, ["queued:not_sent", "expired"]);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&kept]);
    Ok(())
}

/// The device is online, the shop is not there: the same, across reloads.
#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_is_down_then_up() -> Result<()> {
    let mut bench = Bench::start().await?;
    bench.shop.close_api().await?;
    let page = bench.page().await?;
    let mut patient = payment("order-842");
    patient["expiresIn"] = json!(null);
    let kept = page.submit(patient).await?.intent;
    let dropped = page.submit(payment("order-843")).await?.intent;
    for _ in 0..3 {
        stays_unsent(&page, &kept.id).await?;
        page.reload().await?;
    }
    assert!(page.cancel(&dropped.id).await?);

    bench.shop.open_api().await?;
    let settled = page.settled(&kept.id).await?;
    assert_eq!((settled.kind.as_str(), settled.intent.attempt_count), ("succeeded", 1));
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&kept]);
    Ok(())
}
