//! The packing key switch: many blocks under the small key become the slots of one GLWE ciphertext
//! under the packing secret (Chillotti, Gama, Georgieva and Izabachène, "TFHE: Fast Fully Homomorphic
//! Encryption over the Torus", Journal of Cryptology 2020, algorithm 2, with the function that puts
//! value `j` into coefficient `j`).
//!
//! For every coefficient `s_i` of the small key and every digit weight `q / B^l`, the key holds an
//! encryption of the constant `s_i · q / B^l`. With the masks `a_(j,i)` and bodies `b_j` of `N` blocks,
//! the ciphertext is
//!
//! ```text
//! (0, …, 0, Σ_j b_j X^j) - Σ_(i,l) (Σ_j digit_l(a_(j,i)) X^j) · row_(i,l)
//! ```
//!
//! A scalar product of digits and rows for every block, as in a key switch between LWE keys, would take
//! `n l (k + 1) N` multiplications a block. The sums over `j` are polynomials, so that one transform of a
//! digit serves `N` blocks: this is a gadget product with `n` components instead of `k`. They are taken in
//! steps of as many as a product has rows for.

use rayon::prelude::*;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::packing::{
    PACKING_PARAMETERS_BYTES, PackingParameters, PackingSecret, SlotBits, slot_scale_log2,
};
use tfhe_sbc_core::parameters::{KeyFingerprint, PARAMETERS_BYTES, Parameters};
use tfhe_sbc_core::random::{EntropyError, ExpanderKind, SeedSequence};
use tfhe_sbc_core::simd::Isa;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::key::parameters_of;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_core::wire::{
    ENVELOPE_BYTES, HEADER_BYTES, Header, Kind, Message, WireError, require,
};

use crate::gadget_product::{GadgetProduct, GadgetProductScratch};
use crate::large_buffer::LargeBuffer;
use crate::seeded_rows::{Precision, Rows, SeededMasks, SeededRows, digit_weight};

/// The largest number of ciphertexts of one job. They share every step's part of the key while it is in
/// the second-level cache.
const CIPHERTEXTS_OF_A_JOB: usize = 8;

/// A packing key in seeded form. Row `i · levels + j` is that of coefficient `i` and its digit `j`, the
/// least significant one first.
#[derive(Clone, Debug, PartialEq)]
pub struct SeededPackingKey {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    packing: PackingParameters,
    rows: SeededRows<u32>,
}

/// The precision of the bodies.
fn precision(packing: &PackingParameters) -> Precision {
    Precision::same(packing.polynomial_size, packing.key_body_bits)
}

impl SeededPackingKey {
    /// Makes the packing key of a secret key, on all threads of the current rayon pool. Each call draws a
    /// different one, for the same packing secret.
    ///
    /// # Errors
    /// Those of the source of entropy.
    pub fn generate(
        secret: &SecretKey,
        packing: &PackingParameters,
        seeds: &mut SeedSequence,
    ) -> Result<Self, EntropyError> {
        let parameters = *secret.parameters();
        let (mask_seed, noise_seed) = seeds.next_pair()?;
        let packing_secret = PackingSecret::derive(secret, packing);
        let small = secret.lwe().coefficients();
        let base_log = packing.decomposition.base_log.0;
        let levels = packing.decomposition.level_count.0;
        let plaintext = |row: usize, out: &mut [u32]| {
            let weight: u32 = digit_weight(base_log, levels - row % levels);
            let constant = out.iter_mut().zip(small.iter().skip(row / levels));
            for (out, &s) in constant.take(1) {
                *out = weight.mul(u32::from_i64(i64::from(s)));
            }
        };
        Ok(Self {
            parameters,
            fingerprint: secret.fingerprint(),
            packing: *packing,
            rows: SeededRows::encrypt(
                packing.noise(),
                packing_secret.glwe(),
                (
                    SeededMasks::new(ExpanderKind::ChaCha20, mask_seed),
                    &noise_seed,
                ),
                Rows {
                    count: packing.key_rows(&parameters),
                    a_step: levels,
                    precision: precision(packing),
                },
                plaintext,
                &|_| (),
            ),
        })
    }

    /// The parameters of the blocks.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fingerprint of the key set.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// The packing parameters.
    pub fn packing(&self) -> &PackingParameters {
        &self.packing
    }

    /// The number of bytes of the message of a packing key.
    pub fn message_len(parameters: &Parameters, packing: &PackingParameters) -> usize {
        let bodies = precision(packing).packed_len(packing.key_rows(parameters));
        ENVELOPE_BYTES + PARAMETERS_BYTES + PACKING_PARAMETERS_BYTES + bodies
    }

