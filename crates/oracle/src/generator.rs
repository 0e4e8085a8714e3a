//! Random numbers for simulations: fast, the same on every platform, and not for cryptography.

use std::f64::consts::TAU;

/// SplitMix64 (Steele, Lea and Flood, 2014): 64-bit words from a counter.
///
/// A clone continues with the same numbers as the original.
#[derive(Clone, Debug)]
pub struct Generator(u64);

impl Generator {
    /// Returns the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns an independent generator, with the stream of this number.
    #[must_use]
    pub fn stream(&self, stream: u64) -> Self {
        let mut start = Self(self.0 ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        Self(start.word())
    }

    /// Returns a uniform word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number that is uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.word() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Returns a number that is uniform below `bound`, up to a bias of `bound`/2^32.
    pub fn below(&mut self, bound: usize) -> usize {
        (((self.word() >> 32) * bound as u64) >> 32) as usize
    }

    /// Returns a standard normal variate (Box and Muller, 1958).
    pub fn gaussian(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }
}
