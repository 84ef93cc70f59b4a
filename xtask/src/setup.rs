//! Everything a build needs beyond Rust and Node. Quick when there is nothing to do.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::versions::{NODE_FLOOR, RUST_FLOOR, WASM_TARGET, parse_version};
use crate::workspace::Workspace;

/// Checks Rust and Node, then adds the wasm32 target and the pinned npm tools where they are missing.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    check_floor("rustc", RUST_FLOOR, "run `rustup update stable`")?;
    check_floor("node", NODE_FLOOR, "install a newer Node and put it first on PATH")?;
    add_wasm_target()?;
    install_npm_tools(&workspace.tools())
}

fn check_floor(program: &str, floor: (u32, u32), remedy: &str) -> Result<()> {
    let (major, minor) = floor;
    let printed = process::capture(Command::new(program).arg("--version"), remedy)?;
    match parse_version(&printed) {
        Some(version) if version >= floor => Ok(()),
        _ => bail!("{program} {major}.{minor} or newer is needed, this is {}: {remedy}", printed.trim()),
    }
}

fn add_wasm_target() -> Result<()> {
    let sysroot = process::capture(Command::new("rustc").args(["--print", "sysroot"]), "reinstall Rust with rustup")?;
    let installed = Path::new(sysroot.trim()).join("lib/rustlib").join(WASM_TARGET);
    if installed.is_dir() {
        return Ok(());
    }
    process::timed("adding the wasm32 target", || {
        process::run(
            Command::new("rustup").args(["target", "add", WASM_TARGET]),
            "check the network, or install that target the way this Rust was installed",
        )
    })
}

/// Adds a cargo subcommand that a minimal Rust installation lacks.
pub(crate) fn add_component(workspace: &Workspace, subcommand: &str, component: &str) -> Result<()> {
    let probe = process::cargo(&workspace.root).args([subcommand, "--version"]).output()?;
    if probe.status.success() {
        return Ok(());
    }
    process::timed(&format!("adding {component}"), || {
        process::run(
            Command::new("rustup").args(["component", "add", component]),
            "check the network, or install that component the way this Rust was installed",
        )
    })
}

/// Builds a program from crates.io, unoptimised, unless it is built already, and returns its path.
pub(crate) fn build_tool(workspace: &Workspace, name: &str, version: &str) -> Result<PathBuf> {
    let program = built_tool(workspace, name);
    if !program.is_file() {
        process::timed(&format!("building {name}"), || {
            let mut cargo = process::cargo(&workspace.root);
            cargo.args(["install", name, "--version", version, "--locked", "--debug", "--quiet", "--root"]);
            cargo.arg(workspace.tools().join(name));
            process::run(&mut cargo, &format!("check the network, or install {name} and put it on PATH"))
        })?;
    }
    Ok(program)
}

/// Where [`build_tool`] puts it.
pub(crate) fn built_tool(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.tools().join(name).join("bin").join(name).with_extension(env::consts::EXE_EXTENSION)
}

/// `npm ci`, unless the installed tools are those of the lock file.
pub(crate) fn install_npm_tools(tools: &Path) -> Result<()> {
    let lock = tools.join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("{} is missing", lock.display()))?;
    let stamp = installed_lock(tools);
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    process::timed("installing the npm tools", || {
        process::run(
            npm().arg("ci").arg("--no-progress").current_dir(tools),
            "check the network and npm's registry setting, then run this again",
        )?;
        Ok(fs::write(stamp, wanted)?)
    })
}

/// A copy of the lock file, written after a complete install; `npm ci` removes it when it starts.
fn installed_lock(tools: &Path) -> PathBuf {
    tools.join("node_modules/.installed-package-lock.json")
}

/// npm is a script on Windows, which `Command` finds only by its full name.
pub(crate) fn npm() -> Command {
    Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
}