    /// Returns the message of the key.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(Self::message_len(&self.parameters, &self.packing));
        message.resize(HEADER_BYTES, 0);
        message.extend_from_slice(&self.parameters.to_bytes());
        message.extend_from_slice(&self.packing.to_bytes());
        self.rows.write_bodies(&mut message);
        let header = Header {
            polynomial_size: self.packing.polynomial_size.get() as u32,
            dimension: self.packing.glwe_dimension.0 as u32,
            torus_bits: u32::BITS as u8,
            expander: Some(self.rows.masks.expander),
            mask_seed: self.rows.masks.seed,
            ..Header::new(
                Kind::PackingKey,
                self.parameters.fingerprint(),
                self.fingerprint,
            )
        };
        header.sealed(message)
    }

    /// Reads the bytes of a packing key, which are one message and nothing else.
    ///
    /// # Errors
    /// The first defect.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let message = Message::parse_only(bytes, Kind::PackingKey)?;
        let (parameters, rest) = parameters_of(&message)?;
        let header = message.header;
        let (packing, bodies) = rest
            .split_first_chunk()
            .ok_or(message.wrong_length(PARAMETERS_BYTES + PACKING_PARAMETERS_BYTES))?;
        let packing = PackingParameters::from_bytes(packing)?;
        require(u32::from(header.torus_bits) == u32::BITS, "torus bits")?;
        require(
            header.polynomial_size as usize == packing.polynomial_size.get(),
            "polynomial size",
        )?;
        require(
            header.dimension as usize == packing.glwe_dimension.0,
            "dimension",
        )?;
        let masks = SeededMasks::of_header(&header, &[ExpanderKind::ChaCha20])?;
        let expected = Self::message_len(&parameters, &packing);
        message.expect_length(expected - ENVELOPE_BYTES)?;
        Ok(Self {
            parameters,
            fingerprint: header.key,
            packing,
            rows: SeededRows::from_bytes(
                masks,
                precision(&packing),
                bodies,
                packing.key_rows(&parameters),
            ),
        })
    }

    /// Expands and transforms the key, on all threads of the current rayon pool.
    pub fn prepare(&self) -> PackingKey {
        let product = GadgetProduct::of_packing(&self.packing, Isa::detect());
        // The switch subtracts the sum from the bodies.
        let fourier = self.rows.prepare(&product, -1.0, &|_| ());
        PackingKey {
            parameters: self.parameters,
            fingerprint: self.fingerprint,
            packing: self.packing,
            product,
            fourier,
        }
    }
}

/// A packing key in memory, expanded and transformed. It is never serialised.
pub struct PackingKey {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    packing: PackingParameters,
    product: GadgetProduct,
    fourier: LargeBuffer<f64>,
}

impl PackingKey {
    /// The parameters of the blocks.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fingerprint of the key set.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// The packing parameters.
    pub fn packing(&self) -> &PackingParameters {
        &self.packing
    }

    /// The number of bytes in memory.
    pub fn byte_count(&self) -> usize {
        size_of_val(&*self.fourier)
    }

    /// Packs blocks under the small key, in order, and cuts the ciphertexts. The value of each is a message,
    /// without carry; the noise is that of a combination of bootstrap outputs that may enter a lookup, after
    /// the switch to the small key. Runs on all threads of the current rayon pool; the result does not
    /// depend on their number.
    ///
    /// Returns `None` if there are more blocks than a message holds, 2^22.
    ///
    /// # Panics
    /// If a block is not under the small key.
    pub fn pack(&self, blocks: &[LweCiphertext<u32>]) -> Option<PackedList> {
        PackedList::new(&self.packing, blocks.len(), self.pack_whole(blocks))
    }

    /// Packs messages under the small key that are at the top of the torus already, as those of a
    /// [`Sanitiser`](crate::sanitise::Sanitiser), and cuts the ciphertexts to `bits`.
    ///
    /// Returns `None` if there are more than a message holds, 2^22.
    ///
    /// # Panics
    /// If a message is not under the small key.
    pub fn pack_messages(
        &self,
        messages: &[LweCiphertext<u32>],
        bits: SlotBits,
    ) -> Option<PackedList> {
        let cut = PackingParameters {
            slot_bits: bits,
            ..self.packing
        };
        PackedList::new(&cut, messages.len(), self.pack_scaled(messages, 0))
    }

