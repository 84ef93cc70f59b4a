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
