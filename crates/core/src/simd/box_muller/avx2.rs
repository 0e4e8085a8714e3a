//! Eight pairs per vector, two vectors side by side, because the registers hold no more.

use core::arch::x86_64::*;

use zeroize::Zeroizing;

use super::super::Avx2;
use super::{
    COSINE, EIGHTH, EXPONENT_OF_HALF, EXTENSIONS, MANTISSA, MINUS_TWO_LN_1M_OVER, PAIRS,
    ROOT_ESTIMATE, SIGN, SINE, TWO_LN_2, UNIT, WORDS,
};

/// Calls intrinsics; the `Avx2` value that the method was called on proves that they are available.
macro_rules! proved {
    ($call:expr) => {{
        // SAFETY: a value of `Avx2` proves the features, and pointers come from
        // references to arrays of the length that is read or written.
        unsafe { $call }
    }};
}

/// The number of vectors side by side: one for each half of the extensions.
const ABREAST: usize = 2;

type Lanes = [u32; EXTENSIONS / ABREAST];
type Batch = [Lanes; ABREAST];
type Vectors = [__m256; ABREAST];

impl Avx2 {
    /// Computes [`replace_by_normals`](super::replace_by_normals).
    #[inline(always)]
    pub(in crate::simd) fn replace_by_normals_256(self, words: &mut [u32; WORDS], root: &[f32; 4]) {
        let (batches, _) = words.as_chunks_mut().0.as_chunks_mut::<ABREAST>();
        let (extensions, batches) = batches.split_first_mut().expect("a chunk");
        let (radii, angles) = batches.split_at_mut(PAIRS / EXTENSIONS);
        let low = self.low_fractions(extensions);
        for (radii, angles) in radii.iter_mut().zip(angles) {
            let distances = self.radii(radii, &low, root);
            self.pairs(distances, radii, angles);
        }
    }

    #[inline(always)]
    fn load_words(self, words: &Lanes) -> __m256i {
        proved!(_mm256_loadu_si256(words.as_ptr().cast()))
    }

    /// Computes [`low_fraction`](super::low_fraction).
    #[inline(always)]
    fn low_fractions(self, extensions: &Batch) -> Vectors {
        let mut low = self.splats(0.0);
        for (low, extensions) in low.iter_mut().zip(extensions) {
            let mut fractions = Zeroizing::new([0.0; EXTENSIONS / ABREAST]);
            for (fraction, &extension) in fractions.iter_mut().zip(extensions) {
                *fraction = super::low_fraction(extension);
            }
            *low = proved!(_mm256_loadu_ps(fractions.as_ptr()));
        }
        low
    }

    #[inline(always)]
    fn splats(self, value: f32) -> Vectors {
        [proved!(_mm256_set1_ps(value)); ABREAST]
    }

    /// Computes [`polynomial`](super::polynomial).
    #[inline(always)]
    fn polynomials<const N: usize>(self, coefficients: &[f32; N], x: &Vectors) -> Vectors {
        let mut sums = self.splats(coefficients[N - 1]);
        for i in (0..N - 1).rev() {
            let coefficient = proved!(_mm256_set1_ps(coefficients[i]));
            for k in 0..ABREAST {
                sums[k] = proved!(_mm256_add_ps(_mm256_mul_ps(sums[k], x[k]), coefficient));
            }
        }
        sums
    }

