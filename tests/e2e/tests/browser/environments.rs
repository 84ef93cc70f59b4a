//! Platforms that lack or refuse what intento needs: a typed error with the remedy, and nothing stored or sent.

use std::path::PathBuf;

use anyhow::Result;
use e2e::bench::{Bench, package};
use e2e::site::Site;
use e2e::told::Failure;
use serde_json::{Value, json};

use crate::bad_input::{assert_nothing_happened, assert_typed};
use crate::{charged_once, payment};

/// What a platform lacks is taken away before the package is loaded; loading it never throws.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_platform_is_named() -> Result<()> {
    let missing = [
        ("entropy_unavailable", "Object.defineProperty(window, 'crypto', { value: undefined })"),
        ("entropy_unavailable", "Object.defineProperty(crypto, 'getRandomValues', { value: undefined })"),
        ("entropy_unavailable", "crypto.getRandomValues = () => { throw new Error('no entropy') }"),
        (
            "storage_unavailable",
            "for (const name of ['indexedDB', 'localStorage']) Object.defineProperty(window, name, { value: null })",
        ),
        (
            "storage_unavailable",
            "for (const name of ['indexedDB', 'localStorage', 'sessionStorage', 'caches']) {
                Object.defineProperty(window, name, { get() { throw new DOMException('no', 'SecurityError') } });
             }",
        ),
        // Firefox with network.cookie.cookieBehavior=2, measured: everything is there, and refuses.
        (
            "storage_unavailable",
            "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } });
             IDBFactory.prototype.open = () => { throw new DOMException('refused', 'SecurityError') };
             LockManager.prototype.request = async () => { throw new DOMException('refused', 'SecurityError') }",
        ),
        // iOS Lockdown Mode.
        (
            "wasm_unavailable",
            "delete window.WebAssembly; Object.defineProperty(window, 'indexedDB', { value: undefined })",
        ),
    ];
    let bench = Bench::start().await?;
    for (code, take_away) in missing {
        let page = bench.blank_page().await?;
        page.call::<()>(take_away, json!([])).await?;
        page.call::<()>("await import('/pkg/index.js')", json!([])).await?;
        assert_typed(&page.failure("await app.open()", json!([])).await?, code, take_away);
    }
    let page = bench.blank_page().await?;
    assert_nothing_happened(&bench, &page).await
}

/// The remedy is for what is the matter.
#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_cannot_start_says_why() -> Result<()> {
    let refused = [
        ("new WebAssembly.CompileError('refused')", "'wasm-unsafe-eval' to script-src"),
        ("new EvalError('refused')", "'wasm-unsafe-eval' to script-src"),
        ("new RangeError('could not allocate memory')", "no memory: close other tabs"),
    ];
    let bench = Bench::start().await?;
    for step in ["compile", "instantiate"] {
        for (error, remedy) in refused {
            let page = bench.blank_page().await?;
            let refuse =
                format!("window.real = WebAssembly.{step}; WebAssembly.{step} = async () => {{ throw {error} }}");
            page.call::<()>(&refuse, json!([])).await?;
            let failure = page.failure("await app.open()", json!([])).await?;
            assert_typed(&failure, "wasm_unavailable", error);
            assert!(failure.message.contains(remedy), "{error}: {}", failure.message);
            // A later try is a new one.
            page.call::<()>(&format!("WebAssembly.{step} = real; await app.open()"), json!([])).await?;
            assert_eq!(page.intents().await?, []);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_without_the_directive_is_named() -> Result<()> {
    let bench = Bench::start().await?;
    let policy = "default-src 'self'; script-src 'self'";
    let site = bench.site(&[("Content-Security-Policy", policy)]).await?;
    let page = bench.blank_page_at(&site.origin).await?;
    let failure = page.failure("await app.open()", json!([])).await?;
    assert_typed(&failure, "wasm_unavailable", policy);
    assert!(failure.message.contains("add 'wasm-unsafe-eval' to script-src"), "{}", failure.message);
    assert!(failure.printed.contains("CompileError"), "the browser's own words are the cause: {}", failure.printed);
    assert_nothing_happened(&bench, &page).await
}

/// As in a sandboxed frame, a data: page or a webview whose HTML has no base URL.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_without_an_origin_is_told_what_it_needs() -> Result<()> {
    let bench = Bench::start().await?;
    let pages = tempfile::TempDir::with_prefix("intento-opaque-")?;
    std::fs::write(pages.path().join("index.html"), "<!doctype html><title>opaque</title>")?;
    let folders: Vec<(&str, PathBuf)> = vec![("/pkg", package()?), ("/", pages.path().to_owned())];
    let headers = [("Content-Security-Policy", "sandbox allow-scripts"), ("Access-Control-Allow-Origin", "*")];
    let site = Site::open(folders, &headers).await?;
    let driver = bench.browser.driver()?;
    driver.goto(&site.origin).await?;
    let open = "return (async () => {
        const [{ openQueue }, { generic }] = await Promise.all([import('/pkg/index.js'), import('/pkg/contracts.js')]);
        const error = await openQueue({ scope: 'shopper', contract: generic, baseUrl: arguments[0] }).catch((error) => error);
        const { name, code, blame, remedy, message } = error;
        return { origin, error: { name, code, blame, remedy, message, printed: String(error) } };
    })()";
    let told = driver.execute(open, vec![json!(bench.shop.api())]).await?;
    assert_eq!(told.json()["origin"], "null");
    let failure: Failure = serde_json::from_value(told.json()["error"].clone())?;
    assert_typed(&failure, "storage_unavailable", "an opaque origin");
    assert!(failure.message.contains("in a React Native WebView, give source a baseUrl"), "{}", failure.message);
    Ok(())
}

/// The canary's storage may be missing, or refuse: nothing depends on it.
#[tokio::test(flavor = "multi_thread")]
async fn a_local_storage_that_is_null_or_refuses_is_done_without() -> Result<()> {
    let blocked = [
        "Object.defineProperty(window, 'localStorage', { value: null })",
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } })",
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }",
    ];
    for (index, block) in blocked.into_iter().enumerate() {
        let bench = Bench::start().await?;
        let mut page = bench.blank_page().await?;
        page.call::<()>(block, json!([])).await?;
        page.open(json!({ "quiet": true })).await?;
        let submitted = page.submit(payment(&format!("order-{index}"))).await?;
        assert_eq!(submitted.durability, "strong");
        let kind: String = page
            .call("return (await (await app.queue().intent(args[0])).settled()).kind", json!([submitted.intent.id]))
            .await?;
        assert_eq!(kind, "succeeded", "{block}");
    }
    Ok(())
}

/// Neither locks nor `randomUUID`, as on a plain http origin that is not loopback.
#[tokio::test(flavor = "multi_thread")]
async fn a_plain_http_page_works_with_what_it_has() -> Result<()> {
    let mut bench = Bench::start().await?;
    let origin = bench.shop.page_origin().replace("localhost", "shop.test");
    bench.shop.admit(&origin).await?;
    let mut page = bench.blank_page_at(&origin).await?;
    let has: Value = page
        .call(
            "return [isSecureContext, typeof navigator.locks, typeof crypto.randomUUID, typeof crypto.getRandomValues]",
            json!([]),
        )
        .await?;
    assert_eq!(has, json!([false, "undefined", "undefined", "function"]));
    page.open(json!({})).await?;
    let submitted = page.submit(payment("order-842")).await?;
    assert_eq!(page.settled(&submitted.intent.id).await?.kind, "succeeded");
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(1));
    ledger.assert_one_key_per_intent(&[&submitted.intent]);
    Ok(())
}
