//! Eight blocks side by side.

use core::arch::x86_64::*;

use super::super::Avx2;
use super::{Block, Lanes};

/// Calls intrinsics; the `Avx2` value that the method was called on proves that they are available.
macro_rules! proved {
    ($call:expr) => {{
        // SAFETY: a value of `Avx2` proves the features, and pointers come from
        // references to arrays of the length that is read or written.
        unsafe { $call }
    }};
}

impl Lanes for Avx2 {
    const BLOCKS: usize = 8;
    const LOCKSTEP: bool = false;
    type Word = __m256i;

    #[inline(always)]
    fn splat(self, word: u32) -> __m256i {
        proved!(_mm256_set1_epi32(word as i32))
    }
    #[inline(always)]
    fn count_from(self, first: u32) -> __m256i {
        proved!(_mm256_add_epi32(
            _mm256_set1_epi32(first as i32),
            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
        ))
    }
    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        proved!(_mm256_add_epi32(a, b))
    }
    #[inline(always)]
    fn xor_rotate<const LEFT: i32>(self, a: __m256i, b: __m256i) -> __m256i {
        proved!({
            let x = _mm256_xor_si256(a, b);
            match LEFT {
                // Whole bytes move by one shuffle.
                16 => _mm256_shuffle_epi8(
                    x,
                    _mm256_set_epi64x(
                        0x0d0c_0f0e_0908_0b0a,
                        0x0504_0706_0100_0302,
                        0x0d0c_0f0e_0908_0b0a,
                        0x0504_0706_0100_0302,
                    ),
                ),
                8 => _mm256_shuffle_epi8(
                    x,
                    _mm256_set_epi64x(
                        0x0e0d_0c0f_0a09_080b,
                        0x0605_0407_0201_0003,
                        0x0e0d_0c0f_0a09_080b,
                        0x0605_0407_0201_0003,
                    ),
                ),
                12 => _mm256_or_si256(_mm256_slli_epi32::<12>(x), _mm256_srli_epi32::<20>(x)),
                7 => _mm256_or_si256(_mm256_slli_epi32::<7>(x), _mm256_srli_epi32::<25>(x)),
                _ => unreachable!("not a rotation of ChaCha20"),
            }
        })
    }
    #[inline(always)]
    fn store(self, words: [__m256i; 16], out: &mut [Block]) {
        let out: &mut [Block; 8] = out.try_into().expect("8 blocks");
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = words;
        let first = self.transpose([a, b, c, d]);
        let second = self.transpose([e, f, g, h]);
        let third = self.transpose([i, j, k, l]);
        let fourth = self.transpose([m, n, o, p]);
        for r in 0..4 {
            proved!({
                let low = _mm256_permute2x128_si256::<0x20>(first[r], second[r]);
                let high = _mm256_permute2x128_si256::<0x20>(third[r], fourth[r]);
                _mm256_storeu_si256(out[r].as_mut_ptr().cast(), low);
                _mm256_storeu_si256(out[r].as_mut_ptr().add(32).cast(), high);
                let low = _mm256_permute2x128_si256::<0x31>(first[r], second[r]);
                let high = _mm256_permute2x128_si256::<0x31>(third[r], fourth[r]);
                _mm256_storeu_si256(out[4 + r].as_mut_ptr().cast(), low);
                _mm256_storeu_si256(out[4 + r].as_mut_ptr().add(32).cast(), high);
            });
        }
    }
}

impl Avx2 {
    /// Transposes the 4 x 4 words of each half.
    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
        proved!({
            let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
            let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
            [
                _mm256_unpacklo_epi64(ab_low, cd_low),
                _mm256_unpackhi_epi64(ab_low, cd_low),
                _mm256_unpacklo_epi64(ab_high, cd_high),
                _mm256_unpackhi_epi64(ab_high, cd_high),
            ]
        })
    }
}
