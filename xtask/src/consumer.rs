//! The package as a stranger gets it: packed, installed into an empty project, then used by name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use crate::counts::Counts;
use crate::workspace::Workspace;
use crate::{packed, process, setup, snippets, test};

/// Compiled, never run; a wrong use is marked `@ts-expect-error`.
const TYPE_TESTS: [&str; 2] = [".test-d.ts", ".test-d.tsx"];

/// What the pages' examples take for granted.
const PRELUDE: &str = "prelude.d.ts";

const REMEDY: &str = "correct pkg-template/package.json";

const NODE_TESTS: [&str; 1] = [".test.mjs"];

/// Runs pkg-template/test against pkg/: the type tests, each file counted as one test, then Node's.
pub(crate) fn test(workspace: &Workspace) -> Result<Counts> {
    let project = workspace.scratch().join("consumer");
    let tests = project.join("test");
    if project.exists() {
        fs::remove_dir_all(&project)?;
    }
    fs::create_dir_all(&tests)?;
    install(workspace, &project)?;
    let mut files = copy_tests(&workspace.root.join("pkg-template/test"), &tests)?;
    files.extend(snippets::write(workspace, &tests)?);
    let mut counts = packed::test(workspace, &project.join(tarball(workspace)), &project.join("node_modules/intento"))?;
    counts += type_tests(workspace, &project, &select(&files, &TYPE_TESTS))?;
    counts += node_tests(&project, &select(&files, &NODE_TESTS))?;
    Ok(counts)
}

/// From the tarball that would be published, so that a file missing from `files` is missing here.
fn install(workspace: &Workspace, project: &Path) -> Result<()> {
    let manifest = json!({ "name": "consumer", "private": true, "type": "module" });
    fs::write(project.join("package.json"), manifest.to_string())?;
    let tarball = pack(workspace, project)?;
    process::run(
        setup::npm()
            .args(["install", "--silent", "--offline", "--no-package-lock", "--no-audit", "--no-fund"])
            .arg(tarball)
            .current_dir(project),
        REMEDY,
    )
}

/// Packs pkg/ as it would be published, into that folder.
pub(crate) fn pack(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    process::run(
        setup::npm().args(["pack", "--silent", "--pack-destination"]).arg(folder).current_dir(workspace.pkg()),
        REMEDY,
    )?;
    Ok(folder.join(tarball(workspace)))
}

fn tarball(workspace: &Workspace) -> String {
    format!("intento-{}.tgz", workspace.version)
}

fn copy_tests(from: &Path, to: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(from).with_context(|| format!("{} is missing", from.display()))?;
    let mut copies = Vec::new();
    for entry in entries {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        fs::copy(entry.path(), &copy)?;
        copies.push(copy);
    }
    copies.sort();
    Ok(copies)
}

fn select<'a>(files: &'a [PathBuf], suffixes: &[&str]) -> Vec<&'a Path> {
    let named = |file: &Path| {
        let name = file.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| suffixes.iter().any(|suffix| name.ends_with(suffix)))
    };
    files.iter().map(PathBuf::as_path).filter(|file| named(file)).collect()
}

fn type_tests(workspace: &Workspace, project: &Path, files: &[&Path]) -> Result<Counts> {
    if files.is_empty() {
        return Ok(Counts::default());
    }
    let prelude = project.join("test").join(PRELUDE);
    let included = [files, &[prelude.as_path()]].concat();
    // An app that uses React has these.
    let types = workspace.tools().join("node_modules");
    let settings = json!({
        "compilerOptions": {
            "target": "ES2022", "lib": ["ES2022", "DOM"], "types": [], "noEmit": true,
            "module": "NodeNext", "moduleResolution": "NodeNext",
            "jsx": "react-jsx", "paths": {
                "react": [types.join("@types/react/index.d.ts")],
                "react/jsx-runtime": [types.join("@types/react/jsx-runtime.d.ts")],
                "csstype": [types.join("csstype/index.d.ts")],
            },
            "strict": true, "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true,
        },
        "files": included,
    });
    let config = project.join("tsconfig.json");
    fs::write(&config, settings.to_string())?;
    let mut tsc = workspace.npm_tool("typescript", "tsc");
    let mut counts = test::count(tsc.arg("--project").arg(config))?;
    if counts.failed == 0 {
        counts.passed += u64::try_from(files.len())?;
    }
    Ok(counts)
}

fn node_tests(project: &Path, files: &[&Path]) -> Result<Counts> {
    if files.is_empty() {
        return Ok(Counts::default());
    }
    let mut node = Command::new("node");
    // What has passed may have left a deadline behind that nobody waits for.
    node.args(["--test", "--test-force-exit", "--test-reporter=spec"]).args(files);
    test::count(node.current_dir(project))
}
