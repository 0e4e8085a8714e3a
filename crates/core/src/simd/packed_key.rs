//! Vectors of doubles from the integers of fewer than 8 bytes that a key in memory may consist of.

use super::{Isa, Simd, dispatch};

impl Isa {
    /// Returns whether external products can read packed keys on this instruction set.
    pub fn reads_packed_keys(self) -> bool {
        dispatch!(self, |simd| holds_pairs_of(simd))
    }

    /// Returns whether bootstrapping keys in memory are packed: where products [can read them](Self::reads_packed_keys), and additions
    /// have ports apart from those of products. There unpacking takes no time from the products, and one ciphertext waits less for
    /// its key. On other processors unpacking shares the ports of the products, so that batches would take a seventh
    /// longer.
    pub fn packs_bootstrap_keys(self) -> bool {
        self.reads_packed_keys() && self.adders().is_some()
    }
}

#[inline(always)]
fn holds_pairs_of<S: Simd>(_simd: S) -> bool {
    S::HOLDS_PAIRS
}

/// See [`Simd::load_packed_pair`].
#[inline(always)]
pub(super) fn load_pair<S: Simd, const BYTES: usize>(simd: S, pair: &[u8]) -> [S::F64; 2] {
    let (integers, _) = pair.as_chunks::<BYTES>();
    let (re, im) = integers.split_at(S::LANES);
    let top = |integer: [u8; BYTES]| {
        let mut bytes = [0; 8];
        bytes[8 - BYTES..].copy_from_slice(&integer);
        i64::from_le_bytes(bytes) as f64
    };
    [simd.load_with(re, top), simd.load_with(im, top)]
}
