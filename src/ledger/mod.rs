//! The durable record: the stored format, the port to it, and the store in memory that defines its behaviour.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod batch;
pub mod durability;
pub mod format;
pub mod memory;
pub mod scan;
pub mod store;
