//! Chromium and its driver.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::{Capabilities, WebDriver};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Browsers that run at the same time. More of them on a small machine only makes all of them slow.
const BROWSERS_MAX: usize = 2;
/// How long a script may run: longer than any wait that a test asks of the page.
const SCRIPT_DEADLINE: Duration = Duration::from_secs(120);
/// How often the profile of a killed browser is removed, and after how many looks without it it is gone.
const REMOVALS_MAX: u32 = 60;
const STAYS_AWAY: u32 = 8;
const REMOVE_AGAIN: Duration = Duration::from_millis(30);
/// What Chromium is started with, shared with the wasm tests.
const OPTIONS: &str = include_str!("../../../webdriver.json");

static TURNS: Semaphore = Semaphore::const_new(BROWSERS_MAX);

/// A headless Chromium with a profile of its own. Dropping it ends it, and everything it stored.
#[derive(Debug)]
pub struct Browser {
    session: Option<Session>,
    chromedriver: Child,
    port: u16,
    // Kept open: chromedriver must not find its stdout closed.
    _stdout: Lines<BufReader<ChildStdout>>,
    profile: TempDir,
    _turn: SemaphorePermit<'static>,
}

#[derive(Debug)]
struct Session {
    driver: WebDriver,
    /// The browser's main process.
    process: u64,
}

/// One entry of the performance log, of the DevTools protocol.
#[derive(Deserialize)]
struct Event {
    method: String,
    params: Value,
}

impl Browser {
    /// Waits for its turn, then starts a driver and a browser.
    pub async fn launch() -> Result<Self> {
        let turn = TURNS.acquire().await?;
        let mut chromedriver = Command::new(chromedriver())
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("chromedriver could not be started: run `cargo xtask test e2e`, which installs it or says how")?;
        let stdout = chromedriver.stdout.take().context("chromedriver has no stdout")?;
        let mut stdout = BufReader::new(stdout).lines();
        let port = port(&mut stdout).await?;
        let profile = TempDir::with_prefix("intento-profile-")?;
        let mut browser = Self { session: None, chromedriver, port, _stdout: stdout, profile, _turn: turn };
        browser.relaunch().await?;
        Ok(browser)
    }

    /// # Errors
    /// If the browser was killed.
    pub fn driver(&self) -> Result<&WebDriver> {
        self.session.as_ref().map(|session| &session.driver).context("the browser is not running")
    }

    /// SIGKILL: nothing in the browser gets to finish anything.
    pub fn kill(&mut self) -> Result<()> {
        let Some(session) = self.session.take() else { bail!("the browser is not running") };
        kill(session.process);
        // A session whose browser is gone cannot be ended.
        let _ = session.driver.leak();
        Ok(())
    }

    /// Starts a browser on the same profile: what the last one stored is still there.
    pub async fn relaunch(&mut self) -> Result<()> {
        let capabilities = self.capabilities()?;
        let driver = WebDriver::new(format!("http://127.0.0.1:{}", self.port), capabilities).await?;
        let process = driver.capabilities().get("goog:processID").and_then(Value::as_u64);
        let Some(process) = process else {
            driver.quit().await?;
            bail!("chromedriver does not say which process the browser is: install a newer one");
        };
        self.session = Some(Session { driver, process });
        Ok(())
    }

    /// Closes the browser, then the driver.
    pub async fn quit(mut self) -> Result<()> {
        if let Some(session) = self.session.take() {
            session.driver.quit().await?;
        }
        self.chromedriver.kill().await?;
        Ok(())
    }

    /// The lines that scripts wrote to the console since the last call, uncaught errors among them. The browser's own
    /// lines about failed requests name their URLs, whoever made them.
    pub async fn console(&self) -> Result<Vec<String>> {
        let log = self.driver()?.browser_log().await?.into_iter();
        Ok(log.filter(|entry| entry.source.as_deref() != Some("network")).map(|entry| entry.message).collect())
    }

    /// The URLs whose requests left the browser since the last call, preflights included.
    pub async fn requests(&self) -> Result<Vec<String>> {
        let log = self.driver()?.get_log("performance").await?;
        let mut announced: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut sent: BTreeMap<String, usize> = BTreeMap::new();
        for entry in log {
            let event: Value = serde_json::from_str(&entry.message)?;
            let Event { method, params } = serde_json::from_value(event["message"].clone())?;
            let request = || params["requestId"].as_str().unwrap_or_default().to_owned();
            match (method.as_str(), params["request"]["url"].as_str()) {
                ("Network.requestWillBeSent", Some(url)) => {
                    announced.entry(request()).or_default().push(url.to_owned())
                }
                // Only this one comes from the network: a redirect that is not followed is announced all the same.
                ("Network.requestWillBeSentExtraInfo", _) => *sent.entry(request()).or_default() += 1,
                _ => {}
            }
        }
        let left = |(request, urls): (String, Vec<String>)| {
            let count = sent.get(&request).copied().unwrap_or_default();
            urls.into_iter().take(count)
        };
        Ok(announced.into_iter().flat_map(left).collect())
    }

    /// The browser's last processes still write for a moment; a profile that comes back after all is only litter.
    fn remove_profile(&self) {
        let mut absent = 0;
        for _ in 0..REMOVALS_MAX {
            absent = if self.profile.path().exists() { 0 } else { absent + 1 };
            if absent == STAYS_AWAY {
                return;
            }
            let _ = std::fs::remove_dir_all(self.profile.path());
            std::thread::sleep(REMOVE_AGAIN);
        }
    }

    fn capabilities(&self) -> Result<Capabilities> {
        let mut options: Value = serde_json::from_str(OPTIONS)?;
        let profile = format!("--user-data-dir={}", self.profile.path().display());
        let args = options["goog:chromeOptions"]["args"].as_array_mut();
        args.context("webdriver.json names no arguments")?.push(profile.into());
        let mut capabilities = Capabilities::new();
        capabilities.set("browserName", "chrome")?;
        capabilities.set("goog:chromeOptions", options["goog:chromeOptions"].clone())?;
        capabilities.set("goog:loggingPrefs", json!({ "browser": "ALL", "performance": "ALL" }))?;
        capabilities.set("timeouts", json!({ "script": SCRIPT_DEADLINE.as_millis() as u64 }))?;
        Ok(capabilities)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            kill(session.process);
            // Or its drop would wait for an answer of the browser that was just ended.
            let _ = session.driver.leak();
            self.remove_profile();
        }
    }
}

fn chromedriver() -> PathBuf {
    let system = PathBuf::from("/usr/bin/chromedriver");
    let known = std::env::var_os("CHROMEDRIVER").map(PathBuf::from);
    known.or(Some(system).filter(|driver| driver.is_file())).unwrap_or("chromedriver".into())
}

/// The port that the driver chose, from its greeting.
async fn port(stdout: &mut Lines<BufReader<ChildStdout>>) -> Result<u16> {
    while let Some(line) = stdout.next_line().await? {
        let named = line.trim_end_matches('.').rsplit_once(" on port ").and_then(|(_, port)| port.parse().ok());
        if let Some(port) = named.filter(|port| *port != 0) {
            return Ok(port);
        }
    }
    bail!("chromedriver ended before it listened")
}

/// Ends the one process with that id; its children follow it.
fn kill(process: u64) {
    // Through the shell, which has `kill` built in where no such program is installed.
    let _ = std::process::Command::new("sh").args(["-c", &format!("kill -KILL {process}")]).status();
}
