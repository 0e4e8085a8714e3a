//! Sixteen blocks side by side.

use core::arch::x86_64::*;

use super::super::Avx512;
use super::{Block, FEW, Lanes};

/// Calls intrinsics; the `Avx512` value that the method was called on proves that they are
/// available.
macro_rules! proved {
    ($call:expr) => {{
        // SAFETY: a value of `Avx512` proves the features, and pointers come from
        // references to arrays of the length that is read or written.
        unsafe { $call }
    }};
}

impl Lanes for Avx512 {
    const BLOCKS: usize = 16;
    const LOCKSTEP: bool = true;
    type Word = __m512i;

    #[inline(always)]
    fn splat(self, word: u32) -> __m512i {
        proved!(_mm512_set1_epi32(word as i32))
    }
    #[inline(always)]
    fn count_from(self, first: u32) -> __m512i {
        proved!(_mm512_add_epi32(
            _mm512_set1_epi32(first as i32),
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
        ))
    }
    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        proved!(_mm512_add_epi32(a, b))
    }
    #[inline(always)]
    fn xor_rotate<const LEFT: i32>(self, a: __m512i, b: __m512i) -> __m512i {
        proved!(_mm512_rol_epi32::<LEFT>(_mm512_xor_si512(a, b)))
    }
    #[inline(always)]
    fn store(self, words: [__m512i; 16], out: &mut [Block]) {
        let out: &mut [Block; 16] = out.try_into().expect("16 blocks");
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = words;
        // Quarter q of row r of such a matrix: four words of block 4q + r.
        let first = self.transpose([a, b, c, d]);
        let second = self.transpose([e, f, g, h]);
        let third = self.transpose([i, j, k, l]);
        let fourth = self.transpose([m, n, o, p]);
        for r in 0..4 {
            let rows = self.transpose_quarters([first[r], second[r], third[r], fourth[r]]);
            for (q, row) in rows.into_iter().enumerate() {
                proved!(_mm512_storeu_si512(out[4 * q + r].as_mut_ptr().cast(), row));
            }
        }
    }

    /// Makes a block per quarter of a vector, with a row of the state per vector.
    #[inline(always)]
    fn few(self, state: &[u32; 16], out: &mut [Block]) -> bool {
        let mut counter = 0;
        for out in out.chunks_mut(FEW) {
            let blocks = self.four_blocks(state, counter);
            for (out, block) in out.iter_mut().zip(blocks) {
                proved!(_mm512_storeu_si512(out.as_mut_ptr().cast(), block));
            }
            counter += FEW as u32;
        }
        true
    }
}

impl Avx512 {
    /// Makes the blocks from `skipped` after the state's counter on.
    #[inline(always)]
    fn four_blocks(self, state: &[u32; 16], skipped: u32) -> [__m512i; FEW] {
        let rows = state.as_chunks::<4>().0;
        let row = |r: usize| {
            let row: &[u32; 4] = &rows[r];
            proved!(_mm512_broadcast_i32x4(_mm_loadu_si128(row.as_ptr().cast())))
        };
        let counters = proved!(_mm512_add_epi32(
            _mm512_setr_epi32(0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0),
            _mm512_maskz_set1_epi32(0x1111, skipped as i32)
        ));
        let start = [row(0), row(1), row(2), self.add(row(3), counters)];
        let [mut a, mut b, mut c, mut d] = start;
        for _ in 0..10 {
            [a, b, c, d] = self.four_quarter_rounds([a, b, c, d]);
            proved!({
                b = _mm512_shuffle_epi32::<0x39>(b);
                c = _mm512_shuffle_epi32::<0x4e>(c);
                d = _mm512_shuffle_epi32::<0x93>(d);
            });
            [a, b, c, d] = self.four_quarter_rounds([a, b, c, d]);
            proved!({
                b = _mm512_shuffle_epi32::<0x93>(b);
                c = _mm512_shuffle_epi32::<0x4e>(c);
                d = _mm512_shuffle_epi32::<0x39>(d);
            });
        }
        let mut rows = [a, b, c, d];
        for (row, start) in rows.iter_mut().zip(start) {
            *row = self.add(*row, start);
        }
        self.transpose_quarters(rows)
    }

    /// Computes a quarter round in each column of each quarter.
    #[inline(always)]
    fn four_quarter_rounds(self, [mut a, mut b, mut c, mut d]: [__m512i; 4]) -> [__m512i; 4] {
        a = self.add(a, b);
        d = self.xor_rotate::<16>(d, a);
        c = self.add(c, d);
        b = self.xor_rotate::<12>(b, c);
        a = self.add(a, b);
        d = self.xor_rotate::<8>(d, a);
        c = self.add(c, d);
        b = self.xor_rotate::<7>(b, c);
        [a, b, c, d]
    }

    /// Transposes the 4 x 4 words of each quarter.
    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
        proved!({
            let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
            [
                _mm512_unpacklo_epi64(ab_low, cd_low),
                _mm512_unpackhi_epi64(ab_low, cd_low),
                _mm512_unpacklo_epi64(ab_high, cd_high),
                _mm512_unpackhi_epi64(ab_high, cd_high),
            ]
        })
    }

    /// Transposes a 4 x 4 matrix of quarters.
    #[inline(always)]
    fn transpose_quarters(self, [a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
        proved!({
            let ab_even = _mm512_shuffle_i32x4::<0x88>(a, b);
            let ab_odd = _mm512_shuffle_i32x4::<0xdd>(a, b);
            let cd_even = _mm512_shuffle_i32x4::<0x88>(c, d);
            let cd_odd = _mm512_shuffle_i32x4::<0xdd>(c, d);
            [
                _mm512_shuffle_i32x4::<0x88>(ab_even, cd_even),
                _mm512_shuffle_i32x4::<0x88>(ab_odd, cd_odd),
                _mm512_shuffle_i32x4::<0xdd>(ab_even, cd_even),
                _mm512_shuffle_i32x4::<0xdd>(ab_odd, cd_odd),
            ]
        })
    }
}
