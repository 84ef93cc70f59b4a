//! The exported surface, for the JavaScript face only: plain values in, plain values out, one file a class.

mod drivers;
mod errors;
mod face;
mod options;
pub mod queue;
mod settled;
