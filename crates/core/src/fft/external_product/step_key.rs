//! The key of a step of a blind rotation in memory: doubles, as the transform makes them, or integers of fewer bytes.
//!
//! One ciphertext needs the whole key, so it waits for memory wherever the key does not fit the caches. Integers of 6 or
//! 7 bytes have three quarters or seven eighths of the bytes. Their unit is a power of two, and the products take it
//! into the factors `X^a - 1`.

use crate::parameters::PackedWidth;

/// The key of a step, in the order in which [`multiply`](super::ExternalProductPlan::multiply) reads it.
#[derive(Clone, Copy, Debug)]
pub enum StepKey<'k> {
    /// The doubles of [`place_key_polynomial`](super::ExternalProductPlan::place_key_polynomial).
    Doubles(&'k [f64]),
    /// These doubles as integers, made by [`pack_key`].
    Packed(PackedKey<'k>),
}

/// The key of a step as integers, little-endian and in two's complement.
#[derive(Clone, Copy, Debug)]
pub struct PackedKey<'k> {
    /// The number of bytes of an integer.
    pub width: PackedWidth,
    /// The integers, one after the other.
    pub bytes: &'k [u8],
    /// The factor of the coefficients, a power of two. An integer of the key, shifted up to fill 64 bits, times this factor is the
    /// coefficient.
    pub unit: f64,
}

impl StepKey<'_> {
    /// The number of coefficients.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Doubles(doubles) => doubles.len(),
            Self::Packed(key) => key.bytes.len() / key.width.bytes(),
        }
    }

    /// The factor of all coefficients as the products read them.
    pub(super) fn unit(&self) -> f64 {
        match self {
            Self::Doubles(_) => 1.0,
            Self::Packed(key) => key.unit,
        }
    }
}

/// Rounds the doubles of a step to integers of `width`, and returns their [unit](PackedKey::unit): the smallest power of two
/// with which the largest of them fits.
///
/// # Panics
/// If `packed` does not have [`width.bytes()`](PackedWidth::bytes) bytes for each double.
pub fn pack_key(width: PackedWidth, doubles: &[f64], packed: &mut [u8]) -> f64 {
    let bytes = width.bytes();
    assert_eq!(packed.len(), bytes * doubles.len());
    let largest = doubles
        .iter()
        .fold(0.0f64, |largest, x| largest.max(x.abs()));
    let unit = unit_of(largest);
    let bits = 8 * bytes as u32;
    let step = unit * (1u64 << (u64::BITS - bits)) as f64;
    let most = (1i64 << (bits - 1)) - 1;
    for (x, packed) in doubles.iter().zip(packed.chunks_exact_mut(bytes)) {
        // Only the largest doubles can round to one more than fits.
        let integer = rounded(x / step).min(most);
        packed.copy_from_slice(&integer.to_le_bytes()[..bytes]);
    }
    unit
}

/// Returns the smallest power of two of which `largest` is less than 2^63, but no subnormal number.
fn unit_of(largest: f64) -> f64 {
    let exponent = (largest.to_bits() >> (f64::MANTISSA_DIGITS - 1)) as u32;
    // A double is below the power of two behind its exponent.
    f64::from_bits(
        u64::from((exponent + 1).saturating_sub(63).max(1)) << (f64::MANTISSA_DIGITS - 1),
    )
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

    fn unpacked(width: PackedWidth, bytes: &[u8], unit: f64) -> Vec<f64> {
        let top = |integer: &[u8]| {
            let mut all = [0; 8];
            all[8 - integer.len()..].copy_from_slice(integer);
            i64::from_le_bytes(all) as f64 * unit
        };
        bytes.chunks_exact(width.bytes()).map(top).collect()
    }

    #[test]
    fn integers_are_within_half_a_step_of_the_doubles() {
        let mut x = 0.3f64;
        let mut doubles: Vec<f64> = (0..1000)
            .map(|_| {
                x = 3.9 * x * (1.0 - x);
                (x - 0.5) * 1e-12
            })
            .collect();
        doubles.extend([0.0, -0.0, 1e-30, -1e-30]);
        for width in PackedWidth::ALL {
            for largest in [
                0.0,
                6e-13,
                -6e-13,
                exact(-41),
                -exact(-41),
                exact(-41).next_down(),
            ] {
                doubles[7] = largest;
                let mut bytes = vec![0; doubles.len() * width.bytes()];
                let unit = pack_key(width, &doubles, &mut bytes);
                assert_eq!(unit.to_bits() << 12, 0, "no power of two");
                let bits = 8 * width.bytes() as i32;
                let half = unit * exact(64 - bits) / 2.0;
                for (i, (x, y)) in doubles
                    .iter()
                    .zip(unpacked(width, &bytes, unit))
                    .enumerate()
                {
                    // The largest double of all may be a whole step from the largest integer.
                    let most = if i == 7 { 2.0 * half } else { half };
                    assert!((x - y).abs() <= most, "{width:?} {x:e} {y:e}");
                }
                // Half the unit would be too small for the largest.
                let most = doubles.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                assert!(most <= unit * exact(63) && most >= unit * exact(62));
            }
        }
    }

    /// A power of two.
    fn exact(exponent: i32) -> f64 {
        f64::from_bits(((1023 + exponent) as u64) << 52)
    }

    #[test]
    fn a_key_of_zeros_stays_one() {
        for width in PackedWidth::ALL {
            let mut bytes = vec![1; 16 * width.bytes()];
            let unit = pack_key(width, &[0.0; 16], &mut bytes);
            assert!(unit > 0.0 && unit.is_normal());
            assert!(bytes.iter().all(|&byte| byte == 0));
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
