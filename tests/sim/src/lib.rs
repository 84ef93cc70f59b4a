//! intento's core in a simulated world: the same code that ships, with time, chance, storage, network, tabs and servers as
//! arguments. Everything is decided by the seed: the same seed and the same commit are the same run.
//!
//! | module | what it is |
//! |---|---|
//! | [`world`] | one device in virtual time: events, and the driver's part of each effect |
//! | `driver` | the driver's part of each effect |
//! | [`realms`] | tabs: opened, reloaded, frozen, thawed, closed |
//! | [`locks`] | Web Locks: had, waited for, stolen, kept by the frozen |
//! | [`ledger`] | storage that can be told to fail |
//! | [`server`] | the network's tricks, and the server's half |
//! | [`crash`] | where a tab and a server can die, and what befalls single messages |
//! | [`laws`] | what must hold at every send and every commit, in every world |
//! | [`storm`], [`schedule`] | faults by chance, and one life of a device, drawn from a seed |
//! | [`profile`] | kinds of servers |
//! | [`exhaustive`] | everything that can happen within a small scope |
//! | [`situations`], [`tally`] | how often each situation came about |
//! | [`trace`] | what left the core, as one number |
//! | `run`, `shrink`, [`story`] | many seeds, from the command line; a failure cut down to what it takes, and told |
//! | [`decisions`] | what the app decides |
//! | [`agenda`] | what will happen, in order |
//! | [`chance`] | throws of a seed |
//! | `bugs` | mistakes made on purpose, for the laws to catch |

pub mod agenda;
#[cfg(feature = "bugs")]
mod bugs;
pub mod chance;
pub mod crash;
pub mod decisions;
mod driver;
#[cfg(not(target_arch = "wasm32"))]
pub mod exhaustive;
pub mod laws;
pub mod ledger;
pub mod locks;
pub mod profile;
pub mod realms;
#[cfg(not(target_arch = "wasm32"))]
pub mod run;
pub mod schedule;
pub mod server;
#[cfg(not(target_arch = "wasm32"))]
mod shrink;
mod situations;
pub mod storm;
pub mod story;
pub mod tally;
pub mod trace;
pub mod world;

pub use ledger::{Ledger, LedgerFault, Operation};
pub use server::{Turn, json, with_header};
pub use world::{ATTEMPT_MS, DAY, HOUR, MINUTE, RealmNo, SECOND, World};
