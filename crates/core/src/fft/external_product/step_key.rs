//! The key of a step of a blind rotation in memory: doubles, as the transform makes them, or integers of fewer bytes.
//!
//! One ciphertext needs the whole key, so it waits for memory wherever the key does not fit the caches. Integers of 6 or
//! 7 bytes have three quarters to seven eighths of the bytes. Masks may remain doubles, in the same units as the integers. Those of a key bit have a unit, which the products take
//! into the factor `X^a - 1` of the bit.

use super::ProductShape;
use crate::parameters::PackedWidth;

/// The key of a step, in the order in which [`multiply`](super::ExternalProductPlan::multiply) reads it.
#[derive(Clone, Copy, Debug)]
pub enum StepKey<'k> {
    /// The doubles of [`place_key_polynomial`](super::ExternalProductPlan::place_key_polynomial).
    Doubles(&'k [f64]),
    /// These doubles in fewer bytes, made by [`pack_key`](super::ExternalProductPlan::pack_key).
    Packed(PackedKey<'k>),
}

/// The key of a step as integers, in the order in which the products of the instruction set read them.
#[derive(Clone, Copy, Debug)]
pub struct PackedKey<'k> {
    /// The numbers of bytes of the integers; those of 8 are doubles.
    pub width: PackedWidth,
    /// The integers, one after the other: those of the outputs, of which the last one is the body; and [`BEHIND`](Self::BEHIND) bytes behind them.
    pub bytes: &'k [u8],
    /// The factor of the coefficients of each key bit. An integer of the bit, shifted up to fill 64 bits, times this factor is the
    /// coefficient.
    pub units: &'k [f64],
}

/// Returns the number of bytes of the integers of `outputs` outputs, the last of which is the body, with `output_len`
/// coefficients each.
pub(super) fn packed_key_len(width: PackedWidth, outputs: usize, output_len: usize) -> usize {
    let masks = outputs.saturating_sub(1) * width.mask_bytes();
    (masks + width.body_bytes()) * output_len
}

impl<'k> PackedKey<'k> {
    /// The number of bytes behind the integers that products may read. They do not change the results.
    pub const BEHIND: usize = 128;

    /// Returns the integers of output `output` of `outputs`, which have `output_len` coefficients each, and the bytes behind them.
    pub(super) fn of_output(self, output: usize, outputs: usize, output_len: usize) -> &'k [u8] {
        let start = output * self.width.mask_bytes() * output_len;
        let bytes = match output + 1 == outputs {
            true => self.width.body_bytes(),
            false => self.width.mask_bytes(),
        };
        self.bytes
            .get(start..start + bytes * output_len + Self::BEHIND)
            .unwrap_or(&[])
    }
}

impl StepKey<'_> {
    /// Returns whether the key has the length that a product of this shape needs: `output_len` coefficients for each output, and
    /// one unit for each key bit if it is packed.
    pub(super) fn fits(&self, shape: ProductShape, output_len: usize) -> bool {
        let outputs = shape.outputs;
        match self {
            Self::Doubles(doubles) => doubles.len() == outputs * output_len,
            Self::Packed(key) => {
                key.bytes.len()
                    == packed_key_len(key.width, outputs, output_len) + PackedKey::BEHIND
                    && key.units.len() == shape.block_size
            }
        }
    }

    /// The factor of the coefficients of a key bit as the products read them.
    #[inline(always)]
    pub(super) fn unit(&self, bit: usize) -> f64 {
        match self {
            Self::Doubles(_) => 1.0,
            Self::Packed(key) => key.units[bit],
        }
    }
}

/// Returns the least unit with which the integers of a key bit fit, the largest of whose coefficients is `largest`, and which is no
/// subnormal number.
pub(super) fn unit_of(largest: f64) -> f64 {
    /// The largest integer of the fewest bytes, shifted up to fill 64 bits.
    const MOST: f64 = ((1u64 << 63) - (1 << (u64::BITS - 8 * FEWEST_BYTES))) as f64;
    const FEWEST_BYTES: u32 = PackedWidth::Six.body_bytes() as u32;
    (largest / MOST).max(f64::MIN_POSITIVE)
}

/// Rounds a coefficient to an integer of `packed.len()` bytes in units of `unit`, or stays with a double, if these are 8.
#[inline]
pub(super) fn pack_number(x: f64, unit: f64, packed: &mut [u8]) {
    if packed.len() == size_of::<f64>() {
        packed.copy_from_slice(&(x / unit).to_le_bytes());
        return;
    }
    let bits = 8 * packed.len() as u32;
    let step = unit * (1u64 << (u64::BITS - bits)) as f64;
    let most = (1i64 << (bits - 1)) - 1;
    // The unit has room for the largest coefficient. This holds for all others.
    let integer = rounded(x / step).clamp(-most, most);
    let bytes = packed.len();
    packed.copy_from_slice(&integer.to_le_bytes()[..bytes]);
}

/// Returns the integer next to `x`, which is below 2^62 in magnitude; of two, that farther from 0.
fn rounded(x: f64) -> i64 {
    let whole = x as i64;
    let rest = x - whole as f64;
    whole + i64::from(rest >= 0.5) - i64::from(rest <= -0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_within_half_a_step_of_the_doubles() {
        for bytes in [6, 7] {
            for largest in [1e-12, -1e-12, f64::exp2(-41.0), 3.0, 1e300, 1e-320, 0.0] {
                let unit = unit_of(largest.abs());
                assert!(unit.is_normal() && unit > 0.0);
                let half = unit * f64::exp2(64.0 - 8.0 * bytes as f64) / 2.0;
                let mut x = 0.3f64;
                for i in 0..1000 {
                    x = 3.9 * x * (1.0 - x);
                    let x = if i == 7 {
                        largest
                    } else {
                        (2.0 * x - 1.0) * largest
                    };
                    let mut packed = [0; 8];
                    pack_number(x, unit, &mut packed[8 - bytes..]);
                    let y = i64::from_le_bytes(packed) as f64 * unit;
                    // The quotient of coefficient and step is rounded, too.
                    let most = half + x.abs() * f64::EPSILON;
                    assert!((x - y).abs() <= most, "{bytes} {x:e} {y:e}");
                    // The largest integer has all its bits.
                    let top = i64::from_le_bytes(packed).unsigned_abs();
                    assert!(i != 7 || largest.abs() < 1e-280 || top >= (1 << 63) - (1 << 50));
                }
            }
        }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let of = [
            0.0,
            0.4,
            0.5,
            1.5,
            -0.5,
            -0.4,
            -1.5,
            9_007_199_254_740_993.0,
        ];
        let expected = [0, 0, 1, 2, -1, 0, -2, 9_007_199_254_740_992];
        assert_eq!(of.map(rounded), expected);
    }
}
