//! The demo page of www/, read and pressed as a customer would.

use anyhow::{Context, Result};
use e2e::eventually;
use serde::Deserialize;
use thirtyfour::{By, WebDriver};

/// The checkout in a browser's tab.
pub(crate) struct Checkout {
    driver: WebDriver,
}

/// What the page shows of its order's payment.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Seen {
    /// The phrase that the status is one of, by name.
    pub(crate) standing: String,
    /// The phrase itself.
    pub(crate) status: String,
    pub(crate) key_hash: String,
    pub(crate) attempts: u64,
    /// Attempts that the page shows as lost on the line.
    pub(crate) lost: u64,
    /// The page shows an answer as a replay.
    pub(crate) replayed: bool,
}

impl Seen {
    /// The page waits for nothing any more.
    pub(crate) fn is_over(&self) -> bool {
        !["opening", "idle", "sending", "unknown", "offline", "unreachable", "accepted"]
            .contains(&self.standing.as_str())
    }
}

/// Null until the page shows a payment of its order.
const READ: &str = r#"
    const one = (selector) => document.querySelector(selector);
    const intent = one('[data-test="intent"][data-current="true"]');
    if (intent === null) return null;
    const status = one('[data-test="status"]');
    return {
        standing: status.dataset.standing,
        status: status.textContent,
        keyHash: intent.querySelector('code').textContent,
        attempts: Number(intent.dataset.attempts),
        lost: intent.querySelectorAll('[data-test="attempt"][data-result="network"]').length,
        replayed: intent.querySelector('[data-test="attempt"][data-replayed="true"]') !== null,
    };"#;

impl Checkout {
    /// Loads the page; returns when it takes a payment.
    pub(crate) async fn open(driver: &WebDriver, url: &str) -> Result<Self> {
        driver.goto(url).await?;
        let page = Self { driver: driver.clone() };
        eventually("the page offers to pay", async || {
            let ready = page.driver.find(By::Css("[data-test=status][data-standing=idle]")).await;
            Ok(ready.ok())
        })
        .await?;
        Ok(page)
    }

    pub(crate) async fn order(&self) -> Result<String> {
        self.text("[data-part=order]").await
    }

    pub(crate) async fn total(&self) -> Result<String> {
        self.text("[data-part=total]").await
    }

    /// Moves the switch, once it shows the other position. The server hears of it a moment later.
    pub(crate) async fn lose_the_answer(&self, on: bool) -> Result<()> {
        const SWITCH: &str = "[data-test=fault-drop_after_commit]";
        eventually("the switch shows where it stands", async || {
            let checked = self.driver.find(By::Css(SWITCH)).await?.is_selected().await?;
            Ok((checked != on).then_some(()))
        })
        .await?;
        self.click(SWITCH).await
    }

    pub(crate) async fn press_pay(&self) -> Result<()> {
        self.click("[data-test=pay]").await
    }

    pub(crate) async fn reload(&self) -> Result<()> {
        Ok(self.driver.refresh().await?)
    }

    /// What the page shows now; `None` while it shows no payment of its order.
    pub(crate) async fn seen(&self) -> Result<Option<Seen>> {
        Ok(self.driver.execute(READ, Vec::new()).await?.convert()?)
    }

    /// As [`seen`](Self::seen), for a page that shows one.
    pub(crate) async fn now(&self) -> Result<Seen> {
        self.seen().await?.context("the page shows no payment")
    }

    async fn text(&self, selector: &str) -> Result<String> {
        Ok(self.driver.find(By::Css(selector)).await?.text().await?)
    }

    async fn click(&self, selector: &str) -> Result<()> {
        let element = self.driver.find(By::Css(selector)).await?;
        element.scroll_into_view().await?;
        Ok(element.click().await?)
    }
}
