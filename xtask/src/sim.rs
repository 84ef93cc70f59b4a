//! `cargo xtask sim`: lives of the shipped core in a simulated world, by the hundred thousand.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::counts::Counts;
use crate::process;
use crate::workspace::Workspace;

/// Within `cargo xtask test`. The default of `cargo xtask sim` is a million.
const SEEDS_IN_TESTS: &str = "100000";

/// Hands the simulator these arguments, and passes its exit code on: 1 unsafe, 2 stuck, 3 vacuous.
pub(crate) fn run(workspace: &Workspace, args: &[OsString]) -> Result<ExitCode> {
    let status = simulator(workspace).args(args).status().context("cargo did not start")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// A run that counts as one test.
pub(crate) fn test(workspace: &Workspace) -> Result<Counts> {
    let status = simulator(workspace).args(["--seeds", SEEDS_IN_TESTS]).status().context("cargo did not start")?;
    Ok(if status.success() { Counts { passed: 1, failed: 0 } } else { Counts::BROKEN })
}

/// The native simulator; its arguments are to follow.
pub(crate) fn simulator(workspace: &Workspace) -> Command {
    let mut cargo = process::cargo(&workspace.root);
    cargo.args(["run", "--quiet", "--package=sim", "--bin=sim", "--profile=sim", "--"]);
    cargo
}
