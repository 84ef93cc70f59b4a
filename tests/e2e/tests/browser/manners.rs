//! How the package behaves in somebody's page.

use anyhow::Result;
use e2e::bench::Bench;
use serde::Deserialize;
use serde_json::json;

use crate::{charged_once, payment};

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_policy_is_kept_and_nobody_else_is_called() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let page = bench.page().await?;
    let policy: String =
        page.call("return (await fetch('/')).headers.get('content-security-policy')", json!([])).await?;
    assert!(policy.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"), "{policy}");
    let id = page.submit(payment("order-842")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "succeeded");

    let console = bench.browser.console().await?;
    assert!(!console.iter().any(|line| line.contains("Content Security Policy")), "{console:#?}");
    let requests = bench.browser.requests().await?;
    let api = bench.shop.api();
    assert!(requests.iter().any(|url| *url == format!("{api}/payments")), "the log shows what was sent: {requests:#?}");
    for url in requests.iter().filter(|url| url.starts_with("http")) {
        let known = [bench.shop.page_origin(), &api].iter().any(|origin| url.starts_with(&format!("{origin}/")));
        assert!(known, "a request went to {url}");
    }
    Ok(())
}

#[derive(Debug, PartialEq, Deserialize)]
struct SideEffects {
    compiled: u32,
    databases: usize,
    channels: u32,
    stored: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_has_no_side_effects() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    let spy = "window.seen = { compiled: 0, channels: 0 };
        for (const name of ['compile', 'instantiate', 'instantiateStreaming', 'compileStreaming', 'Module', 'Instance']) {
            WebAssembly[name] = new Proxy(WebAssembly[name], {
                apply(...call) { seen.compiled += 1; return Reflect.apply(...call); },
                construct(...call) { seen.compiled += 1; return Reflect.construct(...call); },
            });
        }
        window.BroadcastChannel = new Proxy(BroadcastChannel, {
            construct(...call) { seen.channels += 1; return Reflect.construct(...call); },
        });";
    let look = "return { ...seen, databases: (await indexedDB.databases()).length, stored: localStorage.length }";
    page.call::<()>(spy, json!([])).await?;
    page.call::<()>("await app.load()", json!([])).await?;
    let imported: SideEffects = page.call(look, json!([])).await?;
    assert_eq!(imported, SideEffects { compiled: 0, databases: 0, channels: 0, stored: 0 });

