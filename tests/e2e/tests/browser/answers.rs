//! Answers that come, that get lost, and that are somebody else's.

use anyhow::Result;
use e2e::bench::Bench;
use serde_json::json;

use crate::{charged_once, paid_once_over_a_lost_answer, payment, untouched};

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_payment_takes_one_request() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let submitted = page.submit(payment("order-842")).await?;
    assert!(submitted.created);
    assert_eq!(submitted.durability, "strong");
    assert_eq!(submitted.intent.standing(), "queued:not_sent");

    let settled = page.settled(&submitted.intent.id).await?;
    assert_eq!((settled.kind.as_str(), settled.evidence.as_deref()), ("succeeded", Some("reply")));
    // The server marks replays and nothing else: an answer without the mark is not known to be the first.
    assert_eq!(settled.replay.as_deref(), Some("unknown"));
    assert_eq!(settled.durable, Some(true));
    let answer = settled.answer.expect("the answer is kept");
    assert_eq!((answer.status, &answer.body["status"]), (201, &json!("paid")));
    let told = page.standings(&submitted.intent.id).await?;
    assert_eq!(told, ["queued:not_sent", "sending:in_flight", "succeeded"]);

    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    assert_eq!(ledger.wire()[0].status, Some(201));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_fetched_again_with_the_same_key() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;

    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    assert_eq!(settled.intent.results(), ["network", "succeeded"]);
    let told = page.standings(&id).await?;
    assert_eq!(told, ["queued:not_sent", "sending:in_flight", "waiting:network", "sending:in_flight", "succeeded"]);
    assert!(page.told().await?.iter().all(|told| !told.intent.safe_to_replace), "a second payment was licensed");

    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    assert!(ledger.wire()[1].replayed);
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

/// As above, for an app that names no `probeUrl`: the origin itself is asked, unreadably.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_needs_no_probe_url() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let page = bench.page_with(json!({ "probe": false })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    paid_once_over_a_lost_answer(&bench, &settled)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_never_comes_ends_at_its_deadline() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let page = bench.page_with(json!({ "attemptDeadlineMs": 3_000 })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    assert_eq!(settled.intent.results(), ["timeout", "succeeded"]);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_captive_portal_is_not_the_server() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "html": 2 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;

    let settled = page.settled(&id).await?;
    assert_eq!(settled.kind, "succeeded");
    assert_eq!(settled.intent.results(), ["not_the_server", "not_the_server", "succeeded"]);
    let told = page.told().await?;
    let first = told.iter().position(|told| told.intent.state == "succeeded").expect("it was told");
    assert_eq!(told[first].intent.attempt_count, 3, "a page of a captive portal passed for success");

    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(3));
    assert_eq!(ledger.statuses(), [Some(200), Some(200), Some(201)]);
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_held_and_not_followed() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "redirect": 1 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;

    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.reason.as_deref()), ("held", Some("redirected")));
    assert!(settled.remedy.is_some_and(|remedy| !remedy.is_empty()));
    assert!(!settled.intent.safe_to_replace);

    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), untouched(1));
    assert_eq!(ledger.statuses(), [Some(302)]);
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    let requests = bench.browser.requests().await?;
    assert!(requests.iter().any(|url| url.ends_with("/payments")), "the log shows what was sent: {requests:#?}");
    assert!(!requests.iter().any(|url| url.ends_with("/login")), "the redirect was followed: {requests:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sign_in_is_held() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "unauthorized": 1 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.reason.as_deref()), ("held", Some("auth")));
    assert!(!settled.intent.safe_to_replace);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), untouched(1));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}
