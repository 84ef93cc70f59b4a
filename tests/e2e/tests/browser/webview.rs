//! A page in a native app's webview: its intents are on the native side, over a bridge, and the app hears what becomes of
//! them.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::native_host::NativeHost;
use e2e::page::Page;
use e2e::site::Site;
use serde_json::{Value, json};
use thirtyfour::By;

use crate::crashes::{charged_without_answer, is_finished_with_the_same_key, options};
use crate::{charged_once, payment, untouched};

/// The app has heard of one outcome, and of no more later.
async fn was_told_once(host: &NativeHost, id: &str) -> Result<()> {
    let told = eventually("the app is told", async || {
        let known: Value = host.ask("/told", json!({})).await?;
        Ok(Some(known).filter(|known| !known["told"].as_array().is_none_or(Vec::is_empty)))
    })
    .await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let later: Value = host.ask("/told", json!({})).await?;
    assert_eq!(later["told"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["told"][0]["intent"]["id"], id);
    assert_eq!(told["told"][0]["kind"], "succeeded");
    assert_eq!(told["told"][0]["answer"], json!({ "status": 201, "resource": null }), "and not the answer's body");
    Ok(())
}

/// A shop, and an app with a webview for its page. A webview runs its app's scripts whatever policy the page has; here the
/// page runs them, and has none.
struct App {
    bench: Bench,
    site: Site,
    host: NativeHost,
}

impl App {
    async fn start() -> Result<Self> {
        let mut bench = Bench::start().await?;
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/react-native/page");
        let site = bench.site_with(vec![("/example", example)]).await?;
        bench.shop.admit(&site.origin).await?;
        let host = NativeHost::start(&site.origin).await?;
        Ok(Self { bench, site, host })
    }

    /// In a process of its own.
    async fn blank_webview(&self) -> Result<Page> {
        let driver = self.bench.browser.driver()?;
        Page::visit(driver, driver.new_tab().await?, self.bench.shop.page_url_at(&self.site.origin)).await
    }

    async fn webview(&self) -> Result<Page> {
        let page = self.blank_webview().await?;
        self.host.shows(&page, options()).await?;
        Ok(page)
    }
}

/// Hazard L12: react-native-webview#2199, #3062.
#[tokio::test(flavor = "multi_thread")]
async fn l12_a_content_process_that_dies_after_the_charge() -> Result<()> {
    let app = App::start().await?;
    let (bench, host) = (&app.bench, &app.host);
    let survivor = app.blank_webview().await?;
    let page = app.webview().await?;
    let id = charged_without_answer(bench, &page).await?;
    page.crash().await?;
    assert!(host.ask::<bool>("/restart", json!({})).await?);
    host.shows(&survivor, options()).await?;
    is_finished_with_the_same_key(bench, &survivor, &id).await?;
    was_told_once(host, &id).await?;
    let known: Value = host.ask("/command", json!({ "verb": "intents" })).await?;
    assert_eq!(known[0]["id"], id.as_str());
    assert_eq!(known[0]["state"], "succeeded");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_is_killed_with_its_page_after_the_charge() -> Result<()> {
    let mut app = App::start().await?;
    let survivor = app.blank_webview().await?;
    let page = app.webview().await?;
    let id = charged_without_answer(&app.bench, &page).await?;
    page.crash().await?;
    app.host.kill_and_start().await?;
    app.host.shows(&survivor, options()).await?;
    is_finished_with_the_same_key(&app.bench, &survivor, &id).await?;
    was_told_once(&app.host, &id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_background_nothing_begins_and_in_front_it_does() -> Result<()> {
    let app = App::start().await?;
    let (bench, host) = (&app.bench, &app.host);
    let page = app.webview().await?;
    page.call::<Value>("window.heard = []; for (const [of, event] of [[document, 'freeze'], [document, 'resume'], [window, 'offline'], [window, 'online']]) of.addEventListener(event, () => heard.push(event));", json!([])).await?;
    let hears = async |what: Value| {
        eventually(&format!("the page hears {what}"), async || {
            let heard: Value = page.call("return window.heard", json!([])).await?;
            Ok((heard == what).then_some(()))
        })
        .await
    };
    host.ask::<Value>("/state", json!({ "active": false })).await?;
    hears(json!(["freeze"])).await?;
    let submitted = page.submit(payment("order-842")).await?;
    assert_eq!(submitted.durability, "strong_relaxed");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    host.ask::<Value>("/state", json!({ "active": true })).await?;
    let settled = page.settled(&submitted.intent.id).await?;
    assert_eq!(settled.kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    host.ask::<Value>("/state", json!({ "connected": false })).await?;
    hears(json!(["freeze", "resume", "offline"])).await?;
    host.ask::<Value>("/state", json!({ "connected": true })).await?;
    hears(json!(["freeze", "resume", "offline", "online"])).await
}

/// The app cancels what waits in the page; two webviews of an app know the same intents.
#[tokio::test(flavor = "multi_thread")]
async fn the_app_steers_what_another_webview_has_stored() -> Result<()> {
    let mut app = App::start().await?;
    app.bench.shop.close_api().await?;
    let first = app.webview().await?;
    let id = first.submit(payment("order-842")).await?.intent.id;
    first.leave_for("about:blank").await?;
    app.host.kill_and_start().await?;
    let second = app.webview().await?;
    assert!(!second.submit(payment("order-842")).await?.created, "the same reference is the same intent");
    assert!(app.host.ask::<bool>("/command", json!({ "verb": "cancel", "id": id })).await?);
    let refused = app.host.ask::<Value>("/command", json!({ "verb": "resume", "id": id })).await;
    assert!(refused.is_err_and(|error| error.to_string().contains(r#""code":"failed""#)));
    app.bench.shop.open_api().await?;
    assert_eq!(second.snapshot(&id).await?.state, "cancelled");
    Ok(())
}

/// The page of `examples/react-native`, as it stands.
#[tokio::test(flavor = "multi_thread")]
async fn the_example_s_page_pays_once_though_the_answer_is_lost() -> Result<()> {
    let app = App::start().await?;
    let driver = app.bench.browser.driver()?;
    app.bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let (site, api, host) = (&app.site.origin, app.bench.shop.api(), app.host.address());
    driver.goto(format!("{site}/webview-example.html?api={api}&host={host}")).await?;
    let shows = async |what: &str| {
        eventually(&format!("the page says {what}"), async || {
            let said = driver.find(By::Id("status")).await?.text().await?;
            Ok((said == what).then_some(()))
        })
        .await
    };
    shows("ready").await?;
    driver.find(By::Id("pay")).await?.click().await?;
    shows("succeeded").await?;
    assert_eq!(app.bench.shop.ledger()?.tally(), charged_once(2));
    let known: Value = app.host.ask("/command", json!({ "verb": "intents" })).await?;
    was_told_once(&app.host, known[0]["id"].as_str().unwrap_or_default()).await
}
