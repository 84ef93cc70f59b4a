//! Where things are in this repository.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// The version of the `intento` crate, which is the npm package's version too.
    pub(crate) version: String,
}

impl Workspace {
    /// Asks cargo, so that it works from any folder of the repository.
    pub(crate) fn find() -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let printed = process::capture(
            process::cargo(here).args(["metadata", "--no-deps", "--format-version=1"]),
            "correct the manifest that cargo names above",
        )?;
        let metadata: Value = serde_json::from_str(&printed)?;
        let root = metadata["workspace_root"].as_str();
        let version = metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|package| package["name"] == "intento")
            .and_then(|package| package["version"].as_str());
        Ok(Self {
            root: root.context("cargo metadata names no workspace")?.into(),
            version: version.context("the workspace has no package `intento`")?.into(),
        })
    }

    /// The npm package as it ships.
    pub(crate) fn pkg(&self) -> PathBuf {
        self.root.join("pkg")
    }

    /// What xtask keeps between runs. In the repository even when cargo's own target folder is
    /// elsewhere, so that putting a finished package in its place is a rename.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.join("target/xtask")
    }

    /// Waits until nobody else builds in the scratch folder. The turn ends with the file.
    pub(crate) fn turn(&self) -> Result<File> {
        fs::create_dir_all(self.scratch())?;
        let lock = File::create(self.scratch().join("build.lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join("tools")
    }

    /// A pinned npm tool that has its program in bin/.
    pub(crate) fn npm_tool(&self, package: &str, bin: &str) -> Command {
        self.npm_script(&format!("{package}/bin/{bin}"))
    }

    /// A script of a pinned npm tool, run by node itself: npm's own launchers differ between systems.
    pub(crate) fn npm_script(&self, path: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(self.tools().join("node_modules").join(path));
        command.current_dir(&self.root);
        command
    }
}
