//! Finding out without sending again, and the app's other words: `reconcile`, `prepare`, `decode`, `adopt`, `none`.

use anyhow::Result;
use e2e::bench::Bench;
use serde_json::{Value, json};

use crate::{charged_once, payment, payment_with, untouched};

fn lookup() -> Value {
    json!({ "reconcile": { "ask": "/payments/lookup" } })
}

/// The processor's reply was lost: the server stores a 500, and only a look can tell.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_look_can_tell_is_looked_up_by_itself() -> Result<()> {
    let bench = Bench::start().await?;
    let found = json!({ "kind": "applied", "response": { "status": 201, "body": { "id": "pay_1" } } });
    let page = bench.page_with(json!({ "reconcile": found })).await?;
    let id = page.submit(payment_with("order-842", "tok_lost_reply")).await?.intent.id;
    let settled = page.settled_by_itself(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.evidence.as_deref()), ("succeeded", Some("reconciliation")));
    assert_eq!(settled.answer.map(|answer| (answer.status, answer.body)), Some((201, json!({ "id": "pay_1" }))));
    assert!(page.standings(&id).await?.contains(&"held:unresolved".to_owned()));
    let asked: Vec<Value> = page.call("return app.asked()", json!([])).await?;
    let key = bench.shop.ledger()?.wire()[0].key.clone();
    assert_eq!(asked, [json!({ "id": id, "key": key })], "asked once, with the key");
    assert_eq!(bench.shop.ledger()?.tally().effects, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_can_ask_and_what_is_not_sealed_settles_nothing() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "unavailable": 100, "retry_after_s": 600 })).await?;
    let mut page = bench.page_with(json!({ "reconcile": { "kind": "not_applied", "sealed": "yes" } })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    page.reaches(&id, "waiting:server_error").await?;
    let known = page.call::<Value>("return app.reconcile(args[0], 300)", json!([id])).await?;
    assert_eq!(known["kind"], "pending", "only sealed: true is a seal");
    page.load_again(lookup()).await?;
    let settled = page.reconcile(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.intent.safe_to_replace), ("not_applied", true));
    bench.shop.arm(json!({ "unavailable": 0 })).await?;
    page.reload().await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(bench.shop.ledger()?.tally(), untouched(1), "and it is never sent again");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_or_cannot_be_asked_is_said_so() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.page_with(lookup()).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    page.settled(&id).await?;
    let failure = page.failure("await app.reconcile(args[0])", json!([id])).await?;
    assert_eq!(failure.code.as_deref(), Some("not_reconcilable"));
    page.load_again(json!({})).await?;
    let failure = page.failure("await app.reconcile(args[0])", json!([id])).await?;
    assert_eq!(failure.code.as_deref(), Some("not_reconcilable"), "whether or not anybody could be asked");
    bench.shop.arm(json!({ "drop_after_commit": 40 })).await?;
    let id = page.submit(payment("order-843")).await?.intent.id;
    page.reaches(&id, "waiting:network").await?;
    let failure = page.failure("await app.reconcile(args[0])", json!([id])).await?;
    assert_eq!(failure.code.as_deref(), Some("reconcile_unavailable"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_nothing_is_sent_twice() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    // A server of the kind that works without a key.
    let mut submission = payment("order-842");
    submission["request"]["url"] = json!("/stripe/payments");
    let page = bench.page_with(json!({ "contract": "none" })).await?;
    let id = page.submit(submission).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.reason.as_deref()), ("held", Some("unresolved")));
    page.call::<Value>("await (await app.queue().intent(args[0])).resume()", json!([id])).await?;
    page.reaches(&id, "held:window_closed").await?;
    page.reload().await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    assert!(!page.snapshot(&id).await?.safe_to_replace);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_is_prepared_each_time_and_stays_the_same_decision() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "unavailable": 1 })).await?;
    let page = bench.page_with(json!({ "prepare": "pads" })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    let bodies: Vec<_> = ledger.wire().iter().map(|entry| entry.body_sha256.clone()).collect();
    assert!(bodies.len() == 2 && bodies[0] != bodies[1], "each attempt left as it was prepared");
    assert_eq!(ledger.keys().len(), 1);
    assert!(!page.submit(payment("order-842")).await?.created, "what was prepared is no part of the decision");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_prepared_was_not_sent() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page_with(json!({ "prepare": "fails_once" })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.intent.results()), ("succeeded", vec!["not_sent", "succeeded"]));
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}

