//! The browsers of the wasm32 tests, and the runner that cargo calls for them.

mod driver;
mod install;

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::str::FromStr;

use anyhow::{Error, Result, bail};

use self::driver::Driver;
use crate::process;
use crate::workspace::Workspace;

pub(crate) use self::install::set_up;

/// Which engine the runner drives; Chromium unless it is set.
pub(crate) const ENGINE_VARIABLE: &str = "WASM_TEST_ENGINE";

/// The drivers that wasm-bindgen's test runner knows, by the variables that choose one of them.
const KNOWN_DRIVERS: [&str; 4] = ["GECKODRIVER", "SAFARIDRIVER", "CHROMEDRIVER", "MSEDGEDRIVER"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Engine {
    Chromium,
    Firefox,
    WebKitGtk,
}

impl Engine {
    pub(crate) const ALL: [Self; 3] = [Self::Chromium, Self::Firefox, Self::WebKitGtk];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Chromium => "Chromium",
            Self::Firefox => "Firefox",
            Self::WebKitGtk => "WebKitGTK",
        }
    }

    /// As the command line and [`ENGINE_VARIABLE`] spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Firefox => "firefox",
            Self::WebKitGtk => "webkitgtk",
        }
    }

    /// Whether this system can have it at all.
    pub(crate) fn exists_here(self) -> bool {
        self != Self::WebKitGtk || cfg!(target_os = "linux")
    }

    /// The variable that names its driver's program; with `_REMOTE` added, where the driver listens. WebKit's driver
    /// speaks as Safari's does.
    fn driver_variable(self) -> &'static str {
        match self {
            Self::Chromium => "CHROMEDRIVER",
            Self::Firefox => "GECKODRIVER",
            Self::WebKitGtk => "SAFARIDRIVER",
        }
    }

    fn remote_variable(self) -> String {
        format!("{}_REMOTE", self.driver_variable())
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

/// Runs one wasm32 test binary in the engine that [`ENGINE_VARIABLE`] names. `args` are what cargo gives its runner.
pub(crate) fn run_wasm_tests(args: Vec<OsString>) -> Result<ExitCode> {
    let engine = match env::var(ENGINE_VARIABLE) {
        Ok(name) => name.parse()?,
        Err(_) => Engine::Chromium,
    };
    let remote = engine.remote_variable();
    let is_set = |variable: &String| env::var_os(variable).is_some();
    if is_set(&remote) && !variables_of_others(&remote).iter().any(is_set) {
        let program = OsString::from("wasm-bindgen-test-runner");
        wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::iter::once(program).chain(args))?;
        return Ok(ExitCode::SUCCESS);
    }
    let driver = match env::var(&remote) {
        Ok(_) => None,
        Err(_) => Some(Driver::start(&Workspace::find()?, engine)?),
    };
    run_again(args, &remote, driver)
}

/// The runner reads where the driver is from the environment, which is only safe to set for a child. Variables that
/// would choose another driver are taken away: they win over PATH, and some of them over ours.
fn run_again(args: Vec<OsString>, remote: &str, driver: Option<Driver>) -> Result<ExitCode> {
    let mut runner = Command::new(env::current_exe()?);
    runner.arg("wasm-test-runner").args(args);
    for variable in variables_of_others(remote) {
        runner.env_remove(variable);
    }
    if let Some(driver) = &driver {
        runner.env(remote, driver.url());
    }
    let status = runner.status()?;
    if let Some(driver) = driver.filter(|_| !status.success()) {
        print!("{}", driver.log());
    }
    Ok(process::exit_code(status))
}

fn variables_of_others(remote: &str) -> Vec<String> {
    let all = KNOWN_DRIVERS.iter().flat_map(|driver| [(*driver).to_owned(), format!("{driver}_REMOTE")]);
    all.filter(|variable| variable != remote).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_chosen_by_its_name_and_no_other() {
        for engine in Engine::ALL {
            assert_eq!(engine.name().parse::<Engine>().unwrap(), engine);
        }
        let error = "opera".parse::<Engine>().unwrap_err().to_string();
        assert!(Engine::ALL.iter().all(|engine| error.contains(engine.name())), "{error}");
    }

    #[test]
    fn no_other_driver_can_win() {
        for engine in Engine::ALL {
            let others = variables_of_others(&engine.remote_variable());
            assert_eq!(others.len(), 2 * KNOWN_DRIVERS.len() - 1, "{engine:?}");
            assert!(!others.contains(&engine.remote_variable()), "{engine:?}");
        }
    }
}
