//! Torus scalars: elements of `Z/2^32` and `Z/2^64`. A scalar `x` stands for `x / 2^BITS` on the
//! real torus `R/Z`. All arithmetic wraps.

use core::fmt::Debug;
use core::ops::{BitAnd, BitOr, Shl, Shr};

use crate::workspace::Number;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// A discretised torus element: `u32` (q = 2^32) or `u64` (q = 2^64).
pub trait Torus:
    sealed::Sealed
    + Number
    + Debug
    + Eq
    + Send
    + Sync
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
{
    /// log2 of the ciphertext modulus q.
    const BITS: u32;
    /// Zero.
    const ZERO: Self;
    /// One, the smallest torus step 1/q.
    const ONE: Self;

    /// Adds mod q.
    #[must_use]
    fn add(self, other: Self) -> Self;
    /// Subtracts mod q.
    #[must_use]
    fn sub(self, other: Self) -> Self;
    /// Multiplies mod q.
    #[must_use]
    fn mul(self, other: Self) -> Self;
    /// Negates mod q.
    #[must_use]
    fn neg(self) -> Self;
    /// Returns the representative of `value` mod q.
    fn from_i64(value: i64) -> Self;
    /// Returns the representative in `[0, q)`.
    fn to_u64(self) -> u64;
    /// Returns the representative in `[-q/2, q/2)`.
    fn to_i64(self) -> i64;

    /// Returns the representative in `[0, q)` with the order of its bytes reversed.
    #[must_use]
    fn swap_bytes(self) -> Self;

    /// Returns the signed representative divided by q: the torus element in `[-1/2, 1/2)`,
    /// rounded to a double.
    fn to_signed_fraction(self) -> f64 {
        self.to_i64() as f64 * exp2_neg(Self::BITS)
    }

    /// Returns the `bits` most significant bits, rounded to nearest: the representative
    /// mod `2^bits` of this torus element. `bits` is in `1..=BITS`.
    fn round_to_bits(self, bits: u32) -> u64 {
        if bits == Self::BITS {
            return self.to_u64();
        }
        let half = Self::ONE << (Self::BITS - bits - 1);
        (self.add(half) >> (Self::BITS - bits)).to_u64()
    }

    /// Returns the torus element `value / 2^bits`, the inverse of
    /// [`round_to_bits`](Torus::round_to_bits) on its results.
    fn from_top_bits(value: u64, bits: u32) -> Self {
        Self::from_i64(value as i64) << (Self::BITS - bits)
    }
}

/// Returns `2^-bits` for `bits < 1023`, by construction of the exponent: exact and without libm.
pub(crate) const fn exp2_neg(bits: u32) -> f64 {
    f64::from_bits((1023 - bits as u64) << 52)
}

macro_rules! impl_torus {
    ($unsigned:ty, $signed:ty) => {
        impl Torus for $unsigned {
            const BITS: u32 = <$unsigned>::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            #[inline(always)]
            fn swap_bytes(self) -> Self {
                <$unsigned>::swap_bytes(self)
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                i64::from(self as $signed)
            }
        }
    };
}

impl_torus!(u32, i32);
impl_torus!(u64, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_nearest_and_wraps() {
        assert_eq!(0x7fff_ffffu32.round_to_bits(1), 1);
        assert_eq!(0x3fff_ffffu32.round_to_bits(1), 0);
        assert_eq!(0xffff_ffffu32.round_to_bits(4), 0);
        assert_eq!(u64::from_top_bits(5, 12).round_to_bits(12), 5);
        assert_eq!(7u64.round_to_bits(64), 7);
    }

    #[test]
    fn fractions_are_signed() {
        assert_eq!(0xc000_0000u32.to_signed_fraction(), -0.25);
        assert_eq!((1u64 << 62).to_signed_fraction(), 0.25);
    }
}
