//! Sixteen pairs per vector, four vectors side by side, because the chain of dependent operations
//! is much longer than the processor looks ahead.

use core::arch::x86_64::*;

use super::super::Avx512;
use super::{
    COSINE, EIGHTH, EXTENSIONS, MINUS_TWO_LN_1M_OVER, PAIRS, ROOT_ESTIMATE, SIGN, SINE, TWO_LN_2,
    UNIT, WORDS,
};

/// Calls intrinsics; the `Avx512` value that the method was called on proves that they are
/// available.
macro_rules! proved {
    ($call:expr) => {{
        // SAFETY: a value of `Avx512` proves the features, and pointers come from
        // references to arrays of the length that is read or written.
        unsafe { $call }
    }};
}

/// The number of vectors side by side.
const ABREAST: usize = 4;

/// The number of groups of [`ABREAST`] vectors in a chunk.
const BATCHES: usize = PAIRS / EXTENSIONS / ABREAST;

type Lanes = [u32; EXTENSIONS];
type Batch = [Lanes; ABREAST];

/// The two halves of a chunk's pairs.
#[inline(always)]
fn halves_mut(words: &mut [u32]) -> [&mut [Batch]; 2] {
    let (first, second) = words
        .as_chunks_mut()
        .0
        .as_chunks_mut()
        .0
        .split_at_mut(BATCHES);
    [first, second]
}

/// The constants of a chunk.
#[derive(Clone, Copy)]
struct Kernel {
    simd: Avx512,
    low: __m512,
    root: [__m512; 4],
}

impl Avx512 {
    /// Computes [`replace_by_normals`](super::replace_by_normals).
    #[inline(always)]
    pub(in crate::simd) fn replace_by_normals_512(self, words: &mut [u32; WORDS], root: &[f32; 4]) {
        let (extensions, words) = words.split_first_chunk_mut().expect("a chunk");
        let kernel = self.kernel(extensions, root);
        let [radii, angles] = halves_mut(words);
        for (radii, angles) in radii.iter_mut().zip(angles) {
            let [first, second] = kernel.pairs(radii, angles);
            for i in 0..ABREAST {
                self.store_words(&mut radii[i], first[i]);
                self.store_words(&mut angles[i], second[i]);
            }
        }
    }

    /// Computes [`add_normals`](super::add_normals) without storing the variates in between.
    #[inline(always)]
    pub(in crate::simd) fn add_normals_512(
        self,
        words: &[u32; WORDS],
        root: &[f32; 4],
        values: &mut [u32; 2 * PAIRS],
    ) {
        let (extensions, words) = words.split_first_chunk().expect("a chunk");
        let kernel = self.kernel(extensions, root);
        let (radii, angles) = words.as_chunks().0.as_chunks().0.split_at(BATCHES);
        let [low, high] = halves_mut(values);
        for i in 0..BATCHES {
            let [first, second] = kernel.pairs(&radii[i], &angles[i]);
            for j in 0..ABREAST {
                self.add_words(&mut low[i][j], first[j]);
                self.add_words(&mut high[i][j], second[j]);
            }
        }
    }

    /// Returns the constants, which are the same for all pairs of a chunk.
    #[inline(always)]
    fn kernel(self, extensions: &Lanes, root: &[f32; 4]) -> Kernel {
        Kernel {
            simd: self,
            low: self.low_fractions(extensions),
            root: self.constants(root),
        }
    }

    #[inline(always)]
    fn load_words(self, words: &Lanes) -> __m512i {
        proved!(_mm512_loadu_si512(words.as_ptr().cast()))
    }

    #[inline(always)]
    fn store_words(self, words: &mut Lanes, vector: __m512i) {
        proved!(_mm512_storeu_si512(words.as_mut_ptr().cast(), vector));
    }

    #[inline(always)]
    fn add_words(self, words: &mut Lanes, vector: __m512i) {
        let sum = proved!(_mm512_add_epi32(self.load_words(words), vector));
        self.store_words(words, sum);
    }

    /// Computes [`low_fraction`](super::low_fraction).
    #[inline(always)]
    fn low_fractions(self, extensions: &Lanes) -> __m512 {
        let extensions = self.load_words(extensions);
        proved!(_mm512_mul_ps(
            _mm512_add_ps(_mm512_cvtepu32_ps(extensions), _mm512_set1_ps(0.5)),
            _mm512_set1_ps(UNIT)
        ))
    }

    /// Computes [`polynomial`](super::polynomial).
    #[inline(always)]
    fn polynomials<const N: usize>(
        self,
        coefficients: [__m512; N],
        x: &[__m512; ABREAST],
    ) -> [__m512; ABREAST] {
        let mut sums = [coefficients[N - 1]; ABREAST];
        for i in (0..N - 1).rev() {
            for (sum, &x) in sums.iter_mut().zip(x) {
                *sum = proved!(_mm512_add_ps(_mm512_mul_ps(*sum, x), coefficients[i]));
            }
        }
        sums
    }

