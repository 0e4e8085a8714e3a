//! Four blocks side by side, in the NEON registers that every AArch64 target has.

use core::arch::aarch64::*;

use super::{Block, Lanes};

/// Vectors of NEON, which the compilation target guarantees.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Quads;

impl Lanes for Quads {
    const BLOCKS: usize = 4;
    const LOCKSTEP: bool = true;
    type Word = uint32x4_t;

    #[inline(always)]
    fn splat(self, word: u32) -> uint32x4_t {
        // SAFETY: the target has NEON.
        unsafe { vdupq_n_u32(word) }
    }
    #[inline(always)]
    fn count_from(self, first: u32) -> uint32x4_t {
        let offsets = [0, 1, 2, 3];
        // SAFETY: the target has NEON, and the array is good for reading 16 bytes.
        unsafe { vaddq_u32(vdupq_n_u32(first), vld1q_u32(offsets.as_ptr())) }
    }
    #[inline(always)]
    fn add(self, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
        // SAFETY: the target has NEON.
        unsafe { vaddq_u32(a, b) }
    }
    #[inline(always)]
    fn xor_rotate<const LEFT: i32>(self, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
        // A permutation of bytes for a table lookup.
        const LEFT_8: [u8; 16] = [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14];
        // SAFETY: the target has NEON, and the array is good for reading 16 bytes.
        unsafe {
            let x = veorq_u32(a, b);
            match LEFT {
                16 => vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(x))),
                12 => vsriq_n_u32::<20>(vshlq_n_u32::<12>(x), x),
                8 => {
                    let bytes = vreinterpretq_u8_u32(x);
                    vreinterpretq_u32_u8(vqtbl1q_u8(bytes, vld1q_u8(LEFT_8.as_ptr())))
                }
                7 => vsriq_n_u32::<25>(vshlq_n_u32::<7>(x), x),
                _ => unreachable!("not a rotation of ChaCha20"),
            }
        }
    }
    #[inline(always)]
    fn store(self, words: [uint32x4_t; 16], out: &mut [Block]) {
        let out: &mut [Block; 4] = out.try_into().expect("4 blocks");
        let (fours, _) = words.as_chunks::<4>();
        for (i, &four) in fours.iter().enumerate() {
            let rows = transpose(four);
            for (block, row) in out.iter_mut().zip(rows) {
                let bytes: &mut [u8; 16] = &mut block.as_chunks_mut().0[i];
                // SAFETY: the target has NEON, and the reference is good for 16 bytes.
                unsafe { vst1q_u8(bytes.as_mut_ptr(), vreinterpretq_u8_u32(row)) };
            }
        }
    }
}

/// Transposes 4 x 4 words.
#[inline(always)]
fn transpose([a, b, c, d]: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    // SAFETY: the target has NEON.
    unsafe {
        let double = |x| vreinterpretq_u64_u32(x);
        let single = |x| vreinterpretq_u32_u64(x);
        let (ab_even, ab_odd) = (double(vtrn1q_u32(a, b)), double(vtrn2q_u32(a, b)));
        let (cd_even, cd_odd) = (double(vtrn1q_u32(c, d)), double(vtrn2q_u32(c, d)));
        [
            single(vtrn1q_u64(ab_even, cd_even)),
            single(vtrn1q_u64(ab_odd, cd_odd)),
            single(vtrn2q_u64(ab_even, cd_even)),
            single(vtrn2q_u64(ab_odd, cd_odd)),
        ]
    }
}
