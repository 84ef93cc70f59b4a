//! `cargo xtask reproduce`: the package is built twice, from copies in two folders, and must come out the same to the byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::counts::Counts;
use crate::workspace::Workspace;
use crate::{package, process, setup};

/// One folder is deeper, and has a space in its name.
const FOLDERS: [&str; 2] = ["one", "another/folder of its own"];

/// Builds, compares, and prints each file's SHA-256.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    setup::run(workspace)?;
    let scratch = tempfile::tempdir()?;
    let mut built = Vec::new();
    for folder in FOLDERS {
        let copy = Workspace { root: scratch.path().join(folder), version: workspace.version.clone() };
        copy_sources(workspace, &copy.root)?;
        package::build(&copy, &package::Options::shipped(&copy, false))?;
        built.push(hashes(&copy.pkg())?);
    }
    let [one, another] = &built[..] else { bail!("two packages are compared") };
    let differing: Vec<&PathBuf> =
        one.keys().chain(another.keys()).filter(|name| one.get(*name) != another.get(*name)).collect();
    if !differing.is_empty() {
        bail!("the two packages differ in {differing:?}: find what of the folder or the build got into them");
    }
    for (name, hash) in one {
        println!("{hash}  {}", name.display());
    }
    println!("reproduced files={} differing=0", one.len());
    Ok(())
}

pub(crate) fn test(workspace: &Workspace) -> Result<Counts> {
    run(workspace).map(|()| Counts { passed: 1, failed: 0 })
}

/// What git knows, as it stands in the working tree.
fn copy_sources(workspace: &Workspace, to: &Path) -> Result<()> {
    let mut git = Command::new("git");
    let listed = process::capture(
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&workspace.root),
        "run this in a clone",
    )?;
    for name in listed.split_terminator('\0') {
        let (from, to) = (workspace.root.join(name), to.join(name));
        if !from.is_file() {
            continue;
        }
        fs::create_dir_all(to.parent().context("a file has no folder")?)?;
        fs::copy(&from, &to).with_context(|| format!("{} could not be copied", from.display()))?;
    }
    copy_tools(&workspace.tools().join("node_modules"), &to.join("tools/node_modules"))
}

/// The pinned tools are the same in both builds: a link where the system has them.
#[cfg(unix)]
fn copy_tools(from: &Path, to: &Path) -> Result<()> {
    Ok(std::os::unix::fs::symlink(from, to)?)
}

#[cfg(not(unix))]
fn copy_tools(from: &Path, to: &Path) -> Result<()> {
    Ok(std::os::windows::fs::symlink_dir(from, to)?)
}

fn hashes(folder: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(place) = left.pop() {
        for entry in fs::read_dir(&place)? {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else {
                let hash = Sha256::digest(fs::read(&path)?);
                let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                found.insert(path.strip_prefix(folder)?.to_owned(), hash);
            }
        }
    }
    Ok(found)
}
