//! What a build needs, and how new it must be. The npm tools are pinned in tools/package-lock.json,
//! wasm-bindgen in Cargo.lock.

/// Rust's floor: (major, minor).
pub(crate) const RUST_FLOOR: (u32, u32) = (1, 95);

/// Node's floor, the same as the package's: from here on `require()` takes ES modules.
pub(crate) const NODE_FLOOR: (u32, u32) = (20, 19);

/// Built from crates.io where `cargo xtask deny` is run first.
pub(crate) const CARGO_DENY_VERSION: &str = "=0.20.2";

/// Mozilla's driver for Firefox, which is built from crates.io where there is none.
pub(crate) const GECKODRIVER_VERSION: &str = "=0.37.1";

pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// For wasm-opt: smallest output once compressed, and the features that rustc turns on for wasm32.
pub(crate) const WASM_OPT_FLAGS: &[&str] = &[
    "-Os",
    // Nothing is inlined, and what is worked out twice stays so: what looks the same everywhere compresses better, by
    // 3% and 1%.
    "--always-inline-max-function-size=0",
    "--flexible-inline-max-function-size=0",
    "--one-caller-inline-max-function-size=0",
    "--skip-pass=local-cse",
    "--strip-debug",
    "--strip-producers",
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// (major, minor) from the first number of the form `1.95` in what a tool prints as its version.
pub(crate) fn parse_version(printed: &str) -> Option<(u32, u32)> {
    printed.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|word| {
        let mut numbers = word.split('.');
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        Some((major, minor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_tools_print() {
        assert_eq!(parse_version("rustc 1.95.0 (59807616e 2026-04-14)"), Some((1, 95)));
        assert_eq!(parse_version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_version("rustc 1.96.0-nightly"), Some((1, 96)));
        assert_eq!(parse_version("command not found"), None);
    }

    #[test]
    fn compares_by_number() {
        assert!(parse_version("v20.9.0") < Some(NODE_FLOOR));
        assert!(parse_version("v22.2.0") >= Some(NODE_FLOOR));
    }
}
