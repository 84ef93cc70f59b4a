//! Public reports of other libraries, told again where the browser is what matters (docs/hazards.md has them all).

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::bench::Bench;
use e2e::eventually;
use e2e::ledger::Tally;
use e2e::page::Page;
use e2e::relay::{Relay, Spoiled};
use serde_json::{Value, json};

use crate::{charged_once, paid_once_over_a_lost_answer, payment, untouched};

/// The app in the first tab, its API behind a relay.
pub(crate) async fn page_behind(bench: &Bench, relay: &Relay) -> Result<Page> {
    let driver = bench.browser.driver()?;
    let window = driver.windows().await?.into_iter().next().context("the browser has no window")?;
    let url = format!("{}/?api={}", bench.shop.page_origin(), relay.origin);
    let mut page = Page::visit(driver, window, url).await?;
    page.open(json!({})).await?;
    Ok(page)
}

/// Volafile/volafile-bugs#133, golang/go#22158 (hazard N6): a connection that was used before breaks, and Chromium sends the
/// POST once more without asking anybody.
#[tokio::test(flavor = "multi_thread")]
async fn n6_a_post_that_the_browser_repeats_by_itself_carries_the_same_key() -> Result<()> {
    let bench = Bench::start().await?;
    let relay = Relay::open(&bench.shop.api(), Spoiled::default()).await?;
    let page = page_behind(&bench, &relay).await?;
    let first = page.submit(payment("order-841")).await?.intent;
    assert_eq!(page.settled(&first.id).await?.kind, "succeeded");

    relay.reset(1);
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!(relay.resets_left(), 0, "the connection was a new one");
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    assert_eq!(settled.intent.results(), ["succeeded"], "`fetch` was called once");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), Tally { effects: 2, executions: 2, wire: 3 });
    ledger.assert_one_key_per_intent(&[&first, &settled.intent]);
    Ok(())
}

/// microsoftgraph/microsoft-graph-docs#17488 (hazard N8): `Retry-After` and the marks of the key are there, and the page
/// must not see them.
#[tokio::test(flavor = "multi_thread")]
async fn n8_what_an_answer_does_not_expose_is_unknown() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "unavailable": 2, "retry_after_s": 3600 })).await?;
    let hides = vec!["access-control-expose-headers"];
    let relay = Relay::open(&bench.shop.api(), Spoiled { hides, ..Spoiled::default() }).await?;
    let page = page_behind(&bench, &relay).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("unknown")));
    assert_eq!(settled.intent.attempts[0].retry_after_ms, None, "the ordinary pauses");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(3));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

/// superseriousbusiness/gotosocial#1664 (hazard N9): the preflight does not allow the key's header. Nothing is sent without it.
#[tokio::test(flavor = "multi_thread")]
async fn n9_where_the_preflight_refuses_the_key_the_intent_waits_with_it() -> Result<()> {
    let bench = Bench::start().await?;
    let hides = vec!["access-control-allow-headers"];
    let relay = Relay::open(&bench.shop.api(), Spoiled { hides, ..Spoiled::default() }).await?;
    let page = page_behind(&bench, &relay).await?;
    let intent = page.submit(payment("order-842")).await?.intent;
    let known = page.reaches(&intent.id, "waiting:network").await?;
    let later = page.settled_within(&intent.id, Duration::from_secs(2)).await?;
    assert_eq!((later.kind.as_str(), later.intent.key_hash), ("pending", known.key_hash.clone()));
    assert!(!later.intent.safe_to_replace);
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0), "not once without its key");

    relay.mend();
    assert_eq!(page.settled(&intent.id).await?.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&intent]);
    Ok(())
}

/// A connection that ends within the answer's body (hazard N17): the outcome is unknown, and is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn n17_half_an_answer_is_none() -> Result<()> {
    let bench = Bench::start().await?;
    let relay = Relay::open(&bench.shop.api(), Spoiled { cuts: AtomicU32::new(1), ..Spoiled::default() }).await?;
    let page = page_behind(&bench, &relay).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    assert_eq!(settled.intent.attempt_count, 2);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

/// Azure/azure-sdk-for-js#39130 (hazard N14): a wait that no timer of a browser can hold is a long one, not none.
#[tokio::test(flavor = "multi_thread")]
async fn n14_a_retry_after_beyond_every_timer_is_a_long_wait() -> Result<()> {
    const HOUR_MS: u64 = 60 * 60 * 1_000;
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "unavailable": 3, "retry_after_s": 9_999_999_999_u64 })).await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let known = page.settled_within(&id, Duration::from_secs(3)).await?;
    assert_eq!((known.kind.as_str(), known.intent.attempt_count), ("pending", 1));
    let now: u64 = page.call("return Date.now()", json!([])).await?;
    let wait_ms = known.intent.next_attempt_at.context("there is a next attempt")? - now;
    assert!((22 * HOUR_MS..=24 * HOUR_MS).contains(&wait_ms), "a day, or what is left of the window: {wait_ms} ms");
    assert_eq!(bench.shop.ledger()?.tally(), untouched(1));
    Ok(())
}

