//! The integers that the coefficients of a prepared bootstrapping key are rounded to, and what the rounding adds to its noise.

use super::{GlweSecret, Parameters};
use crate::dimensions::{GlweDimension, PolynomialSize};
use crate::parameter_sets::KeyBodyBits;
use crate::torus::exp2_neg;

/// The numbers of bytes of the integers of a packed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackedWidth {
    /// Six bytes.
    Six,
    /// Seven bytes in masks, whose rounding errors are multiplied by the secret key, and six in bodies.
    SevenAndSix,
    /// Seven bytes.
    Seven,
    /// Doubles in masks, and six bytes in bodies, for processors that take too long to read integers of seven bytes.
    EightAndSix,
}

impl PackedWidth {
    /// All widths, the narrowest one first.
    pub const ALL: [Self; 4] = [Self::Six, Self::SevenAndSix, Self::Seven, Self::EightAndSix];

    /// Returns whether the width is one of `widths`.
    pub(crate) const fn is_among(self, widths: &[Self]) -> bool {
        match widths {
            [] => false,
            [first, rest @ ..] => *first as u8 == self as u8 || self.is_among(rest),
        }
    }

    /// The number of bytes of a coefficient of a mask.
    pub const fn mask_bytes(self) -> usize {
        match self {
            Self::Six => 6,
            Self::SevenAndSix | Self::Seven => 7,
            Self::EightAndSix => 8,
        }
    }

    /// The number of bytes of a coefficient of a body.
    pub const fn body_bytes(self) -> usize {
        match self {
            Self::Six | Self::SevenAndSix | Self::EightAndSix => 6,
            Self::Seven => 7,
        }
    }

    /// Returns the width for a bootstrapping key whose GLWE ciphertexts have errors of variance `fresh`, to which the rounding of
    /// bodies on the wire adds `on_the_wire` in its two kinds of rows. Variances are fractions of the torus squared.
    ///
    /// It is the narrower of [`Six`](Self::Six) and [`Seven`](Self::Seven) that adds at most a sixteenth to the variance of the rows with less of
    /// it; or [`SevenAndSix`](Self::SevenAndSix) in the place of `Seven`, if the bodies of six bytes add at most as much
    /// as the rounding on the wire adds in the rows where it adds more. `None` means that seven bytes are too few, so that the key has to consist of doubles.
    pub fn of_key(
        secret: GlweSecret,
        glwe_dimension: GlweDimension,
        size: PolynomialSize,
        fresh: f64,
        on_the_wire: [f64; 2],
    ) -> Option<Self> {
        let [a, b] = on_the_wire;
        let noise = fresh + a.min(b);
        let added = |width: &Self| width.rounding_variance(secret, glwe_dimension, size);
        let width = [Self::Six, Self::Seven]
            .into_iter()
            .find(|width| added(width) <= noise / 16.0)?;
        let of_short_body = rounding_variance(Self::SevenAndSix.body_bytes(), glwe_dimension, size);
        Some(match width {
            Self::Seven if of_short_body <= a.max(b) => Self::SevenAndSix,
            width => width,
        })
    }

    /// Returns the variance, a fraction of the torus squared, that the rounding adds to the error of a row of the key: that of the
    /// body, and those of the masks, which are multiplied by the secret key.
    pub fn rounding_variance(
        self,
        secret: GlweSecret,
        glwe_dimension: GlweDimension,
        size: PolynomialSize,
    ) -> f64 {
        let weight = glwe_dimension.0 as f64 * size.get() as f64 * secret.mean_square();
        let of_coefficient = |bytes| rounding_variance(bytes, glwe_dimension, size);
        of_coefficient(self.body_bytes()) + weight * of_coefficient(self.mask_bytes())
    }
}

/// Returns the variance, a fraction of the torus squared, that rounding the transforms of a key bit's uniform polynomials to integers of
/// `bytes` bytes adds to a coefficient of a polynomial.
///
/// The real and imaginary parts of a transform are normal, with the variance σ² = N/24 of the torus squared. The largest
/// of all M parts of a key bit, R, fits the integers, so they count steps of 2R/2^(8 bytes). Rounding to a step adds a variance of step²/12 to a part,
/// and 2/N of this to a coefficient of the polynomial. On average R² is (1.315 log2 M - 1.19) σ²: this line is within 0.4 % of the
/// integral of the probability of R² > t over t, for M from 2^9 to 2^21. M is rounded up to a power of two.
fn rounding_variance(bytes: usize, glwe_dimension: GlweDimension, size: PolynomialSize) -> f64 {
    let components = glwe_dimension.0 + 1;
    let numbers = components * components * size.get();
    let log_numbers = f64::from(numbers.next_power_of_two().ilog2());
    (1.315 * log_numbers - 1.19) / 36.0 * exp2_neg(16 * bytes as u32)
}

