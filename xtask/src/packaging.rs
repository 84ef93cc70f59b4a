//! `cargo xtask test packaging`: the packed package in small projects, one a tool, as their users have it (tests/packaging).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use crate::counts::Counts;
use crate::workspace::Workspace;
use crate::{consumer, process, setup, test};

/// Built with what builds the package, or with nothing.
const QUICK: &[&str] = &["esbuild", "script-tag", "import-scripts", "service-worker", "csp"];
/// Built with tools of their own, which are installed first.
const FULL: &[&str] = &["rollup", "vite", "webpack", "next"];

const NODE_TESTS: &[&str] = &["node/import.test.mjs", "node/require.test.cjs", "node/ssr.test.mjs"];

/// As TypeScript's settings name them: `module`, `moduleResolution`.
const RESOLUTIONS: &[(&str, &str)] = &[("ESNext", "bundler"), ("Node16", "node16"), ("NodeNext", "nodenext")];

/// What needs no further tool: Node, types, esbuild, scripts, workers and a strict policy.
pub(crate) fn quick(workspace: &Workspace) -> Result<Counts> {
    let projects = lay_out(workspace, "quick")?;
    fs::write(projects.join("package.json"), json!({ "private": true, "type": "module" }).to_string())?;
    install(workspace, &projects)?;
    let mut counts = test::count(
        Command::new("node").args(["--test", "--test-reporter=spec"]).args(NODE_TESTS).current_dir(&projects),
    )?;
    for resolution in RESOLUTIONS {
        counts += types(workspace, &projects, *resolution)?;
    }
    counts += build(workspace, &projects, QUICK)?;
    counts += in_browser(workspace, &projects, "quick::")?;
    Ok(counts)
}

/// The bundlers and frameworks, each in its own version.
pub(crate) fn full(workspace: &Workspace) -> Result<Counts> {
    let projects = lay_out(workspace, "full")?;
    setup::install_npm_tools(&projects)?;
    install(workspace, &projects)?;
    // The server of Vite pays at the API that the page of this one has.
    let mut counts = build(workspace, &projects, &[&["esbuild"], FULL].concat())?;
    counts += in_browser(workspace, &projects, "full::")?;
    Ok(counts)
}

/// A copy of tests/packaging, whose projects find packages in the folder above them. What was installed there stays.
fn lay_out(workspace: &Workspace, half: &str) -> Result<PathBuf> {
    let projects = workspace.scratch().join("packaging").join(half);
    fs::create_dir_all(&projects)?;
    for entry in fs::read_dir(workspace.root.join("tests/packaging"))? {
        let entry = entry?;
        if entry.file_name() == "node_modules" {
            continue;
        }
        let copy = projects.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if copy.exists() {
                fs::remove_dir_all(&copy)?;
            }
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(projects)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

/// What is in the tarball, and nothing else, beside the tools that are there.
fn install(workspace: &Workspace, projects: &Path) -> Result<()> {
    let packed = consumer::pack(workspace, projects)?;
    let unpacked = projects.join("node_modules/intento");
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)?;
    }
    fs::create_dir_all(&unpacked)?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(packed).args(["--strip-components=1", "-C"]).arg(&unpacked);
    process::run(&mut tar, "put tar on PATH")
}

/// A strict app that uses every entry compiles. One test.
fn types(workspace: &Workspace, projects: &Path, (module, resolution): (&str, &str)) -> Result<Counts> {
    let settings = json!({
        "compilerOptions": {
            "target": "ES2022", "lib": ["ES2022", "DOM"], "types": [], "noEmit": true, "strict": true,
            "exactOptionalPropertyTypes": true, "module": module, "moduleResolution": resolution,
        },
        "files": ["types/app.ts"],
    });
    let config = projects.join(format!("tsconfig.{resolution}.json"));
    fs::write(&config, settings.to_string())?;
    let mut tsc = workspace.npm_tool("typescript", "tsc");
    let counts = test::count(tsc.arg("--project").arg(config))?;
    Ok(if counts.failed == 0 { Counts { passed: 1, failed: 0 } } else { counts })
}

/// Each project builds, and drops what it does not use. One test each.
fn build(workspace: &Workspace, projects: &Path, names: &[&str]) -> Result<Counts> {
    let mut counts = Counts::default();
    for name in names {
        println!("    build with {name}");
        let mut node = Command::new("node");
        node.arg("build.mjs").current_dir(projects.join(name)).env("INTENTO_TOOLS", workspace.tools());
        counts += match process::run(&mut node, "see what it says above") {
            Ok(()) => Counts { passed: 1, failed: 0 },
            Err(error) => {
                println!("error: {name}: {error:#}");
                Counts::BROKEN
            }
        };
    }
    Ok(counts)
}

fn in_browser(workspace: &Workspace, projects: &Path, half: &str) -> Result<Counts> {
    let mut cargo = process::cargo(&workspace.root);
    cargo.args(["test", "--no-fail-fast", "--package=e2e", "--test=packaging", "--", half]);
    let projects = projects.canonicalize().context("the projects are gone")?;
    test::count(cargo.env("INTENTO_PACKAGING", projects))
}
