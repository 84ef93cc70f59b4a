//! Background Sync wakes the service worker, with or without a page (hazards S1-S10).

use std::time::Duration;

use anyhow::{Result, anyhow};
use e2e::bench::Bench;
use e2e::eventually;
use e2e::page::Page;
use e2e::told::{By, Snapshot};
use e2e::wakes::Wake;
use serde_json::{Value, json};

use crate::{MANY, charged_once, paid_once_over_a_lost_answer, payment, untouched};

/// One intent is stored and was never sent; the worker is installed, and the tab shows nothing of the shop.
async fn left_behind(worker: &str) -> Result<(Bench, Page, Snapshot)> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    page.has_sync_worker(worker).await?;
    page.open(json!({ "authorize": "never" })).await?;
    let left = page.submit(payment("order-842")).await?.intent;
    page.leave_for("about:blank").await?;
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    Ok((bench, page, left))
}

async fn wake(bench: &Bench, page: &Page) -> Result<()> {
    page.wake(bench.shop.page_origin(), false).await
}

async fn charges(bench: &Bench, count: i64) -> Result<()> {
    let what = format!("the server has charged {count}");
    eventually(&what, async || Ok((bench.shop.ledger()?.tally().effects == count).then_some(()))).await
}

/// What the wake-up came to, as seen from the page that comes after.
async fn ended(page: &Page) -> Result<Wake> {
    page.returns().await?;
    eventually("the wake-up has ended", async || Ok(page.wakes().await?.into_iter().next())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn with_no_page_open_it_is_paid_once_and_the_next_visit_is_told() -> Result<()> {
    let (bench, mut page, left) = left_behind("anyone").await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    wake(&bench, &page).await?;
    eventually("the lost answer is replayed", async || {
        Ok((bench.shop.ledger()?.tally() == charged_once(2)).then_some(()))
    })
    .await?;
    let wake = ended(&page).await?;
    assert_eq!((wake.tag.as_str(), wake.end.as_str()), ("intento", "resolved"), "nobody's name is in the tag");
    page.open(json!({ "handler": "takes" })).await?;
    let told = eventually("the handler is called", async || {
        Ok(page.told().await?.into_iter().find(|told| told.by == By::Outcome))
    })
    .await?;
    assert_eq!((&told.intent.id, told.intent.standing().as_str()), (&left.id, "succeeded"));
    paid_once_over_a_lost_answer(&bench, &page.settled(&left.id).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_a_busy_server_is_asked_again_in_the_same_wake_up() -> Result<()> {
    let (bench, page, left) = left_behind("anyone").await?;
    bench.shop.arm(json!({ "unavailable": 2, "retry_after_s": 1 })).await?;
    wake(&bench, &page).await?;
    charges(&bench, 1).await?;
    assert_eq!(ended(&page).await?.end, "resolved");
    let ledger = bench.shop.ledger()?;
    assert_eq!((ledger.tally(), ledger.statuses()), (charged_once(3), vec![Some(503), Some(503), Some(201)]));
    ledger.assert_one_key_per_intent(&[&left]);
    Ok(())
}

/// Two minutes are too long for this wake-up, and not for the browser's next one.
#[tokio::test(flavor = "multi_thread")]
async fn s5_what_will_be_due_at_the_browser_s_next_try_rejects() -> Result<()> {
    let (bench, mut page, left) = left_behind("anyone").await?;
    bench.shop.arm(json!({ "unavailable": 1, "retry_after_s": 120 })).await?;
    wake(&bench, &page).await?;
    let wake = ended(&page).await?;
    assert!(wake.end.starts_with("rejected"), "{wake:?}");
    page.open(json!({})).await?;
    assert_eq!(page.snapshot(&left.id).await?.standing(), "waiting:server_error");
    assert_eq!(bench.shop.ledger()?.tally(), untouched(1));
    Ok(())
}

/// The browser would try in vain, and then no more.
#[tokio::test(flavor = "multi_thread")]
async fn s5_what_has_to_wait_for_an_hour_does_not_reject() -> Result<()> {
    let (bench, mut page, left) = left_behind("anyone").await?;
    bench.shop.arm(json!({ "unavailable": 1, "retry_after_s": 3_600 })).await?;
    wake(&bench, &page).await?;
    assert_eq!(ended(&page).await?.end, "resolved");
    page.open(json!({})).await?;
    assert_eq!(page.snapshot(&left.id).await?.standing(), "waiting:server_error");
    Ok(())
}

/// A refusal of the worker's credentials is not the worker's to mend: it has been told, and the page has others.
#[tokio::test(flavor = "multi_thread")]
async fn s3_what_the_server_refuses_for_want_of_credentials_waits_for_the_page() -> Result<()> {
    let (bench, mut page, left) = left_behind("anyone").await?;
    bench.shop.arm(json!({ "unauthorized": 1 })).await?;
    wake(&bench, &page).await?;
    assert_eq!(ended(&page).await?.end, "resolved");
    assert_eq!(bench.shop.ledger()?.statuses(), [Some(401)]);
    page.open(json!({})).await?;
    let settled = page.settled_by_itself(&left.id).await?;
    assert_eq!((settled.kind.as_str(), settled.intent.results()), ("succeeded", vec!["auth", "succeeded"]));
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(2));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_credentials_or_a_shopper_everything_is_left_to_the_page() -> Result<()> {
    let (bench, mut page, left) = left_behind("nobody").await?;
    wake(&bench, &page).await?;
    assert_eq!(ended(&page).await?.end, "resolved");
    page.has_sync_worker("without_credentials").await?;
    page.leave_for("about:blank").await?;
    wake(&bench, &page).await?;
    page.returns().await?;
    page.open(json!({ "authorize": "never" })).await?;
    // The wake-up has a minute, and uses it: the app may have credentials after all.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let known = page.snapshot(&left.id).await?;
    assert_eq!((known.standing().as_str(), known.attempt_count), ("queued:not_sent", 0), "held by nobody");
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    page.load_again(json!({})).await?;
    assert_eq!(page.settled(&left.id).await?.kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}

/// A 409: the server is at it, for a page that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_still_works_on_is_waited_for() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    let elsewhere = bench.browser.driver()?.new_tab().await?;
    page.has_sync_worker("anyone").await?;
    page.open(json!({ "attemptDeadlineMs": 10_000 })).await?;
    bench.shop.arm(json!({ "stall_before_commit_ms": 3_000 })).await?;
    let left = page.submit(payment("order-842")).await?.intent;
    page.reaches(&left.id, "sending:in_flight").await?;
    page.crash().await?;
    let beside = Page::visit(bench.browser.driver()?, elsewhere, bench.shop.page_url()).await?;
    wake(&bench, &beside).await?;
    let wake = eventually("the wake-up has ended", async || Ok(beside.wakes().await?.into_iter().next())).await?;
    let ledger = bench.shop.ledger()?;
    assert_eq!((wake.end.as_str(), ledger.tally().effects, ledger.tally().executions), ("resolved", 1, 1));
    assert!(ledger.statuses().contains(&Some(409)), "{:?}", ledger.statuses());
    ledger.assert_one_key_per_intent(&[&left]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_page_and_worker_drain_at_once() -> Result<()> {
    let mut bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    page.has_sync_worker("anyone").await?;
    let mut page = page;
    page.open(json!({})).await?;
    bench.shop.close_api().await?;
    let all: Vec<(String, bool)> =
        page.call("return app.submitMany(args[0], args[1], 0)", json!([payment("any"), MANY])).await?;
    bench.shop.open_api().await?;
    let (woken, nudged) =
        tokio::join!(wake(&bench, &page), page.call::<Value>("dispatchEvent(new Event('online'))", json!([])));
    woken.and(nudged)?;
    charges(&bench, MANY).await?;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let ledger = bench.shop.ledger()?;
    let tally = ledger.tally();
    assert_eq!((all.len() as i64, tally.effects, tally.executions, tally.wire), (MANY, MANY, MANY, MANY));
    let woken = eventually("the wake-up has ended", async || Ok(page.wakes().await?.into_iter().next())).await?;
    assert_eq!(woken.end, "resolved");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_a_worker_that_is_ended_in_flight_loses_nothing() -> Result<()> {
    let (bench, mut page, left) = left_behind("anyone").await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    wake(&bench, &page).await?;
    charges(&bench, 1).await?;
    page.end_service_workers().await?;
    wake(&bench, &page).await?;
    eventually("the lost answer is replayed", async || {
        Ok((bench.shop.ledger()?.tally() == charged_once(2)).then_some(()))
    })
    .await?;
    assert_eq!(ended(&page).await?.end, "resolved");
    page.open(json!({})).await?;
    paid_once_over_a_lost_answer(&bench, &page.settled(&left.id).await?)
}

/// The API is gone for longer than a wake-up. With the last one the browser gives up; while a page is open it can be asked anew.
#[tokio::test(flavor = "multi_thread")]
async fn s1_the_last_chance_registers_again_where_a_page_is_open() -> Result<()> {
    let (bench, page, _left) = left_behind("anyone").await?;
    bench.shop.arm(json!({ "unavailable": 3, "retry_after_s": 200 })).await?;
    page.wake(bench.shop.page_origin(), true).await?;
    eventually("the server was asked", async || Ok((bench.shop.ledger()?.tally().wire == 1).then_some(()))).await?;
    // A page would be there for it to register with.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let first = ended(&page).await?;
    assert!(first.last_chance && first.end.starts_with("rejected"), "{first:?}");
    assert_eq!(first.tags, Vec::<String>::new(), "no page was open");
    page.wake(bench.shop.page_origin(), true).await?;
    // What it registers fires at once, and is no last chance.
    let second = eventually("a wake-up of the browser's own has ended", async || {
        Ok(page.wakes().await?.into_iter().find(|wake| !wake.last_chance))
    })
    .await?;
    assert!(second.end.starts_with("rejected"), "{second:?}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(page.wakes().await?.len(), 3, "and then the browser waits");
    Ok(())
}

/// Hazard S10: this build is the worker that is still there, and the page's was newer.
#[tokio::test(flavor = "multi_thread")]
async fn s10_what_a_newer_page_has_stored_is_left_as_it_is() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    page.has_sync_worker("anyone").await?;
    page.open(json!({ "authorize": "never" })).await?;
    let newer = page.submit(payment("order-842")).await?.intent;
    let left = page.submit(payment("order-843")).await?.intent;
    page.returns().await?;
    let row = "return new Promise((resolve, reject) => {
        const open = indexedDB.open('intento');
        open.onerror = reject;
        open.onsuccess = () => {
            const shelf = open.result.transaction('intents', 'readwrite').objectStore('intents');
            shelf.get(args[0]).onsuccess = ({ target: { result: row } }) => {
                const now = args[1] ? { ...row, v: 2, record: row.record.replace('{', '{\"later\":1,') } : row;
                shelf.put(now).onsuccess = () => { open.result.close(); resolve(JSON.stringify(now)); };
            };
        };
    })";
    let before: String = page.call(row, json!([newer.id, true])).await?;
    page.leave_for("about:blank").await?;
    wake(&bench, &page).await?;
    charges(&bench, 1).await?;
    assert_eq!(ended(&page).await?.end, "resolved");
    assert_eq!(page.call::<String>(row, json!([newer.id, false])).await?, before);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&left]);
    Ok(())
}

/// Hazard S9: a worker of the shop's own answers for the server that it could not reach.
#[tokio::test(flavor = "multi_thread")]
async fn s9_another_worker_s_answer_in_the_server_s_place_is_no_payment() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    let controlled = "await navigator.serviceWorker.register('/queueing-worker.js');
         await navigator.serviceWorker.ready;
         while (navigator.serviceWorker.controller === null) await new Promise((done) => setTimeout(done, 20));";
    page.call::<Value>(controlled, json!([])).await?;
    // A payment has a name: what has none is nobody's.
    let success = json!({ "statuses": [[200, 201]], "mediaTypes": ["application/json"], "pointer": { "at": "/id" } });
    page.open(json!({ "contract": { "extends": "generic", "id": "shop", "success": success } })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let known = eventually("an attempt has ended", async || {
        Ok(Some(page.snapshot(&id).await?)
            .filter(|known| known.attempts.iter().any(|attempt| attempt.status.is_some())))
    })
    .await?;
    assert!(["waiting", "held"].contains(&known.state.as_str()), "{}", known.standing());
    assert!(known.maybe_sent && !known.safe_to_replace);
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    page.call::<Value>("await (await navigator.serviceWorker.ready).unregister()", json!([])).await?;
    page.returns().await?;
    page.open(json!({ "contract": { "extends": "generic", "id": "shop", "success": success } })).await?;
    let settled = page.settled_by_itself(&id).await?;
    assert_eq!((settled.kind.as_str(), bench.shop.ledger()?.tally()), ("succeeded", charged_once(1)));
    Ok(())
}

/// The customer goes elsewhere in mid-payment; the worker that the submit has woken is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_asked_for_it_and_is_left_is_taken_over_by_the_worker() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    page.has_sync_worker("anyone").await?;
    page.open(json!({ "backgroundSync": true, "attemptDeadlineMs": 50_000 })).await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let left = page.submit(payment("order-842")).await?.intent;
    charges(&bench, 1).await?;
    // The worker waits for the page's lock.
    let waited_for = "return (await navigator.locks.query()).pending.length > 0 || null";
    eventually("the worker is there", async || page.call::<Option<bool>>(waited_for, json!([])).await).await?;
    page.leave_for("about:blank").await?;
    let soon = Duration::from_secs(20);
    let replayed = eventually("the lost answer is replayed", async || {
        Ok((bench.shop.ledger()?.tally() == charged_once(2)).then_some(()))
    });
    tokio::time::timeout(soon, replayed).await.map_err(|_| anyhow!("not before the page's lease ends"))??;
    let wake = ended(&page).await?;
    assert_eq!((wake.tag.as_str(), wake.end.as_str()), ("intento", "resolved"));
    bench.shop.ledger()?.assert_one_key_per_intent(&[&left]);
    Ok(())
}

/// What the worker relies on, as an app sees it.
#[tokio::test(flavor = "multi_thread")]
async fn drained_waits_for_what_is_under_way_and_says_what_is_left() -> Result<()> {
    let mut bench = Bench::start().await?;
    bench.shop.arm(json!({ "delay_ms": 2_000 })).await?;
    let page = bench.page().await?;
    let drained = "const intent = await app.queue().submit(args[0]);
        const drained = await app.queue().drained({ within: args[1] });
        return [drained, (await app.queue().intent(intent.id)).snapshot.state];";
    // The lease of the attempt ends after all these waits.
    let (left, state): (Value, String) = page.call(drained, json!([payment("order-842"), 20_000])).await?;
    assert_eq!((left, state.as_str()), (json!({ "due": 0, "nextAt": null }), "succeeded"));
    let (left, state): (Value, String) = page.call(drained, json!([payment("order-843"), 500])).await?;
    assert_eq!((&left["due"], left["nextAt"].is_u64(), state.as_str()), (&json!(0), true, "sending"));
    let id = page.submit(payment("order-843")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    bench.shop.close_api().await?;
    let (left, state): (Value, String) = page.call(drained, json!([payment("order-844"), 500])).await?;
    assert!(state == "waiting" && (left["due"] == 1 || left["nextAt"].is_u64()), "{state} {left}");
    Ok(())
}

/// Hazard S2: without Background Sync, or with one that never answers, the page pays as always.
#[tokio::test(flavor = "multi_thread")]
async fn s2_without_background_sync_the_page_drains() -> Result<()> {
    for missing in ["SyncManager", "ServiceWorkerRegistration.prototype.sync", "navigator.serviceWorker"] {
        let bench = Bench::start().await?;
        let mut page = bench.blank_page().await?;
        page.has_sync_worker("anyone").await?;
        page.do_without(missing).await?;
        page.open(json!({ "backgroundSync": true })).await?;
        let id = page.submit(payment("order-842")).await?.intent.id;
        assert_eq!(page.settled(&id).await?.kind, "succeeded", "without {missing}");
        assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    }
    Ok(())
}
