//! The decoders that ship, fed with what nobody would write: text that is nearly right, and text that is not at all.
//! `PROPTEST_CASES` says how often each property is tried.
#![cfg(not(target_arch = "wasm32"))]

mod arbitrary;
mod canonical_json;
mod contracts;
mod damage;
mod facts;
mod json;
mod ledger;
mod records;
mod retry_after;

use intento::core::submission::Target;
use proptest::test_runner::Config;

/// What is found becomes a named test; no file of seeds is kept.
fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}

const ORIGIN: &str = "https://api.shop.example";

fn target(path: &str) -> Target {
    Target {
        href: format!("{ORIGIN}{path}"),
        scheme: "https:".to_owned(),
        host: "api.shop.example".to_owned(),
        origin: ORIGIN.to_owned(),
        has_credentials: false,
    }
}
