//! One reference, one intent: twice in a tick, after the fact, from another tab, with another payload.

use anyhow::Result;
use e2e::bench::Bench;
use e2e::told::Submitted;
use serde_json::json;

use crate::{charged_once, payment, payment_with};

#[tokio::test(flavor = "multi_thread")]
async fn a_double_click_is_one_intent() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let both = "const clicks = [app.queue().submit(args[0]), app.queue().submit(args[0])];
                return (await Promise.all(clicks)).map(app.receipt)";
    let [first, second]: [Submitted; 2] = page.call(both, json!([payment("order-842")])).await?;
    assert_eq!(first.intent.id, second.intent.id);
    assert_eq!((first.created, second.created), (true, false));

    let settled = page.settled(&first.intent.id).await?;
    assert_eq!(settled.kind, "succeeded");
    let third = page.submit(payment("order-842")).await?;
    assert_eq!((third.intent.id.as_str(), third.created), (first.intent.id.as_str(), false));
    assert_eq!(third.intent.state, "succeeded");
    let again = page.settled(&third.intent.id).await?;
    assert_eq!(again.answer, settled.answer, "the finished intent kept its answer");

    assert_eq!(page.intents().await?.len(), 1);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_reference_after_a_reload_is_the_same_intent() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let first = page.submit(payment("order-842")).await?;
    page.settled(&first.intent.id).await?;
    page.reload().await?;
    let second = page.submit(payment("order-842")).await?;
    assert_eq!((second.intent.id.as_str(), second.created), (first.intent.id.as_str(), false));
    assert_eq!(second.intent.state, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&first.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_payload_is_a_conflict_and_no_request() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let paid = page.submit(payment("order-842")).await?;
    page.settled(&paid.intent.id).await?;

    let failure = page.failure("return app.submit(args[0])", json!([payment_with("order-842", "tok_amex")])).await?;
    assert_eq!((failure.name.as_str(), failure.code.as_deref()), ("IntentoError", Some("reference_conflict")));
    assert!(failure.remedy.is_some_and(|remedy| !remedy.is_empty()));
    let existing = failure.existing.expect("the error carries the intent that is there");
    assert_eq!((existing.id.as_str(), existing.state.as_str()), (paid.intent.id.as_str(), "succeeded"));

    // Another reference goes through after it: by then a request for the conflict would have been made.
    let other = page.submit(payment("order-843")).await?;
    page.settled(&other.intent.id).await?;
    assert_eq!(page.intents().await?.len(), 2);
    let ledger = bench.shop.ledger()?;
    assert_eq!((ledger.tally().effects, ledger.tally().wire), (2, 2));
    ledger.assert_one_key_per_intent(&[&paid.intent, &other.intent]);
    Ok(())
}
