//! The bootstrapping key: one GGSW encryption under the GLWE key of every coefficient
//! of the small LWE key.
//!
//! A GGSW ciphertext of a bit `m` has, for each of the `k + 1` components of a GLWE
//! ciphertext and each digit weight `g = q / B^j`, a row: a GLWE encryption of
//! `-m · g · S_c` for mask component `c`, of `m · g` for the body. Row order: component
//! by component, least significant weight first, as the decomposition gives digits.

use tfhe_sbc_core::fft::OwnedFftPlan;
use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{MaskSeed, NoiseSeed};

use crate::external_product::CacheAligned;
use crate::seeded_rows::{Progress, SeededRows, digit_weight, weighted_key_polynomial};

/// Rows of one GGSW ciphertext.
pub(crate) fn row_count(parameters: &Parameters) -> usize {
    (parameters.glwe_dimension.0 + 1) * parameters.pbs.level_count.0
}

/// The seeded key: row `r` of the GGSW ciphertext of coefficient `i` is seeded row
/// `i · row_count + r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededBootstrapKey<T> {
    pub(crate) rows: SeededRows<T>,
}

impl<T: MaskTorus> SeededBootstrapKey<T> {
    /// Number of scalars of all bodies.
    pub fn body_count(parameters: &Parameters) -> usize {
        parameters.lwe_dimension.0 * row_count(parameters) * parameters.polynomial_size().get()
    }

    pub(crate) fn generate(
        parameters: &Parameters,
        lwe_bits: &[u8],
        glwe: &GlweSecretKey,
        seeds: (MaskSeed, &NoiseSeed),
        progress: Progress<'_>,
    ) -> Self {
        let rows = row_count(parameters);
        let plaintext = |row: usize, out: &mut [T]| {
            row_plaintext_into(out, parameters, glwe, lwe_bits[row / rows], row % rows);
        };
        let all = rows * parameters.lwe_dimension.0;
        Self {
            rows: SeededRows::encrypt(parameters, glwe, seeds, all, rows, plaintext, progress),
        }
    }
}

/// The plaintext polynomial of row `row`, whose mask a seed fixes: `m · g` in the body
/// row, and `-m · g · S_c` in that of component `c`.
fn row_plaintext_into<T: MaskTorus>(
    out: &mut [T],
    parameters: &Parameters,
    glwe: &GlweSecretKey,
    bit: u8,
    row: usize,
) {
    let levels = parameters.pbs.level_count.0;
    let (component, level) = (row / levels, levels - row % levels);
    let weight = digit_weight::<T>(parameters.pbs.base_log.0, level);
    let weight = weight.mul(T::from_i64(i64::from(bit)));
    if component < parameters.glwe_dimension.0 {
        weighted_key_polynomial(out, glwe, component, weight.neg());
    } else {
        out[0] = weight;
    }
}

/// The key as it computes: every polynomial transformed, with the normalisation of the
/// inverse transform folded in.
pub struct BootstrapKey {
    plan: OwnedFftPlan,
    ggsw_len: usize,
    fourier: CacheAligned<f64>,
}

impl BootstrapKey {
    pub(crate) fn prepare<T: MaskTorus>(
        parameters: &Parameters,
        seeded: &SeededBootstrapKey<T>,
        progress: Progress<'_>,
    ) -> Self {
        let size = parameters.polynomial_size().get();
        let rows = row_count(parameters);
        let k = parameters.glwe_dimension.0;
        let plan = OwnedFftPlan::new(parameters.polynomial_size());
        let fourier = seeded.rows.transform(&plan, k, rows, progress);
        Self {
            plan,
            ggsw_len: rows * (k + 1) * size,
            fourier,
        }
    }

    /// Number of bytes in memory.
    pub fn byte_count(&self) -> usize {
        size_of_val(self.fourier.as_slice())
    }

    pub(crate) fn plan(&self) -> &OwnedFftPlan {
        &self.plan
    }

    /// The GGSW ciphertexts, in the order of the small key's coefficients: rows, each
    /// of `k + 1` transformed polynomials.
    pub(crate) fn ggsws(&self) -> impl Iterator<Item = &[f64]> {
        self.fourier.chunks_exact(self.ggsw_len)
    }
}
