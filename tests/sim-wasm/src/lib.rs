//! The simulator for wasm32: the lives that the native one lives, in a module that is built as the shipped one is.
//! `cargo xtask sim --wasm` runs both and compares.

#![cfg(target_arch = "wasm32")]

use std::panic;

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn error(text: &str);
}

/// A law that is broken ends the module; what it was is said before.
#[wasm_bindgen(start)]
fn start() {
    panic::set_hook(Box::new(|panic| error(&panic.to_string())));
}

/// [`sim::trace::account`].
#[wasm_bindgen]
pub fn account(seed: u64) -> String {
    sim::trace::account(seed)
}
