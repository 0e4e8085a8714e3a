//! ChaCha20 (RFC 8439, section 2.3), with as many blocks side by side as a vector has
//! 32-bit lanes, and one word of the state per vector.
//!
//! The kernel is generic over the vectors of a [`Lanes`]; the files below implement it for each
//! instruction set, and turn vectors of equal words into blocks.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(
    target_arch = "aarch64",
    target_feature = "neon",
    target_endian = "little"
))]
mod neon;
mod portable;

#[cfg(all(
    target_arch = "aarch64",
    target_feature = "neon",
    target_endian = "little"
))]
pub(super) use neon::Quads;

use core::slice;

use super::Portable;
use crate::random::Scratch;

/// One block of the keystream.
pub(crate) type Block = [u8; BLOCK_BYTES];
const BLOCK_BYTES: usize = 64;

/// The index of the block counter in the state.
const COUNTER: usize = 12;
/// The number of blocks that [`Lanes::few`] makes side by side.
const FEW: usize = 4;
/// The largest number of blocks side by side.
const MAX_BLOCKS: usize = 16;

/// The 32-bit lanes of an instruction set, one block in each.
pub(crate) trait Lanes: Copy {
    /// The number of blocks side by side.
    const BLOCKS: usize;
    /// Whether there are enough registers for four quarter rounds in lockstep.
    const LOCKSTEP: bool;
    /// One word of every block.
    type Word: Copy;

    /// The same word in every lane.
    fn splat(self, word: u32) -> Self::Word;
    /// Returns `first`, `first + 1`, and so on, mod 2^32, in the lanes.
    fn count_from(self, first: u32) -> Self::Word;
    /// Returns `a + b mod 2^32`.
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Returns `(a ^ b) <<< LEFT`, for ChaCha20's `LEFT`: 16, 12, 8 and 7.
    fn xor_rotate<const LEFT: i32>(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Writes `BLOCKS` blocks, their words little-endian.
    fn store(self, words: [Self::Word; 16], out: &mut [Block]);
    /// Overwrites a few blocks `out` with those from the state's counter on, if there is a way that is
    /// faster than making a group of `BLOCKS`.
    #[inline(always)]
    fn few(self, _state: &[u32; 16], _out: &mut [Block]) -> bool {
        false
    }
}

/// Overwrites `out` with the blocks from the state's counter on, and advances it.
#[inline(always)]
pub(super) fn keystream<L: Lanes>(lanes: L, state: &mut [u32; 16], out: &mut [Block]) {
    let mut groups = out.chunks_exact_mut(L::BLOCKS);
    for group in &mut groups {
        blocks(lanes, state, group);
        state[COUNTER] = state[COUNTER].wrapping_add(L::BLOCKS as u32);
    }
    let rest = groups.into_remainder();
    if rest.len() <= 2 * FEW && lanes.few(state, rest) {
        state[COUNTER] = state[COUNTER].wrapping_add(rest.len() as u32);
    } else if let [block] = rest {
        blocks(Portable, state, slice::from_mut(block));
        state[COUNTER] = state[COUNTER].wrapping_add(1);
    } else if L::BLOCKS > 1 && !rest.is_empty() {
        let mut group = Scratch::<u8, { MAX_BLOCKS * BLOCK_BYTES }>::new();
        let (group, _) = group.as_chunks_mut();
        blocks(lanes, state, &mut group[..L::BLOCKS]);
        rest.copy_from_slice(&group[..rest.len()]);
        state[COUNTER] = state[COUNTER].wrapping_add(rest.len() as u32);
    }
}

#[inline(always)]
fn blocks<L: Lanes>(lanes: L, state: &[u32; 16], out: &mut [Block]) {
    // There is no closure for a function of the standard library here: if that function were not
    // inlined, it would be compiled without the instruction set.
    let mut words = [lanes.splat(0); 16];
    for (word, &start) in words.iter_mut().zip(state) {
        *word = lanes.splat(start);
    }
    words[COUNTER] = lanes.count_from(state[COUNTER]);
    for _ in 0..10 {
        let [a, b, c, d] = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]];
        round(lanes, &mut words, a, b, c, d);
        let [b, c, d] = [[5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]];
        round(lanes, &mut words, a, b, c, d);
    }
    for (i, (word, &start)) in words.iter_mut().zip(state).enumerate() {
        let start = if i == COUNTER {
            lanes.count_from(start)
        } else {
            lanes.splat(start)
        };
        *word = lanes.add(*word, start);
    }
    lanes.store(words, out);
}

/// Computes the quarter rounds on words `a[i]`, `b[i]`, `c[i]`, `d[i]` for `i` in 0..4.
#[inline(always)]
fn round<L: Lanes>(
    lanes: L,
    words: &mut [L::Word; 16],
    a: [usize; 4],
    b: [usize; 4],
    c: [usize; 4],
    d: [usize; 4],
) {
    if L::LOCKSTEP {
        for i in 0..4 {
            half_step::<L, 16>(lanes, words, a[i], b[i], d[i]);
        }
        for i in 0..4 {
            half_step::<L, 12>(lanes, words, c[i], d[i], b[i]);
        }
        for i in 0..4 {
            half_step::<L, 8>(lanes, words, a[i], b[i], d[i]);
        }
        for i in 0..4 {
            half_step::<L, 7>(lanes, words, c[i], d[i], b[i]);
        }
    } else {
        for i in 0..4 {
            half_step::<L, 16>(lanes, words, a[i], b[i], d[i]);
            half_step::<L, 12>(lanes, words, c[i], d[i], b[i]);
            half_step::<L, 8>(lanes, words, a[i], b[i], d[i]);
            half_step::<L, 7>(lanes, words, c[i], d[i], b[i]);
        }
    }
}

/// Computes `x += y; z = (z ^ x) <<< LEFT`.
#[inline(always)]
fn half_step<L: Lanes, const LEFT: i32>(
    lanes: L,
    words: &mut [L::Word; 16],
    x: usize,
    y: usize,
    z: usize,
) {
    words[x] = lanes.add(words[x], words[y]);
    words[z] = lanes.xor_rotate::<LEFT>(words[z], words[x]);
}
