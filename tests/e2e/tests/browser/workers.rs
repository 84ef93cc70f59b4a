//! The queue in a dedicated worker and in a service worker, beside pages of the same origin.

use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::worker::{Kind, Worker};
use serde_json::{Value, json};

use crate::{MANY, assert_each_was_sent_once, charged_once, paid_once_over_a_lost_answer, payment};

#[tokio::test(flavor = "multi_thread")]
async fn a_dedicated_worker_pays_once_though_the_answer_is_lost() -> Result<()> {
    pays_once_though_the_answer_is_lost(Kind::Dedicated).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_worker_pays_once_though_the_answer_is_lost() -> Result<()> {
    pays_once_though_the_answer_is_lost(Kind::Service).await
}

/// No page has a queue open.
async fn pays_once_though_the_answer_is_lost(kind: Kind) -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let page = bench.blank_page().await?;
    let worker = Worker::start(&page, kind).await?;
    worker.open(&bench.shop.api(), json!({})).await?;
    let submitted = worker.submit(payment("order-842")).await?;
    assert_eq!((submitted.created, submitted.durability.as_str()), (true, "strong"));
    let settled = worker.settled(&submitted.intent.id).await?;
    paid_once_over_a_lost_answer(&bench, &settled)
}

/// The page and its worker have the same queue, and are asked for the same at the same moment.
pub(crate) async fn decide_and_drain_at_once(bench: Bench, kind: Kind) -> Result<()> {
    let page = bench.page().await?;
    let worker = Worker::start(&page, kind).await?;
    worker.open(&bench.shop.api(), json!({})).await?;
    let both = "const at = Date.now() + 200;
         return Promise.all([app.submitMany(args[0], args[1], at), app.ask(args[2], 'submitMany', args[0], args[1], at)]);";
    let decided: [Vec<(String, bool)>; 2] = page.call(both, json!([payment("any"), MANY, worker.name()])).await?;
    assert_each_was_sent_once(&bench, decided).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_terminated_is_taken_over_long_before_its_lease_ends() -> Result<()> {
    is_taken_over_long_before_its_lease_ends(Kind::Dedicated).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_worker_that_the_browser_ends_is_taken_over_long_before_its_lease_ends() -> Result<()> {
    is_taken_over_long_before_its_lease_ends(Kind::Service).await
}

/// The lock of a worker that is gone is free: nobody waits for its lease, which runs for another minute (P2.4).
async fn is_taken_over_long_before_its_lease_ends(kind: Kind) -> Result<()> {
    let long = || json!({ "attemptDeadlineMs": 60_000 });
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    let worker = Worker::start(&page, kind).await?;
    worker.open(&bench.shop.api(), long()).await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let id = worker.submit(payment("order-842")).await?.intent.id;
    eventually("the server has charged", async || Ok((bench.shop.ledger()?.tally() == charged_once(1)).then_some(())))
        .await?;
    page.call::<Value>("await app.open(args[0])", json!([long()])).await?;
    assert_eq!(page.snapshot(&id).await?.standing(), "sending:in_flight");
    worker.terminate().await?;
    let settled = page.settled_within(&id, Duration::from_secs(15)).await?;
    paid_once_over_a_lost_answer(&bench, &settled)
}

/// Hazard L8: what a worker does not have says nothing of the page that has it.
#[tokio::test(flavor = "multi_thread")]
async fn l8_a_worker_without_indexeddb_says_so_and_leaves_the_page_s_intent_alone() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "delay_ms": 3_000 })).await?;
    let page = bench.page_with(json!({ "attemptDeadlineMs": 20_000 })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    page.reaches(&id, "sending:in_flight").await?;
    for kind in [Kind::Dedicated, Kind::Service] {
        let worker = Worker::start(&page, kind).await?;
        worker.do_without("indexedDB").await?;
        let refused = worker.open_failure(&bench.shop.api()).await?;
        assert_eq!(refused.code.as_deref(), Some("storage_unavailable"), "{kind:?}");
    }
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.intent.attempt_count), ("succeeded", 1));
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}
