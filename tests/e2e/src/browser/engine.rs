//! The three engines: their drivers, and what a browser of each is started with.

use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use serde_json::{Value, json};
use thirtyfour::Capabilities;

/// How long a script may run: longer than any wait that a test asks of the page.
const SCRIPT_DEADLINE: Duration = Duration::from_secs(120);
/// What Chromium is started with, shared with the wasm tests.
const CHROMIUM: &str = include_str!("../../../../webdriver.json");
/// Where Debian puts programs, also when PATH is short.
const SYSTEM_BIN: &str = "/usr/bin";

/// Whose browser it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    #[default]
    Chromium,
    Firefox,
    /// MiniBrowser on a display that nobody sees. Measured with 2.50.6: its storage is in memory only while it is
    /// automated, and a page's or the network's process that dies ends the driver's session, though the browser lives
    /// on. So it is given a storage folder (`webkitgtk/persistent.rs`), and is launched again after any such death.
    WebKitGtk,
}

impl Engine {
    pub const ALL: [Self; 3] = [Self::Chromium, Self::Firefox, Self::WebKitGtk];

    /// As the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Firefox => "firefox",
            Self::WebKitGtk => "webkitgtk",
        }
    }

    /// The driver's program: what its variable names, else the one that is installed, else just its name.
    pub(super) fn driver(self) -> PathBuf {
        let (variable, program) = match self {
            Self::Chromium => ("CHROMEDRIVER", "chromedriver"),
            Self::Firefox => ("GECKODRIVER", "geckodriver"),
            Self::WebKitGtk => ("SAFARIDRIVER", "WebKitWebDriver"),
        };
        if let Some(told) = env::var_os(variable) {
            return told.into();
        }
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/geckodriver/bin/geckodriver");
        let built = Some(built).filter(|driver| self == Self::Firefox && driver.is_file());
        find(&[program]).or(built).unwrap_or(program.into())
    }

    /// What a session is asked for. `profile` is the folder that holds all that the browser stores.
    pub(super) fn capabilities(self, profile: &Path) -> Result<Capabilities> {
        let mut capabilities = Capabilities::new();
        capabilities.set("timeouts", json!({ "script": SCRIPT_DEADLINE.as_millis() as u64 }))?;
        match self {
            Self::Chromium => {
                let mut options: Value = serde_json::from_str(CHROMIUM)?;
                let profile = format!("--user-data-dir={}", profile.display());
                let args = options["goog:chromeOptions"]["args"].as_array_mut();
                args.context("webdriver.json names no arguments")?.push(profile.into());
                capabilities.set("browserName", "chrome")?;
                capabilities.set("goog:chromeOptions", options["goog:chromeOptions"].clone())?;
                capabilities.set("goog:loggingPrefs", json!({ "browser": "ALL", "performance": "ALL" }))?;
            }
            Self::Firefox => {
                let mut options = json!({ "args": ["-headless", "-profile", profile], "prefs": firefox_preferences() });
                if let Some(firefox) = find(&["firefox", "firefox-esr"]) {
                    options["binary"] = json!(firefox);
                }
                capabilities.set("browserName", "firefox")?;
                capabilities.set("moz:firefoxOptions", options)?;
            }
            Self::WebKitGtk => {}
        }
        Ok(capabilities)
    }

    /// The capability that says which process the browser is, where there is one.
    pub(super) fn process_capability(self) -> Option<&'static str> {
        match self {
            Self::Chromium => Some("goog:processID"),
            Self::Firefox => Some("moz:processID"),
            Self::WebKitGtk => None,
        }
    }

    /// Whether a process with that command line is one that pages run in.
    pub(super) fn runs_pages(self, command_line: &str) -> bool {
        match self {
            Self::Chromium => command_line.contains(" --type=renderer "),
            Self::Firefox => command_line.contains(" -contentproc ") && command_line.ends_with(" tab"),
            Self::WebKitGtk => command_line.contains("/WebKitWebProcess "),
        }
    }
}

impl FromStr for Engine {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|engine| engine.name() == name) {
            Some(engine) => Ok(engine),
            None => bail!("there is no engine `{name}`: choose chromium, firefox or webkitgtk"),
        }
    }
}

/// A Firefox that was killed must neither offer its old tabs nor start in safe mode.
fn firefox_preferences() -> Value {
    json!({
        "browser.sessionstore.resume_from_crash": false,
        // An Idempotency-Key of the browser's own for every POST that has none (hazard N10): ours must be there, and win.
        "network.http.idempotencyKey.enabled": true,
        // A disk of so many KiB; an origin gets 10 MiB of it.
        "dom.quotaManager.temporaryStorage.fixedLimit": 50 * 1024,
        "toolkit.startup.max_resumed_crashes": -1,
    })
}

fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([PathBuf::from(SYSTEM_BIN)]);
    folders.flat_map(|folder| names.iter().map(move |name| folder.join(name))).find(|file| file.is_file())
}
