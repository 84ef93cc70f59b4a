//! Chromium and its driver: found or installed, and the runner that cargo calls for wasm32 tests.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::process;

/// Tells wasm-bindgen's test runner which driver to use. Without it a geckodriver on PATH may win.
const DRIVER_VARIABLE: &str = "CHROMEDRIVER";

/// Where Debian puts them, also when PATH is short.
const SYSTEM_BIN: &str = "/usr/bin";

/// Makes sure that there is a Chromium and its driver. On Debian, as root, installs them.
pub(crate) fn set_up() -> Result<()> {
    if find_driver().is_some() && find_browser().is_some() {
        return Ok(());
    }
    if !can_install() {
        bail!(
            "the browser tests need Chromium and a chromedriver of the same version on PATH: install both \
             (Debian, as root: `apt-get install chromium chromium-driver`), then run this again"
        );
    }
    process::timed("installing Chromium", || {
        let remedy = "check the network and apt's sources, or install chromium and chromium-driver by hand";
        process::run(Command::new("apt-get").arg("update"), remedy)?;
        process::run(
            Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args([
                "install",
                "--yes",
                "--no-install-recommends",
                "chromium",
                "chromium-driver",
            ]),
            remedy,
        )
    })
}

/// Runs one wasm32 test binary in the browser. `args` are what cargo gives its runner.
pub(crate) fn run_wasm_tests(args: Vec<OsString>) -> Result<ExitCode> {
    if env::var_os(DRIVER_VARIABLE).is_none() {
        return run_again_with_driver(args);
    }
    let program = OsString::from("wasm-bindgen-test-runner");
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::iter::once(program).chain(args))?;
    Ok(ExitCode::SUCCESS)
}

/// The runner reads the driver's place from the environment, which is only safe to set for a child.
fn run_again_with_driver(args: Vec<OsString>) -> Result<ExitCode> {
    let Some(driver) = find_driver() else {
        bail!("there is no chromedriver: run `cargo xtask test wasm`, which installs it or says how");
    };
    let status =
        Command::new(env::current_exe()?).arg("wasm-test-runner").args(args).env(DRIVER_VARIABLE, driver).status()?;
    Ok(process::exit_code(status))
}

fn find_driver() -> Option<PathBuf> {
    find(&["chromedriver"])
}

fn find_browser() -> Option<PathBuf> {
    find(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
        .or_else(|| app_bundle("/Applications/Google Chrome.app"))
}

fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain([PathBuf::from(SYSTEM_BIN)])
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .map(|file| file.with_extension(env::consts::EXE_EXTENSION))
        .find(|file| file.is_file())
}

fn app_bundle(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(path)).filter(|bundle| bundle.is_dir())
}

fn can_install() -> bool {
    Path::new("/etc/debian_version").exists() && is_root()
}

fn is_root() -> bool {
    process::capture(Command::new("id").arg("-u"), "install `id`").is_ok_and(|id| id.trim() == "0")
}
