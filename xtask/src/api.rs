//! The public surface as one file in the repository, docs/api.d.ts: a change of it shows in review.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

const SNAPSHOT: &str = "docs/api.d.ts";

/// Compares what the package built last declares with the snapshot; with UPDATE_DOCS=1, writes the snapshot.
pub(crate) fn compare(workspace: &Workspace, entries: &[String]) -> Result<()> {
    let declared = declared(&workspace.pkg(), entries)?;
    let path = workspace.root.join(SNAPSHOT);
    if env::var_os("UPDATE_DOCS").is_some() {
        return Ok(fs::write(path, declared)?);
    }
    let kept = fs::read_to_string(&path).with_context(|| format!("{SNAPSHOT} is missing"))?;
    if kept == declared {
        return Ok(());
    }
    let line = kept.lines().zip(declared.lines()).take_while(|(kept, now)| kept == now).count() + 1;
    bail!(
        "the public types are no longer those of {SNAPSHOT}, line {line}: UPDATE_DOCS=1 cargo xtask docs writes it anew"
    )
}

/// The declarations of the entries and of all that they import, each under its file's name.
fn declared(pkg: &Path, entries: &[String]) -> Result<String> {
    let mut seen = BTreeSet::new();
    let mut left: Vec<String> = entries.iter().map(|entry| entry.trim_start_matches("./").to_owned()).collect();
    let mut text =
        String::from("// What `intento` declares, file by file. Written by UPDATE_DOCS=1 cargo xtask docs.\n");
    let mut files = Vec::new();
    while let Some(file) = left.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let code = fs::read_to_string(pkg.join(&file)).with_context(|| format!("{file} is not in the package"))?;
        left.extend(imports(&code));
        files.push((file, code));
    }
    files.sort();
    for (file, code) in files {
        text += &format!("\n// {file}\n\n{code}");
    }
    Ok(text)
}

/// `from './types.js'` and `import('./types.js')` name types.d.ts.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in code.split(['\'', '"']) {
        if let Some(name) = rest.strip_prefix("./").and_then(|name| name.strip_suffix(".js")) {
            found.push(format!("{name}.d.ts"));
        }
    }
    found
}
