//! The engine and the JavaScript face have the same closed set of error codes.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeSet;

use intento::core::error::ErrorCode;
use intento::core::intent::HeldReason;

/// The members of an exported union of string literals in a TypeScript source.
fn union<'a>(source: &'a str, name: &str) -> BTreeSet<&'a str> {
    let (_, rest) = source.split_once(&format!("export type {name} =")).expect("the union is there");
    let (body, _) = rest.split_once(';').expect("it ends");
    body.split('\'').skip(1).step_by(2).collect()
}

#[test]
fn the_error_codes_are_those_of_the_face() {
    let face = union(include_str!("../pkg-template/src/errors.ts"), "ErrorCode");
    let engine: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(engine.len(), ErrorCode::ALL.len(), "two errors share a code");
    assert_eq!(face, engine);
    assert!(ErrorCode::ALL.iter().all(|code| code.remedy().ends_with('.')));
}

#[test]
fn the_held_reasons_are_those_of_the_face() {
    let face = union(include_str!("../pkg-template/src/types.ts"), "HeldReason");
    let engine: BTreeSet<String> = HeldReason::ALL.iter().map(|reason| reason.as_str().to_owned()).collect();
    assert_eq!(face, engine.iter().map(String::as_str).collect());
    assert!(HeldReason::ALL.iter().all(|reason| reason.remedy().ends_with('.')));
}

/// `docs/errors.md`, made from the codes themselves. `UPDATE_DOCS=1 cargo test --test error_codes` writes it.
#[test]
fn every_error_is_documented_as_it_is() {
    let mut page = String::from(
        "# Errors\n\nEvery error is an `IntentoError`. Branch on `code`; `blame` says who can mend it, `remedy` how. \
         This page is made from\nthe codes in `src/core/error.rs`.\n\n| code | cause | blame | remedy |\n|---|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let (name, blame) = (code.as_str(), code.blame().as_str());
        page += &format!("| `{name}` | {} | {blame} | {} |\n", code.cause().replace('|', "\\|"), code.remedy());
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/errors.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page, "run UPDATE_DOCS=1 cargo test --test error_codes");
}
