//! Law 11: key, payload, headers and answers appear in no error, no event, no snapshot and no log.

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::told::Snapshot;
use serde_json::{Value, json};

const BODY: &str = "tok_canarybody";
const HEADER: &str = "canary-header-value";
const QUERY: &str = "canary-query-value";

fn payment(url: &str, card: &str) -> Value {
    json!({
        "operation": "authorize-payment",
        "reference": "order-842",
        "request": {
            "method": "POST",
            "url": url,
            "headers": { "Accept-Language": HEADER },
            "body": { "amount": 15_000, "currency": "BRL", "card": card },
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_sensitive_in_strings() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1, "html": 1 })).await?;
    let page = bench.page_with(json!({ "listener": "throws" })).await?;
    let url = format!("/payments?hint={QUERY}");
    let id = page.submit(payment(&url, BODY)).await?.intent.id;
    let settled = page.settled(&id).await?;
    assert_eq!(settled.kind, "succeeded");

    let ledger = bench.shop.ledger()?;
    let key = ledger.wire()[0].key.clone().expect("the server saw a key");
    let receipt = settled.answer.as_ref().and_then(|answer| answer.body["id"].as_str()).expect("a receipt").to_owned();
    let canaries = [BODY, HEADER, QUERY, &key, &receipt];

    let submit = "await app.queue().submit(args[0])";
    let conflict = page.failure(submit, json!([payment(&url, "tok_canarybody2")])).await?;
    assert_eq!(conflict.code.as_deref(), Some("reference_conflict"));
    let foreign = format!("https://elsewhere.example/?hint={QUERY}");
    let foreign = page.failure(submit, json!([payment(&foreign, BODY)])).await?;
    assert_eq!(foreign.code.as_deref(), Some("url_foreign_origin"));
    let unstorable =
        "args[0].request.body.note = { [args[0].request.body.card]: NaN, card: args[0].request.body.card };
        delete args[0].request.body.note[args[0].request.body.card];
        args[0].request.body.note.amount = NaN;
        await app.queue().submit(args[0])";
    let unstorable = page.failure(unstorable, json!([payment(&url, BODY)])).await?;
    assert_eq!(unstorable.code.as_deref(), Some("body_unstorable"));
    let mut bad_header = payment(&url, BODY);
    bad_header["request"]["headers"]["X-Note"] = json!(format!("{HEADER}\n"));
    let bad_header = page.failure(submit, json!([bad_header])).await?;
    assert_eq!(bad_header.code.as_deref(), Some("header_invalid"));

    let told: Value = page.call("return app.told()", json!([])).await?;
    let listed: Value = page.call("return app.intents()", json!([])).await?;
    let console = bench.browser.console().await?;
    assert!(console.iter().any(|line| line.contains("a listener of the app failed")), "the log is read: {console:?}");
    let places = [
        ("events and settled()", told.to_string()),
        ("the list of intents", listed.to_string()),
        ("reference_conflict", format!("{} {:?}", conflict.printed, conflict.existing)),
        ("url_foreign_origin", foreign.printed),
        ("body_unstorable", unstorable.printed),
        ("header_invalid", bad_header.printed),
        ("the console", console.join("\n")),
    ];
    for (place, text) in places {
        for canary in canaries {
            assert!(!text.contains(canary), "{canary} appears in {place}: {text}");
        }
    }
    Ok(())
}

/// Everything that the page's origin keeps, as one text: every row of every store, and localStorage.
const STORED: &str = "
    const asked = (request) => new Promise((done, failed) => {
        request.onsuccess = () => done(request.result);
        request.onerror = () => failed(request.error);
    });
    const rows = [];
    for (const { name } of globalThis.indexedDB ? await indexedDB.databases() : []) {
        const database = await asked(indexedDB.open(name));
        for (const store of database.objectStoreNames) {
            rows.push(store, ...(await asked(database.transaction(store).objectStore(store).getAll())));
        }
        database.close();
    }
    return JSON.stringify([rows, { ...localStorage }]);";

