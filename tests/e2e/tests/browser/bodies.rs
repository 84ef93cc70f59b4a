//! What an app can send beside JSON, and what makes it the same decision (P9).

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::told::Submitted;
use serde_json::{Value, json};

use crate::{charged_once, payment};

/// Submits a body of that kind, and says what SHA-256 its bytes have.
const SUBMIT: &str = "const bodies = {
        form: () => new URLSearchParams([['b', '2 é'], ['a', '1']]),
        text: () => 'plain \\u00fc, and {\"not\": json}',
        bytes: () => new Uint8Array([0, 255, 10, 13, 200]),
        buffer: () => new Uint8Array([9, 8, 7]).buffer,
    };
    const body = bodies[args[0]]();
    const bytes = await new Response(body).arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    const request = { method: 'POST', url: '/payments', body };
    const intent = await app.queue().submit({ operation: 'upload', reference: args[0], request });
    if (body instanceof Uint8Array) body.fill(1);
    const sha256 = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    return { sha256, id: intent.id };";

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_travel_on_every_attempt_whatever_they_are() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    for kind in ["form", "text", "bytes", "buffer"] {
        bench.shop.arm(json!({ "unavailable": 2, "retry_after_s": null })).await?;
        let before = bench.shop.ledger()?.wire().len();
        let made: Value = page.call(SUBMIT, json!([kind])).await?;
        eventually("three attempts", async || Ok((bench.shop.ledger()?.wire().len() >= before + 3).then_some(())))
            .await?;
        let ledger = bench.shop.ledger()?;
        for entry in &ledger.wire()[before..before + 3] {
            assert_eq!(entry.body_sha256.as_deref(), made["sha256"].as_str(), "{kind}");
        }
        // The server takes JSON only; this one need not go on.
        let give_up = "await (await app.queue().intent(args[0])).abandon({ reason: 'seen enough' });";
        page.call::<Value>(give_up, json!([made["id"]])).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_member_makes_no_other_decision() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let at = |time: u32, amount: u32| {
        let mut payment = payment("order-842");
        payment["request"]["body"]["client_ts"] = json!(time);
        payment["request"]["body"]["amount"] = json!(amount);
        payment["request"]["ignore"] = json!(["/client_ts"]);
        payment
    };
    let first = page.submit(at(1, 15_000)).await?;
    let again: Submitted = page.submit(at(2, 15_000)).await?;
    assert_eq!((again.intent.id, again.created), (first.intent.id.clone(), false));
    let other = page.failure("return app.submit(args[0])", json!([at(1, 15_001)])).await?;
    assert_eq!(other.code.as_deref(), Some("reference_conflict"));
    assert_eq!(page.settled(&first.intent.id).await?.kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}
