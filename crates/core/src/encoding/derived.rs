//! Codes that a board derives from the code of a reading and sends beside it, so that their sums need no
//! bootstrap.

use super::CompactEncoding;

/// A function of a code whose values are codes too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Derivation {
    /// The square of the code. Sums of squares make variances.
    Square,
    /// A flag: 1 for this code and all above it, 0 for those below. Sums of flags are counts, and differences
    /// of them are the bins of histograms.
    From(u64),
    /// The validity of a reading: 1 wherever there is a reading. A row whose reading is missing has code 0 and
    /// validity 0, and all else that is derived from it is 0 too.
    Valid,
}

impl Derivation {
    /// The largest width of a code that has a square: that of the square is twice as large.
    pub const MAX_SQUARED_BITS: u32 = CompactEncoding::MAX_BITS / 2;

    /// The width of the derived codes of codes of `bits` bits.
    pub const fn bits(self, bits: u32) -> u32 {
        match self {
            Self::Square => 2 * bits,
            Self::From(_) | Self::Valid => 1,
        }
    }

    /// Returns the code that is derived from `code`, which is below 2^63; a square is taken mod 2^64.
    ///
    /// There is no branch on the code and no place in memory that depends on it. The time is constant where
    /// that of a multiplication is.
    pub const fn of(self, code: u64) -> u64 {
        match self {
            Self::Square => code.wrapping_mul(code),
            // The sign of the difference, which is negative for codes below the first.
            Self::From(first) => (code.wrapping_sub(first) >> 63) ^ 1,
            // Whatever has a code is a reading.
            Self::Valid => 1,
        }
    }
}

/// Returns whether these are the first codes of flags of a column of `bits` bits: some, in increasing order, and
/// each with a code of the column on either side.
pub fn are_cuts(from: &[u64], bits: u32) -> bool {
    let inside = |first: &u64| *first > 0 && first.checked_shr(bits).unwrap_or(0) == 0;
    let increasing = from.windows(2).all(|pair| pair[0] < pair[1]);
    !from.is_empty() && increasing && from.iter().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts_increase_and_divide_the_codes() {
        for from in [&[][..], &[0], &[5, 5], &[6, 5], &[64], &[1, u64::MAX]] {
            assert!(!are_cuts(from, 6), "{from:?}");
        }
        assert!(are_cuts(&[1, 63], 6) && are_cuts(&[u64::MAX], 64));
    }

    proptest! {
        #[test]
        fn derived_codes_are_those_of_plain_arithmetic(
            bits in 1u32..=Derivation::MAX_SQUARED_BITS,
            code in any::<u64>(),
            first in any::<u64>(),
        ) {
            let (code, first) = (code % (1 << bits), first % (1 << bits));
            let square = Derivation::Square.of(code);
            prop_assert_eq!(u128::from(square), u128::from(code).pow(2));
            prop_assert!(square < 1 << Derivation::Square.bits(bits));
            for first in [first, code, code + 1, 1, (1 << bits) - 1] {
                let flag = Derivation::From(first);
                prop_assert_eq!(flag.of(code) == 1, code >= first);
                prop_assert!(flag.of(code) < 1 << flag.bits(bits));
            }
        }
    }
}