/// P8.3: somebody signs out of a device that others use, with one payment done, one unknown and one never sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_purge_leaves_no_byte_of_it_in_storage() -> Result<()> {
    for without in [None, Some("indexedDB")] {
        let bench = Bench::start().await?;
        let mut page = bench.blank_page().await?;
        if let Some(name) = without {
            page.do_without(name).await?;
        }
        page.open(json!({})).await?;
        let url = format!("/payments?hint={QUERY}");
        let order = |order: &str| {
            let mut payment = payment(&url, BODY);
            payment["reference"] = json!(order);
            payment
        };
        let done = page.submit(order("done")).await?.intent.id;
        let receipt = page.settled(&done).await?.answer.expect("an answer").body["id"].to_string();
        bench.shop.arm(json!({ "drop_after_commit": 40 })).await?;
        let unknown = page.submit(order("unknown")).await?.intent.id;
        eventually("its first answer is lost", async || {
            Ok((page.snapshot(&unknown).await?.state == "waiting").then_some(()))
        })
        .await?;
        let keys: Vec<String> = bench.shop.ledger()?.wire().iter().filter_map(|entry| entry.key.clone()).collect();
        let canaries: Vec<&str> = [BODY, HEADER, QUERY, receipt.trim_matches('"')]
            .into_iter()
            .chain(keys.iter().map(String::as_str))
            .collect();
        let before: String = page.call(STORED, json!([])).await?;
        assert!(canaries.iter().all(|canary| before.contains(canary)), "all of it is there to be found: {before}");

        let dropped: Vec<Snapshot> = page.call("return app.queue().purge()", json!([])).await?;
        let states: Vec<&str> = dropped.iter().map(|intent| intent.state.as_str()).collect();
        assert_eq!(states.len(), 2, "{states:?}");
        let after: String = page.call(STORED, json!([])).await?;
        for canary in &canaries {
            assert!(!after.contains(canary), "{canary} is still there: {after}");
        }
        let again = page.submit(order("unknown")).await?;
        assert_eq!((again.created, again.intent.state.as_str()), (false, "abandoned"));
        let again = page.submit(order("done")).await?;
        assert_eq!((again.created, again.intent.state.as_str()), (false, "succeeded"), "and is not paid again");
        let nothing: Vec<Snapshot> = page.call("return app.queue().purge()", json!([])).await?;
        assert!(nothing.is_empty(), "what is gone is not listed again");
    }
    Ok(())
}

/// Opens queues whose callbacks see everything and throw it, and keeps all that intento says: what the console, events,
/// the page's errors and every `IntentoError` say.
const WATCH: &str = "
    const { openQueue, generic } = await app.load();
    const said = [];
    const printed = (error) => app.failure(error).printed + JSON.stringify(error) + String(error);
    for (const level of ['debug', 'log', 'info', 'warn', 'error', 'trace', 'dir', 'table', 'assert']) {
        const real = console[level].bind(console);
        console[level] = (...words) => { said.push(`console.${level} ${words.map(printed)}`); real(...words); };
    }
    addEventListener('error', ({ error, message }) => said.push(`error ${message} ${printed(error)}`));
    addEventListener('unhandledrejection', ({ reason }) => said.push(`unhandledrejection ${printed(reason)}`));
    window.said = said;
    window.queues = {};
    const thrown = async (seen) => { throw new Error(JSON.stringify(seen)); };
    const headers = { Authorization: 'Bearer user:canary-authorize' };
    const opened = async (scope, options) => {
        const queue = await openQueue({
            scope, contract: generic, baseUrl: app.api, probeUrl: `${app.api}/health`,
            authorize: () => ({ scope, headers }),
            prepare: () => ({ headers: { 'Content-Language': 'canary-prepare' } }),
            onOutcome: { 'authorize-payment': thrown },
            ...options,
        });
        for (const event of ['change', 'storage_lost', 'degraded']) {
            queue.on(event, (value) => said.push(`${event} ${JSON.stringify(value)}`));
        }
        queues[scope] = queue;
    };
    await opened('plain', {});
    await opened('asks', { reconcile: thrown });
    await opened('prepares', { prepare: thrown, authorize: () => ({ scope: 'prepares' }) });
    await opened('refused', { authorize: () => { throw new Error(JSON.stringify(headers)); } });
    const rows = new Map();
    const names = (all) => all.map((name) => rows.get(name) ?? null);
    const store = (commit) => ({ durability: 'weak', read: async (all) => names(all), scan: async () => [], commit });
    await opened('rejects', { store: store(thrown.bind(null, 'x')) }).catch((error) => said.push(`open ${printed(error)}`));
    const breaks = store(async (expected, changes) => {
        if (JSON.stringify(changes).includes('canary-body')) throw new Error(JSON.stringify(changes));
        for (const [name, row] of Object.entries(changes)) rows.set(name, row);
        return true;
    });
    await opened('breaks', { store: breaks });
    window.tell = async (call) => {
        try {
            return await call();
        } catch (error) {
            said.push(printed(error));
            return error.code;
        }
    };
    window.look = async () => {
        for (const queue of Object.values(queues)) {
            said.push(`diagnostics ${JSON.stringify(await queue.diagnostics({ references: true }))}`);
            said.push(`doctor ${JSON.stringify(await queue.doctor())}`);
            said.push(`intents ${JSON.stringify(await queue.intents())}`);
        }
        return said;
    };";

