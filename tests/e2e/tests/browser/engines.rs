//! What must hold in every engine: one body a case, and a test of it for each engine.

use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::browser::{Engine, Signal, signal};
use e2e::eventually;
use e2e::ledger::Tally;
use e2e::page::Page;
use e2e::worker::Kind;
use serde_json::json;

use crate::crashes::{charged_without_answer, is_finished_with_the_same_key, options};
use crate::workers::decide_and_drain_at_once;
use crate::{charged_once, payment, untouched};

macro_rules! cases {
    ($engine:ident in $module:ident: $($case:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() -> anyhow::Result<()> {
                    super::$case(super::Bench::start_in(super::Engine::$engine).await?).await
                }
            )*
        }
    };
}

macro_rules! in_every_engine {
    ($($case:ident)*) => {
        cases!(Chromium in chromium: $($case)*);
        cases!(Firefox in firefox: $($case)*);
        cases!(WebKitGtk in webkitgtk: $($case)*);
    };
}

in_every_engine! {
    a_browser_killed_between_charge_and_answer
    two_tabs_with_one_intent
    a_reload_in_flight
    a_handle_that_another_version_closes
    a_page_and_its_worker_decide_and_drain_at_once
    s6_a_page_and_the_service_worker_decide_and_drain_at_once
}

cases!(Firefox in firefox_alone: i2_a_full_origin_refuses_new_work_and_keeps_what_it_has);
cases!(WebKitGtk in webkitgtk_alone: i7_a_page_whose_way_to_the_ledger_is_lost_submits_and_sends);

async fn a_browser_killed_between_charge_and_answer(mut bench: Bench) -> Result<()> {
    let page = bench.page_with(options()).await?;
    let id = charged_without_answer(&bench, &page).await?;
    bench.browser.kill()?;
    bench.browser.relaunch().await?;
    let page = bench.page_with(options()).await?;
    is_finished_with_the_same_key(&bench, &page, &id).await
}

/// The tab that comes second joins the intent that the first one sends: one sender, one effect, both are told.
async fn two_tabs_with_one_intent(bench: Bench) -> Result<()> {
    bench.shop.arm(json!({ "delay_ms": 5_000 })).await?;
    let options = json!({ "attemptDeadlineMs": 20_000 });
    let first = bench.page_with(options.clone()).await?;
    let mine = first.submit(payment("order-842")).await?;
    first.reaches(&mine.intent.id, "sending:in_flight").await?;

    let second = bench.second_tab(options).await?;
    let theirs = second.submit(payment("order-842")).await?;
    assert_eq!((theirs.intent.id.as_str(), theirs.created), (mine.intent.id.as_str(), false));
    assert_eq!(theirs.intent.standing(), "sending:in_flight");

    for tab in [&second, &first] {
        let settled = tab.settled(&mine.intent.id).await?;
        assert_eq!(settled.kind, "succeeded");
        assert_eq!(settled.answer.map(|answer| answer.status), Some(201));
        assert_eq!(tab.standings(&mine.intent.id).await?.last().map(String::as_str), Some("succeeded"));
    }
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&mine.intent]);
    Ok(())
}

async fn a_reload_in_flight(bench: Bench) -> Result<()> {
    let page = bench.page_with(options()).await?;
    let id = charged_without_answer(&bench, &page).await?;
    page.reload().await?;
    is_finished_with_the_same_key(&bench, &page, &id).await
}

/// Another version of the database is let in at once, and what comes after it finds what was stored (hazards I4, I5).
async fn a_handle_that_another_version_closes(bench: Bench) -> Result<()> {
    let page = bench.page().await?;
    let before = page.submit(payment("order-842")).await?.intent;
    assert_eq!(page.settled(&before.id).await?.kind, "succeeded");

    let other = bench.blank_tab().await?;
    assert_eq!(open_version_two(&other).await?, "opened");

    let after = page.submit(payment("order-843")).await?.intent;
    assert_eq!(page.settled(&after.id).await?.kind, "succeeded");
    assert_eq!(page.submit(payment("order-842")).await?.intent.id, before.id);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), Tally { effects: 2, executions: 2, wire: 2 });
    ledger.assert_one_key_per_intent(&[&before, &after]);
    Ok(())
}

async fn open_version_two(page: &Page) -> Result<String> {
    let open = "return new Promise((told) => {
            const request = indexedDB.open('intento', 2);
            request.onsuccess = () => { request.result.close(); told('opened'); };
            request.onblocked = () => told('blocked');
            request.onerror = () => told('failed');
        });";
    page.call(open, json!([])).await
}

