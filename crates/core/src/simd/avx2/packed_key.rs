//! Packed keys with AVX2, which has no conversion of 64-bit integers: an integer of 6 bytes becomes the low bits of a double, from which
//! the rest is subtracted.
//!
//! The bits of an integer are moved as little as possible. The 96 bytes of four vectors are three vectors of 64-bit lanes with an integer in the low 48 bits: those of the first, the
//! second and the third vector. The high 16 bits of these lanes are the low, the middle and the high bits of an integer of the fourth vector,
//! which is put together from loads that are moved by as many bytes as bring these bits to their place. The last pair of an odd number of pairs has 48 bytes: lanes of an integer of the first vector
//! and the high 16 bits of one of the second vector, and then the low 32 bits of those of the second vector. Integers are counted from -2^47.

use core::arch::x86_64::*;

use super::{Avx2, INTEGERS};
use crate::simd::quad_shift;

/// The number of integers of a vector.
const LANES: usize = 4;
/// The number of bytes of an integer.
const BYTES: usize = 6;
/// The number of bytes of a vector of 64-bit lanes.
const VECTOR: usize = LANES * size_of::<u64>();
/// The number of bytes of four vectors of integers.
const QUAD: usize = 4 * LANES * BYTES;

/// 2^68. In a double from 2^68 to 2^69, bit 0 counts 2^16, so that an integer of 48 bits in the low bits is the top of one of 64.
const BASE: f64 = INTEGERS * 65_536.0;
/// The double that stands for the integer 0: [`BASE`] plus 2^63, because integers are counted from -2^47 in units of 2^16.
const ZERO: f64 = BASE + 9_223_372_036_854_775_808.0;

/// Brings pairs of vectors of integers to the order that [`load_of_quad`](Avx2::load_of_quad) reads, and the last of an odd number of pairs to that of [`load_pair`](Avx2::load_pair). Doubles stay as they are.
pub(super) fn arrange<const WIDTH: usize>(numbers: &mut [u8]) {
    if WIDTH != BYTES {
        return;
    }
    let (quads, pair) = numbers.as_chunks_mut::<QUAD>();
    for quad in quads {
        let vectors: [[u64; LANES]; 4] = integers(quad);
        for (i, lanes) in quad.as_chunks_mut::<VECTOR>().0.iter_mut().enumerate() {
            let lanes = lanes.as_chunks_mut().0.iter_mut();
            for (lane, (own, fourth)) in lanes.zip(vectors[i].iter().zip(&vectors[3])) {
                *lane = (own | fourth >> (16 * i) << 48).to_le_bytes();
            }
        }
    }
    if pair.is_empty() {
        return;
    }
    let [first, second]: [[u64; LANES]; 2] = integers(pair);
    let (lanes, low) = pair.split_at_mut(VECTOR);
    let lanes = lanes.as_chunks_mut().0.iter_mut();
    for (lane, (first, second)) in lanes.zip(first.iter().zip(&second)) {
        *lane = (first | second >> 32 << 48).to_le_bytes();
    }
    for (low, second) in low.as_chunks_mut().0.iter_mut().zip(second) {
        *low = (second as u32).to_le_bytes();
    }
}

/// Returns integers in their natural order, counted from the least.
fn integers<const VECTORS: usize>(bytes: &[u8]) -> [[u64; LANES]; VECTORS] {
    let mut vectors = [[0; LANES]; VECTORS];
    let integers = vectors.as_flattened_mut().iter_mut();
    for (integer, bytes) in integers.zip(bytes.as_chunks::<BYTES>().0) {
        let mut all = [0; 8];
        all[..BYTES].copy_from_slice(bytes);
        *integer = u64::from_le_bytes(all) ^ 1 << (8 * BYTES - 1);
    }
    vectors
}

impl Avx2 {
    /// Reads pair `PAIR`, 0 or 1, of two pairs of vectors: doubles, or integers in the order of [`arrange`]. `shifted` begins [`quad_shift`] bytes behind the beginning of `quad`.
    #[inline(always)]
    pub(super) fn load_of_quad<const WIDTH: usize, const PAIR: usize>(
        self,
        quad: &[u8],
        shifted: &[u8],
    ) -> [__m256d; 2] {
        if WIDTH != BYTES {
            let pair = quad.len() / 2;
            return self.load_pair::<WIDTH>(&quad[PAIR * pair..][..pair]);
        }
        const { assert!(quad_shift::<Self>(BYTES) == 2 * VECTOR + 2) };
        let quad: &[u8; QUAD] = quad.first_chunk().expect("four vectors");
        let lanes = |at: usize| {
            let lanes: &[u8; VECTOR] = quad[at..].first_chunk().expect("a vector");
            lanes
        };
        if PAIR == 0 {
            let [first, second] = [lanes(0), lanes(VECTOR)];
            return [self.load_integers(first), self.load_integers(second)];
        }
        let third = self.load_integers(lanes(2 * VECTOR));
        let shifted: &[u8; VECTOR] = shifted.first_chunk().expect("a vector");
        let [low, middle, high] = [lanes(6), lanes(VECTOR + 4), shifted];
        let fourth = proved!({
            let low = _mm256_loadu_si256(low.as_ptr().cast());
            let middle = _mm256_loadu_si256(middle.as_ptr().cast());
            let high = _mm256_loadu_si256(high.as_ptr().cast());
            let words = _mm256_blend_epi16::<0b0010_0010>(low, middle);
            _mm256_blend_epi16::<0b0100_0100>(words, high)
        });
        [third, self.integers_to_doubles(fourth)]
    }

    #[inline(always)]
    fn load_integers(self, lanes: &[u8; VECTOR]) -> __m256d {
        self.integers_to_doubles(proved!(_mm256_loadu_si256(lanes.as_ptr().cast())))
    }

    /// Returns the integers in the three lower words of lanes, as doubles.
    #[inline(always)]
    fn integers_to_doubles(self, words: __m256i) -> __m256d {
        proved!({
            let base = _mm256_set1_epi64x(BASE.to_bits() as i64);
            let doubles = _mm256_blend_epi16::<0b1000_1000>(words, base);
            _mm256_sub_pd(_mm256_castsi256_pd(doubles), _mm256_set1_pd(ZERO))
        })
    }

    /// Reads a pair of vectors: doubles, or integers in the order of the last pair of [`arrange`].
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
        let (lanes, low) = pair.split_at(VECTOR);
        let lanes: &[u8; VECTOR] = lanes.first_chunk().expect("a vector");
        let low: &[u8; 16] = low.first_chunk().expect("half a vector");
        proved!({
            let spread = _mm256_loadu_si256(SPREAD.as_ptr().cast());
            let base = _mm256_set1_epi64x(BASE.to_bits() as i64);
            let lanes = _mm256_loadu_si256(lanes.as_ptr().cast());
            let low = _mm256_broadcastsi128_si256(_mm_loadu_si128(low.as_ptr().cast()));
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
