//! NEON of AArch64: 2 doubles or 4 `u32` per register, 32 registers. Every AArch64
//! processor with floating point has it. (The NEON of 32-bit ARM has no doubles.)
//!
//! A fused multiplication overwrites its addend here, and none negates the addend, so
//! [`mul_sub`](Simd::mul_sub) is the most expensive operation of its kind.

use core::arch::aarch64::*;

use super::convert::{ABOVE_TURN, ROUNDER, ROUNDER_51};
use super::pack::{self, BLOCK, Top};
use super::torus_slice::TorusSlice;
use super::{Simd, packed_key};
use crate::parameters::PackedWidth;
use crate::torus::{Torus, exp2_neg};

/// Calls intrinsics; the `Neon` value that the method was called on proves that they are available.
macro_rules! proved {
    ($call:expr) => {{
        // SAFETY: a value of `Neon` proves the feature, and pointers come from
        // references to arrays of the length that is read or written.
        unsafe { $call }
    }};
}

/// Proof that the processor has NEON: a value exists only where the compilation target
/// guarantees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neon(());

impl Neon {
    pub(super) const fn detect() -> Self {
        Self(())
    }

    /// Returns fractions of the torus minus the nearest integers.
    #[inline(always)]
    fn fraction(self, turns: float64x2_t) -> float64x2_t {
        proved!(vsubq_f64(turns, vrndnq_f64(turns)))
    }

    /// Converts four signed integers to doubles.
    #[inline(always)]
    fn signed_to_f64(self, x: uint32x4_t) -> Pair {
        proved!({
            let x = vreinterpretq_s32_u32(x);
            [
                vcvtq_f64_s64(vmovl_s32(vget_low_s32(x))),
                vcvtq_f64_s64(vmovl_high_s32(x)),
            ]
        })
    }

    /// Reads four integers, as pairs of halves.
    #[inline(always)]
    fn load_halves(self, input: &[u64]) -> [uint32x4_t; 2] {
        let input: &[u64; 4] = input.try_into().expect("4 integers");
        let (pairs, _) = input.as_chunks::<2>();
        proved!([
            vreinterpretq_u32_u64(vld1q_u64(pairs[0].as_ptr())),
            vreinterpretq_u32_u64(vld1q_u64(pairs[1].as_ptr())),
        ])
    }

    /// Returns the nearest integers, ties to even, of doubles below 2^63 in magnitude.
    #[inline(always)]
    fn rounded(self, x: Pair) -> [uint64x2_t; 2] {
        x.map(|x| proved!(vreinterpretq_u64_s64(vcvtnq_s64_f64(x))))
    }

    #[inline(always)]
    fn add_u64(self, acc: &mut [u64], x: [uint64x2_t; 2]) {
        let acc: &mut [u64; 4] = acc.try_into().expect("4 integers");
        let (pairs, _) = acc.as_chunks_mut::<2>();
        for (pair, x) in pairs.iter_mut().zip(x) {
            proved!({
                let sum = vaddq_u64(vld1q_u64(pair.as_ptr()), x);
                vst1q_u64(pair.as_mut_ptr(), sum);
            });
        }
    }
}

impl Neon {
    /// Splits eight values into those at even and those at odd places, and returns the top 32 bits
    /// of each after adding the rounding constant.
    #[inline(always)]
    fn even_and_odd<T: Torus>(self, top: &Top<T>, eight: &[T; 8]) -> [uint32x4_t; 2] {
        let half = top.half.to_u64();
        match TorusSlice::new(eight) {
            TorusSlice::U32(eight) => proved!({
                let half = vdupq_n_u32(half as u32);
                let uint32x4x2_t(even, odd) = vld2q_u32(eight.as_ptr());
                [vaddq_u32(even, half), vaddq_u32(odd, half)]
            }),
            TorusSlice::U64(eight) => proved!({
                let half = vdupq_n_u64(half);
                let uint64x2x2_t(even, odd) = vld2q_u64(eight.as_ptr());
                let uint64x2x2_t(even_2, odd_2) = vld2q_u64(eight[4..].as_ptr());
                [[even, even_2], [odd, odd_2]].map(|x| {
                    let [x, y] = x.map(|x| vreinterpretq_u32_u64(vaddq_u64(x, half)));
                    vuzp2q_u32(x, y)
                })
            }),
        }
    }

