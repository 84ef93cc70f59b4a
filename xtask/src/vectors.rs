//! `cargo xtask test contracts`: the golden vectors of every contract, on the host and in the browser.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::browser::{ENGINE_VARIABLE, Engine};
use crate::versions::WASM_TARGET;
use crate::workspace::Workspace;
use crate::{browser, process, test};

/// What one run of all vectors has printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vectors {
    total: u64,
    passed: u64,
}

/// Runs them in both places. The last line is `vectors=N passed=N`; a vector has passed if it did in both.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    test::set_up(workspace)?;
    browser::set_up(workspace, Engine::Chromium)?;
    process::heading("contracts on the host");
    let mut host = process::cargo(&workspace.root);
    let host = read(host.args(["test", "--package=intento", "--test=contracts", "--", "--nocapture"]))?;
    process::heading("contracts in Chromium");
    let mut browser = process::cargo(&workspace.root);
    browser.args([
        "test",
        "--package=intento",
        "--test=web",
        "--target",
        WASM_TARGET,
        "--",
        "contracts",
        "--nocapture",
    ]);
    browser.env(ENGINE_VARIABLE, Engine::Chromium.name());
    let browser = read(&mut browser)?;

    let (total, passed) = (host.total.max(browser.total), host.passed.min(browser.passed));
    println!();
    println!("vectors={total} passed={passed}");
    Ok(if total > 0 && total == passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Nothing passed where the harness itself has failed.
fn read(harness: &mut Command) -> Result<Vectors> {
    let mut vectors = Vectors::default();
    let status = process::watch(harness, |line| vectors = parse(line).unwrap_or(vectors))?;
    Ok(if status.success() { vectors } else { Vectors { passed: 0, ..vectors } })
}

/// `vectors=381 passed=381`, alone or behind what a harness puts before it.
fn parse(line: &str) -> Option<Vectors> {
    let (_, counts) = line.split_once("vectors=")?;
    let (total, passed) = counts.split_once(" passed=")?;
    Some(Vectors { total: total.parse().ok()?, passed: passed.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_runs_print() {
        assert_eq!(parse("vectors=381 passed=380"), Some(Vectors { total: 381, passed: 380 }));
        assert_eq!(parse("    vectors=7 passed=7\n"), Some(Vectors { total: 7, passed: 7 }));
        assert_eq!(parse("test result: ok. 14 passed; 0 failed"), None);
    }
}
