//! Law 11: key, payload, headers and answers appear in no error, no event, no snapshot and no log.

use anyhow::Result;
use e2e::bench::Bench;
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
