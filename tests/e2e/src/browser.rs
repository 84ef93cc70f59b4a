//! Chromium and its driver.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
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
/// How often the profile of a killed browser is removed, until it stays away.
const REMOVALS_MAX: u32 = 20;
const REMOVE_AGAIN: Duration = Duration::from_millis(25);
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
    pub async fn kill(&mut self) -> Result<()> {
        let Some(session) = self.session.take() else { bail!("the browser is not running") };
        kill(session.process);
        // A session whose browser is gone cannot be ended.
        let _ = session.driver.leak();
        crate::eventually("the killed browser is gone", async || Ok((!is_running(session.process)).then_some(()))).await
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

    /// The lines that reached the console since the last call.
    pub async fn console(&self) -> Result<Vec<String>> {
        Ok(self.driver()?.browser_log().await?.into_iter().map(|entry| entry.message).collect())
    }

    /// The URLs that any tab asked for since the last call, preflights included.
    pub async fn requests(&self) -> Result<Vec<String>> {
        let log = self.driver()?.get_log("performance").await?;
        let url = |message: String| {
            let event: Value = serde_json::from_str(&message).ok()?;
            let sent = event["message"]["method"] == "Network.requestWillBeSent";
            let url = event["message"]["params"]["request"]["url"].as_str();
            url.filter(|_| sent).map(str::to_owned)
        };
        Ok(log.into_iter().filter_map(|entry| url(entry.message)).collect())
    }

    /// The browser's last processes still write for a moment; a profile that stays after all is only litter.
    fn remove_profile(&self) {
        for _ in 0..REMOVALS_MAX {
            if std::fs::remove_dir_all(self.profile.path()).is_ok() {
                break;
            }
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
    let _ = std::process::Command::new("kill").args(["-KILL", &process.to_string()]).status();
}

fn is_running(process: u64) -> bool {
    let asked = std::process::Command::new("kill").args(["-0", &process.to_string()]).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}
