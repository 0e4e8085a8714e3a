//! The integers that the coefficients of a prepared bootstrapping key are rounded to, and what the rounding adds to its noise.

use super::{GlweSecret, Parameters};
use crate::dimensions::{GlweDimension, LweDimension, PolynomialSize};
use crate::parameter_sets::KeyBodyBits;
use crate::torus::exp2_neg;

/// Returns the variance, a fraction of the torus squared, that the rounding of a key-switching key in memory adds to the error
/// of its rows: that of [columns of 24 bits](crate::simd::key_switch_bytes_of) if it is at most 1/4000 of the
/// variance `noise` that they have anyway, which changes no failure probability noticeably, or else 0, for columns that keep all bits.
///
/// Each column is off by a uniform part of a step, and those of the mask are multiplied by the small key, of whose
/// coefficients one in `block_size + 1` is 1.
pub fn packed_key_switch_variance(dimension: LweDimension, block_size: u32, noise: f64) -> f64 {
    let weight = dimension.0 as f64 / f64::from(block_size + 1);
    let added = exp2_neg(2 * 24) / 12.0 * (1.0 + weight);
    if added <= noise / 4000.0 { added } else { 0.0 }
}

/// The number of bytes of the integers of a packed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackedWidth {
    /// Six bytes.
    Six,
    /// Seven bytes.
    Seven,
}

impl PackedWidth {
    /// Both widths, the narrower one first.
    pub const ALL: [Self; 2] = [Self::Six, Self::Seven];

    /// The number of bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Six => 6,
            Self::Seven => 7,
        }
    }

    /// Returns the narrowest width whose rounding adds at most a sixteenth to the variance `noise` of the rows of a
    /// bootstrapping key, a fraction of the torus squared; `None` if there is none, so that the key has to consist of doubles.
    pub fn narrowest(
        secret: GlweSecret,
        glwe_dimension: GlweDimension,
        size: PolynomialSize,
        noise: f64,
    ) -> Option<Self> {
        let added = |width: &Self| width.rounding_variance(secret, glwe_dimension, size);
        Self::ALL
            .into_iter()
            .find(|width| added(width) <= noise / 16.0)
    }

    /// Returns the variance, a fraction of the torus squared, that the rounding adds to the error of a row of the key.
    ///
    /// The real and imaginary parts of the transform of a uniform polynomial have the variance N q²/24, and hardly a part of a
    /// key is above six times its root. The integers count steps of 2R/2^(8 bytes) at most, where R is the power of two
    /// next above that. Rounding to a step adds a variance of step²/12 to a part, and 2/N of this to a coefficient of the
    /// polynomial; those of the masks are multiplied by the secret key.
    pub fn rounding_variance(
        self,
        secret: GlweSecret,
        glwe_dimension: GlweDimension,
        size: PolynomialSize,
    ) -> f64 {
        let size = size.get() as f64;
        let mut squared_range = 1.0;
        while squared_range < 1.5 * size {
            squared_range *= 4.0;
        }
        let squared_step = 4.0 * squared_range * exp2_neg(16 * self.bytes() as u32);
        let of_coefficient = 2.0 / size * squared_step / 12.0;
        let weight = glwe_dimension.0 as f64 * size * secret.mean_square();
        of_coefficient * (1.0 + weight)
    }
}

impl Parameters {
    /// Returns the width of the coefficients of a bootstrapping key in memory that keeps `bits` bits of its bodies: the
    /// [narrowest](PackedWidth::narrowest) for the noise of the rows with less noise. Keys have doubles nevertheless on
    /// processors that [do not pack](crate::simd::Isa::packs_bootstrap_keys) them, over 2^32, where products are exact, and with
    /// several levels.
    pub fn packed_key_width(&self, bits: KeyBodyBits) -> Option<PackedWidth> {
        let levels = [self.pbs(), self.pbs_body()].map(|gadget| gadget.level_count.0);
        if self.torus_bits() != u64::BITS || levels != [1, 1] {
            return None;
        }
        let rounding = |bits| exp2_neg(2 * bits) / 12.0;
        let rounding = rounding(bits.mask_rows).min(rounding(bits.body_rows));
        PackedWidth::narrowest(
            self.glwe_secret(),
            self.glwe_dimension(),
            self.polynomial_size(),
            self.glwe_noise().variance(self.torus_bits()) + rounding,
        )
    }

