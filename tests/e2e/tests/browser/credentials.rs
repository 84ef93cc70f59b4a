//! Credentials come from `authorize`, at each attempt, for the queue's own scope (law 9).

use anyhow::Result;
use e2e::bench::Bench;
use serde_json::json;

use crate::{charged_once, payment, untouched};

#[tokio::test(flavor = "multi_thread")]
async fn credentials_travel_with_every_attempt() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let authorize = json!({ "scope": "shopper", "headers": { "Authorization": "Bearer user:ana" } });
    let page = bench.page_with(json!({ "authorize": authorize })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!(settled.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    assert!(ledger.wire().iter().all(|entry| entry.scope.as_deref() == Some("ana")));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_another_scope_send_nothing() -> Result<()> {
    let bench = Bench::start().await?;
    let authorize = json!({ "scope": "somebody-else", "headers": { "Authorization": "Bearer user:bia" } });
    let page = bench.page_with(json!({ "authorize": authorize })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.reason.as_deref()), ("held", Some("auth")));
    assert!(!settled.intent.maybe_sent);
    assert_eq!(settled.intent.attempt_count, 0);
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    Ok(())
}

/// Scopes are apart: one does not see, send or join what is the other's (SandeepVashishtha/Eventra#5727, hazard K13).
#[tokio::test(flavor = "multi_thread")]
async fn another_scope_neither_sees_nor_sends() -> Result<()> {
    let bench = Bench::start().await?;
    let mut ana = bench.page_with(json!({ "scope": "ana", "authorize": "never" })).await?;
    let hers = ana.submit(payment("order-842")).await?.intent;
    let bia = bench.second_tab(json!({ "scope": "bia" })).await?;
    assert_eq!(bia.intents().await?, []);
    let mine = bia.submit(payment("order-842")).await?;
    assert!(mine.created && mine.intent.id != hers.id);
    assert_eq!(bia.settled(&mine.intent.id).await?.kind, "succeeded");
    assert_eq!(ana.snapshot(&hers.id).await?.standing(), "queued:not_sent");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&mine.intent]);

    // It was kept for her.
    ana.load_again(json!({ "scope": "ana" })).await?;
    assert_eq!(ana.settled(&hers.id).await?.kind, "succeeded");
    bench.shop.ledger()?.assert_one_key_per_intent(&[&hers, &mine.intent]);
    Ok(())
}
