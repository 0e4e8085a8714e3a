//! The lookups that take a compact value apart, chunk by chunk: to its sign, or to radix digits.
//!
//! A value `v` of `p` bits has the phase `v / 2^p`. For the chunk of its bits `[s, s + a)`, the
//! ciphertext is multiplied by `2^(p-s-a)`, which drops the bits above and makes `2^-a` the unit of
//! the chunk: this is the chunk's [`View`]. The bits below `s` are a fraction of a unit. A lookup of
//! the chunk below has put out bit `s - 1`, the highest of them, and this bit is subtracted. The
//! fraction that remains is below half a unit, so that a quarter of a unit, added, leaves a quarter
//! to the border of a lookup on both sides. The lowest chunk has no fraction, and leaves half a unit.
//!
//! Source: Liu, Micciancio, Polyakov, "Large-precision homomorphic sign evaluation using FHEW/TFHE
//! bootstrapping", ASIACRYPT 2022 (ePrint 2021/1337). They subtract whole chunks from a
//! running remainder and multiply that, which amplifies the noise of the bootstraps with every chunk.
//! Here every view is one of the original ciphertext, and the single bit that is subtracted comes at
//! the scale of the view, so that the noise before every lookup is the same for any number of chunks.
//!
//! The crate `engine` evaluates these lookups, and the crate `oracle` predicts their noise.

mod digits;
mod extremes;
mod sums;

use alloc::vec::Vec;

use thiserror::Error;

use super::BlockEncoding;

pub use digits::{DigitLookup, DigitOutput, DigitPlan, Subtracted};
pub use extremes::{ExtremeFunction, ExtremeLookup, ExtremePlan, ExtremeTerm};
pub use sums::SumPlan;

/// The multiple of a value's ciphertext in which a chunk of its bits is at the top of the torus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// log2 of the factor of the ciphertext.
    pub factor_log2: u32,
    /// The unit of the chunk is `2^-unit_log2` of the torus.
    pub unit_log2: u32,
    /// Whether lower bits are a fraction of a unit, which is below one half once the highest of them
    /// is subtracted.
    pub has_fraction: bool,
}

impl View {
    /// log2 of the distance between a phase and the nearest border of a lookup, as a part of the
    /// torus and with its sign changed. It is also that of the number to add to a phase, so that it
    /// is as far from the border below it as from that above.
    pub const fn half_width_log2(&self) -> u32 {
        self.unit_log2 + if self.has_fraction { 2 } else { 1 }
    }

    /// log2 of the bit below the unit, as a part of the torus and with its sign changed.
    pub const fn bit_below_log2(&self) -> u32 {
        self.unit_log2 + 1
    }
}

/// The reason why chunks do not take a value apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChunkError {
    /// A chunk is empty or too long.
    #[error("a chunk has from 1 to {MAX_CHUNK_BITS} bits, not {0}")]
    Size(u32),
    /// The chunks together have another number of bits than the value.
    #[error("the chunks have {found} bits together, the value has {expected}")]
    Sum {
        /// The bits of the value.
        expected: u32,
        /// The bits of all chunks together.
        found: u32,
    },
    /// The value has no bits or too many.
    #[error("a value of {0} bits cannot be taken apart")]
    Width(u32),
    /// The bit below a chunk is put out at a larger scale than the chunk's view has it at, so that no
    /// whole factor fits.
    #[error("a chunk of {0} bits is too long for the bit that is subtracted from it")]
    Scale(u32),
}

/// The largest number of bits of a chunk.
pub const MAX_CHUNK_BITS: u32 = 12;
/// The largest number of bits of a value.
pub const MAX_VALUE_BITS: u32 = 60;

/// The views of a two's complement number of all bits of `chunks`, the lowest chunk first, for its sign.
/// The number is at the top of the torus. Every lookup puts out the top bit of its chunk, at the
/// scale of [`View::bit_below_log2`] of the next view. The last one is the sign.
///
/// # Errors
/// If a chunk is empty or too long, or there are no chunks or too many bits.
pub fn sign_views(chunks: &[u32]) -> Result<Vec<View>, ChunkError> {
    let bits = checked_sum(chunks)?;
    let mut first = 0;
    let views = chunks.iter().map(|&chunk| {
        let view = View {
            factor_log2: bits - first - chunk,
            unit_log2: chunk,
            has_fraction: first > 0,
        };
        first += chunk;
        view
    });
    Ok(views.collect())
}

fn checked_sum(chunks: &[u32]) -> Result<u32, ChunkError> {
    let mut bits = 0;
    for &chunk in chunks {
        if chunk == 0 || chunk > MAX_CHUNK_BITS {
            return Err(ChunkError::Size(chunk));
        }
        bits += chunk;
        if bits > MAX_VALUE_BITS {
            return Err(ChunkError::Width(bits));
        }
    }
    match bits {
        0 => Err(ChunkError::Width(0)),
        _ => Ok(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The largest number that may be added to the phase of a view without changing the lookup.
    fn room(view: View) -> i64 {
        (1 << (64 - view.half_width_log2())) - 1
    }

    /// The sign by lookups on exact phases, each moved by `noise` of its room.
    fn sign(number: u64, chunks: &[u32], noise: impl Fn(i64) -> i64) -> u64 {
        let bits: u32 = chunks.iter().sum();
        let mut bit = 0;
        for view in sign_views(chunks).unwrap() {
            let seen = (number << (64 - bits)) << view.factor_log2;
            let subtracted = bit << (64 - view.bit_below_log2());
            let centred = seen
                .wrapping_sub(subtracted)
                .wrapping_add(1 << (64 - view.half_width_log2()));
            bit = centred.wrapping_add(noise(room(view)) as u64) >> 63;
        }
        bit
    }

    proptest! {
        /// Bits below the unit leave the room that the view states, and not more.
        #[test]
        fn lookups_leave_room(
            chunks in proptest::collection::vec(1u32..=6, 1..9),
            number: u64,
            edge in 0u64..4,
        ) {
            let bits: u32 = chunks.iter().sum();
            let mask = (1u64 << bits) - 1;
            let number = match edge {
                0 => 0,
                1 => mask,
                2 => mask >> 1,
                _ => number & mask,
            };
            let negative = number >> (bits - 1);
            prop_assert_eq!(sign(number, &chunks, |_| 0), negative);
            prop_assert_eq!(sign(number, &chunks, |room| room), negative);
            prop_assert_eq!(sign(number, &chunks, |room| -room), negative);
        }
    }

    #[test]
    fn the_room_is_used_up() {
        // 0 is half a unit from the border below, and with a fraction a quarter; so is the largest
        // number from that above.
        for chunks in [&[4][..], &[4, 3]] {
            let bits: u32 = chunks.iter().sum();
            assert_eq!(sign(0, chunks, |room| -room - 2), 1);
            assert_eq!(sign((1 << bits) - 1, chunks, |room| room + 1), 0);
        }
    }

    #[test]
    fn what_is_no_list_of_chunks_is_refused() {
        assert_eq!(sign_views(&[]), Err(ChunkError::Width(0)));
        assert_eq!(sign_views(&[5, 0]), Err(ChunkError::Size(0)));
        assert_eq!(sign_views(&[13]), Err(ChunkError::Size(13)));
        assert_eq!(sign_views(&[12; 6]), Err(ChunkError::Width(72)));
        assert!(sign_views(&[12; 5]).is_ok());
    }
}
