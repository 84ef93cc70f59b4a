//! Compiles what is preloaded into WebKitGTK; its path is `WEBKITGTK_PRELOAD`.

use std::env;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "webkitgtk/persistent.rs";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let variable = |name: &str| env::var_os(name).unwrap_or_default();
    let library = Path::new(&variable("OUT_DIR")).join("persistent.so");
    println!("cargo::rustc-env=WEBKITGTK_PRELOAD={}", library.display());
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--crate-type=cdylib", "--edition=2024", "-Cpanic=abort", "-Cstrip=symbols", "-o"]);
    let compiled = rustc.arg(&library).arg(SOURCE).status();
    assert!(compiled.is_ok_and(|status| status.success()), "{SOURCE} could not be compiled");
}
