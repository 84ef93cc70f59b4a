//! `cargo xtask build`: from the crate and pkg-template/ to a ready npm package.
//!
//! cargo → wasm-bindgen → wasm-opt → generated modules → tsc → classic script → manifest, all in a staging folder that
//! takes the old package's place only when it is complete.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use wasm_bindgen_cli_support::Bindgen;

use crate::module::{Source, check_names_no_folder, compile, optimise, source_folders};
use crate::names::Names;
use crate::workspace::Workspace;
use crate::{bill, classic, contracts, glue, inline, names, process};

const CRATE: &str = "intento";

/// Copied from the repository's root, beside what the template's `files` lists.
const DOCUMENTS: &[&str] = &["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

#[derive(Debug)]
pub(crate) struct Options {
    /// Where the package goes; an older one there is replaced.
    pub(crate) out: PathBuf,
    /// Names and panic messages kept, nothing optimised.
    pub(crate) debug: bool,
    /// A cargo feature of the crate.
    pub(crate) feature: Option<&'static str>,
}

impl Options {
    /// The package as it ships (or its debug build), in pkg/.
    pub(crate) fn shipped(workspace: &Workspace, debug: bool) -> Self {
        Self { out: workspace.pkg(), debug, feature: None }
    }
}

/// Builds the package into `options.out`. A second build waits for the first.
pub(crate) fn build(workspace: &Workspace, options: &Options) -> Result<()> {
    let title = format!("building {}", shown(workspace, &options.out).display());
    process::timed(&title, || {
        let scratch = workspace.scratch();
        let _turn = workspace.turn()?;
        let stage = scratch.join("stage");
        remove_dir(&stage)?;
        fs::create_dir_all(&stage)?;
        assemble(workspace, options, &stage)?;
        replace(&options.out, &stage, &scratch.join("replaced"))
    })
}

fn assemble(workspace: &Workspace, options: &Options, stage: &Path) -> Result<()> {
    let step = |name: &str| println!("    {name}");
    step("compile the core for wasm32");
    let module = compile(workspace, &Source { package: CRATE, debug: options.debug, feature: options.feature })?;
    step("generate the glue");
    let wasm = bind(&module, options, stage)?;
    let wasm = if options.debug {
        wasm
    } else {
        step("optimise the module");
        optimise(workspace, CRATE, wasm)?
    };
    check_names_no_folder(&wasm, &source_folders(workspace)?)?;
    fs::write(stage.join("core.wasm"), &wasm)?;
    fs::write(stage.join("wasm-inline.js"), inline::module(&wasm))?;
    fs::write(stage.join("wasm-inline.d.ts"), inline::DECLARATION)?;
    contracts::write(&workspace.root.join("contracts"), stage)?;
    step("compile the TypeScript face");
    compile_face(workspace, stage)?;
    step("bundle the classic script");
    classic::write(workspace, stage)?;
    step("write the manifest");
    copy_documents(workspace, stage)?;
    bill::write(workspace, stage)?;
    write_manifest(workspace, stage)
}

/// Writes the glue, core.js and core.d.ts, and returns the module that goes with it.
fn bind(module: &Path, options: &Options, stage: &Path) -> Result<Vec<u8>> {
    Bindgen::new()
        .input_path(module)
        .out_name("core")
        .web(true)?
        .typescript(true)
        .omit_default_module_path(true)
        .keep_debug(options.debug)
        .remove_name_section(!options.debug)
        .remove_producers_section(true)
        .generate(stage)
        .context(
            "wasm-bindgen refused the module: Cargo.lock must hold the same wasm-bindgen for xtask and the crate",
        )?;
    let bound = stage.join("core_bg.wasm");
    let wasm = fs::read(&bound)?;
    fs::remove_file(bound)?;
    fs::remove_file(stage.join("core_bg.wasm.d.ts"))?;
    let (wasm, names) = if options.debug { (wasm, Names::default()) } else { names::shorten(&wasm)? };
    let (code, types) = (stage.join("core.js"), stage.join("core.d.ts"));
    fs::write(&code, glue::instantiable(&names.apply(&fs::read_to_string(&code)?))?)?;
    fs::write(&types, glue::instantiable_types(&names.apply(&fs::read_to_string(&types)?))?)?;
    Ok(wasm)
}

/// Compiles pkg-template/src beside the generated modules, with the template's own settings.
fn compile_face(workspace: &Workspace, stage: &Path) -> Result<()> {
    let template = workspace.root.join("pkg-template");
    let source = template.join("src");
    let project = workspace.scratch().join("tsconfig.json");
    let settings = json!({
        "extends": template.join("tsconfig.json"),
        "compilerOptions": { "rootDir": source, "rootDirs": [source, stage], "outDir": stage },
        "include": [source],
    });
    fs::write(&project, serde_json::to_string_pretty(&settings)?)?;
    process::run(workspace.npm_tool("typescript", "tsc").arg("--project").arg(project), "correct what tsc names above")
}

fn copy_documents(workspace: &Workspace, stage: &Path) -> Result<()> {
    for name in DOCUMENTS {
        let document = workspace.root.join(name);
        fs::copy(&document, stage.join(name)).with_context(|| format!("{} is missing", document.display()))?;
    }
    Ok(())
}

/// The template's package.json with the crate's version, after a check that it promises no missing file.
fn write_manifest(workspace: &Workspace, stage: &Path) -> Result<()> {
    let template = workspace.root.join("pkg-template/package.json");
    let text = fs::read_to_string(&template).with_context(|| format!("{} is missing", template.display()))?;
    let mut manifest: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", template.display()))?;
    manifest["version"] = json!(workspace.version);
    let path = stage.join("package.json");
    fs::write(&path, serde_json::to_string_pretty(&manifest)? + "\n")?;
    for promised in promised_files(&manifest["exports"]) {
        if !stage.join(promised).is_file() {
            bail!(
                "package.json exports {promised}, which the build did not make: add it to \
                 pkg-template/src or drop it from pkg-template/package.json"
            );
        }
    }
    Ok(())
}

fn promised_files(exports: &Value) -> Vec<&str> {
    match exports {
        Value::String(path) => vec![path],
        Value::Object(branches) => branches.values().flat_map(promised_files).collect(),
        _ => Vec::new(),
    }
}

/// Puts `stage` where `out` is. `aside` takes the old package for the moment in between.
fn replace(out: &Path, stage: &Path, aside: &Path) -> Result<()> {
    remove_dir(aside)?;
    if out.exists() {
        fs::rename(out, aside)?;
    } else if let Some(parent) = out.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(stage, out).with_context(|| format!("{} could not be put in place", out.display()))?;
    remove_dir(aside)
}

fn remove_dir(path: &Path) -> Result<()> {
    match path.exists() {
        true => fs::remove_dir_all(path).with_context(|| format!("{} could not be removed", path.display())),
        false => Ok(()),
    }
}

fn shown<'a>(workspace: &Workspace, path: &'a Path) -> &'a Path {
    path.strip_prefix(&workspace.root).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn every_branch_of_the_exports_map_is_a_promise() {
        let exports = json!({
            ".": { "types": "./index.d.ts", "default": "./index.js" },
            "./core.wasm": "./core.wasm",
        });
        assert_eq!(promised_files(&exports), ["./index.d.ts", "./index.js", "./core.wasm"]);
    }

    #[test]
    fn the_old_package_is_replaced_whole() {
        let folder = env::temp_dir().join(format!("xtask-replace-{}", std::process::id()));
        let (out, stage) = (folder.join("pkg"), folder.join("stage"));
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(&stage).unwrap();
        fs::write(out.join("stale.js"), "").unwrap();
        fs::write(stage.join("index.js"), "").unwrap();
        replace(&out, &stage, &folder.join("aside")).unwrap();
        assert!(out.join("index.js").is_file());
        assert!(!out.join("stale.js").exists());
        assert!(!stage.exists() && !folder.join("aside").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
