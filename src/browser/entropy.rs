//! Randomness from `crypto.getRandomValues`, or none: there is no fallback (hazard K17).

use crate::core::error::{Error, ErrorCode};
use crate::core::key::RandomBits;

/// 128 fresh random bits.
pub fn draw() -> Result<RandomBits, Error> {
    draw_two().map(|(bits, _)| bits)
}

/// Twice as many, in one call of the platform.
pub fn draw_two() -> Result<(RandomBits, RandomBits), Error> {
    let mut bits = [[0; 16]; 2];
    getrandom::fill(bits.as_flattened_mut()).map_err(|_| Error::new(ErrorCode::EntropyUnavailable))?;
    let [one, other] = bits;
    Ok((RandomBits(one), RandomBits(other)))
}
