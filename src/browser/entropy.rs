//! Randomness from `crypto.getRandomValues`, or none: there is no fallback (hazard K17).

use crate::core::error::{Error, ErrorCode};
use crate::core::key::RandomBits;

/// 128 fresh random bits.
pub fn draw() -> Result<RandomBits, Error> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|_| Error::new(ErrorCode::EntropyUnavailable))?;
    Ok(RandomBits(bits))
}
