//! Compact codes: one coefficient holds one whole code, below bits of headroom that sums need.

use thiserror::Error;

use crate::torus::Torus;

/// The rounding of bodies to the bits that travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyRounding {
    /// Every body is rounded to nearest by itself. The error of a single code is smallest.
    Nearest,
    /// The rounding error of a body is added to the next one before that is rounded, so that the
    /// error of a sum of neighbours is that of two roundings, however many they are. The error of a
    /// single code has twice the variance.
    ErrorFeedback,
}

/// The encoding of a code of `bits` bits as the torus element `code / 2^(bits + headroom)`, of which
/// `body_bits` bits travel.
///
/// Sums of codes, with weights, are exact as long as they stay below `2^(bits + headroom)`. The number
/// of body bits decides how many codes can be summed before the rounding shows, and what a lookup can
/// tell apart; the crate `oracle` calculates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompactEncoding {
    bits: u32,
    headroom: u32,
    body_bits: u32,
    rounding: BodyRounding,
}

/// The reason why a compact encoding is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CompactError {
    /// The width of a code is 0, or leaves no place for a body.
    #[error(
        "a compact code has from 1 to {max} bits, not {0}: use fewer bits, or radix blocks",
        max = CompactEncoding::MAX_BITS
    )]
    Bits(u32),
    /// Code and headroom together are too wide.
    #[error(
        "a compact code of {bits} bits has at most {} bits of headroom, not {headroom}: declare fewer \
         rows, or use radix blocks",
        CompactEncoding::MAX_PLAINTEXT_BITS - .bits
    )]
    Headroom {
        /// The width of a code.
        bits: u32,
        /// The headroom.
        headroom: u32,
    },
    /// The body has too few bits for the code, or too many for the format.
    #[error(
        "the body of a compact code needs from {least} to {max} bits, not {found}",
        max = CompactEncoding::MAX_BODY_BITS
    )]
    BodyBits {
        /// The fewest bits: one more than code and headroom have.
        least: u32,
        /// The number of bits given.
        found: u32,
    },
}

impl CompactEncoding {
    /// The largest width of a code.
    pub const MAX_BITS: u32 = 40;
    /// The largest width of code and headroom together.
    pub const MAX_PLAINTEXT_BITS: u32 = 48;
    /// The largest number of bits of a body that travel.
    pub const MAX_BODY_BITS: u32 = 56;

    /// Makes an encoding of codes of `bits` bits with `headroom` bits above them, in bodies of which
    /// `body_bits` bits travel.
    ///
    /// # Errors
    /// If a number is out of its range.
    pub const fn new(
        bits: u32,
        headroom: u32,
        body_bits: u32,
        rounding: BodyRounding,
    ) -> Result<Self, CompactError> {
        if bits == 0 || bits > Self::MAX_BITS {
            return Err(CompactError::Bits(bits));
        }
        if headroom > Self::MAX_PLAINTEXT_BITS - bits {
            return Err(CompactError::Headroom { bits, headroom });
        }
        let least = bits + headroom + 1;
        if body_bits < least || body_bits > Self::MAX_BODY_BITS {
            return Err(CompactError::BodyBits {
                least,
                found: body_bits,
            });
        }
        Ok(Self {
            bits,
            headroom,
            body_bits,
            rounding,
        })
    }

    /// The width of a code in bits.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of bits above a code.
    pub const fn headroom(&self) -> u32 {
        self.headroom
    }

    /// The number of bits of a body that travel.
    pub const fn body_bits(&self) -> u32 {
        self.body_bits
    }

    /// The rounding of bodies.
    pub const fn rounding(&self) -> BodyRounding {
        self.rounding
    }

    /// The number of bits of code and headroom together.
    pub const fn plaintext_bits(&self) -> u32 {
        self.bits + self.headroom
    }

    /// Returns the torus element of a code. Constant-time.
    pub fn encode<T: Torus>(&self, code: u64) -> T {
        T::from_i64(code as i64) << (T::BITS - self.plaintext_bits())
    }

    /// Returns the sum of codes that is nearest to a phase, mod `2^plaintext_bits`.
    pub fn decode<T: Torus>(&self, phase: T) -> u64 {
        phase.round_to_bits(self.plaintext_bits()) & ((1 << self.plaintext_bits()) - 1)
    }
}