/// Submits to a queue, waits as long for what becomes of it, and says what that is, or the code of the error.
const SUBMIT: &str = "
    const [scope, submission, within] = args;
    return tell(async () => {
        const intent = await queues[scope].submit(submission);
        const { kind } = await intent.settled({ within });
        said.push(`snapshot ${JSON.stringify(intent.snapshot)} ${JSON.stringify(intent)} ${String(intent)}`);
        return kind;
    });";

/// Law 11 over everything that can go wrong: nothing that the app or the server put in comes out but where it is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn canaries_come_out_nowhere() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    page.watch_instances().await?;
    page.call::<()>(crate::deaths::KILL, json!([])).await?;
    page.call::<()>(WATCH, json!([])).await?;
    let order = |order: &str, card: &str| {
        let mut payment = payment(&format!("/payments?hint={QUERY}"), card);
        payment["reference"] = json!(order);
        payment
    };
    let submit = async |scope: &str, name: &str, card: &str, within_ms: u32| {
        page.call::<String>(SUBMIT, json!([scope, order(name, card), within_ms])).await
    };
    const CARD: &str = "tok_canary-body";
    bench.shop.arm(json!({ "drop_after_commit": 1, "html": 1 })).await?;
    assert_eq!(submit("plain", "success", CARD, 30_000).await?, "succeeded");
    bench.shop.arm(json!({ "decline": 1 })).await?;
    assert_eq!(submit("plain", "refusal", CARD, 30_000).await?, "rejected");
    assert_eq!(submit("plain", "success", "tok_canary-body-2", 0).await?, "reference_conflict");
    bench.shop.arm(json!({ "unauthorized": 2 })).await?;
    assert_eq!(submit("plain", "hold", CARD, 30_000).await?, "held");
    bench.shop.arm(json!({ "drop_before_handler": 1 })).await?;
    assert_eq!(submit("plain", "network", CARD, 30_000).await?, "succeeded");
    for refused in ["4242424242424242", "tok_canary-body 4242 4242 4242 4242"] {
        assert_eq!(submit("plain", "card", refused, 0).await?, "card_data");
    }
    // What the app's own code throws holds all that it is given.
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    assert_eq!(submit("asks", "asked", CARD, 500).await?, "pending");
    let asks = "const [intent] = await queues.asks.intents();
        return tell(async () => (await (await queues.asks.intent(intent.id)).reconcile({ within: 1_000 })).kind);";
    assert_eq!(page.call::<String>(asks, json!([])).await?, "pending");
    assert_eq!(submit("prepares", "prepared", CARD, 500).await?, "pending");
    assert_eq!(submit("refused", "authorized", CARD, 500).await?, "pending");
    let failed = submit("breaks", "stored", CARD, 0).await?;
    assert!(["storage_failed", "commit_unknown"].contains(&failed.as_str()), "{failed}");
    // Engines die with everything in their memory, by a trap and by an error that goes through.
    for (deaths, how) in [(1, "memory"), (2, "clock")] {
        bench.shop.arm(json!({ "hang_after_commit": 40 })).await?;
        assert_eq!(submit("plain", &format!("death by {how}"), CARD, 500).await?, "pending");
        page.call::<()>("kill(args[0])", json!([how])).await?;
        // What is overwritten may run on for some calls, and say anything.
        let dead = "dispatchEvent(new Event('online')); return (await queues.plain.diagnostics()).engineDeaths";
        eventually("the engine is dead", async || {
            Ok((page.call::<u32>(dead, json!([])).await? == deaths).then_some(()))
        })
        .await?;
    }

    let said: Vec<String> = page.call("return look()", json!([])).await?;
    let listened = |what: &str| said.iter().any(|line| line.contains(what));
    for place in [
        "change {",
        "degraded {",
        "diagnostics {",
        "doctor [",
        "snapshot {",
        "engine_dead",
        "reference_conflict",
        "card_data",
    ] {
        assert!(listened(place), "nothing was kept of {place:?}: {said:#?}");
    }
    let mut canaries: Vec<String> =
        ["canary-body", "canary-authorize", "canary-prepare", HEADER, QUERY, "4242424242424242", "4242 4242"]
            .map(str::to_owned)
            .to_vec();
    canaries.extend(bench.shop.ledger()?.wire().iter().filter_map(|entry| entry.key.clone()));
    let receipt = "const [done] = await queues.plain.intents({ state: 'succeeded' });
        return (await (await queues.plain.intent(done.id)).settled()).answer.body.id";
    canaries.push(page.call(receipt, json!([])).await?);
    let console = bench.browser.console().await?;
    for canary in &canaries {
        let leaks: Vec<&String> = said.iter().chain(&console).filter(|line| line.contains(canary.as_str())).collect();
        assert!(leaks.is_empty(), "{canary} came out: {leaks:#?}");
    }
    Ok(())
}