/// The process that holds what is stored is killed under an open page. The driver's session ends with it, so the page
/// does by itself what it was told before, and leaves a note of what it saw.
async fn i7_a_page_whose_way_to_the_ledger_is_lost_submits_and_sends(mut bench: Bench) -> Result<()> {
    let page = bench.page().await?;
    let before = page.submit(payment("order-842")).await?.intent;
    assert_eq!(page.settled(&before.id).await?.kind, "succeeded");
    let once_lost = "const open = () => new Promise((told) => {
            const request = indexedDB.open('intento');
            request.onsuccess = () => told(request.result);
            request.onerror = () => told(request.error.name);
        });
        const probe = await open();
        const go_on = async () => {
            const page = await open();
            const { intent, durability } = await app.submit(args[0]);
            const { kind } = await app.settled(intent.id, 30_000);
            return [page, durability, kind];
        };
        probe.onclose = async () => {
            const seen = await go_on().catch((error) => app.failure(error));
            localStorage.setItem('seen', JSON.stringify(seen));
        };";
    page.call::<()>(once_lost, json!([payment("order-843")])).await?;
    signal(bench.browser.network_process()?, Signal::SIGKILL);
    let paid =
        eventually("the order is paid", async || Ok((bench.shop.ledger()?.tally().effects == 2).then_some(()))).await;
    // The note is written, and what is in localStorage reaches its file a while later.
    tokio::time::sleep(Duration::from_secs(3)).await;

    bench.browser.kill()?;
    bench.browser.relaunch().await?;
    let page = bench.page().await?;
    let seen: serde_json::Value = page.call("return JSON.parse(localStorage.getItem('seen'))", json!([])).await?;
    assert_eq!(seen, json!(["UnknownError", "strong", "succeeded"]));
    paid?;
    let after = page.submit(payment("order-843")).await?;
    assert_eq!((after.created, after.intent.state.as_str()), (false, "succeeded"));
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), Tally { effects: 2, executions: 2, wire: 2 });
    ledger.assert_one_key_per_intent(&[&before, &after.intent]);
    Ok(())
}

async fn a_page_and_its_worker_decide_and_drain_at_once(bench: Bench) -> Result<()> {
    decide_and_drain_at_once(bench, Kind::Dedicated).await
}

async fn s6_a_page_and_the_service_worker_decide_and_drain_at_once(bench: Bench) -> Result<()> {
    decide_and_drain_at_once(bench, Kind::Service).await
}

/// The browser's own quota: request success, then an abort (hazards I2, I14). Nothing of what is refused is stored or sent;
/// what was stored before goes on once there is room.
async fn i2_a_full_origin_refuses_new_work_and_keeps_what_it_has(bench: Bench) -> Result<()> {
    let page = bench.page_with(json!({ "authorize": "never" })).await?;
    let kept = page.submit(payment("order-841")).await?.intent;
    let fill = "const open = () => new Promise((done, fail) => {
            const request = indexedDB.open('filler', 1);
            request.onupgradeneeded = () => request.result.createObjectStore('bytes', { autoIncrement: true });
            request.onsuccess = () => done(request.result);
            request.onerror = () => fail(request.error);
        });
        // Bytes that no compression shortens, in ever smaller chunks, until not even a small one fits. A handle that has met
        // the quota is good for nothing more (measured).
        const put = (filler, size) => new Promise((done) => {
            const transaction = filler.transaction('bytes', 'readwrite');
            const bytes = new Uint8Array(size);
            for (let at = 0; at < size; at += 65536) crypto.getRandomValues(bytes.subarray(at, Math.min(size, at + 65536)));
            transaction.objectStore('bytes').put(bytes);
            transaction.oncomplete = () => done(true);
            transaction.onabort = () => done(false);
        });
        let chunks = 0;
        for (let size = 1 << 20; size >= 1 << 10; size >>= 1) {
            const filler = await open();
            while (chunks < 200 && (await put(filler, size))) chunks += 1;
            filler.close();
        }
        window.empty = () => new Promise((done, fail) => {
            const request = indexedDB.deleteDatabase('filler');
            request.onsuccess = () => done();
            request.onerror = () => fail(request.error);
        });
        return chunks;";
    let chunks: u32 = page.call(fill, json!([])).await?;
    assert!((5..200).contains(&chunks), "the quota was met: {chunks}");
    let mut large = payment("order-842");
    large["request"]["body"] = json!("x".repeat(200_000));
    let refused = page.failure("return app.submit(args[0])", json!([large])).await?;
    assert_eq!(refused.code.as_deref(), Some("storage_failed"), "{refused:?}");
    let references: Vec<_> = page.intents().await?.into_iter().filter_map(|intent| intent.reference).collect();
    assert_eq!(references, ["order-841"], "nothing of it is stored");
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));

    page.call::<()>("await window.empty()", json!([])).await?;
    let mut page = page;
    page.load_again(json!({})).await?;
    assert_eq!(page.settled(&kept.id).await?.kind, "succeeded");
    let again = page.submit(large).await?;
    assert!(again.created);
    Ok(())
}
