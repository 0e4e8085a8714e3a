//! Pseudorandom words for tests, the same in every run and on every target.
//!
//! SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.

use crate::torus::Torus;

/// A generator with the given seed.
pub(crate) struct Words(pub(crate) u64);

impl Words {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns `n` torus elements.
    pub(crate) fn torus<T: Torus>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| T::from_i64(self.next() as i64)).collect()
    }

    /// Returns `n` signed numbers of 32 bits.
    pub(crate) fn signed_32(&mut self, n: usize) -> Vec<i64> {
        (0..n).map(|_| i64::from(self.next() as i32)).collect()
    }

    /// Returns `n` numbers out of -1, 0 and 1.
    pub(crate) fn ternary<S: From<i8>>(&mut self, n: usize) -> Vec<S> {
        (0..n)
            .map(|_| S::from(((self.next() >> 33) % 3) as i8 - 1))
            .collect()
    }

    /// Returns `n` bits.
    pub(crate) fn binary<B: From<bool>>(&mut self, n: usize) -> Vec<B> {
        (0..n).map(|_| B::from(self.next() >> 63 == 1)).collect()
    }
}