impl Parameters {
    /// Returns the [width](PackedWidth::of_key) of the coefficients of a bootstrapping key in memory that keeps `bits` bits of its bodies on the wire.
    /// `None` means that the key consists of doubles: over 2^32, where products are exact, with several levels, or if seven bytes are too few.
    /// Processors that [take too long](crate::simd::Isa::packed_key_width) to read keys of this width keep them in more bytes, or as doubles.
    pub fn packed_key_width(&self, bits: KeyBodyBits) -> Option<PackedWidth> {
        let levels = [self.pbs(), self.pbs_body()].map(|gadget| gadget.level_count.0);
        if self.torus_bits() != u64::BITS || levels != [1, 1] {
            return None;
        }
        let on_the_wire = [bits.mask_rows, bits.body_rows].map(|bits| exp2_neg(2 * bits) / 12.0);
        PackedWidth::of_key(
            self.glwe_secret(),
            self.glwe_dimension(),
            self.polynomial_size(),
            self.glwe_noise().variance(self.torus_bits()),
            on_the_wire,
        )
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::fft::external_product::{ExternalProductPlan, ProductShape};
    use crate::parameter_sets::{GATES, MESSAGE_2_CARRY_2, key_body_bits};
    use crate::parameters::ParameterSet;
    use crate::random::{ExpanderKind, MaskSeed, fill_uniform};
    use crate::simd::{Isa, torus_to_f64};

    /// The mean square of what the rounding to six bytes adds to coefficients of uniform polynomials, over some key bits.
    fn measured(glwe_dimension: GlweDimension, log_size: u32) -> f64 {
        const WIDTH: PackedWidth = PackedWidth::Six;
        const BITS: usize = 4;
        let size = PolynomialSize::new(1 << log_size).expect("a polynomial size");
        let components = glwe_dimension.0 + 1;
        let shape = ProductShape {
            block_size: BITS,
            rows: components,
            outputs: components,
        };
        // Integers are in their natural order.
        let plan = ExternalProductPlan::new(size, shape, Isa::Portable);
        let (mut squares, mut count) = (0.0, 0);
        for step in 0..16 {
            let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([9; 32]), step);
            let mut key = vec![0.0; plan.key_len()];
            for place in 0..BITS * components * components {
                let place = (
                    place / (components * components),
                    place / components % components,
                    place % components,
                );
                let mut polynomial = vec![0u64; size.get()];
                fill_uniform(&mut stream, &mut polynomial);
                let mut transform = vec![0.0; size.get()];
                torus_to_f64(Isa::detect(), &mut transform, &polynomial);
                transform.iter_mut().for_each(|x| *x *= exp2_neg(64));
                plan.place_key_polynomial(&mut key, place, &mut transform);
            }
            let mut packed = vec![0; plan.packed_key_len(WIDTH)];
            let mut units = [0.0; BITS];
            plan.pack_key(WIDTH, &key, &mut packed, &mut units);
            let integers = packed.chunks_exact(WIDTH.mask_bytes());
            for (i, (integer, x)) in integers.zip(&key).enumerate() {
                let mut top = [0; 8];
                top[2..].copy_from_slice(integer);
                let error = i64::from_le_bytes(top) as f64 * units[plan.bit_of_number(i)] - x;
                squares += error * error;
                count += 1;
            }
        }
        // A part of a transform has the error of N/2 coefficients.
        squares / f64::from(count) * 2.0 / size.get() as f64
    }

    #[test]
    fn the_rounding_adds_the_predicted_variance() {
        for (k, log_size) in [(1, 11), (3, 9), (1, 9), (2, 10), (1, 13)] {
            let k = GlweDimension(k);
            let size = PolynomialSize::new(1 << log_size).unwrap();
            let predicted = rounding_variance(PackedWidth::Six.mask_bytes(), k, size);
            let ratio = measured(k, log_size) / predicted;
            // A number of polynomials that is no power of two is rounded up.
            let range = if k.0 == 2 { 0.9..1.0 } else { 0.95..1.05 };
            assert!(range.contains(&ratio), "{k:?}, N = {}: {ratio}", size.get());
        }
    }

    #[test]
    fn shipped_sets_have_packed_keys() {
        let width = |set: ParameterSet| {
            let parameters = set.validate().unwrap();
            parameters.packed_key_width(key_body_bits(&parameters))
        };
        assert_eq!(width(GATES), Some(PackedWidth::Six));
        assert_eq!(width(MESSAGE_2_CARRY_2), Some(PackedWidth::SevenAndSix));
    }
}