/// murtaza-nasir/speakr#313 (hazard I1): whatever has to be waited for is there before a transaction begins.
#[tokio::test(flavor = "multi_thread")]
async fn i1_what_takes_its_time_keeps_no_transaction_waiting() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    let told: Value = page
        .call(
            "const { openQueue, generic } = await app.load();
             const later = (value) => new Promise((done) => setTimeout(done, 50, value));
             const queue = await openQueue({
               scope: 'shopper', contract: generic, baseUrl: app.api,
               authorize: () => later({ scope: 'shopper', headers: { Authorization: 'Bearer user:ana' } }),
               prepare: ({ body }) => later({ body }),
             });
             const refused = await queue.submit({ ...args[0], request: { ...args[0].request, body: later('{}') } }).catch(({ code }) => code);
             const intent = await queue.submit(await later(args[0]));
             const settled = await intent.settled({ within: 30000 });
             return [refused, settled.kind, settled.durable, queue.intents ? (await queue.intents()).length : 0];",
            json!([payment("order-842")]),
        )
        .await?;
    assert_eq!(told, json!(["body_unstorable", "succeeded", true, 1]));
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}

/// supabase/supabase-js#2426 (hazard T2): the tab that sends is suspended. Another one goes on at once, and the first, when it
/// thaws, does not send again.
#[tokio::test(flavor = "multi_thread")]
async fn t2_a_suspended_tab_is_taken_over_and_sends_nothing_when_it_thaws() -> Result<()> {
    let bench = Bench::start().await?;
    let long = || json!({ "attemptDeadlineMs": 60_000 });
    let suspended = bench.page_with(long()).await?;
    let other = bench.second_tab(long()).await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let id = suspended.submit(payment("order-842")).await?.intent.id;
    eventually("the server has charged", async || Ok((bench.shop.ledger()?.tally() == charged_once(1)).then_some(())))
        .await?;
    suspended.set_frozen(true).await?;
    let settled = other.settled_within(&id, Duration::from_secs(15)).await?;
    assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    suspended.set_frozen(false).await?;
    assert_eq!(suspended.settled(&id).await?.kind, "succeeded");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

/// tracim/tracim#3547 (hazard T7): the tab that has claimed blocks its own thread for longer than its lease. Another takes over,
/// and the late one looks at its lease before it sends.
#[tokio::test(flavor = "multi_thread")]
async fn t7_a_main_thread_that_was_blocked_for_longer_than_its_lease_does_not_send() -> Result<()> {
    let bench = Bench::start().await?;
    let mut other = bench.blank_tab().await?;
    let blocked = bench.page_with(json!({ "attemptDeadlineMs": 1_000, "prepare": "blocks_once" })).await?;
    let id = blocked.submit(payment("order-842")).await?.intent.id;
    let is_blocked = "return localStorage.getItem('blocked')";
    eventually("the first tab is blocked", async || other.call::<Option<String>>(is_blocked, json!([])).await).await?;
    other.open(json!({ "attemptDeadlineMs": 1_000 })).await?;
    let settled = other.settled_within(&id, Duration::from_secs(30)).await?;
    assert_eq!(settled.kind, "succeeded");
    assert_eq!(blocked.settled(&id).await?.kind, "succeeded");
    let known = blocked.snapshot(&id).await?;
    assert_eq!(known.results(), ["not_sent", "succeeded"], "the blocked one gave its attempt back");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&known]);
    Ok(())
}

/// pubkey/broadcast-channel#414 (hazard T6): a tab whose timers run sixty times slower ends neither its request nor its
/// claim in time. Nobody waits for its timers.
#[tokio::test(flavor = "multi_thread")]
async fn t6_a_tab_with_throttled_timers_is_taken_over_when_its_lease_ends() -> Result<()> {
    let bench = Bench::start().await?;
    let mut throttled = bench.blank_page().await?;
    let slow = "const real = window.setTimeout; window.setTimeout = (run, ms, ...args) => real(run, 60 * ms, ...args)";
    throttled.call::<()>(slow, json!([])).await?;
    throttled.open(json!({ "attemptDeadlineMs": 2_000 })).await?;
    let other = bench.second_tab(json!({ "attemptDeadlineMs": 2_000 })).await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let id = throttled.submit(payment("order-842")).await?.intent.id;
    let settled = other.settled_within(&id, Duration::from_secs(25)).await?;
    paid_once_over_a_lost_answer(&bench, &settled)
}

