//! intento: one decision, one idempotency key, one effect.
#![forbid(unsafe_code)]
pub mod core;
pub mod ledger;
