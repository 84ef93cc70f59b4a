//! What `doctor()` and `diagnostics()` say of a setup, and that asking has no effect.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::bench::Bench;
use e2e::page::Page;
use e2e::relay::{Relay, Spoiled};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::payment;
use crate::reports::page_behind;

#[derive(Debug, Deserialize)]
struct Finding {
    code: String,
    level: String,
    what: String,
    remedy: Option<String>,
}

/// The findings by code. Each says what was seen, and what to do where something is to be done.
async fn asked(page: &Page) -> Result<BTreeMap<String, Finding>> {
    let findings: Vec<Finding> = page.call("return app.queue().doctor()", json!([])).await?;
    for Finding { code, level, what, remedy } in &findings {
        assert!(what.ends_with('.'), "{code}: {what}");
        let sentence = remedy.as_ref().is_some_and(|remedy| remedy.ends_with('.'));
        assert_eq!(level != "ok", sentence, "{code} ({level}): {remedy:?}");
    }
    Ok(findings.into_iter().map(|finding| (finding.code.clone(), finding)).collect())
}

fn levels(findings: &BTreeMap<String, Finding>) -> Vec<(&str, &str)> {
    findings.values().map(|finding| (finding.code.as_str(), finding.level.as_str())).collect()
}

#[track_caller]
fn assert_level(findings: &BTreeMap<String, Finding>, code: &str, level: &str) {
    assert_eq!(findings.get(code).map(|finding| finding.level.as_str()), Some(level), "{code}: {findings:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_setup_is_found_sound_and_nothing_is_sent_but_get() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let watch = "const real = window.fetch;
        window.sent = [];
        window.fetch = (url, init = {}) => { sent.push(init.method ?? 'GET'); return real(url, init); }";
    page.call::<()>(watch, json!([])).await?;
    let findings = asked(&page).await?;
    let sound = [
        "broadcast",
        "clock",
        "exposed_headers",
        "held",
        "key_header",
        "locks",
        "probe",
        "quota",
        "reachable",
        "retention",
        "service_worker",
        "tier",
    ];
    for code in sound {
        assert_level(&findings, code, "ok");
    }
    assert_eq!(findings.len(), sound.len() + 1, "and whether the browser may evict: {:?}", levels(&findings));
    assert!(findings.contains_key("persistence"));
    let sent: Vec<String> = page.call("return sent", json!([])).await?;
    assert!(!sent.is_empty() && sent.iter().all(|method| method == "GET" || method == "HEAD"), "{sent:?}");
    assert_eq!(bench.shop.ledger()?.tally(), crate::untouched(0));
    Ok(())
}

/// superseriousbusiness/gotosocial#1664 (hazard N9).
#[tokio::test(flavor = "multi_thread")]
async fn n9_a_preflight_that_refuses_the_key_is_found() -> Result<()> {
    let bench = Bench::start().await?;
    let hides = vec!["access-control-allow-headers"];
    let relay = Relay::open(&bench.shop.api(), Spoiled { hides, ..Spoiled::default() }).await?;
    let findings = asked(&page_behind(&bench, &relay).await?).await?;
    assert_level(&findings, "probe", "ok");
    assert_level(&findings, "key_header", "error");
    let remedy = findings["key_header"].remedy.as_deref().unwrap_or_default();
    assert!(remedy.starts_with("Access-Control-Allow-Headers: Content-Type, Idempotency-Key."), "{remedy}");
    Ok(())
}

/// microsoftgraph/microsoft-graph-docs#17488 (hazard N8).
#[tokio::test(flavor = "multi_thread")]
async fn n8_headers_that_no_page_may_read_are_found() -> Result<()> {
    let bench = Bench::start().await?;
    let hides = vec!["access-control-expose-headers"];
    let relay = Relay::open(&bench.shop.api(), Spoiled { hides, ..Spoiled::default() }).await?;
    let findings = asked(&page_behind(&bench, &relay).await?).await?;
    assert_level(&findings, "key_header", "ok");
    assert_level(&findings, "exposed_headers", "warning");
    let remedy = findings["exposed_headers"].remedy.as_deref().unwrap_or_default();
    assert!(remedy.contains("Access-Control-Expose-Headers: Date, Retry-After, Idempotent-Replayed"), "{remedy}");
    assert!(!findings.contains_key("clock"), "no clock was seen");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_that_cors_does_not_let_be_read_is_no_server_that_is_down() -> Result<()> {
    let mut bench = Bench::start().await?;
    let hides = vec!["access-control-allow-origin"];
    let relay = Relay::open(&bench.shop.api(), Spoiled { hides, ..Spoiled::default() }).await?;
    let page = page_behind(&bench, &relay).await?;
    let findings = asked(&page).await?;
    assert_level(&findings, "reachable", "ok");
    assert_level(&findings, "probe", "error");
    assert!(!findings.contains_key("key_header"), "{:?}", levels(&findings));
    relay.mend();
    bench.shop.close_api().await?;
    let findings = asked(&page).await?;
    assert_level(&findings, "reachable", "error");
    assert!(!findings.contains_key("probe"), "{:?}", levels(&findings));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_forbids_the_api_is_found() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let forbid = "const policy = document.createElement('meta');
        policy.httpEquiv = 'Content-Security-Policy';
        policy.content = `connect-src 'self'`;
        document.head.append(policy);";
    page.call::<()>(forbid, json!([])).await?;
    let findings = asked(&page).await?;
    assert_level(&findings, "probe", "error");
    let remedy = findings["probe"].remedy.as_deref();
    assert_eq!(remedy, Some("Add that origin to connect-src."), "{:?}", levels(&findings));
    assert!(!findings.contains_key("reachable"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_late_short_or_held_is_found() -> Result<()> {
    let bench = Bench::start().await?;
    let mut page = bench.blank_page().await?;
    page.do_without("indexedDB").await?;
    page.do_without("BroadcastChannel").await?;
    page.set_clock_ahead(Duration::from_secs(3_600)).await?;
    let short = json!({ "extends": "generic", "id": "short", "retentionMs": 3_600_000, "marginMs": 60_000 });
    let options = json!({ "contract": short, "session": "cookie", "unboundCookies": true });
    page.load_again(options).await?;
    let findings = asked(&page).await?;
    for code in ["tier", "broadcast", "clock", "retention", "cookies"] {
        assert_level(&findings, code, "warning");
    }
    assert_level(&findings, "held", "ok");
    // The reference server takes no cookies from another origin.
    assert_level(&findings, "key_header", "error");

    let page = bench.second_tab(json!({ "scope": "held", "probe": false })).await?;
    bench.shop.arm(json!({ "unauthorized": 1 })).await?;
    let id = page.submit(payment("order-842")).await?.intent.id;
    assert_eq!(page.settled(&id).await?.kind, "held");
    let findings = asked(&page).await?;
    assert_level(&findings, "held", "warning");
    assert_eq!(findings["held"].what, "1 held: auth.");
    assert_level(&findings, "probe", "warning");
    Ok(())
}

/// What a support ticket needs, and neither the reference nor anything that travels.
#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_tell_what_is_unfinished_without_naming_anybody() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let done = page.submit(payment("order-841")).await?.intent.id;
    assert_eq!(page.settled(&done).await?.kind, "succeeded");
    bench.shop.arm(json!({ "drop_before_handler": 40 })).await?;
    let intent = page.submit(payment("order-842")).await?.intent;
    let waiting = page.reaches(&intent.id, "waiting:network").await?;

    let told: Value = page.call("return app.queue().diagnostics()", json!([])).await?;
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&told["durability"], &told["error"]), (&json!("strong"), &Value::Null));
    assert_eq!(told["counts"], json!({ "succeeded": 1, "waiting": 1 }));
    assert_eq!((&told["leftOut"], &told["engineDeaths"]), (&json!(0), &json!(0)));
    assert_eq!((&told["locks"], &told["broadcast"]), (&json!(true), &json!(true)));
    assert!(told["storage"]["quota"].as_u64().is_some_and(|quota| quota > 0), "{told}");
    let unfinished = told["unfinished"].as_array().context("a list")?;
    assert_eq!(unfinished.len(), 1);
    let one = &unfinished[0];
    assert_eq!((&one["id"], &one["keyHash"]), (&json!(intent.id), &json!(waiting.key_hash)));
    let hash = one["referenceHash"].as_str().unwrap_or_default();
    assert!(hash.len() == 12 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    let attempt = &one["attempts"][0];
    assert_eq!((&attempt["number"], &attempt["result"]), (&json!(1), &json!("network")));
    assert!(attempt["correlation"].as_str().is_some_and(|name| name.len() >= 16), "{attempt}");
    let text = told.to_string();
    for canary in ["order-842", "order-841", "tok_visa", "shopper"] {
        assert!(!text.contains(canary), "{canary} in {text}");
    }

    let named: Value = page.call("return app.queue().diagnostics({ references: true })", json!([])).await?;
    assert_eq!(named["unfinished"][0]["reference"], "order-842");
    assert_eq!(named["unfinished"][0]["referenceHash"], hash, "the same in each report");
    Ok(())
}
