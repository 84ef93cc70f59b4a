//! `cargo xtask sim`: lives of the shipped core in a simulated world, by the hundred thousand.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::counts::Counts;
use crate::workspace::Workspace;
use crate::{process, test};

/// Within `cargo xtask test`. The default of `cargo xtask sim` is a million.
const SEEDS_IN_TESTS: &str = "200000";

/// Within `cargo xtask test`: one trial each, with as many lives as a mistake that is hard to see may take.
const HUNT_IN_TESTS: [&str; 5] = ["--bugs", "--trials", "1", "--lives", "150000"];

/// Hands the simulator these arguments, and passes its exit code on: 1 unsafe, 2 stuck, 3 vacuous; with `--bugs`, 1 for a
/// mistake that survives.
pub(crate) fn run(workspace: &Workspace, args: &[OsString]) -> Result<ExitCode> {
    let bugs = args.iter().any(|arg| arg == "--bugs");
    let mut simulator = if bugs { simulator_with_bugs(workspace) } else { simulator(workspace) };
    let status = simulator.args(args).status().context("cargo did not start")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// A run that counts as one test.
pub(crate) fn test(workspace: &Workspace) -> Result<Counts> {
    let status = simulator(workspace).args(["--seeds", SEEDS_IN_TESTS]).status().context("cargo did not start")?;
    Ok(if status.success() { Counts { passed: 1, failed: 0 } } else { Counts::BROKEN })
}

/// Every mistake that a law catches is one test passed.
pub(crate) fn hunt(workspace: &Workspace) -> Result<Counts> {
    test::count(simulator_with_bugs(workspace).args(HUNT_IN_TESTS))
}

/// The native simulator over a core with mistakes that can be switched on; its arguments are to follow.
fn simulator_with_bugs(workspace: &Workspace) -> Command {
    let mut cargo = process::cargo(&workspace.root);
    cargo.args(["run", "--quiet", "--package=sim", "--bin=sim", "--profile=sim", "--features=bugs", "--"]);
    cargo
}

/// The native simulator; its arguments are to follow.
pub(crate) fn simulator(workspace: &Workspace) -> Command {
    let mut cargo = process::cargo(&workspace.root);
    cargo.args(["run", "--quiet", "--package=sim", "--bin=sim", "--profile=sim", "--"]);
    cargo
}
