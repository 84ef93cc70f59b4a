//! intento: one decision, one idempotency key, one effect.
//!
//! A map of the house. Dependencies point down only: `js -> browser -> ledger -> core`.
//!
//! - [`core`]: pure. Every durable mutation is a [`Change`](core::change::Change);
//!   [`apply`](core::transition::apply) is the only code that changes an intent; [`contract`](core::contract) the only
//!   place that reads a status; [`Engine`](core::engine::Engine) says what to do next.
//! - [`ledger`]: the stored format and the port to a store; the store in memory defines its behaviour.
//! - `browser`: IndexedDB, fetch, lifecycle, and the driver that carries inputs and effects between them and the core.
//! - `js`: the surface that the JavaScript face is built on.

pub mod core;
pub mod ledger;

#[cfg(target_arch = "wasm32")]
pub mod browser;
#[cfg(target_arch = "wasm32")]
pub mod js;

/// Half the code of the allocator that std brings.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();
