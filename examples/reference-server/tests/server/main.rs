//! The contract, asserted from outside: real HTTP on loopback, a real SQLite file, and the file's
//! own account of what happened.

mod accept;
mod bench;
mod clock;
mod crash;
mod faults;
mod http;
mod idempotency;
mod lookup;
mod modes;
