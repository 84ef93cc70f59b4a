//! `cargo xtask bench`: what intento costs beside raw strict IndexedDB. A benchmark, not a timed test: a busy machine changes
//! the figures, ratios too.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::browser::{self, Engine};
use crate::workspace::Workspace;
use crate::{package, process, setup};

/// Builds the package as it ships and measures it in a headless Chromium. The last line is `bench pass=N fail=N`; the figures
/// are in `target/xtask/bench.json` too.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    setup::run(workspace)?;
    browser::set_up(workspace, Engine::Chromium)?;
    package::build(workspace, &package::Options::shipped(workspace, false))?;
    process::heading("bench");
    let mut bench = process::cargo(&workspace.root);
    bench.args(["run", "--quiet", "--package=e2e", "--bin=bench", "--", "--json"]);
    bench.arg(workspace.scratch().join("bench.json"));
    Ok(process::exit_code(bench.status().context("cargo could not be started")?))
}
