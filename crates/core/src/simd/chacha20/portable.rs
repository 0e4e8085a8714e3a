//! One block at a time in general registers: few processors without vectors have enough
//! registers for more.

use super::super::Portable;
use super::{Block, Lanes};

impl Lanes for Portable {
    const BLOCKS: usize = 1;
    const LOCKSTEP: bool = false;
    type Word = u32;

    #[inline(always)]
    fn splat(self, word: u32) -> u32 {
        word
    }
    #[inline(always)]
    fn count_from(self, first: u32) -> u32 {
        first
    }
    #[inline(always)]
    fn add(self, a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn xor_rotate<const LEFT: i32>(self, a: u32, b: u32) -> u32 {
        (a ^ b).rotate_left(LEFT as u32)
    }
    #[inline(always)]
    fn store(self, words: [u32; 16], out: &mut [Block]) {
        for (bytes, word) in out
            .as_flattened_mut()
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip(words)
        {
            *bytes = word.to_le_bytes();
        }
    }
}