    /// Writes the top bits of a block, at most 16 for each value: eight values as `BYTES` bytes
    /// that overlap the next. `BYTES` is 8 for at most 8 bits, otherwise 16.
    #[inline(always)]
    fn pack_eights<T: Torus, const BYTES: usize>(
        self,
        top: &Top<T>,
        block: &[T; BLOCK],
        out: &mut [u8],
    ) {
        // There are no selections: with masks from outside the loop, the compiler needs three
        // instructions for one. A shift to the right is a shift to the left by a negative number, and a
        // shift by a word's length or more gives zero.
        let bits = i64::from(top.bits);
        let step = top.bits as usize;
        assert!(out.len() >= (BLOCK / 8 - 1) * step + BYTES && matches!(BYTES, 8 | 16));
        // SAFETY: a value of `Neon` proves the feature. The loads read references to arrays. The
        // stores write `BYTES` bytes from `step * i` on, and `i` is below `BLOCK / 8`, so the
        // assertion keeps them in `out`.
        unsafe {
            let rounding = vdupq_n_s32(top.bits as i32 - 32);
            // Two halves of a word are joined in its middle.
            let to_the_middle = vcreate_s32((32 - 2 * bits) as u64);
            let to_the_middle = vcombine_s32(to_the_middle, to_the_middle);
            let first = [2 * bits - 32, -64];
            let first = vld1q_s64(first.as_ptr());
            let second = [6 * bits - 32, 6 * bits - 96];
            let second = vld1q_s64(second.as_ptr());
            let mut at = out.as_mut_ptr();
            for eight in block.as_chunks::<8>().0 {
                let [even, odd] = self.even_and_odd(top, eight);
                let (even, odd) = (vshlq_u32(even, rounding), vshlq_u32(odd, rounding));
                let pairs = vmlaq_n_u32(even, odd, 1 << bits);
                let fours = vreinterpretq_u64_u32(vshlq_u32(pairs, to_the_middle));
                let joined = vorrq_u64(
                    vshlq_u64(fours, first),
                    vshlq_u64(vdupq_laneq_u64::<1>(fours), second),
                );
                match BYTES {
                    8 => vst1_u8(at, vreinterpret_u8_u64(vget_low_u64(joined))),
                    _ => vst1q_u8(at, vreinterpretq_u8_u64(joined)),
                }
                at = at.wrapping_add(step);
            }
        }
    }
}

/// Four doubles: two registers side by side, which one instruction loads or stores.
/// A node of 16 points, with two registers a row, fills half of the register file.
type Pair = [float64x2_t; 2];

#[inline(always)]
fn zip_with(a: Pair, b: Pair, operation: impl Fn(float64x2_t, float64x2_t) -> float64x2_t) -> Pair {
    [operation(a[0], b[0]), operation(a[1], b[1])]
}

impl Simd for Neon {
    const LANES: usize = 4;
    const FUSED: bool = false;
    const MAX_RADIX_LOG: u32 = 2;
    const KEY_SWITCH_VECTORS: usize = 4;
    const PRODUCT_OUTPUTS: usize = 4;
    const HOLDS_PAIRS: bool = false;
    const PACKED_WIDTHS: &'static [PackedWidth] = &[];

    type F64 = Pair;
    type Chunk = [f64; 4];
    type U32 = uint32x4_t;
    type ChunkU32 = [u32; 4];
    type PackedPlaces = ();

    #[inline(never)]
    fn apart<R>(self, body: impl FnOnce() -> R) -> R {
        body()
    }

    #[inline(always)]
    fn chunks(data: &[f64]) -> &[Self::Chunk] {
        data.as_chunks().0
    }
    #[inline(always)]
    fn chunks_mut(data: &mut [f64]) -> &mut [Self::Chunk] {
        data.as_chunks_mut().0
    }
    #[inline(always)]
    fn chunks_u32(data: &[u32]) -> &[Self::ChunkU32] {
        data.as_chunks().0
    }
    #[inline(always)]
    fn chunks_u32_mut(data: &mut [u32]) -> &mut [Self::ChunkU32] {
        data.as_chunks_mut().0
    }

