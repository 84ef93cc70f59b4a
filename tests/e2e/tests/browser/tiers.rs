//! Where there is no IndexedDB: localStorage, with less promised, and what that comes to when things go wrong.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::page::Page;
use serde_json::{Value, json};

use crate::{charged_once, payment};

/// A tab of its own, in a process of its own, in which there is no IndexedDB.
async fn weak_tab(bench: &Bench, options: Value) -> Result<Page> {
    let mut page = bench.blank_tab().await?;
    page.do_without("indexedDB").await?;
    page.open(options).await?;
    Ok(page)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_weak_tier_pays_once_and_says_what_it_is() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let page = weak_tab(&bench, json!({})).await?;
    let told: Value = page
        .call(
            "const told = [];
             app.queue().on('degraded', (degraded) => told.push(degraded));
             await new Promise((done) => setTimeout(done, 20));
             return [app.queue().durability, told];",
            json!([]),
        )
        .await?;
    assert_eq!(told, json!(["weak", [{ "durability": "weak" }]]));
    let submitted = page.submit(payment("order-842")).await?;
    assert_eq!(submitted.durability, "weak");
    let settled = page.settled(&submitted.intent.id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    page.reload().await?;
    assert_eq!(page.snapshot(&submitted.intent.id).await?.state, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

/// Two pages on localStorage, in two processes, decide the same hundred orders at the same time
/// (getsentry/sentry-javascript#1165): none is lost, and none is there twice.
#[tokio::test(flavor = "multi_thread")]
async fn l6_two_processes_decide_the_same_hundred_orders_on_the_weak_tier() -> Result<()> {
    let bench = Bench::start().await?;
    let (left, right) = (weak_tab(&bench, json!({})).await?, weak_tab(&bench, json!({})).await?);
    // Not in one batch: many transactions, between the other tab's.
    let decide = "window.decided = (async () => {
            await new Promise((done) => setTimeout(done, args[1] - Date.now()));
            const all = [];
            for (let n = 0; n < 100; n += 1) {
                all.push(app.submit({ ...args[0], reference: `order-${n}` }));
                if (n % 4 === 0) await new Promise((done) => setTimeout(done, 5));
            }
            return (await Promise.all(all)).map(({ intent, created }) => [intent.id, created]);
        })();";
    let at: u64 = left.call("return Date.now() + 1500", json!([])).await?;
    for page in [&left, &right] {
        page.call::<Value>(decide, json!([payment("any"), at])).await?;
    }
    let mine: Vec<(String, bool)> = left.call("return window.decided", json!([])).await?;
    let theirs: Vec<(String, bool)> = right.call("return window.decided", json!([])).await?;
    let ids = |of: &[(String, bool)]| of.iter().map(|(id, _)| id.clone()).collect::<BTreeSet<_>>();
    assert_eq!(ids(&mine), ids(&theirs), "both know the same hundred");
    assert_eq!(ids(&mine).len(), 100);
    assert_eq!(mine.iter().chain(&theirs).filter(|(_, created)| *created).count(), 100, "each was made once");
    eventually("all are paid", async || Ok((bench.shop.ledger()?.tally().effects == 100).then_some(()))).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(bench.shop.ledger()?.tally().effects, 100);
    Ok(())
}

/// coredevices/mobileapp#429: what localStorage took a moment ago may be gone when the browser is killed (measured). The
/// receipt said so; nothing more is promised, and what comes after works.
#[tokio::test(flavor = "multi_thread")]
async fn l5_a_killed_browser_may_take_the_newest_of_the_weak_tier_with_it() -> Result<()> {
    let mut bench = Bench::start().await?;
    let page = weak_tab(&bench, json!({ "authorize": "never" })).await?;
    let submitted = page.submit(payment("order-842")).await?;
    assert_eq!(submitted.durability, "weak");
    bench.browser.kill()?;
    bench.browser.relaunch().await?;
    let page = weak_tab(&bench, json!({})).await?;
    let found = page.intents().await?;
    assert!(found.is_empty() || found[0].id == submitted.intent.id);
    let again = page.submit(payment("order-842")).await?;
    assert_eq!(again.created, found.is_empty());
    assert_eq!(page.settled(&again.intent.id).await?.kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally().effects, 1);
    Ok(())
}

/// An app that would rather not sell than sell without a durable record.
#[tokio::test(flavor = "multi_thread")]
async fn min_durability_is_refused_before_anything_is_stored() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    page.do_without("indexedDB").await?;
    let refused = page.failure("await app.open({ minDurability: 'strong' })", json!([])).await?;
    assert_eq!(refused.code.as_deref(), Some("durability_too_low"));
    let stored: Vec<String> = page.call("return Object.keys(localStorage)", json!([])).await?;
    assert!(stored.is_empty(), "{stored:?}");
    Ok(())
}

/// A store of the app's own: acknowledged before anything is sent, and found again.
#[tokio::test(flavor = "multi_thread")]
async fn an_app_s_own_store_holds_the_queue() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let page = bench.blank_page().await?;
    let told: Value = page
        .call(
            "const { openQueue, generic } = await app.load();
             const rows = new Map();
             const later = (value) => new Promise((done) => setTimeout(done, 5, value));
             class Store {
               durability = 'strong';
               commits = 0;
               async read(names) { return later(names.map((name) => rows.get(name) ?? null)); }
               async scan(prefix) { return later([...rows].filter(([name]) => name.startsWith(prefix))); }
               async commit(expected, changes) {
                 await later();
                 const version = (name) => rows.get(name)?.version ?? 0;
                 if (Object.entries(expected).some(([name, there]) => version(name) !== there)) return false;
                 for (const [name, row] of Object.entries(changes)) row === null ? rows.delete(name) : rows.set(name, row);
                 this.commits += 1;
                 // Its first word is lost on the way: the row is there all the same.
                 if (this.commits === 1) throw new Error('the bridge broke');
                 return true;
               }
             }
             const options = { scope: 'shopper', contract: generic, baseUrl: app.api, store: new Store() };
             const queue = await openQueue(options);
             const intent = await queue.submit(args[0]);
             const settled = await intent.settled({ within: 30000 });
             queue.close();
             const again = await openQueue({ ...options, store: new Store() });
             const found = await again.submit(args[0]);
             const journal = () => [...rows.keys()].filter((name) => name.startsWith('journal/')).length;
             const before = journal();
             const dropped = await again.purge();
             again.close();
             const purged = [dropped.length, before > 1, journal(), JSON.stringify([...rows]).includes('BRL')];
             return [intent.receipt, settled.kind, settled.replay, found.id === intent.id, (await indexedDB.databases()).length, purged];",
            json!([payment("order-842")]),
        )
        .await?;
    let receipt = json!({ "durability": "strong", "created": true });
    assert_eq!(told, json!([receipt, "succeeded", "replayed", true, 0, [1, true, 1, false]]));
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(2));
    Ok(())
}

/// In memory: opted in, told, and gone with the page.
#[tokio::test(flavor = "multi_thread")]
async fn the_volatile_tier_is_gone_with_the_page() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    page.do_without("indexedDB").await?;
    page.do_without("localStorage").await?;
    let refused = page.failure("await app.open({})", json!([])).await?;
    assert_eq!(refused.code.as_deref(), Some("storage_unavailable"));
    page.open(json!({ "minDurability": "volatile" })).await?;
    let submitted = page.submit(payment("order-842")).await?;
    assert_eq!(submitted.durability, "volatile");
    assert_eq!(page.settled(&submitted.intent.id).await?.kind, "succeeded");
    page.reload().await?;
    assert!(page.intents().await?.is_empty());
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}
