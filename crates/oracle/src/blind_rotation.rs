//! The noise of a blind rotation, which consists of n external products, one for each bit of the
//! small key.
//!
//! Controlled rotations are the method of TFHE-rs and Concrete, with their formulas. The engine
//! rotates by blocks of bits; the formulas for blocks are derived from the others, see
//! [`blind_rotation_variance`].

use tfhe_sbc_core::parameter_sets::KeyBodyBits;
use tfhe_sbc_core::parameters::Parameters;

use crate::noise::{
    Gadget, GlweNoise, KeyBlocks, Variance, exp2, squared_step, truncation_variance,
};

/// The decompositions of an external product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgswGadgets {
    /// The decomposition of the k mask polynomials.
    pub mask: Gadget,
    /// The decomposition of the body.
    pub body: Gadget,
}

impl GgswGadgets {
    /// The same decomposition for mask and body.
    pub fn same(gadget: Gadget) -> Self {
        Self {
            mask: gadget,
            body: gadget,
        }
    }

    /// The sum of `each` over the gadgets of the rows of a GGSW ciphertext.
    fn sum_over_rows(self, glwe_dimension: usize, each: impl Fn(Gadget) -> f64) -> f64 {
        let rows = |gadget: Gadget| gadget.level as f64 * each(gadget);
        glwe_dimension as f64 * rows(self.mask) + rows(self.body)
    }

    /// The rounding error that a decomposed ciphertext has in its phase: that of the body,
    /// and that of every mask coefficient times a bit of the key,
    ///
    /// (B'^(-2l') - q^-2)/12 + kN (m (B^(-2l) - q^-2)/12 + v q^-2/4), m = E\[s²\], v = Var(s),
    ///
    /// the last term from the mean q^-1/2 of an error rounded up at ties. TFHE-rs's
    /// form; Concrete adds (kN)² times a term in q^-2 for that mean, about 2^-17
    /// of the rest for gates at q = 2^32 and 2^-70 for integers at q = 2^64.
    fn rounding_variance(self, bsk: &GlweNoise) -> Variance {
        let step = squared_step(bsk.torus_log2);
        let square = bsk.secret.mean_square();
        let mask = square * (self.mask.precision_squared() - step) / 12.0
            + bsk.secret.variance() * step / 4.0;
        let body = (self.body.precision_squared() - step) / 12.0;
        Variance(body + bsk.extracted_lwe_dimension() as f64 * mask)
    }

    /// The variance that the errors of the GGSW ciphertext add through the digits: N (V k l (B²+2)/12 + V' l' (B'²+2)/12),
    /// where V and V' are the variances in the rows of masks and of the body.
    fn key_variance(self, bsk: &GgswNoise) -> Variance {
        let GgswNoise { fresh, rounding } = bsk;
        let rows = |gadget: Gadget, rounding: Variance| {
            (fresh.variance + rounding) * (gadget.level as f64 * gadget.digit_variance())
        };
        let mask = rows(self.mask, rounding.mask) * fresh.glwe_dimension as f64;
        (mask + rows(self.body, rounding.body)) * fresh.polynomial_size as f64
    }
}

/// The variances that the rounding of GGSW ciphertexts, on the wire and in memory, adds to their errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyRounding {
    /// In the rows that meet digits of the k mask polynomials.
    pub mask: Variance,
    /// In the rows that meet digits of the body.
    pub body: Variance,
}

impl KeyRounding {
    /// The rounding of a key that keeps all bits.
    pub const ZERO: Self = Self::same(Variance::ZERO);

    /// The same rounding in every row.
    pub const fn same(rounding: Variance) -> Self {
        Self {
            mask: rounding,
            body: rounding,
        }
    }
}

impl From<KeyBodyBits> for KeyRounding {
    fn from(bits: KeyBodyBits) -> Self {
        Self {
            mask: truncation_variance(bits.mask_rows),
            body: truncation_variance(bits.body_rows),
        }
    }
}

impl KeyRounding {
    /// The rounding of a key of a set: that of its bodies to `bits` bits, and that of its
    /// [coefficients in memory](Parameters::packed_key_width), whether this processor rounds them or not.
    pub fn of(parameters: &Parameters, bits: KeyBodyBits) -> Self {
        let bodies = Self::from(bits);
        let (secret, k) = (parameters.glwe_secret(), parameters.glwe_dimension());
        let in_memory = parameters.packed_key_width(bits).map_or(0.0, |width| {
            width.rounding_variance(secret, k, parameters.polynomial_size())
        });
        Self {
            mask: bodies.mask + Variance(in_memory),
            body: bodies.body + Variance(in_memory),
        }
    }
}

/// The shape and the errors of the GGSW ciphertexts of a bootstrapping key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GgswNoise {
    /// The GLWE ciphertexts that the rows are before their bodies are rounded.
    pub fresh: GlweNoise,
    /// The variances that the rounding of their bodies adds.
    pub rounding: KeyRounding,
}