    #[inline(always)]
    fn splat(self, value: f64) -> Self::F64 {
        proved!([vdupq_n_f64(value); 2])
    }
    #[inline(always)]
    fn packed_places<const BYTES: usize>(self) {}
    #[inline(always)]
    fn load_packed_pair<const BYTES: usize>(self, (): (), pair: &[u8]) -> [Self::F64; 2] {
        packed_key::load_pair::<_, BYTES>(self, pair)
    }
    #[inline(always)]
    fn load(self, chunk: &Self::Chunk) -> Self::F64 {
        let (halves, _) = chunk.as_chunks::<2>();
        proved!([vld1q_f64(halves[0].as_ptr()), vld1q_f64(halves[1].as_ptr())])
    }
    #[inline(always)]
    fn store(self, chunk: &mut Self::Chunk, value: Self::F64) {
        let (halves, _) = chunk.as_chunks_mut::<2>();
        proved!({
            vst1q_f64(halves[0].as_mut_ptr(), value[0]);
            vst1q_f64(halves[1].as_mut_ptr(), value[1]);
        });
    }
    #[inline(always)]
    fn prefetch(self, line: &[u8; 64]) {
        // SAFETY: a hint, which changes nothing.
        unsafe {
            core::arch::asm!(
                "prfm pldl2keep, [{line}]",
                line = in(reg) line.as_ptr(),
                options(nostack, preserves_flags, readonly)
            );
        }
    }
    #[inline(always)]
    fn add(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip_with(a, b, |a, b| proved!(vaddq_f64(a, b)))
    }
    #[inline(always)]
    fn sub(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip_with(a, b, |a, b| proved!(vsubq_f64(a, b)))
    }
    #[inline(always)]
    fn mul(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip_with(a, b, |a, b| proved!(vmulq_f64(a, b)))
    }
    #[inline(always)]
    fn mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        proved!([vfmaq_f64(c[0], a[0], b[0]), vfmaq_f64(c[1], a[1], b[1])])
    }
    #[inline(always)]
    fn mul_sub(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        self.mul_add(a, b, proved!(c.map(|c| vnegq_f64(c))))
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        proved!([vfmsq_f64(c[0], a[0], b[0]), vfmsq_f64(c[1], a[1], b[1])])
    }
    #[inline(always)]
    fn round(self, a: Self::F64) -> Self::F64 {
        proved!(a.map(|a| vrndnq_f64(a)))
    }
    #[inline(always)]
    fn transpose(self, rows: &mut [Self::F64]) {
        let [a, b, c, d]: &mut [Self::F64; 4] = rows.try_into().expect("4 rows");
        let even = |x, y| proved!(vzip1q_f64(x, y));
        let odd = |x, y| proved!(vzip2q_f64(x, y));
        let transposed = [
            [even(a[0], b[0]), even(c[0], d[0])],
            [odd(a[0], b[0]), odd(c[0], d[0])],
            [even(a[1], b[1]), even(c[1], d[1])],
            [odd(a[1], b[1]), odd(c[1], d[1])],
        ];
        [*a, *b, *c, *d] = transposed;
    }

    #[inline(always)]
    fn splat_u32(self, value: u32) -> Self::U32 {
        proved!(vdupq_n_u32(value))
    }
    #[inline(always)]
    fn load_u32(self, chunk: &Self::ChunkU32) -> Self::U32 {
        proved!(vld1q_u32(chunk.as_ptr()))
    }
    #[inline(always)]
    fn store_u32(self, chunk: &mut Self::ChunkU32, value: Self::U32) {
        proved!(vst1q_u32(chunk.as_mut_ptr(), value));
    }
    #[inline(always)]
    fn neg_mul_add_u32(self, a: Self::U32, b: Self::U32, c: Self::U32) -> Self::U32 {
        proved!(vmlsq_u32(c, a, b))
    }

    #[inline(always)]
    fn u64_to_f64(self, out: &mut [f64], input: &[u64]) {
        for (out, &x) in out.iter_mut().zip(input) {
            *out = x as i64 as f64;
        }
    }
    #[inline(always)]
    fn add_turns_u32(self, acc: &mut [u32], turns: Self::F64) {
        let acc: &mut [u32; 4] = acc.try_into().expect("4 elements");
        let modulus = proved!(vdupq_n_f64(1.0 / exp2_neg(32)));
        proved!({
            let [a, b] = turns.map(|turns| {
                let rounded = vcvtnq_s64_f64(vmulq_f64(self.fraction(turns), modulus));
                vreinterpretq_u32_s64(rounded)
            });
            let sum = vaddq_u32(vld1q_u32(acc.as_ptr()), vuzp1q_u32(a, b));
            vst1q_u32(acc.as_mut_ptr(), sum);
        });
    }
    #[inline(always)]
    fn add_turns_u64(self, acc: &mut [u64], turns: Self::F64) {
        // As in `convert::turns_to_u64`.
        let [rounder, both] = [ROUNDER, ROUNDER + ROUNDER_51].map(|x| proved!(vdupq_n_f64(x)));
        let rounded = turns.map(|turns| {
            proved!({
                let whole = vsubq_f64(vaddq_f64(turns, rounder), both);
                let rest = vreinterpretq_u64_f64(vsubq_f64(turns, whole));
                vshlq_n_u64::<{ ABOVE_TURN as i32 }>(rest)
            })
        });
        self.add_u64(acc, rounded);
    }

    #[inline(always)]
    fn load_signed(self, input: &[u32]) -> Self::F64 {
        let input: &[u32; 4] = input.try_into().expect("4 integers");
        self.signed_to_f64(proved!(vld1q_u32(input.as_ptr())))
    }
    #[inline(always)]
    fn load_low_half(self, input: &[u64]) -> Self::F64 {
        let [a, b] = self.load_halves(input);
        self.signed_to_f64(proved!(vuzp1q_u32(a, b)))
    }
    #[inline(always)]
    fn load_high_half(self, input: &[u64]) -> Self::F64 {
        // Adding 2^31 returns what a negative low half has borrowed.
        let [a, b] = self.load_halves(input).map(|x| {
            proved!({
                let carry = vdupq_n_u64(1 << 31);
                vreinterpretq_u32_u64(vaddq_u64(vreinterpretq_u64_u32(x), carry))
            })
        });
        self.signed_to_f64(proved!(vuzp2q_u32(a, b)))
    }
    #[inline(always)]
    fn add_small_u32(self, acc: &mut [u32], x: Self::F64) {
        let acc: &mut [u32; 4] = acc.try_into().expect("4 integers");
        let [a, b] = self.rounded(x);
        proved!({
            let rounded = vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
            let sum = vaddq_u32(vld1q_u32(acc.as_ptr()), rounded);
            vst1q_u32(acc.as_mut_ptr(), sum);
        });
    }
    #[inline(always)]
    fn add_small_u64(self, acc: &mut [u64], x: Self::F64) {
        self.add_u64(acc, self.rounded(x));
    }
    #[inline(always)]
    fn add_small_high(self, acc: &mut [u64], x: Self::F64) {
        self.add_u64(acc, self.rounded(x).map(|x| proved!(vshlq_n_u64::<32>(x))));
    }

    #[inline(always)]
    fn pack_narrow<T: Torus>(self, top: &Top<T>, block: &[T; BLOCK], out: &mut [u8]) {
        if cfg!(target_endian = "big") {
            return pack::pack_narrow(self, top, block, out);
        }
        let bits = top.bits;
        match bits {
            ..=8 => pack::in_room::<8>(
                bits,
                out,
                #[inline(always)]
                |room| self.pack_eights::<T, 8>(top, block, room),
            ),
            _ => pack::in_room::<16>(
                bits,
                out,
                #[inline(always)]
                |room| self.pack_eights::<T, 16>(top, block, room),
            ),
        }
    }
}
