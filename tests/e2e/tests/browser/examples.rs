//! The examples do what they say.

use anyhow::Result;
use e2e::bench::Bench;
use e2e::eventually;
use e2e::example::{Example, click, install, run, says, tool};
use serde_json::json;
use thirtyfour::WebDriver;
use tokio::sync::OnceCell;

use crate::charged_once;

const PAID: &str = "Paid. Thank you!";

/// Built; installed, and its types checked, once before.
async fn react(bench: &mut Bench) -> Result<Example> {
    react_is_installed().await?;
    Example::built(bench, "react").await
}

async fn react_is_installed() -> Result<()> {
    static READY: OnceCell<()> = OnceCell::const_new();
    let ready = || async {
        install("react")?;
        run(tool("npx", "react").args(["tsc", "--noEmit"]))
    };
    READY.get_or_try_init(ready).await.copied()
}

async fn charged(bench: &Bench, wire: i64) -> Result<()> {
    eventually(
        "the server has charged",
        async || Ok((bench.shop.ledger()?.tally() == charged_once(wire)).then_some(())),
    )
    .await
}

async fn script(driver: &WebDriver, script: &str) -> Result<serde_json::Value> {
    Ok(driver.execute(script, vec![]).await?.json().clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn vanilla_a_declined_card_another_one_a_lost_answer_and_a_reload() -> Result<()> {
    let mut bench = Bench::start().await?;
    let example = Example::plain(&mut bench, "vanilla").await?;
    example.visit(&bench, "").await?;
    let driver = bench.browser.driver()?;
    says(driver, "Not paid yet.").await?;
    script(driver, "document.getElementById('card').value = 'tok_declined'").await?;
    click(driver).await?;
    says(driver, "The card was declined. You were not charged. Use another card.").await?;
    assert_eq!(bench.shop.ledger()?.tally().effects, 0);
    script(driver, "document.getElementById('card').value = 'tok_visa'").await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    click(driver).await?;
    eventually("the server has charged", async || Ok((bench.shop.ledger()?.tally().effects == 1).then_some(())))
        .await?;
    example.visit(&bench, "").await?;
    says(driver, PAID).await?;
    assert_eq!(bench.shop.ledger()?.tally().effects, 1);
    Ok(())
}

/// The answer that was lost is a line of its own: the app's `fetch` has carried both attempts.
#[tokio::test(flavor = "multi_thread")]
async fn own_fetch_carries_every_attempt() -> Result<()> {
    let mut bench = Bench::start().await?;
    let example = Example::plain(&mut bench, "own-fetch").await?;
    example.visit(&bench, "").await?;
    let driver = bench.browser.driver()?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    click_when_ready(driver).await?;
    says(driver, PAID).await?;
    let lines =
        script(driver, "return [...document.querySelectorAll('li')].map((line) => line.textContent.split(',')[0])")
            .await?;
    let lines: Vec<&str> = lines.as_array().into_iter().flatten().filter_map(|line| line.as_str()).collect();
    let payments: Vec<&&str> = lines.iter().filter(|line| line.starts_with("POST")).collect();
    assert_eq!(payments, [&"POST /payments: nothing", &"POST /payments: 201"]);
    assert!(lines.contains(&"GET /health: 204"), "{lines:?}");
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(2));
    Ok(())
}

async fn click_when_ready(driver: &WebDriver) -> Result<()> {
    eventually("the queue is open", async || {
        let ready = script(driver, "return document.body.dataset.ready === 'yes'").await?;
        Ok((ready == true).then_some(()))
    })
    .await?;
    click(driver).await
}

#[tokio::test(flavor = "multi_thread")]
async fn service_worker_the_customer_leaves_and_comes_back_to_a_paid_order() -> Result<()> {
    let mut bench = Bench::start().await?;
    let example = Example::plain(&mut bench, "service-worker").await?;
    example.visit(&bench, "").await?;
    let driver = bench.browser.driver()?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    click_when_ready(driver).await?;
    charged(&bench, 1).await?;
    says(driver, "Not confirmed yet. You can close this page: it goes on by itself.").await?;
    driver.goto("about:blank").await?;
    charged(&bench, 2).await?;
    example.visit(&bench, "").await?;
    says(driver, PAID).await
}

#[tokio::test(flavor = "multi_thread")]
async fn react_a_lost_answer_and_a_reload_are_one_payment() -> Result<()> {
    let mut bench = Bench::start().await?;
    let example = react(&mut bench).await?;
    bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
    example.visit(&bench, "").await?;
    let driver = bench.browser.driver()?;
    says(driver, "Not paid yet.").await?;
    click(driver).await?;
    charged(&bench, 1).await?;
    says(driver, "Not confirmed yet. It goes on by itself.").await?;
    driver.refresh().await?;
    says(driver, PAID).await?;
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(2));
    Ok(())
}

/// In the build for development StrictMode mounts everything twice: the queue, too.
#[tokio::test(flavor = "multi_thread")]
async fn react_an_effect_that_runs_twice_and_a_reload_are_one_intent() -> Result<()> {
    let mut bench = Bench::start().await?;
    let example = react(&mut bench).await?;
    let driver = bench.browser.driver()?;
    for _ in 0..2 {
        example.visit(&bench, "&approved").await?;
        says(driver, PAID).await?;
        assert_eq!(script(driver, "return document.querySelectorAll('li').length").await?, 1);
    }
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}

/// The second click comes before React could disable the button.
#[tokio::test(flavor = "multi_thread")]
async fn react_a_double_click_is_one_payment_and_another_tab_shows_it() -> Result<()> {
    let mut bench = Bench::start().await?;
    let example = react(&mut bench).await?;
    example.visit(&bench, "").await?;
    let driver = bench.browser.driver()?;
    says(driver, "Not paid yet.").await?;
    let (first, second) = (driver.window().await?, driver.new_tab().await?);
    driver.switch_to_window(second.clone()).await?;
    example.visit(&bench, "").await?;
    says(driver, "Not paid yet.").await?;
    driver.switch_to_window(first).await?;
    let twice = "const button = document.querySelector('button:enabled');
         for (const click of [1, 2]) button.dispatchEvent(new MouseEvent('click', { bubbles: true }));";
    script(driver, twice).await?;
    says(driver, PAID).await?;
    driver.switch_to_window(second).await?;
    says(driver, PAID).await?;
    assert_eq!(script(driver, "return document.querySelectorAll('li').length").await?, 1);
    assert_eq!(bench.shop.ledger()?.tally(), charged_once(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn react_a_server_renders_the_hooks() -> Result<()> {
    react_is_installed().await?;
    run(tool("node", "react").args(["--test", "test/"]))
}