/// The method of a blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlindRotation {
    /// One controlled rotation acc += BK ⊡ ((X^a - 1) acc) for each bit of a binary key
    /// (the TFHE paper; TFHE-rs and Concrete).
    ControlledRotations,
    /// acc += Σ_j (X^(a_j) - 1) (BK_j ⊡ acc) for each block: one decomposition for all its
    /// bits, the errors turned with the products (ePrint 2023/958, section 4).
    Blocks,
}

/// The factor of the variance of X^a e - e, the difference of two independent errors.
const TURNED_DIFFERENCE: f64 = 2.0;

/// A whole blind rotation of a noiseless table, without the error of the transform
/// ([`blind_rotation_fft_variance`]). With
///
/// K = N (V k l (B²+2)/12 + V' l' (B'²+2)/12), what the errors of a GGSW ciphertext make of
/// the digits, and
/// R = B'^(-2l')/12 + kN E\[s²\] B^(-2l)/12, what is cut off (and terms in q^-2),
///
/// it is n (K + R/2) by controlled rotations, of which half of the bits are 1, and
/// 2 n K + 2 n/(ℓ+1) R by blocks: there both are turned after the product, and R is
/// multiplied by the bit, of which n/(ℓ+1) are 1 on average.
pub fn blind_rotation_variance(
    kind: BlindRotation,
    key: KeyBlocks,
    bsk: &GgswNoise,
    gadgets: GgswGadgets,
) -> Variance {
    let products = gadgets.key_variance(bsk) * key.dimension as f64;
    let cut_off = gadgets.rounding_variance(&bsk.fresh) * key.mean_weight();
    match kind {
        BlindRotation::ControlledRotations => products + cut_off,
        BlindRotation::Blocks => (products + cut_off) * TURNED_DIFFERENCE,
    }
}

/// The variance that the error of the transform adds to a whole blind rotation.
///
/// By blocks, it is that of n products that are rotated afterwards. The products of a block share
/// their inverse transform, whose error is counted ℓ times here, on the safe side.
pub fn blind_rotation_fft_variance(
    kind: BlindRotation,
    model: FftErrorModel,
    key: KeyBlocks,
    bsk: &GlweNoise,
    gadgets: GgswGadgets,
) -> Variance {
    let products = fft_variance(model, bsk, gadgets) * key.dimension as f64;
    match kind {
        BlindRotation::ControlledRotations => products,
        BlindRotation::Blocks => products * TURNED_DIFFERENCE,
    }
}

/// A fitted model of the error of a double-precision Fourier transform. All models have the form c
/// · 2^(2(lq-53)) B² q^-2 times powers of l, k and N, with lq = log2 q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FftErrorModel {
    /// The model of this project's own transform, by which its parameter sets are judged: 0.0316
    /// N^0.15 · (k l B² + l' B'²) N (1 + kN/2) · 2^(2(lq-53)) q^-2, multiplied by the square root
    /// of N/2048 above N = 2048.
    ///
    /// All factors but the first follow from independent relative errors of 2^-53 on the
    /// coefficients of the products, of which those of the mask are multiplied by the key. The
    /// first factor is the growth with the depth of the transform. It was fitted to the difference
    /// between the engine's external product and an exact product of the same uniform GGSW rows
    /// and input at q = 2^64, for each N from 2^8 to 2^14 (6 to 8000 products, AVX-512), k from 1
    /// to 5 and l from 1 to 3. It is within 7% of every measurement, also with AVX2; portable
    /// code, which does not fuse, is 5 to 8% above it. The factors of blocks of 2 or 3 bits, which these products do not
    /// have, add 10 to 28%. Measured in units of `l (k+1) N (1 + kN/2)
    /// · 2^22 B²`, N = 256 to 16384: 0.0728, 0.0773, 0.0905, 0.0981, 0.1038, 0.1236, 0.1409.
    ///
    /// These are means over the coefficients of a product. A bootstrap reads coefficient 0, where
    /// all errors of the mask are multiplied by the key with one sign, so that their common part
    /// counts three times; in large polynomials this is most of the error, and its size depends on
    /// the key. Bootstraps of N = 4096 under three keys had 0.95, 1.11 and 1.54 times the mean,
    /// those of 8192 under four keys 1.40, 1.44, 1.81 and 2.06 times, those of 16384 under one key
    /// 2.6 times. The square root above N = 2048 covers this.
    Measured,
    /// The model of Concrete: 2^-2.57722494 · 2^(2(lq-53)) l B² N² (k+1) q^-2.
    Concrete,
    /// The model of TFHE-rs: 0.00705 · 2^(2 max(0, lq-53)) B² q^-2 l^1.01827 k^1.22003 N^2.22003
    /// (k+1)^1.01827. Its maximum makes it useless for lq < 53.
    TfheRs,
}

