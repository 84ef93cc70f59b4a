//! `cargo xtask sim --wasm`: the simulator as wasm, built as the shipped module is, lives what the native one lives.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use crate::counts::Counts;
use crate::module::{Source, compile, optimise};
use crate::workspace::Workspace;
use crate::{process, setup, sim};

const CRATE: &str = "sim-wasm";

/// Differences that are printed; the rest is only counted.
const SHOWN_MAX: usize = 3;

/// These seeds, each with the server that it draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lives {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl Default for Lives {
    fn default() -> Self {
        Self { first: 0, count: 1_000 }
    }
}

/// The last line is for machines: `traces seeds=N equal=N`. Fails unless all are.
pub(crate) fn run(workspace: &Workspace, lives: Lives) -> Result<ExitCode> {
    setup::run(workspace)?;
    Ok(if are_equal(workspace, lives)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A comparison that counts as one test.
pub(crate) fn test(workspace: &Workspace) -> Result<Counts> {
    let equal = are_equal(workspace, Lives::default())?;
    Ok(if equal { Counts { passed: 1, failed: 0 } } else { Counts::BROKEN })
}

fn are_equal(workspace: &Workspace, lives: Lives) -> Result<bool> {
    let mut node = Command::new("node");
    node.arg(workspace.root.join("tests/sim-wasm/accounts.mjs")).arg(build(workspace)?);
    let [first, count] = [lives.first, lives.count].map(|number| number.to_string());
    let in_wasm = printed(node.args([&first, &count]))?;
    let natively = printed(sim::simulator(workspace).args(["--traces", &count, "--from", &first]))?;
    let (equal, others) = compare(&natively, &in_wasm);
    for (native, wasm) in others.iter().take(SHOWN_MAX) {
        println!("native  {native}\nin wasm {wasm}");
    }
    println!("traces seeds={count} equal={equal}");
    Ok(equal == lives.count)
}

/// Builds the module with its glue for Node and returns the path of the glue.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.scratch().join(CRATE);
    process::timed("building the simulator for wasm32", || {
        let _turn = workspace.turn()?;
        let module = compile(workspace, &Source { package: CRATE, debug: false, feature: None })?;
        fs::create_dir_all(&folder)?;
        Bindgen::new()
            .input_path(module)
            .out_name("sim")
            .nodejs(true)?
            .typescript(false)
            .remove_name_section(true)
            .generate(&folder)
            .context("wasm-bindgen refused the simulator's module")?;
        let bound = folder.join("sim_bg.wasm");
        let wasm = optimise(workspace, CRATE, fs::read(&bound)?)?;
        Ok(fs::write(bound, wasm)?)
    })?;
    Ok(folder.join("sim.js"))
}

/// What a command prints, to its end or to where it breaks: a life that breaks a law is the last one, and what is missing
/// equals nothing.
fn printed(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{program} did not start"))?;
    String::from_utf8(output.stdout).with_context(|| format!("{program} printed what is not UTF-8"))
}

/// How many accounts are equal, and the pairs that are not.
fn compare<'a>(natively: &'a str, in_wasm: &'a str) -> (u64, Vec<(&'a str, &'a str)>) {
    let (equal, others): (Vec<_>, Vec<_>) =
        natively.lines().zip(in_wasm.lines()).partition(|(native, wasm)| native == wasm);
    (equal.len() as u64, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_and_what_is_missing_is_not_equal() {
        assert_eq!(compare("0 a\n1 b\n2 c\n", "0 a\n1 x\n"), (1, vec![("1 b", "1 x")]));
        assert_eq!(compare("", ""), (0, vec![]));
    }
}
