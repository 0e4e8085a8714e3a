//! Centred binomial noise: the difference of the numbers of ones in two groups of random bits.

use super::expander::Expander;
use super::keystream::Scratch;
use crate::simd::{Isa, vectorize};
use crate::torus::Torus;

/// The largest number of bits in each group.
pub(super) const MAX_ETA: u32 = 32;

/// The number of bytes read from the expander at a time.
const CHUNK_BYTES: usize = 1024;

/// Adds an independent centred binomial integer to every element.
///
/// A sample is made from one little-endian word of the stream, of 2 bytes if
/// `eta <= 8`, 4 if `eta <= 16`, else 8: the number of ones among its `eta` low bits, minus the
/// number of ones among the `eta` low bits of its upper half.
///
/// `eta` is from 1 to [`MAX_ETA`]. Constant-time.
pub(super) fn add<T: Torus>(eta: u32, expander: &mut impl Expander, values: &mut [T]) {
    match eta {
        0..=8 => add_words::<T, 2>(eta, expander, values),
        9..=16 => add_words::<T, 4>(eta, expander, values),
        _ => add_words::<T, 8>(eta, expander, values),
    }
}

fn add_words<T: Torus, const WIDTH: usize>(
    eta: u32,
    expander: &mut impl Expander,
    values: &mut [T],
) {
    let mut buffer = Scratch::<u8, CHUNK_BYTES>::new();
    let isa = Isa::detect();
    let mask = (1u64 << eta) - 1;
    for values in values.chunks_mut(CHUNK_BYTES / WIDTH) {
        let bytes = &mut buffer[..values.len() * WIDTH];
        expander.fill(bytes);
        vectorize(
            isa,
            #[inline(always)]
            || {
                for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<WIDTH>().0) {
                    let mut word = [0; 8];
                    word[..WIDTH].copy_from_slice(bytes);
                    let word = u64::from_le_bytes(word);
                    let heads = (word & mask).count_ones();
                    let tails = ((word >> (4 * WIDTH)) & mask).count_ones();
                    *value = value.add(T::from_i64(i64::from(heads) - i64::from(tails)));
                }
            },
        );
    }
}
