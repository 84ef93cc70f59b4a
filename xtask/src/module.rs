//! A crate of this workspace as an optimised wasm module, the way everything that ships is built:
//! cargo → (wasm-bindgen, in between) → wasm-opt.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;
use crate::versions::{WASM_OPT_FLAGS, WASM_TARGET};
use crate::workspace::Workspace;

/// SHA-256 as a loop and not unrolled: what is hashed here is small.
const COMPACT_SHA256: &str = "--cfg=sha2_backend_soft=\"compact\"";

/// A cdylib, and how it is to be compiled.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) package: &'static str,
    /// Names and panic messages kept, nothing optimised.
    pub(crate) debug: bool,
    /// A cargo feature of the crate.
    pub(crate) feature: Option<&'static str>,
}

/// Runs cargo and returns the path of the module it made.
pub(crate) fn compile(workspace: &Workspace, source: &Source) -> Result<PathBuf> {
    let mut cargo = process::cargo(&workspace.root);
    cargo
        .args(["build", "--lib", "--package", source.package])
        .arg(format!("--target={WASM_TARGET}"))
        .arg("--message-format=json-render-diagnostics");
    if !source.debug {
        cargo.arg("--release");
    }
    if let Some(feature) = source.feature {
        cargo.args(["--features", feature]);
    }
    cargo.arg(format!("--config=target.{WASM_TARGET}.rustflags={}", rust_flags(&source_folders(workspace)?)?));
    let messages = process::capture(&mut cargo, "correct what the compiler names above")?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .find_map(|message: Value| built_module(&message, &source.package.replace('-', "_")))
        .with_context(|| format!("cargo made no wasm module: the crate `{}` must be a cdylib", source.package))
}

fn built_module(message: &Value, library: &str) -> Option<PathBuf> {
    if message["reason"] != "compiler-artifact" || message["target"]["name"] != library {
        return None;
    }
    let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    files.find(|file| file.ends_with(".wasm")).map(PathBuf::from)
}

/// Panic messages name source files: unmapped, the package would tell where it was built, and differ from one
/// machine to the next.
fn rust_flags(folders: &[(PathBuf, &str)]) -> Result<String> {
    let remaps = folders.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let flags: Vec<String> = remaps.chain([COMPACT_SHA256.to_owned()]).collect();
    // A JSON array of strings is a TOML one too.
    Ok(serde_json::to_string(&flags)?)
}

/// The folders that sources come from, with the names they go by in the package.
pub(crate) fn source_folders(workspace: &Workspace) -> Result<[(PathBuf, &'static str); 2]> {
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .context("there is no home folder: set CARGO_HOME to cargo's")?;
    Ok([(workspace.root.clone(), "intento"), (cargo_home, "cargo")])
}

pub(crate) fn check_names_no_folder(wasm: &[u8], folders: &[(PathBuf, &str)]) -> Result<()> {
    for (folder, _) in folders {
        let name = folder.as_os_str().as_encoded_bytes();
        if wasm.windows(name.len()).any(|bytes| bytes == name) {
            bail!(
                "the module names {}, a folder of this machine: unset RUSTFLAGS, which replaces \
                 the flags that hide it",
                folder.display()
            );
        }
    }
    Ok(())
}

/// Runs wasm-opt, or takes its last result for this package if nothing changed since: it is the slowest step.
pub(crate) fn optimise(workspace: &Workspace, package: &str, wasm: Vec<u8>) -> Result<Vec<u8>> {
    let folder = workspace.scratch().join("wasm-opt").join(package);
    let (input, output) = (folder.join("input.wasm"), folder.join("output.wasm"));
    let flags = folder.join("flags");
    let wanted = WASM_OPT_FLAGS.join(" ");
    let unchanged =
        fs::read(&input).is_ok_and(|last| last == wasm) && fs::read_to_string(&flags).is_ok_and(|last| last == wanted);
    if !unchanged || !output.exists() {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        fs::write(&input, wasm)?;
        process::run(
            workspace.npm_tool("binaryen", "wasm-opt").args(WASM_OPT_FLAGS).arg(&input).arg("--output").arg(&output),
            "if it names a wasm feature, rustc began to use one that WASM_OPT_FLAGS does not allow",
        )?;
        // Last, so that an interrupted run is not taken for a result.
        fs::write(flags, wanted)?;
    }
    Ok(fs::read(output)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_module_among_cargos_messages() {
        let artifact = |name: &str, files: &[&str]| json!({ "reason": "compiler-artifact", "target": { "name": name }, "filenames": files });
        assert_eq!(built_module(&artifact("serde", &["/t/serde.wasm"]), "intento"), None);
        assert_eq!(
            built_module(&artifact("intento", &["/t/libintento.rlib", "/t/intento.wasm"]), "intento"),
            Some(PathBuf::from("/t/intento.wasm"))
        );
        assert_eq!(built_module(&json!({ "reason": "build-finished" }), "intento"), None);
    }

    #[test]
    fn a_folder_of_this_machine_is_noticed() {
        let folders = [(PathBuf::from("/builds/shop"), "intento")];
        assert!(check_names_no_folder(b"\0/builds/shop/src/lib.rs\0", &folders).is_err());
        assert!(check_names_no_folder(b"\0intento/src/lib.rs\0", &folders).is_ok());
    }
}
