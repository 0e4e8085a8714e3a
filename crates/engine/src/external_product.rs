//! The external product `GGSW ⊡ GLWE` and the controlled rotation built on it (TFHE:
//! Fast Fully Homomorphic Encryption over the Torus, section 3.2).

use aligned_vec::{AVec, ConstAlign};
use tfhe_sbc_core::fft::FftPlan;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameters::{Decomposition, Parameters};
use tfhe_sbc_core::simd;

/// A buffer that vectors do not straddle cache lines in: at 16-byte offsets, where
/// ordinary allocations lie, blind rotation takes a fifth longer.
pub(crate) type CacheAligned<T> = AVec<T, ConstAlign<64>>;

pub(crate) fn cache_aligned<T: Copy>(value: T, len: usize) -> CacheAligned<T> {
    AVec::from_iter(64, std::iter::repeat_n(value, len))
}

/// Scratch of external products under one parameter set.
pub struct ExternalProductScratch<T> {
    state: CacheAligned<T>,
    digit: CacheAligned<f64>,
    sums: CacheAligned<f64>,
}

impl<T: MaskTorus> ExternalProductScratch<T> {
    /// Scratch for ciphertexts of these parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let size = parameters.polynomial_size().get();
        Self {
            state: cache_aligned(T::ZERO, size),
            digit: cache_aligned(0.0, size),
            sums: cache_aligned(0.0, (parameters.glwe_dimension.0 + 1) * size),
        }
    }
}

/// `acc += GGSW ⊡ (X^degree · acc - acc)`: turns `acc` by `degree` if the GGSW
/// ciphertext encrypts 1, and only renews its noise if it encrypts 0. `degree` is in
/// `[0, 2N)`.
pub fn rotate_if<T: MaskTorus>(
    plan: FftPlan<'_>,
    decomposition: Decomposition,
    acc: &mut [T],
    ggsw: &[f64],
    degree: usize,
    scratch: &mut ExternalProductScratch<T>,
) {
    let size = plan.polynomial_size().get();
    let isa = plan.isa();
    let ExternalProductScratch { state, digit, sums } = scratch;
    let base_log = decomposition.base_log.0;
    let levels = decomposition.level_count.0;
    let mut rows = ggsw.chunks_exact(sums.len());
    let mut first = true;
    for component in acc.chunks_exact(size) {
        simd::rotate_sub_round(isa, state, component, degree, base_log, levels);
        for row in rows.by_ref().take(levels) {
            simd::next_digit(isa, state, digit, base_log);
            plan.forward(digit);
            for (sum, key) in sums.chunks_exact_mut(size).zip(row.chunks_exact(size)) {
                if first {
                    simd::fourier_mul(isa, sum, digit, key);
                } else {
                    simd::fourier_mul_add(isa, sum, digit, key);
                }
            }
            first = false;
        }
    }
    for (component, sum) in acc.chunks_exact_mut(size).zip(sums.chunks_exact_mut(size)) {
        plan.inverse(sum);
        simd::add_rounded_to_torus(isa, component, sum);
    }
}
