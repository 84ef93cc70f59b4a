//! The browser adapters in a service worker, as `tests/web` tries them in a window, less what only windows have.
#![cfg(target_arch = "wasm32")]

#[path = "../web/durability.rs"]
mod durability;
#[path = "../web/ledger.rs"]
mod ledger;
#[path = "../web/locks.rs"]
mod locks;
#[path = "../web/opening.rs"]
mod opening;
#[path = "../web/page.rs"]
mod page;
#[path = "../web/session.rs"]
mod session;
#[path = "../web/spy.rs"]
mod spy;
#[path = "../web/store_contract.rs"]
mod store_contract;
#[path = "../web_worker/tiers.rs"]
mod tiers;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_service_worker);
