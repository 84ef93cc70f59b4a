//! Pages that reload, tabs that crash and browsers that are killed, with the answer on its way.

use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::page::Page;
use serde_json::{Value, json};

use crate::{charged_once, payment, untouched};

/// Long enough that the crash comes first, short enough that the dead page's lease ends soon.
pub(crate) fn options() -> Value {
    json!({ "attemptDeadlineMs": 5_000 })
}

/// Submits; returns with the charge made, the answer withheld, and the request still open.
pub(crate) async fn charged_without_answer(bench: &Bench, page: &Page) -> Result<String> {
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    eventually("the server has charged", async || Ok((bench.shop.ledger()?.tally() == charged_once(1)).then_some(())))
        .await?;
    assert_eq!(page.snapshot(&id).await?.standing(), "sending:in_flight");
    Ok(id)
}

/// The page that comes after finds the intent as it was left, and finishes it.
pub(crate) async fn is_finished_with_the_same_key(bench: &Bench, page: &Page, id: &str) -> Result<()> {
    let found = page.intents().await?;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id, id);
    assert!(["sending", "waiting"].contains(&found[0].state.as_str()), "found {}", found[0].standing());
    assert!(found[0].maybe_sent && !found[0].safe_to_replace);

    let settled = page.settled(id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    assert_eq!(settled.answer.map(|answer| answer.status), Some(201));
    assert_eq!(page.standings(id).await?.last().map(String::as_str), Some("succeeded"));
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    assert!(ledger.wire()[1].replayed);
    ledger.assert_one_key_per_intent(&[&found[0]]);
    Ok(())
}

/// The lock of a page that is gone is free: nobody waits for its lease, which runs for another minute (P2.4).
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_gone_is_taken_over_long_before_its_lease_ends() -> Result<()> {
    let long = || json!({ "attemptDeadlineMs": 60_000 });
    let soon = Duration::from_secs(15);
    let bench = Bench::start().await?;
    let page = bench.page_with(long()).await?;
    let id = charged_without_answer(&bench, &page).await?;
    page.reload().await?;
    assert_eq!(page.settled_within(&id, soon).await?.kind, "succeeded", "the page that comes after");

    let mut open_all_along = bench.blank_tab().await?;
    open_all_along.open(long()).await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let id = page.submit(payment("order-843")).await?.intent.id;
    eventually("the server has charged", async || Ok((bench.shop.ledger()?.tally().effects == 2).then_some(())))
        .await?;
    page.crash().await?;
    let settled = open_all_along.settled_within(&id, soon).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")), "another tab");
    assert_eq!(bench.shop.ledger()?.tally().effects, 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_tab_after_the_charge() -> Result<()> {
    let bench = Bench::start().await?;
    let mut survivor = bench.blank_tab().await?;
    let page = bench.page_with(options()).await?;
    let id = charged_without_answer(&bench, &page).await?;
    page.crash().await?;
    survivor.open(options()).await?;
    is_finished_with_the_same_key(&bench, &survivor, &id).await
}

/// The answer has reached the page's process, and nothing of it is recorded yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_tab_between_the_answer_and_its_record() -> Result<()> {
    let bench = Bench::start().await?;
    let mut survivor = bench.blank_tab().await?;
    let page = bench.page_with(options()).await?;
    let keep_answers = "const real = window.fetch;
        window.fetch = async (...asked) => {
            const answer = await real(...asked);
            if (asked[1]?.method !== 'POST') return answer;
            window.arrived = answer.status;
            return new Promise(() => {});
        };";
    page.call::<Value>(keep_answers, json!([])).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let status: u16 =
        eventually("the answer has arrived", async || page.call("return window.arrived ?? null", json!([])).await)
            .await?;
    assert_eq!(status, 201);
    page.crash().await?;
    survivor.open(options()).await?;
    is_finished_with_the_same_key(&bench, &survivor, &id).await
}

/// `submit()` has resolved, nothing has left: what is durable must be found, and sent once.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_browser_before_the_first_request() -> Result<()> {
    let mut bench = Bench::start().await?;
    let page = bench.page_with(json!({ "authorize": "never" })).await?;
    let submitted = page.submit(payment("order-842")).await?;
    bench.browser.kill()?;
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));

    bench.browser.relaunch().await?;
    let page = bench.page().await?;
    let settled = page.settled(&submitted.intent.id).await?;
    assert_eq!(settled.kind, "succeeded");
    assert_eq!(settled.intent.key_hash, submitted.intent.key_hash);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&submitted.intent]);
    Ok(())
}

/// The request may or may not have left before the kill.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_browser_at_the_moment_of_submit() -> Result<()> {
    let mut bench = Bench::start().await?;
    let page = bench.page_with(json!({ "attemptDeadlineMs": 2_000 })).await?;
    let submitted = page.submit(payment("order-842")).await?;
    bench.browser.kill()?;

    bench.browser.relaunch().await?;
    let page = bench.page().await?;
    let settled = page.settled(&submitted.intent.id).await?;
    assert_eq!(settled.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!((ledger.tally().effects, ledger.tally().executions), (1, 1));
    assert!(ledger.wire().len() <= 2, "one request before the kill and one after it, at most");
    ledger.assert_one_key_per_intent(&[&submitted.intent]);
    Ok(())
}
