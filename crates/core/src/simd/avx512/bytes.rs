//! Key switches on bytes with AVX512-VNNI.

use core::arch::x86_64::*;

use crate::simd::key_switch_bytes::place_of;
use crate::simd::{
    KEY_SWITCH_BYTES as BYTES, KEY_SWITCH_ROWS_TOGETHER as ROWS, KEY_SWITCH_TILE_COLUMNS as COLUMNS,
};

/// Proof that the processor has AVX-512 F and VNNI: a value exists only after detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteProducts(());

/// The number of words of a vector.
const WORDS: usize = 16;
/// The number of vectors of the columns of a tile.
const VECTORS: usize = COLUMNS / WORDS;

type Columns = [u32; COLUMNS];
type Digits<'a> = &'a [[i8; ROWS]];

impl ByteProducts {
    /// Returns the proof if this processor, which has AVX-512 F, also has VNNI.
    pub(super) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let found = std::is_x86_feature_detected!("avx512vnni");
        #[cfg(not(feature = "std"))]
        let found = cfg!(target_feature = "avx512vnni");
        found.then_some(Self(()))
    }

    /// See [`key_switch_bytes_tile`](crate::simd::key_switch_bytes_tile).
    pub(crate) fn tile(
        self,
        acc: &mut [Columns],
        key_tile: &[[Columns; BYTES]],
        digits: &[Digits<'_>],
    ) {
        // The registers have room for the sums of two ciphertexts. The next two find the rows in a cache.
        for (acc, digits) in acc.chunks_mut(2).zip(digits.chunks(2)) {
            // SAFETY: `self` proves that the processor has these features.
            unsafe {
                match (acc, digits) {
                    ([a], &[d]) => sweep([a], key_tile, [d]),
                    ([a, b], &[d, e]) => sweep([a, b], key_tile, [d, e]),
                    _ => {}
                }
            }
        }
    }
}

/// Processes all rows once, with all sums in registers.
#[target_feature(enable = "avx512f,avx512vnni")]
fn sweep<const C: usize>(
    mut acc: [&mut Columns; C],
    key_tile: &[[Columns; BYTES]],
    digits: [Digits<'_>; C],
) {
    let digits = digits.map(|digits| &digits[..key_tile.len()]);
    let mut sums = [[[_mm512_setzero_si512(); BYTES]; VECTORS]; C];
    for (r, words) in key_tile.iter().enumerate() {
        let mut factors = [_mm512_setzero_si512(); C];
        for (factor, digits) in factors.iter_mut().zip(&digits) {
            *factor = _mm512_set1_epi32(i32::from_le_bytes(digits[r].map(|d| d as u8)));
        }
        for (byte, words) in words.iter().enumerate() {
            for v in 0..VECTORS {
                let word = load(words, v);
                for (sums, &factor) in sums.iter_mut().zip(&factors) {
                    sums[v][byte] = _mm512_dpbusd_epi32(sums[v][byte], word, factor);
                }
            }
        }
    }
    for (sums, acc) in sums.iter().zip(&mut acc) {
        for (v, sums) in sums.iter().enumerate() {
            let mut sum = load(acc, v);
            for (byte, &of_byte) in sums.iter().enumerate() {
                let place = _mm_cvtsi32_si128(place_of(byte) as i32);
                sum = _mm512_sub_epi32(sum, _mm512_sll_epi32(of_byte, place));
            }
            store(acc, v, sum);
        }
    }
}

/// Reads vector `at` of columns.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(columns: &Columns, at: usize) -> __m512i {
    let vector: &[u32; WORDS] = &columns.as_chunks().0[at];
    // SAFETY: reads an array of 64 bytes.
    unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) }
}

/// Writes vector `at` of columns.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(columns: &mut Columns, at: usize, value: __m512i) {
    let vector: &mut [u32; WORDS] = &mut columns.as_chunks_mut().0[at];
    // SAFETY: writes an array of 64 bytes.
    unsafe { _mm512_storeu_si512(vector.as_mut_ptr().cast(), value) }
}
