//! The native app around a webview: a process that runs the package's host.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::bench::package;
use crate::page::Page;

/// Runs until it is dropped or killed. What it has stored is there again when it is started again.
#[derive(Debug)]
pub struct NativeHost {
    origin: String,
    folder: TempDir,
    child: Child,
    address: String,
}

impl NativeHost {
    /// For pages of that origin.
    pub async fn start(origin: &str) -> Result<Self> {
        let folder = TempDir::with_prefix("intento-host-")?;
        let (child, address) = launch(folder.path(), origin).await?;
        Ok(Self { origin: origin.to_owned(), folder, child, address })
    }

    /// The app's process is killed, and started by its user again.
    pub async fn kill_and_start(&mut self) -> Result<()> {
        self.child.kill().await?;
        (self.child, self.address) = launch(self.folder.path(), &self.origin).await?;
        Ok(())
    }

    /// Where a page finds it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The page opens its queue as in this app's webview.
    pub async fn shows(&self, page: &Page, options: Value) -> Result<()> {
        let open = "await (await import('/webview.js')).openHosted(args[0], args[1])";
        page.call(open, json!([self.address, options])).await
    }

    /// What the app does or knows.
    ///
    /// # Errors
    /// If that failed.
    pub async fn ask<T: DeserializeOwned>(&self, path: &str, body: Value) -> Result<T> {
        let answer = reqwest::Client::new().post(format!("{}{path}", self.address)).json(&body).send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status.is_success(), "{path}: {text}");
        Ok(serde_json::from_str(&text)?)
    }
}

async fn launch(folder: &Path, origin: &str) -> Result<(Child, String)> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("host.mjs");
    let mut node = Command::new("node");
    node.arg(program).arg(package()?).arg(folder.join("storage.json")).arg(origin);
    let mut child = node.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let printed = BufReader::new(child.stdout.take().context("it prints nothing")?).lines().next_line().await?;
    Ok((child, printed.context("the host has not started")?))
}
