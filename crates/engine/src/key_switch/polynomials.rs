//! The key switch by products of polynomials: an LWE ciphertext under the big key is a GLWE ciphertext of which only the
//! constant coefficient matters. A GLWE key switch takes it to the *partial* key, a GLWE key whose first `n` coefficients are the
//! small key, and the others 0 (Bergerat, Chillotti, Ligier, Orfila, Roux-Langlois, Tap: New Secret Keys for Enhanced Performance in
//! (T)FHE, ePrint 2023/979: partial secret keys, and the key switch with transforms). Sample extraction of the constant coefficient
//! then leaves out the coefficients of the mask that meet zeros.
//!
//! For every polynomial `S_i` of the big key and every digit weight `q / B^j`, the key has an encryption of `S_i · q / B^j` mod 2^32,
//! the least significant digit of a polynomial first. The switch computes `(0, b) - Σ digit_j(A_i) · row_(i,j)`.

use rayon::prelude::*;
use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::lwe::LweSecretKey;
use tfhe_sbc_core::parameters::{Decomposition, Parameters};
use tfhe_sbc_core::random::NoiseSeed;
use tfhe_sbc_core::simd::Isa;
use tfhe_sbc_core::torus::Torus;

use crate::filler::filler_words;
use crate::gadget_product::{GadgetProduct, GadgetProductScratch};
use crate::large_buffer::LargeBuffer;
use crate::seeded_rows::{
    Precision, Rows, SeededMasks, SeededRows, digit_weight, weighted_key_polynomial,
};

/// The number of rows: one for each digit of each polynomial of the big key.
fn row_count(parameters: &Parameters) -> usize {
    parameters.glwe_dimension().0 * parameters.key_switch().level_count.0
}

/// The precision of the bodies: the key keeps every bit.
fn all_bits(parameters: &Parameters) -> Precision {
    Precision::same(parameters.polynomial_size(), u32::BITS)
}

/// Makes the rows of the key from `from` to the partial key of `to`.
pub(super) fn generate(
    parameters: &Parameters,
    from: &GlweSecretKey,
    to: &LweSecretKey,
    seeds: (SeededMasks, &NoiseSeed),
) -> SeededRows<u32> {
    let Decomposition {
        base_log,
        level_count,
    } = parameters.key_switch();
    let levels = level_count.0;
    let plaintext = |row: usize, out: &mut [u32]| {
        let weight = digit_weight(base_log.0, levels - row % levels);
        weighted_key_polynomial(out, from, row / levels, weight);
    };
    let rows = Rows {
        count: row_count(parameters),
        a_step: 1,
        precision: all_bits(parameters),
    };
    SeededRows::encrypt(
        parameters.lwe_noise(),
        &GlweSecretKey::partial(to, parameters.polynomial_size()),
        seeds,
        rows,
        plaintext,
        &|_| (),
    )
}

/// Returns the rows of these masks and bodies.
///
/// # Panics
/// If the number of bytes is not that of the bodies.
pub(super) fn from_bytes(
    parameters: &Parameters,
    masks: SeededMasks,
    bodies: &[u8],
) -> SeededRows<u32> {
    SeededRows::from_bytes(masks, all_bits(parameters), bodies, row_count(parameters))
}

/// The transformed rows.
pub(crate) struct Polynomials {
    input: LweDimension,
    output: LweDimension,
    product: GadgetProduct,
    fourier: LargeBuffer<f64>,
}

/// The scratch memory of a thread.
struct Scratch<T> {
    /// Mask polynomials of a step, and behind the last one zeros.
    masks: Vec<T>,
    /// The ciphertext under the partial key.
    switched: Vec<u32>,
    product: GadgetProductScratch,
}

impl Polynomials {
    /// Expands and transforms the rows, on all threads of the current rayon pool.
    pub(super) fn prepare(parameters: &Parameters, rows: &SeededRows<u32>) -> Self {
        let product = GadgetProduct::of_key_switch(parameters, Isa::detect());
        // The switch subtracts the sum from the body.
        let fourier = rows.prepare(&product, -1.0, &|_| ());
        Self::new(parameters, product, fourier)
    }

