//! The Gaussian samplers that others use, to compare with: both take a time that
//! depends on what they draw, so neither is for secrets.

use super::expander::Expander;
use super::keystream::Scratch;
use crate::torus::{Torus, exp2_neg};

pub use super::polar::add_gaussian_polar_vartime;
pub use super::ziggurat::add_gaussian_ziggurat_vartime;

/// Bytes read from the expander at a time.
const CHUNK_BYTES: usize = 1024;

/// Uniform words of a stream, read [`CHUNK_BYTES`] at a time; what is left of the last
/// read is lost.
pub(super) struct Words<'e, E> {
    expander: &'e mut E,
    bytes: Scratch<u8, CHUNK_BYTES>,
    used: usize,
}

impl<'e, E: Expander> Words<'e, E> {
    pub(super) fn new(expander: &'e mut E) -> Self {
        Self {
            expander,
            bytes: Scratch::new(),
            used: CHUNK_BYTES,
        }
    }

    /// The next little-endian word.
    pub(super) fn word(&mut self) -> u64 {
        if self.used == CHUNK_BYTES {
            self.expander.fill(&mut *self.bytes);
            self.used = 0;
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[self.used..self.used + 8]);
        self.used += 8;
        u64::from_le_bytes(word)
    }

    /// Uniform in (0, 1), from the top 53 bits of a word.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.word() >> 11) as f64 + 0.5) * exp2_neg(53)
    }
}

/// Adds `round(z * scale)` mod q; `scale` is the standard deviation in steps of q.
pub(super) fn add_rounded<T: Torus>(value: &mut T, z: f64, scale: f64) {
    *value = value.add(T::from_i64((z * scale).round_ties_even() as i128 as i64));
}

/// The standard deviation in steps of q.
pub(super) fn scale_of<T: Torus>(standard_deviation: f64) -> f64 {
    assert!(
        (0.0..=0.5).contains(&standard_deviation),
        "a standard deviation is between 0 and 1/2 of the torus"
    );
    standard_deviation / exp2_neg(T::BITS)
}
