//! The browser has evicted what was stored: that is told, and never taken for "nothing was here" (hazard I15).

use anyhow::Result;
use e2e::bench::Bench;
use e2e::page::Page;
use serde_json::{Value, json};

use crate::payment;

/// What the queue says was lost, and what a listener that comes late is told.
async fn lost(page: &Page) -> Result<(Value, Value)> {
    let listener = "const told = [];
        const stop = app.queue().on('storage_lost', (lost) => told.push(lost));
        await new Promise((done) => setTimeout(done, 50));
        stop();
        return [app.queue().storageLost, told];";
    page.call(listener, json!([])).await
}

/// One order that is finished, one that is not.
async fn with_orders(bench: &Bench) -> Result<Page> {
    let page = bench.page().await?;
    let finished = page.submit(payment("order-841")).await?.intent.id;
    assert_eq!(page.settled(&finished).await?.kind, "succeeded");
    bench.shop.arm(json!({ "unavailable": 100, "retry_after_s": null })).await?;
    page.submit(payment("order-842")).await?;
    assert_eq!(lost(&page).await?, (Value::Null, json!([])), "nothing was lost yet");
    Ok(page)
}

#[tokio::test(flavor = "multi_thread")]
async fn i15_a_ledger_that_was_evicted_alone_is_reported_once_with_what_was_unfinished() -> Result<()> {
    let bench = Bench::start().await?;
    let page = with_orders(&bench).await?;
    page.evict("indexeddb").await?;
    page.reload().await?;
    let report = json!({ "unfinished": [{ "operation": "authorize-payment", "reference": "order-842" }] });
    assert_eq!(lost(&page).await?, (report.clone(), json!([report])));
    assert!(page.intents().await?.is_empty());
    page.reload().await?;
    assert_eq!(lost(&page).await?, (Value::Null, json!([])), "it is told once");
    Ok(())
}

/// Nothing is left that could tell (design section 9).
#[tokio::test(flavor = "multi_thread")]
async fn where_everything_went_at_once_nothing_can_be_reported() -> Result<()> {
    let bench = Bench::start().await?;
    let page = with_orders(&bench).await?;
    page.evict("indexeddb,local_storage").await?;
    page.reload().await?;
    assert_eq!(lost(&page).await?, (Value::Null, json!([])));
    Ok(())
}

/// The notes are not the ledger: without them everything is there.
#[tokio::test(flavor = "multi_thread")]
async fn where_only_the_notes_went_nothing_was_lost() -> Result<()> {
    let bench = Bench::start().await?;
    let page = with_orders(&bench).await?;
    page.evict("local_storage").await?;
    page.reload().await?;
    assert_eq!(lost(&page).await?, (Value::Null, json!([])));
    assert_eq!(page.intents().await?.len(), 2);
    Ok(())
}