/// garden-co/classic-jazz#3530 (hazard I8): the browser takes the database away under an open page.
#[tokio::test(flavor = "multi_thread")]
async fn i8_a_ledger_that_is_taken_away_under_an_open_page_is_made_anew() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let before = page.submit(payment("order-841")).await?.intent;
    assert_eq!(page.settled(&before.id).await?.kind, "succeeded");
    bench.shop.arm(json!({ "unavailable": 100, "retry_after_s": 3600 })).await?;
    let unfinished = page.submit(payment("order-842")).await?.intent;
    page.reaches(&unfinished.id, "waiting:server_error").await?;
    page.evict("indexeddb").await?;

    bench.shop.arm(json!({ "unavailable": 0 })).await?;
    let after = page.submit(payment("order-843")).await?;
    assert!(after.created);
    assert_eq!(page.settled(&after.intent.id).await?.kind, "succeeded");
    page.reload().await?;
    let lost: Value = page.call("return app.queue().storageLost", json!([])).await?;
    let report = json!({ "unfinished": [{ "operation": "authorize-payment", "reference": "order-842" }] });
    assert_eq!(lost, report, "and it is told");
    Ok(())
}

/// A browser that says it is offline while it is not: mdn/content#30402, vueuse/vueuse#2884 (hazard N1).
#[tokio::test(flavor = "multi_thread")]
async fn n1_an_on_line_that_is_false_holds_nothing_up() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    page.call::<()>("Object.defineProperty(Navigator.prototype, 'onLine', { get: () => false })", json!([])).await?;
    page.open(json!({})).await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(2));
    Ok(())
}

/// A page in the back/forward cache has no handle of the ledger, and goes on when it comes back (hazard I19).
#[tokio::test(flavor = "multi_thread")]
async fn i19_a_page_from_the_back_forward_cache_goes_on() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let id = page.submit(payment("order-841")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    page.call::<()>("addEventListener('pageshow', ({ persisted }) => { window.cached = persisted; })", json!([]))
        .await?;
    page.leave_for(&format!("{}/page.js", bench.shop.page_origin())).await?;
    let other = bench.blank_tab().await?;
    let opened = "return new Promise((told) => {
            const request = indexedDB.open('intento', 2);
            request.onsuccess = () => { request.result.close(); told('opened'); };
            request.onblocked = () => told('blocked');
            setTimeout(() => told('silence'), 3_000);
        });";
    assert_eq!(other.call::<String>(opened, json!([])).await?, "opened");
    page.back().await?;
    assert_eq!(page.call::<Value>("return window.cached ?? null", json!([])).await?, json!(true), "it was not cached");
    let id = page.submit(payment("order-842")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    assert_eq!(page.intents().await?.len(), 2);
    assert_eq!(bench.shop.ledger()?.tally(), Tally { effects: 2, executions: 2, wire: 2 });
    Ok(())
}

/// ionic-team/capacitor#6174 (hazard N15) and grafana/faro-web-sdk#1898 (hazard N7): bridges that take the place of `fetch`
/// understand a text and a plain object, and `keepalive` has a bound that the whole page shares.
#[tokio::test(flavor = "multi_thread")]
async fn n15_fetch_is_called_with_plain_arguments_and_without_keepalive() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let watch = "window.calls = [];
        const real = window.fetch;
        window.fetch = (url, init, ...more) => {
            const { method, body, keepalive = false } = init;
            calls.push([typeof url, Object.prototype.toString.call(init), method, typeof body, keepalive, more.length]);
            return real(url, init, ...more);
        };";
    page.call::<()>(watch, json!([])).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    let calls: Value = page.call("return calls.filter(([, , method]) => method === 'POST')", json!([])).await?;
    assert_eq!(calls, json!([["string", "[object Object]", "POST", "string", false, 0]]));
    Ok(())
}

/// dexie/Dexie.js#543 and #1767 (hazard I11): the files under the ledger are damaged. Whatever the browser makes of it, it is
/// said: the ledger cannot be read, or it is gone.
#[tokio::test(flavor = "multi_thread")]
async fn i11_a_damaged_database_is_never_taken_for_an_empty_one() -> Result<()> {
    let mut bench = Bench::start().await?;
    let page = bench.page_with(json!({ "authorize": "never" })).await?;
    page.submit(payment("order-842")).await?;
    // What is in localStorage reaches its file a while later.
    page.call::<()>("for (let n = 0; n < 3; n += 1) localStorage.setItem('n', n)", json!([])).await?;
    tokio::time::sleep(Duration::from_secs(8)).await;
    bench.browser.kill()?;
    let databases = bench.browser.profile().join("Default/IndexedDB");
    let mut damaged = 0;
    for folder in std::fs::read_dir(&databases)?.filter_map(Result::ok) {
        for file in std::fs::read_dir(folder.path())?.filter_map(Result::ok) {
            let length = file.metadata()?.len();
            std::fs::write(file.path(), vec![0x5a; length as usize])?;
            damaged += 1;
        }
    }
    assert!(damaged > 0, "nothing was stored under {}", databases.display());

    bench.browser.relaunch().await?;
    let page = bench.blank_page().await?;
    let told: Value = page
        .call(
            "const failed = await app.open().then(() => null, ({ code }) => code);
             return [failed, failed === null ? app.queue().storageLost : null]",
            json!([]),
        )
        .await?;
    let lost = json!({ "unfinished": [{ "operation": "authorize-payment", "reference": "order-842" }] });
    assert!(told == json!(["ledger_unreadable", null]) || told == json!([null, lost]), "{told}");
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    Ok(())
}
