//! The React Native entry with the real React Native: type-checked, rendered, and compiled by Hermes.

use std::fs;
use std::process::Command;

use anyhow::Result;

use crate::counts::Counts;
use crate::workspace::Workspace;
use crate::{process, setup, test};

const TESTS: [&str; 2] = ["hermes.test.cjs", "render.test.cjs"];

/// Runs tests/react-native against pkg/. The type check counts as one test.
pub(crate) fn run(workspace: &Workspace) -> Result<Counts> {
    let project = workspace.root.join("tests/react-native");
    setup::install_npm_tools(&project)?;
    // A copy, so that its imports find React Native where an app's would.
    let installed = project.join("node_modules/intento");
    if installed.exists() {
        fs::remove_dir_all(&installed)?;
    }
    fs::create_dir_all(&installed)?;
    for entry in fs::read_dir(workspace.pkg())? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), installed.join(entry.file_name()))?;
        }
    }
    let mut tsc = workspace.npm_tool("typescript", "tsc");
    process::run(tsc.arg("--project").arg(project.join("tsconfig.json")), "correct what tsc names above")?;
    let mut counts = Counts { passed: 1, failed: 0 };
    let mut node = Command::new("node");
    node.args(["--test", "--test-force-exit", "--test-reporter=spec"]).args(TESTS);
    counts += test::count(node.current_dir(&project))?;
    Ok(counts)
}
