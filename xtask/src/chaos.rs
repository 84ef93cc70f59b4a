//! `cargo xtask chaos`: real browsers and a real server, killed in the middle of things.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::browser::{self, Engine};
use crate::counts::Counts;
use crate::demo::{Sabotage, build_package, build_server};
use crate::workspace::Workspace;
use crate::{process, setup};

/// Within `cargo xtask test`: few kills, of all three kinds.
const KILLS_IN_TESTS: u32 = 3;
const SEED_IN_TESTS: u64 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) kills: u32,
    pub(crate) engine: Engine,
    /// None: another one at every run.
    pub(crate) seed: Option<u64>,
    pub(crate) sabotage: Option<Sabotage>,
}

impl Default for Options {
    fn default() -> Self {
        Self { kills: 10, engine: Engine::Chromium, seed: None, sabotage: None }
    }
}

/// Exits with 1 if an intent was lost, duplicated or did not end.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    setup::run(workspace)?;
    browser::set_up(workspace, options.engine)?;
    let pkg = build_package(workspace, options.sabotage)?;
    let mut chaos = command(workspace, options, &pkg)?;
    process::heading("chaos");
    Ok(process::exit_code(chaos.status().context("cargo could not be started")?))
}

/// A run that counts as one test. The browser and pkg/ are there.
pub(crate) fn test(workspace: &Workspace, engine: Engine) -> Result<Counts> {
    let options = Options { kills: KILLS_IN_TESTS, engine, seed: Some(SEED_IN_TESTS), ..Options::default() };
    let status = command(workspace, &options, &workspace.pkg())?.status().context("cargo could not be started")?;
    Ok(if status.success() { Counts { passed: 1, failed: 0 } } else { Counts::BROKEN })
}

fn command(workspace: &Workspace, options: &Options, pkg: &Path) -> Result<Command> {
    let server = build_server(workspace)?;
    let mut chaos = process::cargo(&workspace.root);
    chaos.args(["run", "--quiet", "--package=e2e", "--bin=chaos", "--"]);
    chaos.arg("--server").arg(server).arg("--pkg").arg(pkg);
    chaos.args(["--browser", options.engine.name(), "--kills", &options.kills.to_string()]);
    if let Some(seed) = options.seed {
        chaos.args(["--seed", &seed.to_string()]);
    }
    Ok(chaos)
}
