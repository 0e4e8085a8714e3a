//! The bootstrapping key: a GGSW encryption, under the GLWE key, of every coefficient of the small
//! LWE key.
//!
//! A GGSW ciphertext of a bit `m` has one row for each of the `k + 1` components of a GLWE
//! ciphertext and each digit weight `g = q / B^j`. The row of mask component `c` is a GLWE
//! encryption of `-m · g · S_c`, and that of the body one of `m · g`; the digits of the body may
//! have another base. The rows are ordered by component, and within a component from the least
//! significant weight up.

use std::io;

use tfhe_sbc_core::fft::external_product::{PackedKey, StepKey};
use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{KeyBodyBits, key_body_bits};
use tfhe_sbc_core::parameters::{PackedWidth, Parameters};
use tfhe_sbc_core::random::NoiseSeed;
use tfhe_sbc_core::simd::Isa;

use crate::filler::filler_words;
use crate::gadget_product::GadgetProduct;
use crate::large_buffer::LargeBuffer;
use crate::nodes::{Nodes, PerNode};
use crate::seeded_rows::{
    PackedSteps, Precision, Progress, Rows, SeededMasks, SeededRows, digit_weight,
    weighted_key_polynomial,
};

/// The number of rows of a GGSW ciphertext.
pub(crate) fn row_count(parameters: &Parameters) -> usize {
    parameters.glwe_dimension().0 * parameters.pbs().level_count.0
        + parameters.pbs_body().level_count.0
}

/// The precision of the rows of every GGSW ciphertext.
fn precision(parameters: &Parameters, bits: KeyBodyBits) -> Precision {
    let of_masks = parameters.glwe_dimension().0 * parameters.pbs().level_count.0;
    let mut of_rows = vec![bits.body_rows; row_count(parameters)];
    of_rows[..of_masks].fill(bits.mask_rows);
    Precision::repeated(parameters.polynomial_size(), of_rows)
}

/// The bootstrapping key in seeded form. Row `r` of the GGSW ciphertext of coefficient `i` is
/// seeded row `i · row_count + r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededBootstrapKey<T> {
    /// The numbers of upper bits that are kept of the body coefficients.
    pub(crate) bits: KeyBodyBits,
    pub(crate) rows: SeededRows<T>,
}

impl<T: ProductTorus> SeededBootstrapKey<T> {
    /// The number of bytes of all bodies, packed.
    pub(crate) fn packed_len(parameters: &Parameters, bits: KeyBodyBits) -> usize {
        precision(parameters, bits).packed_len(Self::row_count(parameters))
    }

    /// Returns the key of seeded masks and of packed bodies.
    ///
    /// # Panics
    /// If `packed` does not have [`packed_len`](Self::packed_len) bytes.
    pub(crate) fn from_bytes(
        parameters: &Parameters,
        bits: KeyBodyBits,
        masks: SeededMasks,
        packed: &[u8],
    ) -> Self {
        let rows = Self::row_count(parameters);
        Self {
            bits,
            rows: SeededRows::from_bytes(masks, precision(parameters, bits), packed, rows),
        }
    }

    /// The number of rows of all GGSW ciphertexts.
    pub(crate) fn row_count(parameters: &Parameters) -> usize {
        parameters.lwe_dimension().0 * row_count(parameters)
    }

    pub(crate) fn generate(
        parameters: &Parameters,
        lwe_bits: &[i8],
        glwe: &GlweSecretKey,
        seeds: (SeededMasks, &NoiseSeed),
        progress: Progress<'_>,
    ) -> Self {
        let rows = row_count(parameters);
        let plaintext = |row: usize, out: &mut [T]| {
            row_plaintext_into(out, parameters, glwe, lwe_bits[row / rows], row % rows);
        };
        let bits = key_body_bits(parameters);
        let rows = Rows {
            count: Self::row_count(parameters),
            a_step: rows,
            precision: precision(parameters, bits),
        };
        Self {
            bits,
            rows: SeededRows::encrypt(
                parameters.glwe_noise(),
                glwe,
                seeds,
                rows,
                plaintext,
                progress,
            ),
        }
    }
}

/// Writes the plaintext polynomial of row `row` of a GGSW ciphertext of `bit`, whose mask comes
/// from a seed: `m · g` for a row of the body, and `-m · g · S_c` for one of component `c`. `out`
/// must be 0.
fn row_plaintext_into<T: ProductTorus>(
    out: &mut [T],
    parameters: &Parameters,
    glwe: &GlweSecretKey,
    bit: i8,
    row: usize,
) {
    let k = parameters.glwe_dimension().0;
    let component = (row / parameters.pbs().level_count.0).min(k);
    let gadget = if component < k {
        parameters.pbs()
    } else {
        parameters.pbs_body()
    };
    let level = gadget.level_count.0 - (row - component * parameters.pbs().level_count.0);
    let weight = digit_weight::<T>(gadget.base_log.0, level);
    let weight = weight.mul(T::from_i64(i64::from(bit)));
    if component < k {
        weighted_key_polynomial(out, glwe, component, weight.neg());
    } else {
        out[0] = weight;
    }
}

