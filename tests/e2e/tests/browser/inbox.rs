//! Outcomes reach the app's handler: once in normal running, also after a reload, never lost (P7).

use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::page::Page;
use e2e::told::By;
use serde_json::json;

use crate::{charged_once, payment};

/// Outcomes that this tab's handler was given, by intent and standing.
async fn handled(page: &Page) -> Result<Vec<(String, String)>> {
    let told = page.told().await?.into_iter().filter(|told| told.by == By::Outcome);
    Ok(told.map(|told| (told.intent.id.clone(), told.intent.standing())).collect())
}

async fn handled_once(page: &Page) -> Result<(String, String)> {
    let first = eventually("the handler is called", async || Ok(handled(page).await?.into_iter().next())).await?;
    // Longer than any realm waits for another's precedence.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_eq!(handled(page).await?.len(), 1, "once");
    Ok(first)
}

#[tokio::test(flavor = "multi_thread")]
async fn with_two_tabs_open_one_of_them_handles_it_once() -> Result<()> {
    let bench = Bench::start().await?;
    let first = bench.page_with(json!({ "handler": "takes" })).await?;
    let second = bench.second_tab(json!({ "handler": "takes" })).await?;
    let id = first.submit(payment("order-842")).await?.intent.id;
    assert_eq!(handled_once(&first).await?, (id.clone(), "succeeded".to_owned()));
    assert_eq!(handled(&second).await?, []);
    first.reload().await?;
    assert_eq!(handled_once(&first).await?.0, id, "and not again after a reload");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_of_a_page_that_is_gone_is_handled_after_the_reload() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let mut page = bench.page_with(json!({ "attemptDeadlineMs": 2_000 })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    page.reaches(&id, "sending:in_flight").await?;
    // The next load of the page has a handler, and nobody asks for the intent.
    page.load_again(json!({ "attemptDeadlineMs": 2_000, "handler": "takes" })).await?;
    assert_eq!(handled_once(&page).await?, (id, "succeeded".to_owned()));
    assert_eq!(bench.shop.ledger()?.tally().effects, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_rejects_is_called_again() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page_with(json!({ "handler": "rejects_once" })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let calls = eventually("the handler is called again", async || {
        Ok(Some(handled(&page).await?).filter(|calls| calls.len() == 2))
    })
    .await?;
    assert!(calls.iter().all(|(intent, standing)| *intent == id && standing == "succeeded"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_settled_has_told_is_not_handled_again() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.page_with(json!({ "quiet": true })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    page.load_again(json!({ "handler": "takes" })).await?;
    let other = page.submit(payment("order-843")).await?.intent.id;
    assert_eq!(handled_once(&page).await?.0, other, "only the new one");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fetch_is_submit_and_settled_and_its_signal_ends_only_the_wait() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "delay_ms": 1_500 })).await?;
    let page = bench.page().await?;
    let fetch = "const { operation, reference, request: { url, ...init } } = args[0];
        const signal = args[1] ? AbortSignal.timeout(args[1]) : undefined;
        return app.queue().fetch(url, { operation, reference, ...init, signal })
            .then((settled) => settled.kind, (reason) => reason.name);";
    let gone: String = page.call(fetch, json!([payment("order-842"), 300])).await?;
    assert_eq!(gone, "TimeoutError");
    let settled: String = page.call(fetch, json!([payment("order-842"), null])).await?;
    assert_eq!(settled, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}
