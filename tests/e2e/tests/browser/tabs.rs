//! Two tabs where the browser lacks what tabs talk and queue by, or makes one a copy of the other.

use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::page::Page;
use serde_json::{Value, json};

use crate::{MANY, assert_each_was_sent_once, charged_once, payment};

/// How often a tab that waits for an intent looks at the ledger, and how long a slow machine may take with it.
const WATCHED: Duration = Duration::from_millis(2_000 + 1_500);

/// Both tabs make the same decisions at the same time.
async fn decide_and_drain_at_once(bench: &Bench, tabs: [&Page; 2]) -> Result<()> {
    let at: u64 = tabs[0].call("return Date.now() + 1_500", json!([])).await?;
    for tab in tabs {
        let decide = "window.decided = app.submitMany(...args);";
        tab.call::<Value>(decide, json!([payment("any"), MANY, at])).await?;
    }
    let first = tabs[0].call("return window.decided", json!([])).await?;
    let second = tabs[1].call("return window.decided", json!([])).await?;
    assert_each_was_sent_once(bench, [first, second]).await
}

/// Lease and fence alone (hazard T1).
#[tokio::test(flavor = "multi_thread")]
async fn t1_two_tabs_without_web_locks_send_each_intent_once() -> Result<()> {
    let bench = Bench::start().await?;
    let (mut first, mut second) = (bench.blank_tab().await?, bench.blank_tab().await?);
    for tab in [&mut first, &mut second] {
        tab.do_without("navigator.locks").await?;
        tab.open(json!({})).await?;
    }
    decide_and_drain_at_once(&bench, [&first, &second]).await
}

/// A tab that was opened by another begins with all that the other has in sessionStorage, a name that it gave itself
/// included (hazard T8): owners are not called by anything that is stored. With nothing but the owner to tell the two apart.
#[tokio::test(flavor = "multi_thread")]
async fn t8_a_tab_and_the_one_that_it_opened_are_two_owners() -> Result<()> {
    let bench = Bench::start().await?;
    let mut opener = bench.blank_page().await?;
    opener.do_without("navigator.locks").await?;
    opener.open(json!({})).await?;
    opener.call::<Value>("sessionStorage.setItem('tab', 'one')", json!([])).await?;
    let mut opened = opener.opens_another().await?;
    let inherited: Option<String> = opened.call("return sessionStorage.getItem('tab')", json!([])).await?;
    assert_eq!(inherited.as_deref(), Some("one"), "the browser made no copy");
    opened.open(json!({})).await?;
    decide_and_drain_at_once(&bench, [&opener, &opened]).await
}

/// The sender's lock comes to it when there is something to see.
#[tokio::test(flavor = "multi_thread")]
async fn t13_without_a_channel_another_tab_learns_of_the_outcome() -> Result<()> {
    learns_of_the_outcome(&["BroadcastChannel"]).await
}

/// Nothing comes to it.
#[tokio::test(flavor = "multi_thread")]
async fn t13_without_channel_and_locks_another_tab_learns_of_the_outcome_by_looking() -> Result<()> {
    learns_of_the_outcome(&["BroadcastChannel", "navigator.locks"]).await
}

async fn learns_of_the_outcome(missing: &[&str]) -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "delay_ms": 5_000 })).await?;
    let (mut sender, mut other) = (bench.blank_tab().await?, bench.blank_tab().await?);
    for tab in [&mut sender, &mut other] {
        for name in missing {
            tab.do_without(name).await?;
        }
        tab.open(json!({ "attemptDeadlineMs": 20_000 })).await?;
    }
    let wait = "const intent = await app.queue().submit(args[0]);
         window.known = intent.settled({ within: 60_000 }).then(({ kind }) => [kind, Date.now()]);
         return intent.receipt.created;";
    let created: bool = sender.call(wait, json!([payment("order-842")])).await?;
    let joined: bool = other.call(wait, json!([payment("order-842")])).await?;
    assert_eq!((created, joined), (true, false));
    let (outcome, at): (String, u64) = sender.call("return window.known", json!([])).await?;
    let (learnt, later): (String, u64) = other.call("return window.known", json!([])).await?;
    assert_eq!((outcome.as_str(), learnt.as_str()), ("succeeded", "succeeded"));
    let late = Duration::from_millis(later.saturating_sub(at));
    assert!(late <= WATCHED, "{late:?}");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}