    /// Packs blocks as [`pack`](Self::pack), without cutting the ciphertexts.
    ///
    /// # Panics
    /// If a block is not under the small key.
    pub fn pack_whole(&self, blocks: &[LweCiphertext<u32>]) -> Vec<GlweCiphertext<u32>> {
        self.pack_scaled(blocks, slot_scale_log2(&self.parameters))
    }

    /// Packs blocks whose phases times `2^scale` are those of slots.
    fn pack_scaled(&self, blocks: &[LweCiphertext<u32>], scale: u32) -> Vec<GlweCiphertext<u32>> {
        let dimension = self.parameters.lwe_dimension();
        assert!(
            blocks.iter().all(|block| block.dimension() == dimension),
            "a block is not under the small key"
        );
        let size = self.packing.polynomial_size.get();
        let share = blocks
            .len()
            .div_ceil(size)
            .div_ceil(rayon::current_num_threads());
        let job = share.clamp(1, CIPHERTEXTS_OF_A_JOB) * size;
        let packed = blocks.par_chunks(job).map_init(
            || self.scratch(),
            |scratch, blocks| self.pack_job(blocks, scale, scratch),
        );
        packed.flatten_iter().collect()
    }

    fn scratch(&self) -> PackingScratch {
        let columns = self.product.component_count();
        PackingScratch {
            masks: vec![0; columns * self.packing.polynomial_size.get()],
            product: self.product.scratch(),
        }
    }

    /// Packs the blocks of some ciphertexts, step by step of the key. Nothing is allocated within a step.
    fn pack_job(
        &self,
        blocks: &[LweCiphertext<u32>],
        scale: u32,
        scratch: &mut PackingScratch,
    ) -> Vec<GlweCiphertext<u32>> {
        let size = self.packing.polynomial_size.get();
        let mask_len = self.packing.secret_dimension().0;
        let columns = self.product.component_count();
        let mut sums: Vec<Vec<u32>> = blocks
            .chunks(size)
            .map(|blocks| {
                let mut sum = vec![0; mask_len + size];
                for (b, block) in sum.iter_mut().skip(mask_len).zip(blocks) {
                    *b = block.body() << scale;
                }
                sum
            })
            .collect();
        for (step, key) in self
            .fourier
            .chunks_exact(self.product.key_len())
            .enumerate()
        {
            for (sum, blocks) in sums.iter_mut().zip(blocks.chunks(size)) {
                gather_masks(&mut scratch.masks, size, blocks, step * columns, scale);
                self.product
                    .add_switched(sum, &scratch.masks, key, &mut scratch.product);
            }
        }
        let size = self.packing.polynomial_size;
        let ciphertexts = sums.into_iter();
        ciphertexts
            .filter_map(|sum| GlweCiphertext::from_vec(sum, size))
            .collect()
    }
}

/// The scratch memory of a thread.
struct PackingScratch {
    masks: Vec<u32>,
    product: GadgetProductScratch,
}

/// Writes mask coefficient `first + c` of block `j`, scaled, to coefficient `j` of polynomial `c`, and zeros
/// where there is none.
fn gather_masks(
    out: &mut [u32],
    size: usize,
    blocks: &[LweCiphertext<u32>],
    first: usize,
    scale: u32,
) {
    for (c, polynomial) in out.chunks_exact_mut(size).enumerate() {
        let (used, unused) = polynomial.split_at_mut(blocks.len());
        for (a, block) in used.iter_mut().zip(blocks) {
            *a = block.mask().get(first + c).map_or(0, |a| a << scale);
        }
        unused.fill(0);
    }
}

/// Joins flags under the big key, so that as many as a message has bits share a block: flag `i` of a block is
/// its bit `i`. The blocks are packed after the switch to the small key. Joined after it, flags would have the
/// noise of several key switches, which is too much.
///
/// Every flag is a bootstrap output of its own, 0 or 1.
pub fn join_flags<T: Torus>(
    parameters: &Parameters,
    flags: &[LweCiphertext<T>],
) -> Vec<LweCiphertext<T>> {
    let together = parameters.message_bits().0 as usize;
    let join = |flags: &[LweCiphertext<T>]| {
        let (first, others) = flags.split_first()?;
        let mut joined = first.clone();
        for (bit, flag) in (1..).zip(others) {
            joined.add_scaled(flag, 1 << bit);
        }
        Some(joined)
    };
    flags.chunks(together).filter_map(join).collect()
}
