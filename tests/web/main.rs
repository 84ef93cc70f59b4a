//! The browser adapters in a real browser's window. What workers have too is tried there again: `tests/web_worker`,
//! `tests/web_service_worker`.
#![cfg(target_arch = "wasm32")]

mod contracts;
mod durability;
mod ledger;
mod locks;
mod opening;
mod page;
mod session;
mod spy;
#[macro_use]
mod store_contract;
mod tiers;
#[path = "../vectors/mod.rs"]
mod vectors;
mod weak;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