    page.call::<()>("await app.open()", json!([])).await?;
    let opened: SideEffects = page.call(look, json!([])).await?;
    assert!(opened.compiled > 0 && opened.databases == 1, "the spies see what there is: {opened:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_throws_harms_nobody_else() -> Result<()> {
    told_all_the_same("throws").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_calls_back_into_the_queue_harms_nobody() -> Result<()> {
    told_all_the_same("reenters").await
}

async fn told_all_the_same(listener: &str) -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let page = bench.page_with(json!({ "listener": listener })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!(settled.kind, "succeeded");
    let told = page.standings(&id).await?;
    assert_eq!(told, ["queued:not_sent", "sending:in_flight", "waiting:network", "sending:in_flight", "succeeded"]);
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    ledger.assert_one_key_per_intent(&[&settled.intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_scope_is_one_queue_however_often_it_is_opened() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let told: (bool, String, String, String) = page
        .call(
            "const { openQueue, generic } = await app.load();
             const options = { scope: 'shared', contract: generic, baseUrl: app.api };
             const [one, two] = await Promise.all([openQueue(options), openQueue(options)]);
             const other = await openQueue({ ...options, attemptDeadlineMs: 9_000 }).catch((error) => error.code);
             one.close();
             const after = await two.submit(args[0]).then((intent) => intent.receipt.durability);
             two.close();
             two.close();
             const closed = await two.submit(args[0]).catch((error) => error.code);
             return [one === two, other, after, closed];",
            json!([payment("order-842")]),
        )
        .await?;
    let expected = (true, "options_conflict".to_owned(), "strong".to_owned(), "closed".to_owned());
    assert_eq!(told, expected);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_nobody_waited_for_all_come_to_something() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let calls = "const calls = [];
        for (let n = 0; n < 20; n += 1) {
            const reference = `order-${n % 10}`;
            const body = { ...args[0].request.body, order: reference };
            calls.push(app.queue().submit({ ...args[0], reference, request: { ...args[0].request, body } }));
            calls.push(app.queue().intents());
            calls.push(app.queue().intent('unknown'));
        }
        const told = await Promise.all(calls);
        const intents = told.filter((_, n) => n % 3 === 0);
        const kinds = await Promise.all(intents.map(async (intent) => (await intent.settled()).kind));
        return [new Set(intents.map(({ id }) => id)).size, new Set(kinds).size, kinds[0]]";
    let told: (u32, u32, String) = page.call(calls, json!([payment("order-842")])).await?;
    assert_eq!(told, (10, 1, "succeeded".to_owned()));
    assert_eq!(bench.shop.ledger()?.tally().effects, 10);
    Ok(())
}

/// Nothing that a closed queue leaves behind (timers, events, requests) reaches what is no longer there.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_closed_in_the_middle_of_everything_leaves_nothing_behind() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    page.watch_instances().await?;
    let close_early = "const { openQueue, generic } = await app.load();
        const codes = new Set();
        for (let n = 0; n < 20; n += 1) {
            const queue = await openQueue({ scope: 'shopper', contract: generic, baseUrl: app.api });
            const reference = `order-${n}`;
            const body = { ...args[0].request.body, order: reference };
            const submitted = queue.submit({ ...args[0], reference, request: { ...args[0].request, body } });
            const waiting = submitted.then((intent) => intent.settled()).catch(({ code }) => codes.add(code));
            if (n % 2 === 0) await submitted;
            queue.close();
            queue.close();
            await waiting;
            codes.add(await queue.intents().catch(({ code }) => code));
        }
        window.dispatchEvent(new Event('online'));
        window.dispatchEvent(new Event('focus'));
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        return [...codes]";
    let codes: Vec<String> = page.call(close_early, json!([payment("order-842")])).await?;
    assert_eq!(codes, ["closed"]);
    assert_eq!(page.uncaught().await?, [""; 0]);
    assert_eq!(page.instances().await?, 1);
    Ok(())
}

/// Ten thousand failures, of every kind that reaches the module (hazard W11).
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_fail_leave_nothing_in_memory() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    page.watch_instances().await?;
    page.open(json!({ "authorize": "never" })).await?;
    let loop_of_failures = "const [paid] = args;
        const queue = app.queue();
        const intent = await queue.submit(paid);
        const failing = {
            url_foreign_origin: () => queue.submit({ ...paid, request: { ...paid.request, url: 'https://elsewhere.example/' } }),
            reference_too_long: () => queue.submit({ ...paid, reference: 'x'.repeat(257) }),
            body_too_large: () => queue.submit({ ...paid, reference: 'large', request: { ...paid.request, body: 'x'.repeat(256 * 1024 + 1) } }),
            reference_conflict: () => queue.submit({ ...paid, request: { ...paid.request, body: { amount: 1 } } }),
            not_reconcilable: () => intent.reconcile(),
            not_replaceable: () => intent.replace(paid.request, { reason: 'again' }),
            reason_invalid: () => intent.abandon({ reason: '' }),
        };
        const round = async () => {
            for (const [code, fail] of Object.entries(failing)) {
                const told = await fail().then(() => 'nothing', (error) => error.code);
                if (told !== code) throw new Error(`${told} and not ${code}`);
            }
        };
        const size = () => instances[0].exports.memory.buffer.byteLength;
        for (let n = 0; n < 100; n += 1) await round();
        const before = size();
        for (let n = 0; n < 1_400; n += 1) await round();
        return [before, size()]";
    let (before, after): (u64, u64) = page.call(loop_of_failures, json!([payment("order-842")])).await?;
    assert_eq!(after, before, "bytes of memory after 9 800 failures more");
    assert!(before <= 4 * 1024 * 1024, "{before} bytes");
    assert_eq!(page.instances().await?, 1);
    Ok(())
}

/// What the README shows first must work as it stands.
#[tokio::test(flavor = "multi_thread")]
async fn the_quick_start_of_the_readme_runs() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    let readme = include_str!("../../../../README.md");
    let block = readme.split("```ts\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    let (imports, code): (Vec<&str>, Vec<&str>) = block.lines().partition(|line| line.starts_with("import "));
    assert_eq!(imports.len(), 2, "the quick start imports the package and a contract");
    assert!(block.lines().filter(|line| !line.is_empty()).count() <= 10, "ten lines");
    let code = code.join("\n").replace("'https://api.shop.example'", "app.api");
    let setting = "const { openQueue, generic } = await app.load(); const user = { id: 'shopper' };";
    let kind: String = page.call(&format!("{setting}\n{code}\nreturn now.kind;"), json!([])).await?;
    assert_eq!(kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}
