//! Packed keys with AVX2, which has no conversion of 64-bit integers: an integer of 6 bytes becomes the low bits of a double, from which
//! the rest is subtracted.
//!
//! The bits of an integer are moved as little as possible. The 48 bytes of a pair of vectors are four lanes of 64 bits, with an integer of the
//! first vector in the low 48 bits and the high 16 bits of one of the second vector above it, and then the low 32 bits of those of the
//! second vector. Integers are counted from -2^47.

use core::arch::x86_64::*;

use super::{Avx2, INTEGERS};

/// The number of integers of a vector.
const LANES: usize = 4;
/// The number of bytes of an integer.
const BYTES: usize = 6;
/// The number of bytes of a pair that hold the integers of the first vector, and the high bits of those of the second one.
const FIRST: usize = LANES * size_of::<u64>();

/// 2^68. In a double from 2^68 to 2^69, bit 0 counts 2^16, so that an integer of 48 bits in the low bits is the top of one of 64.
const BASE: f64 = INTEGERS * 65_536.0;
/// The double that stands for the integer 0: [`BASE`] plus 2^63, because integers are counted from -2^47 in units of 2^16.
const ZERO: f64 = BASE + 9_223_372_036_854_775_808.0;

/// Brings a pair of vectors of integers to the order that [`load_pair`](Avx2::load_pair) reads. Doubles stay as they are.
pub(super) fn arrange_pair<const WIDTH: usize>(pair: &mut [u8]) {
    if WIDTH != BYTES {
        return;
    }
    let mut integers = [0u64; 2 * LANES];
    for (integer, bytes) in integers.iter_mut().zip(pair.as_chunks::<BYTES>().0) {
        let mut all = [0; 8];
        all[..BYTES].copy_from_slice(bytes);
        *integer = u64::from_le_bytes(all) ^ 1 << (8 * BYTES - 1);
    }
    let (first, second) = integers.split_at(LANES);
    let (lanes, low) = pair.split_at_mut(FIRST);
    for (lane, (first, second)) in lanes
        .as_chunks_mut()
        .0
        .iter_mut()
        .zip(first.iter().zip(second))
    {
        *lane = (first | second >> 32 << 48).to_le_bytes();
    }
    for (low, second) in low.as_chunks_mut().0.iter_mut().zip(second) {
        *low = (*second as u32).to_le_bytes();
    }
}

impl Avx2 {
    /// Reads a pair of vectors: doubles, or integers in the order of [`arrange_pair`].
    #[inline(always)]
    pub(super) fn load_pair<const WIDTH: usize>(self, pair: &[u8]) -> [__m256d; 2] {
        /// The bytes of the low 32 bits of each lane; the others become 0.
        const SPREAD: [i8; 32] = {
            let mut bytes = [-1; 32];
            let mut i = 0;
            while i < 16 {
                bytes[8 * (i / 4) + i % 4] = i as i8;
                i += 1;
            }
            bytes
        };
        assert_eq!(pair.len(), 2 * LANES * WIDTH);
        if WIDTH != BYTES {
            let (first, second) = pair.split_at(pair.len() / 2);
            let first: &[u8; 32] = first.first_chunk().expect("a vector");
            let second: &[u8; 32] = second.first_chunk().expect("a vector");
            return proved!([
                _mm256_loadu_pd(first.as_ptr().cast()),
                _mm256_loadu_pd(second.as_ptr().cast()),
            ]);
        }
        let (lanes, low) = pair.split_at(FIRST);
        let lanes: &[u8; FIRST] = lanes.first_chunk().expect("a vector");
        let low: &[u8; 16] = low.first_chunk().expect("half a vector");
        proved!({
            let spread = _mm256_loadu_si256(SPREAD.as_ptr().cast());
            let base = _mm256_set1_epi64x(BASE.to_bits() as i64);
            let lanes = _mm256_loadu_si256(lanes.as_ptr().cast());
            let low = _mm256_broadcastsi128_si256(_mm_loadu_si128(low.as_ptr().cast()));
            // The words of a lane, from its lowest one: three of the integer, then that of the base.
            let first = _mm256_blend_epi16::<0b1000_1000>(lanes, base);
            let low = _mm256_shuffle_epi8(low, spread);
            let second = _mm256_blend_epi16::<0b0100_0100>(low, _mm256_srli_epi64::<16>(lanes));
            let second = _mm256_or_si256(second, base);
            let zero = _mm256_set1_pd(ZERO);
            [
                _mm256_sub_pd(_mm256_castsi256_pd(first), zero),
                _mm256_sub_pd(_mm256_castsi256_pd(second), zero),
            ]
        })
    }
}