/// The running state of error feedback within one column: [`BodyRounding::ErrorFeedback`].
///
/// With `S_i` the sum of the first bodies, the i-th rounded body is `round(S_i) - round(S_(i-1))`. That
/// is the same as adding each error to the next body, because the errors telescope. Only public bits of
/// finished ciphertexts are combined.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorFeedback<T> {
    sum: T,
    rounded: T,
}

impl<T: Torus> ErrorFeedback<T> {
    /// Returns the state at the beginning of a column.
    pub const fn new() -> Self {
        Self {
            sum: T::ZERO,
            rounded: T::ZERO,
        }
    }

    /// Replaces bodies, in their order, by their roundings to `body_bits` bits, zeros below.
    /// Constant-time.
    ///
    /// # Panics
    /// If `body_bits` is not in `1..=T::BITS`.
    pub fn round(&mut self, bodies: &mut [T], body_bits: u32) {
        assert!((1..=T::BITS).contains(&body_bits));
        let shift = T::BITS - body_bits;
        if shift == 0 {
            return;
        }
        let half = T::ONE << (shift - 1);
        let (mut sum, mut before) = (self.sum, self.rounded);
        for body in bodies {
            sum = sum.add(*body);
            let rounded = (sum.add(half) >> shift) << shift;
            *body = rounded.sub(before);
            before = rounded;
        }
        (self.sum, self.rounded) = (sum, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_encoding_is_refused() {
        let new = |bits, headroom, body| {
            CompactEncoding::new(bits, headroom, body, BodyRounding::Nearest)
        };
        assert!(new(12, 10, 30).is_ok());
        assert_eq!(new(0, 10, 30), Err(CompactError::Bits(0)));
        assert_eq!(new(41, 0, 50), Err(CompactError::Bits(41)));
        assert_eq!(
            new(12, 37, 56),
            Err(CompactError::Headroom {
                bits: 12,
                headroom: 37
            })
        );
        for found in [22, 57] {
            assert_eq!(
                new(12, 10, found),
                Err(CompactError::BodyBits { least: 23, found })
            );
        }
    }

    proptest! {
        #[test]
        fn sums_below_the_headroom_decode(codes in proptest::collection::vec(0u64..1 << 12, 1..1024)) {
            let encoding = CompactEncoding::new(12, 10, 30, BodyRounding::Nearest).unwrap();
            let sum = codes.iter().fold(0u64, |sum, &code| sum.wrapping_add(encoding.encode(code)));
            prop_assert_eq!(encoding.decode(sum), codes.iter().sum::<u64>());
        }

        /// The reference adds each error to the next body.
        #[test]
        fn feedback_carries_each_error_into_the_next_body(
            bodies in proptest::collection::vec(any::<u64>(), 1..300),
            bits in 1u32..=64,
            cut in 0usize..300,
        ) {
            let mut expected = bodies.clone();
            let mut error = 0u64;
            for body in &mut expected {
                let exact = body.wrapping_add(error);
                *body = u64::from_top_bits(exact.round_to_bits(bits), bits);
                error = exact.wrapping_sub(*body);
            }
            let mut rounded = bodies;
            let cut = cut.min(rounded.len());
            let mut feedback = ErrorFeedback::new();
            let (first, second) = rounded.split_at_mut(cut);
            feedback.round(first, bits);
            feedback.round(second, bits);
            prop_assert_eq!(rounded, expected);
        }

        #[test]
        fn a_sum_of_neighbours_is_off_by_at_most_a_step(
            bodies in proptest::collection::vec(any::<u32>(), 2..300),
            from in 0usize..300,
            bits in 4u32..28,
        ) {
            let from = from % bodies.len();
            let mut rounded = bodies.clone();
            ErrorFeedback::new().round(&mut rounded, bits);
            let sum = |list: &[u32]| list.iter().fold(0u32, |sum, &x| sum.wrapping_add(x));
            let off = sum(&rounded[from..]).wrapping_sub(sum(&bodies[from..])) as i32;
            prop_assert!(off.unsigned_abs() <= 1 << (32 - bits));
        }
    }
}
