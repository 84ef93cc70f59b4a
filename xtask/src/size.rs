//! `cargo xtask size`: what an app pays in bytes.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::compress::{Weight, weigh};
use crate::counts::Counts;
use crate::workspace::Workspace;
use crate::{classic, package, setup};

/// What core.wasm may weigh, in brotli bytes.
const WASM_MAX: usize = 130 * 1024;

/// What `import { openQueue }`, bundled, may weigh, in brotli bytes.
const INLINE_MAX: usize = 150 * 1024;

/// What the classic script may weigh, in brotli bytes: the same, and every contract.
const IIFE_MAX: usize = 158 * 1024;

/// What `import { openQueue } from 'intento/slim'`, bundled, may weigh beside core.wasm, in brotli bytes.
const SLIM_MAX: usize = 16 * 1024;

/// Builds the package and prints raw, gzip and brotli bytes. The last line is for machines:
/// `size wasm_br=N glue_br=N inline_br=N iife_br=N slim_br=N`. Fails where that is more than the budget.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    setup::run(workspace)?;
    package::build(workspace, &package::Options::shipped(workspace, false))?;
    println!();
    measure(workspace).map(|_| ())
}

/// As [`run`], of the package that is built already.
pub(crate) fn measure(workspace: &Workspace) -> Result<Counts> {
    let read = |name: &str| {
        let path = workspace.pkg().join(name);
        fs::read(&path).with_context(|| format!("{} is missing", path.display()))
    };
    let wasm = weigh(&read("core.wasm")?)?;
    let glue = weigh(&read("core.js")?)?;
    let inline = weigh(&bundle(workspace, "index.js")?)?;
    let iife = weigh(&read("iife.js")?)?;
    let slim = weigh(&bundle(workspace, "slim.js")?)?;

    println!("{:<36}{:>9}{:>9}{:>9}", "bytes", "raw", "gzip", "brotli");
    print_row("core.wasm", wasm);
    print_row("core.js (glue)", glue);
    print_row("import { openQueue }, bundled", inline);
    print_row("iife.js", iife);
    print_row("the same from intento/slim, bundled", slim);
    println!(
        "size wasm_br={} glue_br={} inline_br={} iife_br={} slim_br={}",
        wasm.brotli, glue.brotli, inline.brotli, iife.brotli, slim.brotli
    );
    for (what, weight, budget) in [
        ("core.wasm", wasm, WASM_MAX),
        ("the bundled entry", inline, INLINE_MAX),
        ("iife.js", iife, IIFE_MAX),
        ("the bundled slim entry", slim, SLIM_MAX),
    ] {
        if weight.brotli > budget {
            bail!("{what} is {} bytes over its budget of {budget}: see what grew", weight.brotli - budget);
        }
    }
    Ok(Counts::default())
}

fn print_row(name: &str, Weight { raw, gzip, brotli }: Weight) {
    println!("{name:<36}{raw:>9}{gzip:>9}{brotli:>9}");
}

/// What a bundler ships for `import { openQueue }` from one of the package's files: one minified file.
fn bundle(workspace: &Workspace, entry: &str) -> Result<Vec<u8>> {
    let folder = workspace.scratch().join("size");
    let (app, bundled) = (folder.join("app.js"), folder.join("app.min.js"));
    // Module specifiers have forward slashes on every system.
    let package = workspace.pkg().display().to_string().replace('\\', "/");
    fs::create_dir_all(&folder)?;
    fs::write(&app, format!("export {{ openQueue }} from '{package}/{entry}';\n"))?;
    classic::bundle(workspace, &app, &["--format=esm"], &bundled)?;
    Ok(fs::read(bundled)?)
}
