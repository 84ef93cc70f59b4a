//! Chance, all of it from the seed.

use intento::core::backoff::JitterSource;

/// Throws that are the same for the same seed.
#[derive(Debug)]
pub struct Dice(JitterSource);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(JitterSource::new(seed))
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        (u64::from(self.0.draw().0) * sides) >> 32
    }

    pub fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}