    /// Returns the variance that the rounding of the key-switching key in memory adds to the error of its rows; see
    /// [`packed_key_switch_variance`]. Keys over 2^32 keep all bits.
    pub fn packed_key_switch_variance(&self) -> f64 {
        match self.torus_bits() {
            u64::BITS => packed_key_switch_variance(
                self.lwe_dimension(),
                self.lwe_block_size(),
                self.lwe_noise().variance(u32::BITS),
            ),
            _ => 0.0,
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::fft::OwnedFftPlan;
    use crate::fft::external_product::pack_key;
    use crate::parameter_sets::{GATES, MESSAGE_2_CARRY_2, key_body_bits};
    use crate::parameters::ParameterSet;
    use crate::random::{ExpanderKind, MaskSeed, fill_uniform};
    use crate::simd::{Isa, torus_to_f64};

    /// The mean square of what the rounding of transforms to six bytes adds to coefficients of uniform polynomials.
    fn measured(log_size: u32) -> f64 {
        let size = PolynomialSize::new(1 << log_size).expect("a polynomial size");
        let plan = OwnedFftPlan::new(size);
        let seed = MaskSeed([9; 32]);
        let mut stream = ExpanderKind::ChaCha20.mask_stream(&seed, log_size);
        let (rounds, width) = (1 << (15 - log_size), PackedWidth::Six);
        // All of the polynomials together have one unit, as those of a step.
        let mut transforms: Vec<f64> = Vec::new();
        for _ in 0..rounds {
            let mut polynomial = vec![0u64; size.get()];
            fill_uniform(&mut stream, &mut polynomial);
            let mut transform = vec![0.0; size.get()];
            torus_to_f64(Isa::detect(), &mut transform, &polynomial);
            transform.iter_mut().for_each(|x| *x *= exp2_neg(64));
            plan.plan().forward(&mut transform);
            transforms.extend(transform);
        }
        let mut bytes = vec![0; transforms.len() * width.bytes()];
        let unit = pack_key(width, &transforms, &mut bytes);
        let mut errors: Vec<f64> = bytes
            .chunks_exact(width.bytes())
            .zip(&transforms)
            .map(|(integer, x)| {
                let mut top = [0; 8];
                top[2..].copy_from_slice(integer);
                i64::from_le_bytes(top) as f64 * unit - x
            })
            .collect();
        errors
            .chunks_exact_mut(size.get())
            .for_each(|error| plan.plan().inverse(error));
        // The inverse is not normalised.
        let squares = errors.iter().map(|error| error * error).sum::<f64>();
        squares / errors.len() as f64 * (2.0 / size.get() as f64).powi(2)
    }

    #[test]
    fn the_rounding_adds_the_predicted_variance() {
        // With N = 1024 and so few coefficients, none is above the power of two below.
        for log_size in [9, 11, 13] {
            let size = PolynomialSize::new(1 << log_size).unwrap();
            let none = GlweDimension(0);
            let predicted = PackedWidth::Six.rounding_variance(GlweSecret::Binary, none, size);
            let ratio = measured(log_size) / predicted;
            assert!((0.95..1.05).contains(&ratio), "N = {}: {ratio}", size.get());
        }
    }

    #[test]
    fn shipped_sets_have_packed_keys() {
        let width = |set: ParameterSet| {
            let parameters = set.validate().unwrap();
            parameters.packed_key_width(key_body_bits(&parameters))
        };
        assert_eq!(width(GATES), Some(PackedWidth::Six));
        assert_eq!(width(MESSAGE_2_CARRY_2), Some(PackedWidth::Seven));
    }
}
