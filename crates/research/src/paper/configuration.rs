//! Reproductions of the methods of encryption that the paper compares: the TLWE and TRLWE encryptions
//! of TFHEpp, and TFHE-SBC itself. N = 1024, k = 1, q = 2^32, and every word is sent.
//!
//! The code is this project's own, written after the paper's description, and all methods share
//! this project's transform. They differ in the source of randomness, in the sampler, and in whether
//! the transformed key is kept. The samplers are variable-time, as in the paper.
//!
//! `firmware/count` includes this file too: of this crate it uses [`samplers`](crate::samplers) only.

use tfhe_sbc_core::dimensions::{GlweDimension, PolynomialSize};
use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::fft::OwnedFftPlan;
use tfhe_sbc_core::glwe_product::{MaskProduct, mask_product_scratch_len, prepare_key_polynomial};
use tfhe_sbc_core::polynomial::reference_multiply_add;
use tfhe_sbc_core::random::{Expander, fill_uniform};

use crate::samplers::{add_gaussian_polar_vartime, add_gaussian_ziggurat_vartime};

/// The polynomial size N.
pub const SIZE: usize = 1024;
/// The standard deviation of the noise, as a fraction of q.
pub const STANDARD_DEVIATION: f64 = 1.0 / 33_554_432.0;

/// A sampler of Gaussian noise.
#[derive(Clone, Copy)]
pub enum Sampler {
    /// Marsaglia's polar method, as in C++'s `normal_distribution`.
    Polar,
    /// The Ziggurat of Marsaglia and Tsang.
    Ziggurat,
}

impl Sampler {
    /// Adds noise of [`STANDARD_DEVIATION`] to every value.
    pub fn add(self, expander: &mut impl Expander, values: &mut [u32]) {
        match self {
            Self::Polar => add_gaussian_polar_vartime(STANDARD_DEVIATION, expander, values),
            Self::Ziggurat => add_gaussian_ziggurat_vartime(STANDARD_DEVIATION, expander, values),
        }
    }
}

/// Encrypts each bit as one TLWE ciphertext of 1024 mask words and a body, and writes the ciphertexts
/// to `out` one after the other.
pub fn encrypt_tlwe(
    key: &[u8],
    bits: &[u8],
    expander: &mut impl Expander,
    sampler: Sampler,
    out: &mut [u32],
) {
    for (tlwe, &bit) in out.chunks_exact_mut(SIZE + 1).zip(bits) {
        let (mask, body) = tlwe.split_at_mut(SIZE);
        fill_uniform(expander, mask);
        body[0] = mask
            .iter()
            .zip(key)
            .fold(boolean::encode(bit == 1), |sum: u32, (&a, &s)| {
                sum.wrapping_add(a * u32::from(s))
            });
        sampler.add(expander, body);
    }
}

/// A TRLWE encryptor with its key and scratch memory.
pub struct Trlwe {
    plan: OwnedFftPlan,
    key: Vec<u8>,
    prepared_key: Vec<f64>,
    scratch: Vec<f64>,
}

impl Trlwe {
    /// Takes the binary key and transforms it.
    pub fn new(key: &[u8]) -> Self {
        let size = PolynomialSize::new(SIZE).expect("1024 is a polynomial size");
        let mut trlwe = Self {
            plan: OwnedFftPlan::new(size),
            key: key.to_vec(),
            prepared_key: vec![0.0; SIZE],
            scratch: vec![0.0; mask_product_scratch_len::<u32>(size, GlweDimension(1))],
        };
        trlwe.transform_key();
        trlwe
    }

    /// Transforms the key again, as TFHEpp does for every product.
    pub fn transform_key(&mut self) {
        for (place, &bit) in self.prepared_key.iter_mut().zip(&self.key) {
            *place = f64::from(bit);
        }
        prepare_key_polynomial(self.plan.plan(), &mut self.prepared_key);
    }

    /// Adds the product of a mask and the key to a body.
    pub fn add_product(&mut self, mask: &[u32], body: &mut [u32]) {
        MaskProduct::new(self.plan.plan(), &mut self.scratch).finish_into(
            mask,
            &self.prepared_key,
            body,
        );
    }

    /// Encrypts bits, 1024 in a ciphertext, and writes each ciphertext to `out`: its mask, then its body.
    /// Unless `key_kept`, the key is transformed again for every ciphertext.
    pub fn encrypt(
        &mut self,
        bits: &[u8],
        key_kept: bool,
        mask_expander: &mut impl Expander,
        noise_expander: &mut impl Expander,
        sampler: Sampler,
        out: &mut [u32],
    ) {
        for (trlwe, bits) in out.chunks_exact_mut(2 * SIZE).zip(bits.chunks(SIZE)) {
            let (mask, body) = trlwe.split_at_mut(SIZE);
            body.fill(0);
            for (body, &bit) in body.iter_mut().zip(bits) {
                *body = boolean::encode(bit == 1);
            }
            fill_uniform(mask_expander, mask);
            sampler.add(noise_expander, body);
            if !key_kept {
                self.transform_key();
            }
            self.add_product(mask, body);
        }
    }

    /// Returns the phase of a TRLWE ciphertext, computed by the definition of the product.
    pub fn phase(&self, mask: &[u32], body: &[u32]) -> Vec<u32> {
        let negated: Vec<i64> = self.key.iter().map(|&bit| -i64::from(bit)).collect();
        let mut phase = body.to_vec();
        reference_multiply_add(&mut phase, mask, &negated);
        phase
    }

    /// The number of bytes of twiddle factors, keys and scratch memory.
    pub fn memory(&self) -> usize {
        size_of_val(&self.prepared_key[..])
            + size_of_val(&self.scratch[..])
            + self.key.len()
            + tfhe_sbc_core::fft::twiddle_len(self.plan.polynomial_size()) * size_of::<f64>()
    }
}
