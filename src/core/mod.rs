//! The pure core: no clock, no randomness, no IO, no JavaScript. Everything it needs to know is an argument.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod attempt;
pub mod attempt_run;
pub mod backoff;
pub mod bugs;
pub mod change;
pub mod contract;
pub mod effect;
pub mod engine;
pub mod error;
pub mod http_date;
pub mod input;
pub mod intent;
pub mod journal;
pub mod json;
pub mod key;
pub mod limits;
pub mod map;
pub mod media_type;
pub mod parcel;
pub mod reach;
pub mod record;
pub mod shared;
pub mod snapshot;
pub mod state;
pub mod submission;
pub mod time;
pub mod transition;
pub mod window;