    /// Returns rows that encrypt nothing: every coefficient is a filler word, scaled to about the size of
    /// those of a real key.
    pub(super) fn of_filler_words(parameters: &Parameters) -> Self {
        let product = GadgetProduct::of_key_switch(parameters, Isa::detect());
        let steps = row_count(parameters).div_ceil(product.shape().rows);
        let scale = 1.0 / (i64::MAX as f64 * (product.polynomial_size() as f64).sqrt());
        let mut fourier = LargeBuffer::zeroed(steps * product.key_len());
        let values = fourier.iter_mut().zip(filler_words());
        values.for_each(|(value, word)| *value = word as f64 * scale);
        Self::new(parameters, product, fourier)
    }

    fn new(parameters: &Parameters, product: GadgetProduct, fourier: LargeBuffer<f64>) -> Self {
        Self {
            input: parameters.big_lwe_dimension(),
            output: parameters.lwe_dimension(),
            product,
            fourier,
        }
    }

    /// The number of bytes in memory.
    pub(super) fn byte_count(&self) -> usize {
        size_of_val(&*self.fourier)
    }

    /// See [`KeySwitchKey::switch_batch_into`](super::KeySwitchKey::switch_batch_into).
    pub(super) fn switch_batch_into<T: Torus>(&self, inputs: &[&[T]], outputs: &mut [u32]) {
        let out_len = self.output.0 + 1;
        assert_eq!(outputs.len(), inputs.len() * out_len);
        outputs
            .par_chunks_exact_mut(out_len)
            .zip(inputs)
            .for_each_init(
                || self.scratch(),
                |scratch, (out, lwe)| self.switch(lwe, out, scratch),
            );
    }

    fn scratch<T: Torus>(&self) -> Scratch<T> {
        let size = self.product.polynomial_size();
        Scratch {
            masks: vec![T::ZERO; self.product.component_count() * size],
            switched: vec![0; self.product.shape().outputs * size],
            product: self.product.scratch(),
        }
    }

    /// Switches one ciphertext. Nothing is allocated.
    fn switch<T: Torus>(&self, lwe: &[T], out: &mut [u32], scratch: &mut Scratch<T>) {
        assert_eq!(
            lwe.len(),
            self.input.0 + 1,
            "the ciphertext is not under the big key"
        );
        let Scratch {
            masks,
            switched,
            product,
        } = scratch;
        let size = self.product.polynomial_size();
        let constant = switched.len() - size;
        switched.fill(0);
        switched[constant] = lwe[self.input.0].round_to_bits(u32::BITS) as u32;
        let steps = lwe[..self.input.0].chunks(masks.len());
        let keys = self.fourier.chunks_exact(self.product.key_len());
        for (step, key) in steps.zip(keys) {
            let (used, unused) = masks.split_at_mut(step.len());
            for (polynomial, mask) in used.chunks_exact_mut(size).zip(step.chunks_exact(size)) {
                reflect_into(polynomial, mask);
            }
            unused.fill(T::ZERO);
            self.product.add_switched(switched, masks, key, product);
        }
        let (out, body) = out.split_at_mut(self.output.0);
        body[0] = switched[constant];
        for (mask, polynomial) in out.chunks_mut(size).zip(switched.chunks_exact(size)) {
            reflect_into(mask, polynomial);
        }
    }
}

/// Writes the first coefficients of `x_0 - Σ_(i ≥ 1) x_(N-i) · X^i`, as many as `out` has. This takes the mask polynomial of a GLWE
/// ciphertext to the mask of the LWE ciphertext of its constant coefficient, and back.
fn reflect_into<T: Torus>(out: &mut [T], x: &[T]) {
    let [first, others @ ..] = out else { return };
    *first = x[0];
    for (out, x) in others.iter_mut().zip(x.iter().rev()) {
        *out = x.neg();
    }
}
