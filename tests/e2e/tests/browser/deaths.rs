//! Engines that die: a trap, or an error that goes through the module, as a Rust panic does.

use std::time::{Duration, Instant};

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::page::Page;
use serde_json::{Value, json};

use crate::{charged_once, payment, untouched};

/// Far longer than a test may take: nobody waits for a dead engine's lease.
fn options() -> Value {
    json!({ "attemptDeadlineMs": 120_000 })
}

/// Ends the newest instance: by memory that holds nonsense, so that it traps, or by a clock that throws through it.
pub(crate) const KILL: &str = "
    const now = performance.now.bind(performance);
    const kills = {
        memory: () => new Uint8Array(instances.at(-1).exports.memory.buffer).fill(0xff),
        clock: () => { performance.now = () => { performance.now = now; throw new Error('no clock'); }; },
    };
    // Any event that the engine listens to.
    window.kill = (how) => { kills[how](); window.dispatchEvent(new Event('online')); }";

async fn watched(bench: &Bench, options: Value) -> Result<Page> {
    let mut page = bench.blank_page().await?;
    page.watch_instances().await?;
    page.call::<()>(KILL, json!([])).await?;
    page.open(options).await?;
    Ok(page)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_traps_with_a_request_in_flight_is_replaced() -> Result<()> {
    is_replaced("memory").await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_an_error_goes_through_with_a_request_in_flight_is_replaced() -> Result<()> {
    is_replaced("clock").await
}

/// The same queue, listeners and waiting calls go on, and the server sees one effect.
async fn is_replaced(how: &str) -> Result<()> {
    let bench = Bench::start().await?;
    let page = watched(&bench, options()).await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    let keep_signals = "window.signals = [];
        const real = window.fetch;
        window.fetch = (url, init) => { if (init?.method === 'POST') signals.push(init.signal); return real(url, init); }";
    page.call::<()>(keep_signals, json!([])).await?;
    let submitted = page.submit(payment("order-842")).await?.intent;
    eventually("the server has charged", async || Ok((bench.shop.ledger()?.tally() == charged_once(1)).then_some(())))
        .await?;
    let wait = "window.waiting = app.settled(args[0], 60_000); window.same = app.queue()";
    page.call::<()>(wait, json!([submitted.id])).await?;

    let started = Instant::now();
    let aborted: Vec<bool> =
        page.call("kill(args[0]); return signals.map(({ aborted }) => aborted)", json!([how])).await?;
    assert_eq!(aborted, [true], "the dead engine's request goes on");
    let kind: String = page.call("return (await waiting).kind", json!([])).await?;
    assert_eq!(kind, "succeeded");
    assert!(started.elapsed() < Duration::from_secs(20), "its lock was not released: {:?}", started.elapsed());

    assert_eq!(page.instances().await?, 2);
    assert_eq!(page.uncaught().await?, ["engine_dead"], "told once, to the page");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    assert!(ledger.wire()[1].replayed);
    ledger.assert_one_key_per_intent(&[&submitted]);
    assert_eq!(page.standings(&submitted.id).await?.last().map(String::as_str), Some("succeeded"), "the listener");
    // What comes after is as if nothing had been.
    let id = page.submit(payment("order-843")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    assert!(page.call::<bool>("return same === app.queue()", json!([])).await?);
    Ok(())
}

/// What of a call's answer is its own, and what it may say instead.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_a_death_interrupts_go_on_or_say_so() -> Result<()> {
    for how in ["memory", "clock"] {
        let bench = Bench::start().await?;
        let page = watched(&bench, options()).await?;
        let calls = "
            const submit = (n, reference) => {
                const body = { amount: 100 + n, currency: 'BRL', card: 'tok_visa', order: `order-${n}` };
                return app.queue().submit({ operation: 'authorize-payment', reference, request: { method: 'POST', url: '/payments', body } });
            };
            const told = (call) => call.then((value) => value?.receipt?.durability ?? 'ok', ({ name, code, message }) => `${name} ${code} ${message}`);
            const under_way = [submit(1, 'order-1'), submit(2, 'order-2'), submit(3, null), app.queue().intents()].map(told);
            kill(args[0]);
            const afterwards = [submit(4, 'order-4'), submit(5, null), app.queue().intents()].map(told);
            return Promise.all([...under_way, ...afterwards]);";
        let told: Vec<String> = page.call(calls, json!([how])).await?;
        let (unnamed, others): (Vec<_>, Vec<_>) = told.iter().enumerate().partition(|(index, _)| *index == 2);
        for (index, told) in others {
            assert!(["strong", "ok"].contains(&told.as_str()), "{how}: call {index}: {told}");
        }
        // It may be stored or not, and no second one may be made of it.
        let unnamed = unnamed[0].1;
        assert!(unnamed.starts_with("IntentoError engine_dead engine_dead: Look with intents()"), "{how}: {unnamed}");
        for text in ["unreachable", "recursive", "out of bounds", "null pointer"] {
            assert!(told.iter().all(|told| !told.contains(text)), "{how}: {told:?}");
        }
        eventually("everything that was stored is charged", async || {
            let open = page.intents().await?.iter().filter(|intent| intent.state != "succeeded").count();
            Ok((open == 0).then_some(()))
        })
        .await?;
        let intents = page.intents().await?;
        let ledger = bench.shop.ledger()?;
        assert!((4..=5).contains(&intents.len()), "{intents:#?}");
        assert_eq!(ledger.tally().effects, intents.len() as i64);
        ledger.assert_one_key_per_intent(&intents.iter().collect::<Vec<_>>());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_are_replaced_so_often_and_then_not_for_a_minute() -> Result<()> {
    let bench = Bench::start().await?;
    let page = watched(&bench, json!({ "authorize": "never" })).await?;
    let kill_four = "
        for (let n = 1; n <= 4; n += 1) {
            kill('memory');
            if (n < 4) await app.intents();
        }";
    page.call::<()>(kill_four, json!([])).await?;
    let failure = page.failure("await app.intents()", json!([])).await?;
    assert_eq!((failure.name.as_str(), failure.code.as_deref()), ("IntentoError", Some("engine_dead")));
    assert_eq!(page.instances().await?, 4);
    let open_another = "const { openQueue, generic } = await app.load();
        await openQueue({ scope: 'other', contract: generic, baseUrl: app.api })";
    assert_eq!(page.failure(open_another, json!([])).await?.code.as_deref(), Some("engine_dead"));

    // A minute later.
    page.call::<()>("const now = performance.now.bind(performance); performance.now = () => now() + 60_001", json!([]))
        .await?;
    assert_eq!(page.intents().await?, []);
    assert_eq!(page.instances().await?, 5);
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_was_closed_is_not_opened_again() -> Result<()> {
    let bench = Bench::start().await?;
    let page = watched(&bench, options()).await?;
    let close = "
        const waiting = app.queue().intents().catch(({ code }) => code);
        kill('memory');
        app.queue().close();
        app.queue().close();
        return [await waiting, await app.queue().intents().catch(({ code }) => code)]";
    let told: [String; 2] = page.call(close, json!([])).await?;
    assert_eq!(told, ["closed", "closed"]);
    // An engine that is started for it anyway does nothing.
    let failure = page.failure(&format!("await app.queue().submit({})", payment("order-842")), json!([])).await?;
    assert_eq!(failure.code.as_deref(), Some("closed"));
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    Ok(())
}

/// Ends the engine that puts a row in which all of these words stand, in the middle of its transaction; `put_kills` says how
/// often that is still to happen.
pub(crate) const KILL_AT_PUT: &str = "
    const put = IDBObjectStore.prototype.put;
    window.put_kills = 1;
    window.deadly = args[0];
    IDBObjectStore.prototype.put = function (row) {
        if (put_kills === 0 || !deadly.every((word) => String(row.record).includes(word))) return put.call(this, row);
        put_kills -= 1;
        kill('memory');
        throw new Error('killed');
    };";

async fn deadly(bench: &Bench, words: &[&str]) -> Result<Page> {
    let page = watched(bench, options()).await?;
    page.call::<()>(KILL_AT_PUT, json!([words])).await?;
    Ok(page)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_came_and_was_not_recorded_is_recorded_by_the_next_engine() -> Result<()> {
    let bench = Bench::start().await?;
    let page = deadly(&bench, &["order-842", r#""succeeded""#]).await?;
    let submitted = page.submit(payment("order-842")).await?.intent;
    assert_eq!(page.settled(&submitted.id).await?.kind, "succeeded");
    assert_eq!(page.instances().await?, 2);
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1), "it was asked for again");
    assert_eq!(page.standings(&submitted.id).await?.last().map(String::as_str), Some("succeeded"), "the listener");

    // The next death brings nothing back.
    page.call::<()>("kill('memory')", json!([])).await?;
    let id = page.submit(payment("order-843")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");
    assert_eq!(page.snapshot(&submitted.id).await?.attempts.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_ends_two_engines_holds_its_intent_and_no_other() -> Result<()> {
    let bench = Bench::start().await?;
    let page = deadly(&bench, &["order-666", r#""succeeded""#]).await?;
    page.call::<()>("put_kills = Infinity", json!([])).await?;
    let others = [page.submit(payment("order-1")).await?.intent, page.submit(payment("order-2")).await?.intent];
    let poisoned = page.submit(payment("order-666")).await?.intent;
    let settled = page.settled(&poisoned.id).await?;
    assert_eq!((settled.kind.as_str(), settled.reason.as_deref()), ("held", Some("undecodable")));
    for other in &others {
        assert_eq!(page.settled(&other.id).await?.kind, "succeeded");
    }
    assert_eq!(page.instances().await?, 3);
    assert_eq!(page.snapshot(&poisoned.id).await?.results(), ["undecodable"]);
    let later = page.submit(payment("order-3")).await?.intent;
    assert_eq!(page.settled(&later.id).await?.kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally().effects, 4);

    // Once whatever it was is mended, it goes on under its key.
    page.call::<()>("put_kills = 0; return (await app.queue().intent(args[0])).resume()", json!([poisoned.id])).await?;
    assert_eq!(page.settled(&poisoned.id).await?.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally().effects, 4);
    ledger.assert_one_key_per_intent(&[&poisoned, &others[0], &others[1], &later]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submit_that_ends_two_engines_is_not_stored() -> Result<()> {
    let bench = Bench::start().await?;
    let page = deadly(&bench, &["order-666"]).await?;
    page.call::<()>("put_kills = Infinity", json!([])).await?;
    let failure = page.failure(&format!("await app.queue().submit({})", payment("order-666")), json!([])).await?;
    assert_eq!((failure.name.as_str(), failure.code.as_deref()), ("IntentoError", Some("engine_dead")));
    assert_eq!(page.instances().await?, 3);
    assert_eq!(page.intents().await?, []);
    let other = page.submit(payment("order-843")).await?.intent;
    assert_eq!(page.settled(&other.id).await?.kind, "succeeded");
    // Nothing was left half written: once it is mended, it is an order like any other.
    page.call::<()>("put_kills = 0", json!([])).await?;
    let submitted = page.submit(payment("order-666")).await?;
    assert!(submitted.created);
    assert_eq!(page.settled(&submitted.intent.id).await?.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally().effects, 2);
    ledger.assert_one_key_per_intent(&[&other, &submitted.intent]);
    Ok(())
}
