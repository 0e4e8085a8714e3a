//! The bootstrapping key: one GGSW encryption under the GLWE key of every coefficient
//! of the small LWE key.
//!
//! A GGSW ciphertext of a bit `m` has, for each of the `k + 1` components of a GLWE
//! ciphertext and each digit weight `g = q / B^j`, a row: a GLWE encryption of
//! `-m · g · S_c` for mask component `c`, of `m · g` for the body. Row order: component
//! by component, least significant weight first, as the decomposition gives digits.

use rayon::prelude::*;
use tfhe_sbc_core::fft::OwnedFftPlan;
use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{self, ExpanderKind, MaskSeed, NoiseSeed};
use tfhe_sbc_core::simd;
use zeroize::Zeroizing;

use crate::external_product::{CacheAligned, cache_aligned};

/// Told the number of steps done since it was last told.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// Rows of one GGSW ciphertext.
pub(crate) fn row_count(parameters: &Parameters) -> usize {
    (parameters.glwe_dimension.0 + 1) * parameters.pbs.level_count.0
}

/// The seeded key: the bodies of all rows. Row `r` of the GGSW ciphertext of
/// coefficient `i` has stream `i · row_count + r` of the expander as its mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededBootstrapKey<T> {
    pub(crate) mask_seed: MaskSeed,
    pub(crate) bodies: Vec<T>,
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
        mask_seed: MaskSeed,
        noise_seed: &NoiseSeed,
        progress: Progress<'_>,
    ) -> Self {
        let size = parameters.polynomial_size().get();
        let mask_len = parameters.big_lwe_dimension().0;
        let rows = row_count(parameters);
        let prepared = glwe.prepare();
        let mut bodies = vec![T::ZERO; Self::body_count(parameters)];
        bodies
            .par_chunks_exact_mut(rows * size)
            .zip(lwe_bits)
            .enumerate()
            .for_each_init(
                || {
                    (
                        vec![T::ZERO; mask_len],
                        // It ends up holding products with the key.
                        Zeroizing::new(vec![0.0; prepared.scratch_len::<T>()]),
                    )
                },
                |(mask, scratch), (i, (ggsw, &bit))| {
                    for (r, body) in ggsw.chunks_exact_mut(size).enumerate() {
                        row_plaintext_into(body, parameters, glwe, bit, r);
                        let stream = (i * rows + r) as u32;
                        let expander = ExpanderKind::ChaCha20;
                        random::fill_uniform(&mut expander.mask_stream(&mask_seed, stream), mask);
                        prepared.encrypt_body_into(
                            body,
                            mask,
                            parameters.glwe_noise,
                            &mut expander.noise_stream(noise_seed, stream),
                            scratch,
                        );
                    }
                    progress(1);
                },
            );
        Self { mask_seed, bodies }
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
    let size = out.len();
    let levels = parameters.pbs.level_count.0;
    let (component, level) = (row / levels, (levels - row % levels) as u32);
    let weight = T::from_i64(i64::from(bit)) << (T::BITS - parameters.pbs.base_log.0 * level);
    out.fill(T::ZERO);
    match glwe.bits().chunks_exact(size).nth(component) {
        Some(key) => {
            for (out, &s) in out.iter_mut().zip(key) {
                *out = weight.mul(T::from_i64(-i64::from(s)));
            }
        }
        None => out[0] = weight,
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
        let mask_len = parameters.big_lwe_dimension().0;
        let rows = row_count(parameters);
        let row_len = mask_len + size;
        let ggsw_len = rows * row_len;
        let owned = OwnedFftPlan::new(parameters.polynomial_size());
        let plan = owned.plan();
        let scale = 2.0 / size as f64;
        let mut fourier = cache_aligned(0.0, ggsw_len * parameters.lwe_dimension.0);
        fourier
            .par_chunks_exact_mut(ggsw_len)
            .zip(seeded.bodies.par_chunks_exact(rows * size))
            .enumerate()
            .for_each_init(
                || vec![T::ZERO; mask_len],
                |mask, (i, (ggsw, bodies))| {
                    for (r, (row, body)) in ggsw
                        .chunks_exact_mut(row_len)
                        .zip(bodies.chunks_exact(size))
                        .enumerate()
                    {
                        let stream = (i * rows + r) as u32;
                        random::fill_uniform(
                            &mut ExpanderKind::ChaCha20.mask_stream(&seeded.mask_seed, stream),
                            mask,
                        );
                        let polynomials = mask.chunks_exact(size).chain([body]);
                        for (out, polynomial) in row.chunks_exact_mut(size).zip(polynomials) {
                            simd::torus_to_f64(plan.isa(), out, polynomial);
                            plan.forward(out);
                            simd::scale_f64(plan.isa(), out, scale);
                        }
                    }
                    progress(1);
                },
            );
        Self {
            plan: owned,
            ggsw_len,
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
