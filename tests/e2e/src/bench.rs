//! What a test starts with.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::browser::{Browser, Engine};
use crate::page::Page;
use crate::shop::Shop;
use crate::site::Site;

/// A shop and a browser of one's own.
#[derive(Debug)]
pub struct Bench {
    pub shop: Shop,
    pub browser: Browser,
}

impl Bench {
    /// With a Chromium. Waits for its turn: only a few browsers run at a time.
    pub async fn start() -> Result<Self> {
        Self::start_in(Engine::Chromium).await
    }

    /// As [`start`](Self::start), with a browser of that engine.
    pub async fn start_in(engine: Engine) -> Result<Self> {
        let browser = Browser::launch_in(engine).await?;
        let shop = Shop::open(&pages(), &package()?).await?;
        Ok(Self { shop, browser })
    }

    /// The app in the browser's first tab, its queue open.
    pub async fn page(&self) -> Result<Page> {
        self.page_with(json!({})).await
    }

    /// As [`page`](Self::page), with options for `openQueue`.
    pub async fn page_with(&self, options: Value) -> Result<Page> {
        let mut page = self.blank_page().await?;
        page.open(options).await?;
        Ok(page)
    }

    /// The app in the browser's first tab, nothing of intento loaded.
    pub async fn blank_page(&self) -> Result<Page> {
        self.blank_page_at(self.shop.page_origin()).await
    }

    /// As [`blank_page`](Self::blank_page), of another origin.
    pub async fn blank_page_at(&self, origin: &str) -> Result<Page> {
        let windows = self.browser.driver()?.windows().await?;
        let window = windows.into_iter().next().context("the browser has no window")?;
        Page::visit(self.browser.driver()?, window, self.shop.page_url_at(origin)).await
    }

    /// The page's files and the package, served with these headers.
    pub async fn site(&self, headers: &[(&str, &str)]) -> Result<Site> {
        Site::open(vec![("/pkg", package()?), ("/", pages())], headers).await
    }

    /// The page's files and the package, and more beside them.
    pub async fn site_with(&self, folders: Vec<(&'static str, PathBuf)>) -> Result<Site> {
        Site::open([folders, vec![("/pkg", package()?), ("/", pages())]].concat(), &[]).await
    }

    /// The app in a tab of its own, its queue open.
    pub async fn second_tab(&self, options: Value) -> Result<Page> {
        let mut page = self.blank_tab().await?;
        page.open(options).await?;
        Ok(page)
    }

    /// The app in a tab of its own, nothing of intento loaded.
    pub async fn blank_tab(&self) -> Result<Page> {
        let window = self.browser.driver()?.new_tab().await?;
        Page::visit(self.browser.driver()?, window, self.shop.page_url()).await
    }
}

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pages")
}

/// The built package: `INTENTO_PKG`, or pkg/ of this repository.
///
/// # Errors
/// If there is none.
pub fn package() -> Result<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pkg");
    existing_package(std::env::var_os("INTENTO_PKG").map_or(built, PathBuf::from))
}

/// # Errors
/// If there is no built package in that folder.
pub fn existing_package(folder: PathBuf) -> Result<PathBuf> {
    if !folder.join("index.js").is_file() {
        bail!("there is no built package in {}: run `cargo xtask build` first", folder.display());
    }
    folder.canonicalize().context("the package's folder cannot be read")
}
