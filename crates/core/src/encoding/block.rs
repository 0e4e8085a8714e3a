//! Radix blocks: one padding bit, carry bits and message bits at the top of the torus.

use thiserror::Error;

use crate::dimensions::{CarryBits, MessageBits};
use crate::memcheck::disclosed;
use crate::torus::Torus;

/// A value does not fit its blocks. The value is a plaintext, so the error does not state it: errors
/// are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the value does not fit {bits} bits")]
pub struct BlockOutOfRange {
    /// The number of bits of the encoding.
    pub bits: u32,
}

/// The encoding of radix blocks: a value in `[0, 2^(message + carry))` at
/// `delta = q / 2^(1 + message + carry)`, the padding bit above it zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEncoding {
    message_bits: MessageBits,
    carry_bits: CarryBits,
}

impl BlockEncoding {
    /// Makes an encoding with these widths, whose ranges a validated parameter set has checked.
    pub const fn new(message_bits: MessageBits, carry_bits: CarryBits) -> Self {
        Self {
            message_bits,
            carry_bits,
        }
    }

    /// The number of message bits of a block.
    pub const fn message_bits(&self) -> u32 {
        self.message_bits.0
    }

    /// The message modulus, which is the base of the radix.
    pub const fn message_modulus(&self) -> u64 {
        self.message_bits.modulus()
    }

    /// The number of values below the padding bit: `message_modulus · carry_modulus`.
    pub const fn block_modulus(&self) -> u64 {
        1 << (self.message_bits.0 + self.carry_bits.0)
    }

    /// The number of bits of padding, carry and message together.
    pub const fn plaintext_bits(&self) -> u32 {
        1 + self.message_bits.0 + self.carry_bits.0
    }

    /// Returns the torus element of a block value, taken mod `2^plaintext_bits`. So negative
    /// values, and values with the padding bit set, are representable.
    pub fn encode<T: Torus>(&self, value: i64) -> T {
        T::from_i64(value) << (T::BITS - self.plaintext_bits())
    }

    /// Returns the block value nearest to a phase, in `[0, 2^plaintext_bits)`. Values of
    /// [`block_modulus`](Self::block_modulus) and above have the padding bit set.
    pub fn decode<T: Torus>(&self, phase: T) -> u64 {
        phase.round_to_bits(self.plaintext_bits()) & ((1 << self.plaintext_bits()) - 1)
    }

    /// Returns the number of blocks that hold `bits` bits.
    pub const fn block_count(&self, bits: u32) -> usize {
        bits.div_ceil(self.message_bits.0) as usize
    }

    /// Splits `value` into blocks, least significant first, one for each place of `blocks`.
    ///
    /// # Errors
    /// If the value has more bits than the blocks hold.
    pub fn split(&self, value: u64, blocks: &mut [u8]) -> Result<(), BlockOutOfRange> {
        let bits = blocks.len() as u32 * self.message_bits.0;
        if bits < 64 && disclosed(value >> bits != 0) {
            return Err(BlockOutOfRange { bits });
        }
        for (i, block) in blocks.iter_mut().enumerate() {
            let shift = i as u32 * self.message_bits.0;
            let digit = value.checked_shr(shift).unwrap_or(0) & (self.message_modulus() - 1);
            *block = digit as u8;
        }
        Ok(())
    }

    /// Returns the value of blocks, least significant first: `Σ block_i · message_modulus^i`
    /// mod 2^64. Blocks may hold carries.
    pub fn join(&self, blocks: impl IntoIterator<Item = u64>) -> u64 {
        blocks
            .into_iter()
            .enumerate()
            .fold(0u64, |value, (i, block)| {
                let shift = i as u32 * self.message_bits.0;
                value.wrapping_add(block.checked_shl(shift).unwrap_or(0))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENCODING: BlockEncoding = BlockEncoding::new(MessageBits(2), CarryBits(2));

    proptest! {
        #[test]
        fn split_and_join_are_inverse(value in 0u64..1 << 22) {
            let mut blocks = [0; 11];
            ENCODING.split(value, &mut blocks).unwrap();
            prop_assert!(blocks.iter().all(|&b| b < 4));
            prop_assert_eq!(ENCODING.join(blocks.iter().map(|&b| u64::from(b))), value);
        }

        #[test]
        fn decoding_tolerates_noise_below_half_a_step(value in 0i64..16, noise in -(1i64 << 58)..1 << 58) {
            let phase = ENCODING.encode::<u64>(value).wrapping_add(noise as u64);
            prop_assert_eq!(ENCODING.decode(phase), value as u64);
        }
    }

    #[test]
    fn a_value_too_large_for_its_blocks_is_refused() {
        assert_eq!(
            ENCODING.split(64, &mut [0; 3]),
            Err(BlockOutOfRange { bits: 6 })
        );
    }
}
