//! Two origins, as in a real shop: one serves the page, the other takes the payments.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use reference_server::inspect::inspect;
use reference_server::{Config, Running, start};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ledger::Ledger;

/// The reference server twice, in this process, on free loopback ports.
#[derive(Debug)]
pub struct Shop {
    page: Option<Running>,
    api: Option<Running>,
    api_addr: SocketAddr,
    page_origin: String,
    /// Beside the page's own.
    admitted: Vec<String>,
    folder: TempDir,
}

impl Shop {
    /// Serves `pages` under `/` and `pkg` under `/pkg`, and takes payments elsewhere. Under `/pkg-again` the package is
    /// there once more: to a browser those are other modules.
    pub async fn open(pages: &Path, pkg: &Path) -> Result<Self> {
        let folder = TempDir::with_prefix("intento-shop-")?;
        let files = Config {
            database: folder.path().join("page.sqlite"),
            static_roots: [("/pkg", pkg), ("/pkg-again", pkg), ("/", pages)]
                .map(|(prefix, root)| (prefix.to_owned(), root.to_owned()))
                .into(),
            ..Config::default()
        };
        let page = start(files).await?;
        // Not the API's host: another site, not only another port.
        let page_origin = format!("http://localhost:{}", page.addr.port());
        let mut shop = Self {
            page: Some(page),
            api: None,
            api_addr: (Ipv4Addr::LOCALHOST, 0).into(),
            page_origin,
            admitted: Vec::new(),
            folder,
        };
        shop.open_api().await?;
        Ok(shop)
    }

    /// Takes payments, again at the same address if it did before.
    pub async fn open_api(&mut self) -> Result<()> {
        let api = start(Config {
            listen: self.api_addr,
            database: self.database(),
            allowed_origins: [&[self.page_origin.clone()][..], &self.admitted].concat(),
            control: true,
            ..Config::default()
        })
        .await?;
        self.api_addr = api.addr;
        self.api = Some(api);
        Ok(())
    }

    /// Takes payments from pages of that origin too, from now on.
    pub async fn admit(&mut self, origin: &str) -> Result<()> {
        self.admitted.push(origin.to_owned());
        self.close_api().await?;
        self.open_api().await
    }

    /// The API's address answers nothing any more.
    pub async fn close_api(&mut self) -> Result<()> {
        self.api.take().context("the API is closed")?.stop().await;
        Ok(())
    }

    /// Ends both servers; the file stays until the shop is dropped.
    pub async fn close(&mut self) {
        for server in [self.api.take(), self.page.take()].into_iter().flatten() {
            server.stop().await;
        }
    }

    pub fn api(&self) -> String {
        format!("http://{}", self.api_addr)
    }

    pub fn page_origin(&self) -> &str {
        &self.page_origin
    }

    pub fn page_url(&self) -> String {
        self.page_url_at(&self.page_origin)
    }

    /// The page as another origin serves it.
    pub fn page_url_at(&self, origin: &str) -> String {
        format!("{origin}/?api={}", self.api())
    }

    /// Orders what goes wrong with the next payment requests; the switches are those of `POST /control/faults`.
    pub async fn arm(&self, faults: Value) -> Result<()> {
        let desk = reqwest::Client::new().post(format!("{}/control/faults", self.api()));
        desk.json(&faults).send().await?.error_for_status()?;
        Ok(())
    }

    /// Moves the server's clock forward.
    pub async fn advance_clock(&self, by: Duration) -> Result<()> {
        let desk = reqwest::Client::new().post(format!("{}/control/clock", self.api()));
        let by_ms = json!({ "advance_ms": by.as_millis() as u64 });
        desk.json(&by_ms).send().await?.error_for_status()?;
        Ok(())
    }

    /// What is still ordered to go wrong.
    pub async fn armed(&self) -> Result<Value> {
        let desk = reqwest::get(format!("{}/control/faults", self.api())).await?;
        Ok(desk.error_for_status()?.json().await?)
    }

    /// What the server's file says now, whether or not the server runs.
    pub fn ledger(&self) -> Result<Ledger> {
        Ok(Ledger(inspect(&self.database())?))
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("payments.sqlite")
    }
}