impl FftErrorModel {
    /// The model that reproduces the published probabilities: that of Concrete if the torus fits
    /// the mantissa (lq < 53, so q = 2^32), otherwise that of TFHE-rs (q = 2^64).
    pub fn published_for_torus(torus_log2: u32) -> Self {
        if torus_log2 < 53 {
            Self::Concrete
        } else {
            Self::TfheRs
        }
    }
}

/// The variance that a folded f64 Fourier transform adds to one external product. The model of
/// TFHE-rs takes the gadget of the mask for the body too.
pub fn fft_variance(model: FftErrorModel, bsk: &GlweNoise, gadgets: GgswGadgets) -> Variance {
    let k = bsk.glwe_dimension as f64;
    let n = bsk.polynomial_size as f64;
    let lost_bits = i64::from(bsk.torus_log2) - 53;
    let base_squared = |gadget: Gadget| exp2(2 * i64::from(gadget.base_log));
    let rows = gadgets.sum_over_rows(bsk.glwe_dimension, base_squared);
    let integer = match model {
        FftErrorModel::Measured => {
            let products = rows * n * (1.0 + k * n * bsk.secret.mean_square());
            let in_common = (n / 2048.0).max(1.0).sqrt();
            0.0316 * n.powf(0.15) * in_common * products * exp2(2 * lost_bits)
        }
        FftErrorModel::Concrete => f64::exp2(-2.577_224_94) * exp2(2 * lost_bits) * rows * n * n,
        FftErrorModel::TfheRs => {
            0.00705
                * exp2(2 * lost_bits.max(0))
                * base_squared(gadgets.mask)
                * (gadgets.mask.level as f64).powf(1.01827)
                * k.powf(1.22003)
                * n.powf(2.22003)
                * (k + 1.0).powf(1.01827)
        }
    };
    Variance(integer * squared_step(bsk.torus_log2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::GlweSecret;
    use crate::noise::tests::close;

    #[test]
    fn rotations_by_blocks_double_what_is_turned_after_the_product() {
        let bsk = GlweNoise {
            secret: GlweSecret::Binary,
            glwe_dimension: 2,
            polynomial_size: 512,
            variance: Variance(1e-15),
            torus_log2: 500,
        };
        let gadget = |base_log, level| Gadget { base_log, level };
        let gadgets = GgswGadgets {
            mask: gadget(8, 2),
            body: gadget(10, 1),
        };
        let variance = |kind, block_size| {
            let key = KeyBlocks {
                dimension: 600,
                block_size,
            };
            let key_noise = GgswNoise {
                fresh: bsk,
                rounding: KeyRounding {
                    mask: Variance(2e-15),
                    body: Variance(5e-15),
                },
            };
            blind_rotation_variance(kind, key, &key_noise, gadgets).0
        };
        // 4 mask rows of base 2^8 with a variance of 3e-15 and a body row of base 2^10 with 6e-15; what is cut off
        // below 2^-16 of 1024 coefficients, half of which meet a 1, and below 2^-10 of the body.
        let key = 512.0 * (3e-15 * 4.0 * 65538.0 + 6e-15 * 1048578.0) / 12.0;
        let cut_off = 512.0 * f64::exp2(-32.0) / 12.0 + f64::exp2(-20.0) / 12.0;
        let controlled = variance(BlindRotation::ControlledRotations, 1);
        close(controlled, 600.0 * key + 300.0 * cut_off, 1e-12);
        for (block_size, active) in [(1, 300.0), (2, 200.0), (3, 150.0)] {
            let blocks = variance(BlindRotation::Blocks, block_size);
            close(blocks, 2.0 * (600.0 * key + active * cut_off), 1e-12);
        }
        // The steps of the torus: bits that are all there are not rounded, but for the mean.
        let exact = GgswGadgets::same(gadget(16, 2));
        let narrow = GlweNoise {
            torus_log2: 32,
            ..bsk
        };
        let step = f64::exp2(-64.0);
        close(
            exact.rounding_variance(&narrow).0,
            1024.0 * step / 16.0,
            1e-12,
        );
    }

    #[test]
    fn the_transform_models_at_n_2048() {
        let bsk = GlweNoise {
            secret: GlweSecret::Binary,
            glwe_dimension: 1,
            polynomial_size: 2048,
            variance: Variance::ZERO,
            torus_log2: 64,
        };
        let gadget = GgswGadgets::same(Gadget {
            base_log: 23,
            level: 1,
        });
        let concrete = fft_variance(FftErrorModel::Concrete, &bsk, gadget).0;
        let tfhe_rs = fft_variance(FftErrorModel::TfheRs, &bsk, gadget).0;
        let measured = fft_variance(FftErrorModel::Measured, &bsk, gadget).0;
        close(tfhe_rs / concrete, 0.228, 0.01);
        // Measured ratios: 1/0.778 and 1/3.41.
        close(measured / tfhe_rs, 1.285, 0.03);
        close(measured / concrete, 0.293, 0.03);
    }
}