    /// Computes [`radius`](super::radius).
    #[inline(always)]
    fn radii(self, words: &Batch, low: &Vectors, root: &[f32; 4]) -> Vectors {
        let (mut s, mut powers) = (self.splats(0.0), self.splats(0.0));
        for i in 0..ABREAST {
            let word = self.load_words(&words[i]);
            proved!({
                let v = _mm256_andnot_si256(_mm256_set1_epi32(SIGN as i32), word);
                let v = _mm256_add_ps(_mm256_cvtepi32_ps(v), low[i]);
                let bits = _mm256_castps_si256(v);
                let mantissa = _mm256_or_si256(
                    _mm256_and_si256(bits, _mm256_set1_epi32(MANTISSA as i32)),
                    _mm256_set1_epi32((EXPONENT_OF_HALF << 23) as i32),
                );
                let exponent = _mm256_sub_epi32(
                    _mm256_set1_epi32((EXPONENT_OF_HALF + 32) as i32),
                    _mm256_srli_epi32::<23>(bits),
                );
                let upper = _mm256_srai_epi32::<31>(word);
                let exponent = _mm256_cvtepi32_ps(_mm256_andnot_si256(upper, exponent));
                powers[i] = _mm256_mul_ps(exponent, _mm256_set1_ps(TWO_LN_2));
                s[i] = _mm256_blendv_ps(
                    _mm256_sub_ps(_mm256_set1_ps(1.0), _mm256_castsi256_ps(mantissa)),
                    _mm256_mul_ps(v, _mm256_set1_ps(UNIT)),
                    _mm256_castsi256_ps(word),
                );
            });
        }
        let sums = self.polynomials(&MINUS_TWO_LN_1M_OVER, &s);
        let (mut xy, mut c) = (self.splats(0.0), self.splats(0.0));
        for i in 0..ABREAST {
            proved!({
                let x = _mm256_add_ps(powers[i], _mm256_mul_ps(s[i], sums[i]));
                let half = _mm256_srli_epi32::<1>(_mm256_castps_si256(x));
                let y = _mm256_sub_epi32(_mm256_set1_epi32(ROOT_ESTIMATE as i32), half);
                let y = _mm256_castsi256_ps(y);
                xy[i] = _mm256_mul_ps(x, y);
                c[i] = _mm256_mul_ps(xy[i], y);
            });
        }
        let mut radii = self.polynomials(root, &c);
        for i in 0..ABREAST {
            radii[i] = proved!(_mm256_mul_ps(xy[i], radii[i]));
        }
        radii
    }

    /// Computes [`pair_of_radius`](super::pair_of_radius), rounded.
    #[inline(always)]
    fn pairs(self, radii: Vectors, first: &mut Batch, second: &mut Batch) {
        let (mut t, mut z) = (self.splats(0.0), self.splats(0.0));
        for i in 0..ABREAST {
            proved!({
                let angle = _mm256_cvtepi32_ps(self.load_words(&second[i]));
                t[i] = _mm256_mul_ps(angle, _mm256_set1_ps(EIGHTH));
                z[i] = _mm256_mul_ps(t[i], t[i]);
            });
        }
        let sines = self.polynomials(&SINE, &z);
        let cosines = self.polynomials(&COSINE, &z);
        for i in 0..ABREAST {
            let angle = self.load_words(&second[i]);
            proved!({
                let sign = _mm256_and_si256(
                    _mm256_slli_epi32::<30>(angle),
                    _mm256_set1_epi32(SIGN as i32),
                );
                let cosine = _mm256_or_ps(cosines[i], _mm256_castsi256_ps(sign));
                let along = _mm256_mul_ps(radii[i], cosine);
                let across = _mm256_mul_ps(radii[i], _mm256_mul_ps(t[i], sines[i]));
                // Blends would take two, of three operations each.
                let swap = _mm256_srai_epi32::<31>(_mm256_slli_epi32::<31>(angle));
                let both = _mm256_xor_ps(along, across);
                let swapped = _mm256_and_ps(both, _mm256_castsi256_ps(swap));
                let x = _mm256_cvtps_epi32(_mm256_xor_ps(along, swapped));
                let y = _mm256_cvtps_epi32(_mm256_xor_ps(across, swapped));
                _mm256_storeu_si256(first[i].as_mut_ptr().cast(), x);
                _mm256_storeu_si256(second[i].as_mut_ptr().cast(), y);
            });
        }
    }
}
