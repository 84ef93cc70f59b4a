//! Browsers and drivers: found, or installed where that can be done without asking.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::Engine;
use crate::process;
use crate::setup;
use crate::versions::GECKODRIVER_VERSION;
use crate::workspace::Workspace;

/// Where Debian puts them, also when PATH is short.
const SYSTEM_BIN: &str = "/usr/bin";

/// Makes sure that there is a browser of that engine and its driver. On Debian, as root or with a sudo that does not
/// ask, installs what is missing; geckodriver, which Debian does not have, is built into tools/.
pub(crate) fn set_up(workspace: &Workspace, engine: Engine) -> Result<()> {
    if !engine.exists_here() {
        bail!("{} exists on Linux only", engine.title());
    }
    let missing: Vec<&str> = engine
        .programs()
        .iter()
        .filter(|program| (program.find)().is_none())
        .map(|program| program.debian_package)
        .collect();
    if !missing.is_empty() {
        install(engine, &missing)?;
    }
    if engine == Engine::Firefox && find_driver(workspace, engine).is_none() {
        setup::build_tool(workspace, "geckodriver", GECKODRIVER_VERSION)?;
    }
    Ok(())
}

/// The driver's program: what the driver's variable names, else the one that is installed.
pub(super) fn find_driver(workspace: &Workspace, engine: Engine) -> Option<PathBuf> {
    if let Some(told) = env::var_os(engine.driver_variable()) {
        return Some(told.into());
    }
    match engine {
        Engine::Chromium => find(&["chromedriver"]),
        Engine::Firefox => {
            let built = setup::built_tool(workspace, "geckodriver");
            find(&["geckodriver"]).or(Some(built).filter(|file| file.is_file()))
        }
        Engine::WebKitGtk => find(&["WebKitWebDriver"]),
    }
}

pub(super) fn find_firefox() -> Option<PathBuf> {
    find(&["firefox", "firefox-esr"]).or_else(|| {
        let bundle = Path::new("/Applications/Firefox.app/Contents/MacOS/firefox");
        bundle.is_file().then(|| bundle.to_owned())
    })
}

/// One thing that an engine's tests need.
struct Program {
    debian_package: &'static str,
    find: fn() -> Option<PathBuf>,
}

impl Engine {
    fn programs(self) -> &'static [Program] {
        match self {
            Self::Chromium => &[
                Program { debian_package: "chromium", find: find_chromium },
                Program { debian_package: "chromium-driver", find: || find(&["chromedriver"]) },
            ],
            Self::Firefox => &[Program { debian_package: "firefox-esr", find: find_firefox }],
            Self::WebKitGtk => &[
                Program { debian_package: "webkit2gtk-driver", find: || find(&["WebKitWebDriver"]) },
                Program { debian_package: "xvfb", find: || find(&["Xvfb"]) },
            ],
        }
    }

    /// What to install by hand.
    fn wanted(self) -> &'static str {
        match self {
            Self::Chromium => "Chromium and a chromedriver of the same version on PATH",
            Self::Firefox => "Firefox on PATH",
            Self::WebKitGtk => "WebKitGTK with its WebKitWebDriver and MiniBrowser, and Xvfb, on PATH",
        }
    }
}

fn install(engine: Engine, packages: &[&str]) -> Result<()> {
    let by_hand = format!("apt-get install {}", packages.join(" "));
    let Some(apt_get) = apt_get() else {
        bail!(
            "the tests in {} need {}: install what is missing (Debian, as root: `{by_hand}`), then run this again",
            engine.title(),
            engine.wanted()
        );
    };
    process::timed(&format!("installing {}", packages.join(" ")), || {
        let remedy = format!("check the network and apt's sources, or run `{by_hand}` as root by hand");
        process::run(apt_get().arg("update"), &remedy)?;
        let options = ["install", "--yes", "--no-install-recommends"];
        process::run(apt_get().args(options).args(packages), &remedy)
    })
}

/// apt-get with the right to install; `None` where there is no such thing.
fn apt_get() -> Option<fn() -> Command> {
    if !Path::new("/etc/debian_version").exists() {
        return None;
    }
    if is_root() {
        return Some(|| {
            let mut command = Command::new("apt-get");
            command.env("DEBIAN_FRONTEND", "noninteractive");
            command
        });
    }
    let sudo_asks_nothing = Command::new("sudo")
        .args(["--non-interactive", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    sudo_asks_nothing.then_some(|| {
        let mut command = Command::new("sudo");
        command.args(["--non-interactive", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        command
    })
}

fn is_root() -> bool {
    process::capture(Command::new("id").arg("-u"), "install `id`").is_ok_and(|id| id.trim() == "0")
}

pub(super) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain([PathBuf::from(SYSTEM_BIN)])
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .map(|file| file.with_extension(env::consts::EXE_EXTENSION))
        .find(|file| file.is_file())
}

fn find_chromium() -> Option<PathBuf> {
    find(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
        .or_else(|| Some(PathBuf::from("/Applications/Google Chrome.app")).filter(|bundle| bundle.is_dir()))
}
