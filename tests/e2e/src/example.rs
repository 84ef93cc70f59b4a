//! The examples, as their readers get them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use thirtyfour::{By, WebDriver};

use crate::bench::{Bench, package};
use crate::site::Site;

/// An example of `examples/`, served.
#[derive(Debug)]
pub struct Example {
    pub site: Site,
    _built: Option<TempDir>,
}

impl Example {
    /// One without a build step: the package lies beside its files.
    pub async fn plain(bench: &mut Bench, name: &str) -> Result<Self> {
        let site = Site::open(vec![("/intento", package()?), ("/", folder(name))], &[]).await?;
        bench.shop.admit(&site.origin).await?;
        Ok(Self { site, _built: None })
    }

    /// One that Vite builds, with React's checks for development: StrictMode runs effects twice there.
    pub async fn built(bench: &mut Bench, name: &str) -> Result<Self> {
        let out = TempDir::with_prefix("intento-example-")?;
        let build = ["vite", "build", "--mode", "development", "--logLevel", "error", "--emptyOutDir", "--outDir"];
        run(tool("npx", name).args(build).arg(out.path()).env("NODE_ENV", "development"))?;
        let site = Site::open(vec![("/", out.path().to_owned())], &[]).await?;
        bench.shop.admit(&site.origin).await?;
        Ok(Self { site, _built: Some(out) })
    }

    /// Its page, with these parameters beside the API's address.
    pub async fn visit(&self, bench: &Bench, more: &str) -> Result<()> {
        Ok(bench.browser.driver()?.goto(bench.shop.page_url_at(&self.site.origin) + more).await?)
    }
}

/// Installs an example's dependencies, as its lock file says, and the package as it was built last.
pub fn install(name: &str) -> Result<()> {
    let (modules, wanted) = (folder(name).join("node_modules"), fs::read(folder(name).join("package-lock.json"))?);
    let stamp = modules.join(".installed-package-lock.json");
    if !fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        run(tool("npm", name).args(["ci", "--no-audit", "--no-fund", "--silent"]))?;
        fs::write(&stamp, wanted)?;
    }
    let installed = modules.join("intento");
    fs::remove_dir_all(&installed)?;
    fs::create_dir(&installed)?;
    for file in fs::read_dir(package()?)? {
        let file = file?;
        fs::copy(file.path(), installed.join(file.file_name()))?;
    }
    Ok(())
}

/// # Errors
/// If it finds something wrong, which it has said itself.
pub fn run(command: &mut Command) -> Result<()> {
    let what = format!("{command:?}");
    if !command.status().with_context(|| format!("{what} did not start"))?.success() {
        bail!("{what} failed");
    }
    Ok(())
}

/// A program of that name, run in the example's folder.
pub fn tool(program: &str, example: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder(example));
    command
}

/// Waits until the page's status says this.
pub async fn says(driver: &WebDriver, words: &str) -> Result<()> {
    crate::eventually(&format!("the page says {words}"), async || {
        let Ok(status) = driver.find(By::Css("[role=status]")).await else { return Ok(None) };
        Ok(status.text().await.is_ok_and(|text| text == words).then_some(()))
    })
    .await
}

/// Clicks the page's button when it can be clicked.
pub async fn click(driver: &WebDriver) -> Result<()> {
    crate::eventually("the button can be clicked", async || {
        let Ok(button) = driver.find(By::Css("button:enabled")).await else { return Ok(None) };
        Ok(button.click().await.is_ok().then_some(()))
    })
    .await
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}
