//! What the app decides afterwards: another card, going on, giving up (law 3, P7.3).

use anyhow::Result;
use e2e::bench::Bench;
use e2e::told::Submitted;
use serde_json::{Value, json};

use crate::{charged_once, payment, payment_with};

const REPLACE: &str = "const intent = await app.queue().intent(args[0]);
    return app.receipt(await intent.replace(args[1], { reason: 'another card' }));";

fn another_card() -> Value {
    payment_with("order-842", "tok_mastercard")["request"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_card_after_a_decline_is_one_charge_and_a_linked_intent() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let declined = page.submit(payment_with("order-842", "tok_declined")).await?.intent.id;
    page.settled(&declined).await?;
    let next: Submitted = page.call(REPLACE, json!([declined, another_card()])).await?;
    assert!(next.created && next.intent.id != declined);
    let settled = page.settled(&next.intent.id).await?;
    assert_eq!(settled.kind, "succeeded");
    assert_eq!(settled.intent.predecessor.as_deref(), Some(declined.as_str()));
    assert_eq!(page.snapshot(&declined).await?.successor, Some(next.intent.id.clone()));
    let ledger = bench.shop.ledger()?;
    assert_eq!((ledger.tally().effects, ledger.tally().wire, ledger.keys().len()), (1, 2, 2));
    // The order is now the successor, also after a reload.
    page.reload().await?;
    let found = page.submit(payment_with("order-842", "tok_mastercard")).await?;
    assert_eq!((&found.intent.id, found.created), (&next.intent.id, false));
    let by_reference = "const name = { operation: 'authorize-payment', reference: args[0] };
        return (await app.queue().intent(name))?.id ?? null;";
    let named = async |order: &str| page.call::<Option<String>>(by_reference, json!([order])).await;
    assert_eq!((named("order-842").await?, named("order-843").await?), (Some(next.intent.id), None));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_that_replace_at_once_get_one_successor() -> Result<()> {
    let bench = Bench::start().await?;
    let first = bench.page().await?;
    let declined = first.submit(payment_with("order-842", "tok_declined")).await?.intent.id;
    first.settled(&declined).await?;
    let second = bench.second_tab(json!({})).await?;
    // Begun in one tab and finished in the other before the first is asked what came of it.
    let begin = "window.replacing = (async () => { const intent = await app.queue().intent(args[0]);
        return app.receipt(await intent.replace(args[1], { reason: 'another card' })); })(); return null;";
    let _: Value = first.call(begin, json!([declined, another_card()])).await?;
    let theirs: Submitted = second.call(REPLACE, json!([declined, another_card()])).await?;
    let ours: Submitted = first.call("return window.replacing", json!([])).await?;
    assert_eq!(ours.intent.id, theirs.intent.id);
    assert!(ours.created != theirs.created, "one of them made it");
    assert_eq!(second.settled(&theirs.intent.id).await?.kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally().effects, 1);
    let other = payment_with("order-842", "tok_visa")["request"].clone();
    let conflict = first.failure(REPLACE, json!([declined, other])).await?;
    assert_eq!(conflict.code.as_deref(), Some("reference_conflict"));
    assert_eq!(bench.shop.ledger()?.tally().effects, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_replaces_what_is_unknown() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1_000 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    page.reaches(&id, "waiting:network").await?;
    for step in [REPLACE, "await (await app.queue().intent(args[0])).abandon({ reason: 'left' });", REPLACE] {
        if step == REPLACE {
            let refused = page.failure(step, json!([id, another_card()])).await?;
            assert_eq!(refused.code.as_deref(), Some("not_replaceable"));
        } else {
            page.call::<Value>(step, json!([id])).await?;
        }
    }
    assert_eq!(page.snapshot(&id).await?.standing(), "abandoned");
    assert_eq!(bench.shop.ledger()?.keys().len(), 1, "nothing was sent under another key");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_intent_goes_on_with_its_key() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "redirect": 1 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let held = page.settled(&id).await?;
    assert_eq!(held.reason.as_deref(), Some("redirected"));
    page.call::<Value>("await (await app.queue().intent(args[0])).resume();", json!([id])).await?;
    let settled = page.settled(&id).await?;
    assert_eq!(settled.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!((ledger.tally().effects, ledger.keys().len()), (1, 1));
    let again = page.failure("await (await app.queue().intent(args[0])).resume();", json!([id])).await?;
    assert_eq!(again.code.as_deref(), Some("not_resumable"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_token_is_refreshed_once_and_nobody_is_bothered() -> Result<()> {
    let bench = Bench::start().await?;
    let with = |token: &str| json!({ "scope": "shopper", "headers": { "Authorization": token } });
    let authorize = json!({ "stale": with("Bearer expired"), "fresh": with("Bearer user:ana") });
    let page = bench.page_with(json!({ "authorize": authorize })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!(settled.kind, "succeeded");
    assert_eq!(settled.intent.results(), ["auth", "succeeded"]);
    assert!(!page.standings(&id).await?.iter().any(|standing| standing.starts_with("held")));
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_stays_refused_is_held_and_goes_on_after_the_next_sign_in() -> Result<()> {
    let bench = Bench::start().await?;
    let with = |token: &str| json!({ "scope": "shopper", "headers": { "Authorization": token } });
    let page = bench.page_with(json!({ "authorize": with("Bearer expired") })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let held = page.settled(&id).await?;
    assert_eq!((held.kind.as_str(), held.reason.as_deref()), ("held", Some("auth")));
    assert_eq!(bench.shop.ledger()?.tally().wire, 2, "once, and once more with what a refresh brought");
    // The next page load has a token that works.
    let signed_in = bench.second_tab(json!({ "authorize": with("Bearer user:ana") })).await?;
    assert_eq!(signed_in.settled_by_itself(&id).await?.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!((ledger.tally().effects, ledger.keys().len()), (1, 1));
    Ok(())
}