/// The bootstrapping key in memory: every polynomial transformed, in the order in which external
/// products read it.
pub struct BootstrapKey {
    product: GadgetProduct,
    steps: PerNode<Steps>,
}

/// The keys of all steps.
#[derive(Clone)]
enum Steps {
    Doubles(LargeBuffer<f64>),
    Packed(PackedSteps),
}

impl BootstrapKey {
    pub(crate) fn prepare<T: ProductTorus>(
        parameters: &Parameters,
        seeded: &SeededBootstrapKey<T>,
        progress: Progress<'_>,
    ) -> Self {
        let product = GadgetProduct::of_blind_rotation(parameters, Isa::detect());
        let steps = match width(&product, parameters, seeded.bits) {
            Some(width) => Steps::Packed(seeded.rows.prepare_packed(&product, width, progress)),
            None => Steps::Doubles(seeded.rows.prepare(&product, 1.0, progress)),
        };
        let steps = PerNode::one(steps);
        Self { product, steps }
    }

    /// Returns a key that encrypts nothing: every coefficient is a filler word, scaled to about the size of
    /// those of a real key.
    pub(crate) fn of_filler_words(parameters: &Parameters) -> Self {
        let product = GadgetProduct::of_blind_rotation(parameters, Isa::detect());
        let steps = parameters.lwe_dimension().0 / product.shape().block_size;
        let scale = 1.0 / (i64::MAX as f64 * (product.polynomial_size() as f64).sqrt());
        let steps = match width(&product, parameters, key_body_bits(parameters)) {
            Some(width) => {
                let step_len = product.packed_key_len(width);
                let mut integers = LargeBuffer::zeroed(steps * step_len + PackedKey::BEHIND);
                // These are doubles, too, where masks have 8 bytes.
                let words = filler_words().map(|word| word as f64);
                let bytes = integers.iter_mut().zip(words.flat_map(f64::to_le_bytes));
                bytes.for_each(|(byte, word)| *byte = word);
                Steps::Packed(PackedSteps {
                    width,
                    integers,
                    block_size: product.shape().block_size,
                    units: vec![scale; parameters.lwe_dimension().0],
                })
            }
            None => {
                let mut doubles = LargeBuffer::zeroed(steps * product.key_len());
                let values = doubles.iter_mut().zip(filler_words());
                values.for_each(|(value, word)| *value = word as f64 * scale);
                Steps::Doubles(doubles)
            }
        };
        let steps = PerNode::one(steps);
        Self { product, steps }
    }

    /// Gives each node a copy.
    ///
    /// # Errors
    /// Those of [`PerNode::copy_to`].
    pub(crate) fn copy_to_nodes(&mut self, nodes: &Nodes) -> io::Result<()> {
        self.steps.copy_to(nodes)
    }

    /// The number of bytes in memory, of all copies.
    pub fn byte_count(&self) -> usize {
        let bytes = self.steps.copies().map(|steps| match steps {
            Steps::Doubles(doubles) => size_of_val(&**doubles),
            Steps::Packed(packed) => packed.integers.len() + size_of_val(&*packed.units),
        });
        bytes.sum()
    }

    pub(crate) fn product(&self) -> &GadgetProduct {
        &self.product
    }

    /// The keys of all blocks, in the order of the coefficients of the small key, from the memory that is nearest to the calling thread.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = StepKey<'_>> {
        let step_len = self.product.key_len();
        let steps = self.steps.local();
        let count = match steps {
            Steps::Doubles(doubles) => doubles.len() / step_len,
            Steps::Packed(packed) => packed.len(),
        };
        (0..count).map(move |step| match steps {
            Steps::Doubles(doubles) => StepKey::Doubles(&doubles[step * step_len..][..step_len]),
            Steps::Packed(packed) => StepKey::Packed(packed.step(step)),
        })
    }
}

/// The bytes of a key in memory, to prefetch.
pub(crate) fn bytes_of(key: StepKey<'_>) -> &[u8] {
    match key {
        StepKey::Doubles(doubles) => bytemuck::cast_slice(doubles),
        StepKey::Packed(packed) => &packed.bytes[..packed.bytes.len() - PackedKey::BEHIND],
    }
}

/// The width of the coefficients of a packed key; `None` if the key is to consist of doubles.
fn width(
    product: &GadgetProduct,
    parameters: &Parameters,
    bits: KeyBodyBits,
) -> Option<PackedWidth> {
    product.packed_key_width(parameters.packed_key_width(bits)?)
}
