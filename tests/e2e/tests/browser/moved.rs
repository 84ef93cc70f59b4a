//! Hazard L11: an app's origin changes with an upgrade, and what it had stored is there and out of reach. Two origins, one
//! payment.

use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::page::Page;
use e2e::told::Snapshot;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::payment;

#[derive(Deserialize)]
struct Moved {
    parcel: String,
    moved: Vec<Snapshot>,
    left: Vec<Snapshot>,
}

const MOVE: &str = "return app.queue().move({ secret: new Uint8Array(32).fill(args[0]) })";
const RECEIVE: &str = "return app.queue().receive(args[0], { secret: new Uint8Array(32).fill(args[1]) })";

async fn move_out(page: &Page) -> Result<Moved> {
    page.call(MOVE, json!([7])).await
}

async fn receive(page: &Page, parcel: &str) -> Result<Vec<Snapshot>> {
    page.call(RECEIVE, json!([parcel, 7])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_at_the_new_origin_and_charged_once() -> Result<()> {
    let mut bench = Bench::start().await?;
    let site = bench.site(&[]).await?;
    bench.shop.admit(&site.origin).await?;
    bench.shop.arm(json!({ "drop_after_commit": 1_000 })).await?;
    let old = bench.page().await?;
    let id = old.submit(payment("order-842")).await?.intent.id;
    eventually("its first answer is lost", async || Ok((old.snapshot(&id).await?.state == "waiting").then_some(())))
        .await?;

    let no_secret = old.failure("await app.queue().move({ secret: new Uint8Array(16) })", json!([])).await?;
    assert_eq!(no_secret.code.as_deref(), Some("option_invalid"));
    assert_eq!(old.snapshot(&id).await?.held_reason, None, "nothing was held");
    // What is being sent just now is left, until it has ended.
    let first = eventually("it is moved", async || {
        let moved = move_out(&old).await?;
        assert_eq!(moved.moved.len() + moved.left.len(), 1);
        Ok((moved.left.is_empty()).then_some(moved))
    })
    .await?;
    assert_eq!(first.moved[0].held_reason.as_deref(), Some("moved"));
    let sent = bench.shop.ledger()?.tally().wire;
    let again = move_out(&old).await?;
    assert_eq!(again.moved[0].id, id, "a parcel that is lost loses nothing");
    assert_ne!(again.parcel, first.parcel, "sealed anew");
    let key = bench.shop.ledger()?.wire()[0].key.clone().expect("a key");
    assert!(!again.parcel.contains(&key) && !again.parcel.contains("order-842"));

    let new = {
        let window = bench.browser.driver()?.new_tab().await?;
        let mut page = Page::visit(bench.browser.driver()?, window, bench.shop.page_url_at(&site.origin)).await?;
        page.open(json!({})).await?;
        page
    };
    assert!(new.intents().await?.is_empty(), "another origin has another ledger");
    let changed = again.parcel.replacen(&again.parcel[40..41], if &again.parcel[40..41] == "A" { "B" } else { "A" }, 1);
    for (parcel, secret) in [(&again.parcel, 8), (&changed, 7), (&"a letter".to_owned(), 7)] {
        let refused = new.failure(&RECEIVE.replace("return", "await"), json!([parcel, secret])).await?;
        assert_eq!(refused.code.as_deref(), Some("parcel_invalid"));
    }
    assert!(new.intents().await?.is_empty());

    bench.shop.arm(json!({ "drop_after_commit": 0 })).await?;
    let received = receive(&new, &again.parcel).await?;
    assert_eq!((received[0].id.as_str(), received[0].maybe_sent), (id.as_str(), true));
    let settled = new.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    assert_eq!(receive(&new, &first.parcel).await?[0].state, "succeeded", "what is here already is done");
    assert!(!new.submit(payment("order-842")).await?.created);

    old.reload().await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(old.snapshot(&id).await?.held_reason.as_deref(), Some("moved"));
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally().effects, 1);
    assert_eq!(ledger.tally().wire, sent + 1, "nothing more was sent from the old origin");
    assert!(ledger.wire().iter().all(|entry| entry.key.as_ref() == Some(&key)), "one key all the way");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parcel_is_for_its_scope_and_no_reference_is_decided_twice() -> Result<()> {
    let mut bench = Bench::start().await?;
    let site = bench.site(&[]).await?;
    bench.shop.admit(&site.origin).await?;
    let old = bench.page_with(json!({ "authorize": "never" })).await?;
    old.submit(payment("order-842")).await?;
    let parcel = eventually("it is moved", async || {
        let Moved { parcel, left, .. } = move_out(&old).await?;
        Ok(left.is_empty().then_some(parcel))
    })
    .await?;

    let window = bench.browser.driver()?.new_tab().await?;
    let mut new = Page::visit(bench.browser.driver()?, window, bench.shop.page_url_at(&site.origin)).await?;
    new.open(json!({ "scope": "somebody else" })).await?;
    let foreign = new.failure(&RECEIVE.replace("return", "await"), json!([parcel, 7])).await?;
    assert_eq!(foreign.code.as_deref(), Some("parcel_foreign"));
    new.load_again(json!({ "authorize": "never" })).await?;
    let ours = new.submit(payment("order-842")).await?.intent.id;
    let taken = new.failure(&RECEIVE.replace("return", "await"), json!([parcel, 7])).await?;
    assert_eq!(taken.code.as_deref(), Some("reference_conflict"));
    let all: Vec<Value> = new.call("return app.intents()", json!([])).await?;
    assert_eq!(all.iter().map(|intent| &intent["id"]).collect::<Vec<_>>(), [&json!(ours)]);
    Ok(())
}
