//! The durable record: the stored format, the port to it, and the store in memory that defines its behaviour.

pub mod batch;
pub mod format;
pub mod memory;
pub mod store;
