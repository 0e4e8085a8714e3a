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
    pub(crate) state: CacheAligned<T>,
    digit: CacheAligned<f64>,
    pub(crate) sums: CacheAligned<f64>,
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

    /// Takes the digits of `state`, least significant first, and adds each one's product
    /// with its row of transformed polynomials to `sums`, which `first` clears before.
    #[inline]
    pub(crate) fn add_digits(
        &mut self,
        plan: FftPlan<'_>,
        base_log: u32,
        rows: &[f64],
        first: bool,
    ) {
        let size = plan.polynomial_size().get();
        let isa = plan.isa();
        let Self { state, digit, sums } = self;
        for (level, row) in rows.chunks_exact(sums.len()).enumerate() {
            simd::next_digit(isa, state, digit, base_log);
            plan.forward(digit);
            for (sum, key) in sums.chunks_exact_mut(size).zip(row.chunks_exact(size)) {
                if first && level == 0 {
                    simd::fourier_mul(isa, sum, digit, key);
                } else {
                    simd::fourier_mul_add(isa, sum, digit, key);
                }
            }
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
    let base_log = decomposition.base_log.0;
    let levels = decomposition.level_count.0;
    let row_len = acc.len();
    for (c, (component, rows)) in acc
        .chunks_exact(size)
        .zip(ggsw.chunks_exact(levels * row_len))
        .enumerate()
    {
        simd::rotate_sub_round(isa, &mut scratch.state, component, degree, base_log, levels);
        scratch.add_digits(plan, base_log, rows, c == 0);
    }
    for (component, sum) in acc
        .chunks_exact_mut(size)
        .zip(scratch.sums.chunks_exact_mut(size))
    {
        plan.inverse(sum);
        simd::add_rounded_to_torus(isa, component, sum);
    }
}