    #[inline(always)]
    fn constants<const N: usize>(self, coefficients: &[f32; N]) -> [__m512; N] {
        let mut out = [proved!(_mm512_setzero_ps()); N];
        for (out, &coefficient) in out.iter_mut().zip(coefficients) {
            *out = proved!(_mm512_set1_ps(coefficient));
        }
        out
    }
}

impl Kernel {
    /// Computes [`radius`](super::radius).
    #[inline(always)]
    fn radii(self, words: &Batch) -> [__m512; ABREAST] {
        let Self { simd, low, root } = self;
        let zero = proved!(_mm512_setzero_ps());
        let sign = proved!(_mm512_set1_epi32(SIGN as i32));
        let (mut s, mut exponents, mut lower) = ([zero; ABREAST], [zero; ABREAST], [0; ABREAST]);
        for i in 0..ABREAST {
            let word = simd.load_words(&words[i]);
            proved!({
                lower[i] = _mm512_testn_epi32_mask(word, sign);
                let v = _mm512_cvtepi32_ps(_mm512_andnot_si512(sign, word));
                let v = _mm512_add_ps(v, low);
                let mantissa = _mm512_getmant_ps::<_MM_MANT_NORM_P5_1, _MM_MANT_SIGN_ZERO>(v);
                // The mantissa's exponent is one less than that of a mantissa in [1, 2).
                exponents[i] = _mm512_sub_ps(_mm512_set1_ps(31.0), _mm512_getexp_ps(v));
                let v = _mm512_mul_ps(v, _mm512_set1_ps(UNIT));
                s[i] = _mm512_mask_sub_ps(v, lower[i], _mm512_set1_ps(1.0), mantissa);
            });
        }
        let coefficients = simd.constants(&MINUS_TWO_LN_1M_OVER);
        let sums = simd.polynomials(coefficients, &s);
        let (mut xy, mut c) = ([zero; ABREAST], [zero; ABREAST]);
        for i in 0..ABREAST {
            proved!({
                let x = _mm512_mul_ps(s[i], sums[i]);
                let power = _mm512_mul_ps(exponents[i], _mm512_set1_ps(TWO_LN_2));
                let x = _mm512_mask_add_ps(x, lower[i], power, x);
                let half = _mm512_srli_epi32::<1>(_mm512_castps_si512(x));
                let y = _mm512_sub_epi32(_mm512_set1_epi32(ROOT_ESTIMATE as i32), half);
                let y = _mm512_castsi512_ps(y);
                xy[i] = _mm512_mul_ps(x, y);
                c[i] = _mm512_mul_ps(xy[i], y);
            });
        }
        let mut radii = simd.polynomials(root, &c);
        for (radius, xy) in radii.iter_mut().zip(xy) {
            *radius = proved!(_mm512_mul_ps(xy, *radius));
        }
        radii
    }

    /// Computes [`pair_of_radius`](super::pair_of_radius) from the words of radii and angles, rounded:
    /// the first of each pair and the second.
    #[inline(always)]
    fn pairs(self, radii: &Batch, angles: &Batch) -> [[__m512i; ABREAST]; 2] {
        let simd = self.simd;
        let radii = self.radii(radii);
        let zero = proved!(_mm512_setzero_ps());
        let (mut t, mut z) = ([zero; ABREAST], [zero; ABREAST]);
        for i in 0..ABREAST {
            proved!({
                let angle = _mm512_cvtepi32_ps(simd.load_words(&angles[i]));
                t[i] = _mm512_mul_ps(angle, _mm512_set1_ps(EIGHTH));
                z[i] = _mm512_mul_ps(t[i], t[i]);
            });
        }
        let sines = simd.polynomials(simd.constants(&SINE), &z);
        let cosines = simd.polynomials(simd.constants(&COSINE), &z);
        let mut out = [[proved!(_mm512_setzero_si512()); ABREAST]; 2];
        for i in 0..ABREAST {
            let angle = simd.load_words(&angles[i]);
            proved!({
                let sine = _mm512_mul_ps(t[i], sines[i]);
                // Bitwise `cosine | (angle << 30 & SIGN)`.
                let cosine = _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0xf8>(
                    _mm512_castps_si512(cosines[i]),
                    _mm512_slli_epi32::<30>(angle),
                    _mm512_set1_epi32(SIGN as i32),
                ));
                let swap = _mm512_test_epi32_mask(angle, _mm512_set1_epi32(1));
                let along = _mm512_mask_blend_ps(swap, cosine, sine);
                let across = _mm512_mask_blend_ps(swap, sine, cosine);
                out[0][i] = _mm512_cvtps_epi32(_mm512_mul_ps(radii[i], along));
                out[1][i] = _mm512_cvtps_epi32(_mm512_mul_ps(radii[i], across));
            });
        }
        out
    }
}
