//! What is in the tarball, and whether its map of entries holds for every resolver.

use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::counts::Counts;
use crate::process;
use crate::workspace::Workspace;

const LIST: &str = "pkg-template/packed-files.txt";

/// Lints the tarball, and compares what it unpacked to with the list in the repository; with UPDATE_DOCS=1, writes the list.
pub(crate) fn test(workspace: &Workspace, tarball: &Path, unpacked: &Path) -> Result<Counts> {
    compare(&workspace.root.join(LIST), unpacked)?;
    let remedy = "correct `exports` of pkg-template/package.json";
    process::run(workspace.npm_script("publint/src/cli.js").args(["run", "--strict"]).arg(tarball), remedy)?;
    let mut attw = workspace.npm_script("@arethetypeswrong/cli/dist/index.js");
    // A module has no types; and there is nothing but ES modules.
    attw.arg(tarball).args([
        "--exclude-entrypoints",
        "core.wasm",
        "--profile",
        "esm-only",
        "--format",
        "table-flipped",
    ]);
    process::run(attw.arg("--no-emoji"), remedy)?;
    Ok(Counts { passed: 3, failed: 0 })
}

fn compare(list: &Path, unpacked: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(unpacked).with_context(|| format!("{} is missing", unpacked.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        names.push(if entry.file_type()?.is_dir() { name + "/" } else { name });
    }
    names.sort();
    let packed = names.join("\n") + "\n";
    if env::var_os("UPDATE_DOCS").is_some() {
        return Ok(fs::write(list, packed)?);
    }
    let listed = fs::read_to_string(list).with_context(|| format!("{LIST} is missing"))?;
    let only_in = |one: &str, other: &str| {
        let missing: Vec<&str> = one.lines().filter(|name| !other.lines().any(|named| named == *name)).collect();
        missing.join(", ")
    };
    let (new, gone) = (only_in(&packed, &listed), only_in(&listed, &packed));
    match new.is_empty() && gone.is_empty() {
        true => Ok(()),
        false => bail!("the tarball is not what {LIST} lists: new are [{new}], gone are [{gone}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_and_what_is_gone_is_told() {
        let folder = env::temp_dir().join(format!("xtask-packed-{}", std::process::id()));
        let unpacked = folder.join("unpacked");
        fs::create_dir_all(unpacked.join("src")).unwrap();
        fs::write(unpacked.join("index.js"), "").unwrap();
        let list = folder.join("list.txt");
        fs::write(&list, "index.js\nsrc/\n").unwrap();
        compare(&list, &unpacked).unwrap();
        fs::write(&list, "core.wasm\nindex.js\n").unwrap();
        let told = compare(&list, &unpacked).unwrap_err().to_string();
        assert!(told.contains("new are [src/], gone are [core.wasm]"), "{told}");
        fs::remove_dir_all(folder).unwrap();
    }
}
