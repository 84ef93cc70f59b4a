//! `cargo xtask docs`: the reference of crate and package, where a missing or broken doc comment is an error, and so is
//! another public surface than the one in the repository.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::counts::Counts;
use crate::versions::WASM_TARGET;
use crate::workspace::Workspace;
use crate::{api, process, setup};

/// Writes target/doc by rustdoc and target/xtask/typedoc by typedoc, from the package built last.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    for target in [None, Some(WASM_TARGET)] {
        let mut cargo = process::cargo(&workspace.root);
        cargo.args(["doc", "--quiet", "--no-deps", "--document-private-items", "--package=intento"]);
        cargo.args(target.map(|target| format!("--target={target}")));
        process::run(cargo.env("RUSTDOCFLAGS", "-D warnings"), "correct the doc comment that rustdoc names above")?;
    }
    let folder = workspace.tools().join("typedoc");
    setup::install_npm_tools(&folder)?;
    let mut typedoc = Command::new("node");
    typedoc.arg(folder.join("node_modules/typedoc/bin/typedoc")).arg("--options").arg(folder.join("typedoc.json"));
    typedoc.arg("--out").arg(workspace.scratch().join("typedoc"));
    let entries = entry_types(workspace)?;
    api::compare(workspace, &entries)?;
    for types in &entries {
        typedoc.arg("--entryPoints").arg(workspace.pkg().join(types));
    }
    process::run(&mut typedoc, "document what typedoc names above")
}

pub(crate) fn test(workspace: &Workspace) -> Result<Counts> {
    run(workspace).map(|()| Counts { passed: 2, failed: 0 })
}

/// The declarations of every entry of the package.
fn entry_types(workspace: &Workspace) -> Result<Vec<String>> {
    let manifest: Value = serde_json::from_str(&fs::read_to_string(workspace.pkg().join("package.json"))?)?;
    let exports = manifest["exports"].as_object().context("package.json has no exports")?;
    Ok(exports.values().filter_map(|entry| entry["types"].as_str()).map(str::to_owned).collect())
}
