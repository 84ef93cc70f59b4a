//! `cargo xtask deny`: licences, sources and bans of every crate in the lock file, and the advisories against them, by
//! cargo-deny and deny.toml.

use anyhow::Result;

use crate::counts::Counts;
use crate::versions::CARGO_DENY_VERSION;
use crate::workspace::Workspace;
use crate::{process, setup};

const OFFLINE_CHECKS: &[&str] = &["bans", "licenses", "sources"];

/// Everything; the advisories come from the network.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    check(workspace, &[&["advisories"], OFFLINE_CHECKS].concat())
}

/// What depends on this repository alone.
pub(crate) fn test(workspace: &Workspace) -> Result<Counts> {
    check(workspace, OFFLINE_CHECKS).map(|()| Counts { passed: OFFLINE_CHECKS.len() as u64, failed: 0 })
}

fn check(workspace: &Workspace, checks: &[&str]) -> Result<()> {
    let program = setup::build_tool(workspace, "cargo-deny", CARGO_DENY_VERSION)?;
    let mut deny = std::process::Command::new(program);
    deny.current_dir(&workspace.root).args(["--workspace", "--locked", "check", "--hide-inclusion-graph"]).args(checks);
    process::run(&mut deny, "drop the crate that is named above, or say in deny.toml why it may stay")
}