/// The page behind a Wi-Fi login is what this app's server answers in, so to speak.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_json_is_read_by_the_app() -> Result<()> {
    let told = async |decode: Option<&str>| -> Result<String> {
        let bench = Bench::start().await?;
        bench.shop.arm(json!({ "html": 1 })).await?;
        let rule =
            json!({ "when": { "status": [200], "pointer": { "at": "/says", "is": ["portal"] } }, "then": "config" });
        let success = json!({ "statuses": [[200, 201]], "mediaTypes": ["application/json", "text/html"] });
        let contract = json!({ "extends": "generic", "id": "html", "rules": [rule], "success": success });
        let mut options = json!({ "contract": contract });
        if let Some(decode) = decode {
            options["decode"] = json!(decode);
        }
        let page = bench.page_with(options).await?;
        let id = page.submit(payment("order-842")).await?.intent.id;
        Ok(page.settled(&id).await?.intent.results()[0].to_owned())
    };
    assert_eq!(told(Some("html")).await?, "config", "by the contract's rule");
    assert_eq!(told(Some("throws")).await?, "unclear", "what cannot be read settles nothing");
    assert_eq!(told(None).await?, "unclear", "nor does it without a reader");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_signs_in_and_pays_once() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.page_with(json!({ "scope": "guest-7" })).await?;
    let sent = page.submit(payment("order-841")).await?.intent;
    page.settled(&sent.id).await?;
    page.go_offline().await?;
    let kept = page.submit(payment("order-842")).await?.intent;

    page.open(json!({ "scope": "user-1" })).await?;
    let adopted = page.call::<Value>("return app.queue().adopt('guest-7')", json!([])).await?;
    let ids = |which: &str| -> Vec<&str> {
        adopted[which].as_array().into_iter().flatten().filter_map(|intent| intent["id"].as_str()).collect()
    };
    assert_eq!((ids("moved"), ids("left")), (vec![kept.id.as_str()], vec![sent.id.as_str()]));
    let blocked = page.failure("await app.submit(args[0])", json!([payment("order-841")])).await?;
    assert_eq!(blocked.code.as_deref(), Some("reference_conflict"), "what the guest has paid is not paid again");
    assert_eq!(blocked.existing.map(|intent| intent.id), Some(sent.id));

    page.go_online().await?;
    assert_eq!(page.settled(&kept.id).await?.kind, "succeeded");
    let again = page.submit(payment("order-842")).await?;
    assert_eq!((again.intent.id, again.created), (kept.id, false));
    assert_eq!(bench.shop.ledger()?.tally().effects, 2, "one for each order");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_that_guest_and_account_both_have_is_a_conflict() -> Result<()> {
    let mut bench = Bench::start().await?;
    bench.shop.close_api().await?;
    let mut page = bench.page_with(json!({ "scope": "guest-7" })).await?;
    let guest = page.submit(payment("order-842")).await?.intent;
    page.load_again(json!({ "scope": "user-1" })).await?;
    let account = page.submit(payment_with("order-842", "tok_other")).await?.intent;
    let told = "try { await app.queue().adopt('guest-7') } catch (error) {
        return [error.code, error.existing.id, error.conflicting.id] }";
    let told: Vec<String> = page.call(told, json!([])).await?;
    assert_eq!(told, ["reference_conflict".to_owned(), account.id, guest.id]);
    Ok(())
}
