//! The operations that every instruction set provides to the generic kernels.
//!
//! This file and the kernels `box_muller`, `convert` and `pack` refer to each other: the kernels are
//! generic over [`Simd`], whose provided methods call them, so that an instruction set replaces
//! exactly the operations that it has a faster way for.

use super::box_muller::{self, WORDS};
use super::convert::{self, ROUNDER};
use super::decompose::DigitPlace;
use super::pack::{self, BLOCK, Top};
use super::unpack::EIGHT;
use crate::parameters::PackedWidth;
use crate::torus::Torus;

/// The number of output columns of one tile of a key-switching key.
pub const KEY_SWITCH_TILE_COLUMNS: usize = 64;

/// An instruction set, as a value that proves that the processor has it.
///
/// Implementations are `#[inline(always)]` throughout: a method has the
/// instruction set switched on only by being inlined into the body of `vectorize`.
pub(crate) trait Simd: Copy {
    /// The number of doubles per vector: 2, 4 or 8.
    const LANES: usize;
    /// True if transforms have fused operations alone, because [`mul_add`](Simd::mul_add) and its like are single instructions that
    /// overwrite none of their operands, and additions share their ports.
    const FUSED: bool;
    /// log2 of the largest radix whose points and twiddles stay in registers.
    const MAX_RADIX_LOG: u32;
    /// The number of vectors of key-switch accumulators per ciphertext that, for 4 ciphertexts,
    /// stay in registers: 2 or 4.
    const KEY_SWITCH_VECTORS: usize;
    /// The number of outputs of an external product whose sums stay in registers when they, and not the digits, are multiplied by the factors of the
    /// key bits: 1 to 4.
    const PRODUCT_OUTPUTS: usize;
    /// True if the sums of an external product of two ciphertexts stay in registers.
    const HOLDS_PAIRS: bool;
    /// The widths of packed keys that external products read.
    const PACKED_WIDTHS: &'static [PackedWidth];

    /// A vector of doubles.
    type F64: Copy;
    /// `[f64; LANES]`.
    type Chunk: Copy + Default + AsRef<[f64]> + AsMut<[f64]> + 'static;
    /// A vector of `u32`.
    type U32: Copy;
    /// An array of `u32` as long as a vector of them.
    type ChunkU32;
    /// The places of the integers of a packed key.
    type PackedPlaces: Copy;

    /// Runs `body` in a function of its own, compiled for this instruction set. The time that the compiler needs to optimise a
    /// function grows faster than the function, so a kernel of many forms has a function for each.
    fn apart<R>(self, body: impl FnOnce() -> R) -> R;

    /// Returns the whole chunks of a slice.
    fn chunks(data: &[f64]) -> &[Self::Chunk];
    /// Returns the whole chunks of a slice.
    fn chunks_mut(data: &mut [f64]) -> &mut [Self::Chunk];
    /// Returns the whole chunks of a slice.
    fn chunks_u32(data: &[u32]) -> &[Self::ChunkU32];
    /// Returns the whole chunks of a slice.
    fn chunks_u32_mut(data: &mut [u32]) -> &mut [Self::ChunkU32];

    /// Returns the same double in every lane.
    fn splat(self, value: f64) -> Self::F64;
    /// Reads a chunk, of any alignment.
    fn load(self, chunk: &Self::Chunk) -> Self::F64;
    /// Returns what [`load_packed_pair`](Simd::load_packed_pair) needs for numbers of `BYTES` bytes.
    fn packed_places<const BYTES: usize>(self) -> Self::PackedPlaces;
    /// Reads two vectors of the numbers of a packed key of one of the [`PACKED_WIDTHS`](Self::PACKED_WIDTHS), which have `BYTES` bytes: doubles, if these are 8, or integers, as if each was the top of an
    /// integer of 64 bits whose other bits are 0. `pair` has `2 * LANES * BYTES` bytes, in the order of
    /// [`arrange_packed`](Simd::arrange_packed).
    fn load_packed_pair<const BYTES: usize>(
        self,
        places: Self::PackedPlaces,
        pair: &[u8],
    ) -> [Self::F64; 2];
    /// Reads pair `PAIR`, 0 or 1, of four vectors of such numbers, two pairs in the order of [`arrange_packed`](Simd::arrange_packed). `shifted` begins
    /// [`quad_shift`](super::quad_shift) bytes behind the beginning of `quad`, and is as long.
    #[inline(always)]
    fn load_of_packed_quad<const BYTES: usize, const PAIR: usize>(
        self,
        places: Self::PackedPlaces,
        quad: &[u8],
        _shifted: &[u8],
    ) -> [Self::F64; 2] {
        let pair = quad.len() / 2;
        self.load_packed_pair::<BYTES>(places, &quad[PAIR * pair..][..pair])
    }
    /// Brings the bytes of all numbers that belong to the same output and the same vector of points, little-endian and in two's complement, to the order in which
    /// they are read: two pairs of vectors at a time with [`load_of_packed_quad`](Simd::load_of_packed_quad), where this differs from two of
    /// [`load_packed_pair`](Simd::load_packed_pair), and the last of an odd number of pairs with the latter.
    #[inline]
    fn arrange_packed<const BYTES: usize>(_numbers: &mut [u8]) {}
    /// Writes a chunk, of any alignment.
    fn store(self, chunk: &mut Self::Chunk, value: Self::F64);
    /// Prefetches a cache line. It is only a hint.
    #[inline(always)]
    fn prefetch(self, _line: &[u8; 64]) {}
    /// Returns `a + b`.
    fn add(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// Returns `a - b`.
    fn sub(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// Returns `a * b`.
    fn mul(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// Returns `a * b + c`.
    fn mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64;
    /// Returns `a * b - c`.
    fn mul_sub(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64;
    /// Returns `c - a * b`.
    fn neg_mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64;
    /// Returns the nearest integers, of ties the even ones, of numbers below 2^51 in magnitude.
    #[inline(always)]
    fn round(self, a: Self::F64) -> Self::F64 {
        let rounder = self.splat(ROUNDER);
        self.sub(self.add(a, rounder), rounder)
    }
    /// Transposes a matrix of `LANES` rows.
    fn transpose(self, rows: &mut [Self::F64]);

    /// Returns the same integer in every lane.
    fn splat_u32(self, value: u32) -> Self::U32;
    /// Reads a chunk, of any alignment.
    fn load_u32(self, chunk: &Self::ChunkU32) -> Self::U32;
    /// Writes a chunk, of any alignment.
    fn store_u32(self, chunk: &mut Self::ChunkU32, value: Self::U32);
    /// Returns `c - a * b mod 2^32`.
    fn neg_mul_add_u32(self, a: Self::U32, b: Self::U32, c: Self::U32) -> Self::U32;

    /// Converts to signed representatives, rounded to nearest even.
    #[inline(always)]
    fn u64_to_f64(self, out: &mut [f64], input: &[u64]) {
        convert::u64_to_f64(out, input);
    }
    /// Reads `LANES` signed representatives.
    #[inline(always)]
    fn load_signed(self, input: &[u32]) -> Self::F64 {
        self.load_with(input, |x| f64::from(x as i32))
    }
    /// Reads the signed low halves of `LANES` integers.
    #[inline(always)]
    fn load_low_half(self, input: &[u64]) -> Self::F64 {
        self.load_with(input, convert::low_half)
    }
    /// Reads the signed high halves of `LANES` integers.
    #[inline(always)]
    fn load_high_half(self, input: &[u64]) -> Self::F64 {
        self.load_with(input, convert::high_half)
    }
    /// Reads a digit of each of `LANES` scalars.
    #[inline(always)]
    fn load_digit_u32(self, input: &[u32], place: DigitPlace) -> Self::F64 {
        self.load_with(input, |x| place.of_u32(x))
    }
    /// Reads a digit of each of `LANES` scalars.
    #[inline(always)]
    fn load_digit_u64(self, input: &[u64], place: DigitPlace) -> Self::F64 {
        self.load_with(input, |x| place.of_u64(x))
    }
    /// Computes `acc += round(2^32 turns) mod 2^32` for `LANES` numbers below 2^51 in magnitude.
    #[inline(always)]
    fn add_turns_u32(self, acc: &mut [u32], turns: Self::F64) {
        self.zip_with(acc, turns, |acc, x| {
            acc.wrapping_add(convert::turns_to_u32(x))
        });
    }
    /// Computes `acc += 2^64 turns mod 2^64` for `LANES` numbers below 2^51 in magnitude. The products are rounded to multiples of 2^13, or of a smaller power of two.
    #[inline(always)]
    fn add_turns_u64(self, acc: &mut [u64], turns: Self::F64) {
        self.zip_with(acc, turns, |acc, x| {
            acc.wrapping_add(convert::turns_to_u64(x))
        });
    }

    /// Computes `acc += round(x) mod 2^32` for `LANES` numbers below 2^51 in magnitude.
    #[inline(always)]
    fn add_small_u32(self, acc: &mut [u32], x: Self::F64) {
        self.zip_biased(acc, x, |acc, biased| acc.wrapping_add(biased as u32));
    }
    /// Computes `low += round(scale x0)` and `high += round(scale x1) mod 2^32` for `LANES` numbers
    /// each, below 2^51 in magnitude when scaled.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn add_scaled_u32(
        self,
        low: &mut [u32],
        high: &mut [u32],
        x: [Self::F64; 2],
        scale: Self::F64,
    ) {
        self.add_small_u32(low, self.mul(x[0], scale));
        self.add_small_u32(high, self.mul(x[1], scale));
    }
    /// Computes `acc += round(x) mod 2^64` for `LANES` numbers below 2^51 in magnitude.
    #[inline(always)]
    fn add_small_u64(self, acc: &mut [u64], x: Self::F64) {
        self.zip_biased(acc, x, |acc, biased| {
            acc.wrapping_add(biased.wrapping_sub(ROUNDER.to_bits()))
        });
    }
    /// Computes `acc += 2^32 round(x) mod 2^64` for `LANES` numbers below 2^51 in magnitude.
    /// It rounds first: scaling before the rounding would turn the transform's error,
    /// below half a unit, into one of up to 2^31.
    #[inline(always)]
    fn add_small_high(self, acc: &mut [u64], x: Self::F64) {
        // The shift removes the bias.
        self.zip_biased(acc, x, |acc, biased| acc.wrapping_add(biased << 32));
    }

    /// Joins neighbours of `bits <= 32` bits, the first one low.
    #[inline(always)]
    fn join_pairs(self, pairs: &mut [u64; BLOCK / 2], ones: &[u32; BLOCK], bits: u32) {
        pack::join_pairs(pairs, ones, bits);
    }
    /// Joins four neighbours of `bits <= 16` bits, the first one low.
    #[inline(always)]
    fn join_fours(self, fours: &mut [u64; BLOCK / 4], ones: &[u32; BLOCK], bits: u32) {
        pack::join_fours(fours, ones, bits);
    }
    /// Writes the top bits of a block of values of at most 16 bits to the start of `out`, and
    /// possibly zeros behind it.
    #[inline(always)]
    fn pack_narrow<T: Torus>(self, top: &Top<T>, block: &[T; BLOCK], out: &mut [u8]) {
        pack::pack_narrow(self, top, block, out);
    }

    /// Unpacks groups of eight values, from the first one on, and returns their number; see
    /// [`unpack`](super::unpack::unpack). It is not faster than single values on every instruction set,
    /// so there may be none.
    #[inline(always)]
    fn unpack_eights<const ADD: bool>(
        self,
        _packed: &[u8],
        _bits: u32,
        _groups: &mut [[u64; EIGHT]],
    ) -> usize {
        0
    }

    /// Replaces the radii and the angles of a chunk by pairs of normal variates; see
    /// [`box_muller`].
    #[inline(always)]
    fn replace_by_normals(self, words: &mut [u32; WORDS], root: &[f32; 4]) {
        box_muller::replace_by_normals(words, root);
    }

    /// Adds pairs of normal variates: see [`box_muller::add_normals`].
    #[inline(always)]
    fn add_normals<T: Torus>(self, words: &mut [u32; WORDS], root: &[f32; 4], values: &mut [T]) {
        box_muller::add_normals(self, words, root, values);
    }

    #[doc(hidden)]
    #[inline(always)]
    fn load_with<T: Copy>(self, input: &[T], convert: impl Fn(T) -> f64) -> Self::F64 {
        let mut chunk = Self::Chunk::default();
        for (place, &x) in chunk.as_mut().iter_mut().zip(input) {
            *place = convert(x);
        }
        self.load(&chunk)
    }
    #[doc(hidden)]
    #[inline(always)]
    fn zip_with<T: Copy>(self, acc: &mut [T], x: Self::F64, sum: impl Fn(T, f64) -> T) {
        let mut chunk = Self::Chunk::default();
        self.store(&mut chunk, x);
        for (acc, &x) in acc.iter_mut().zip(chunk.as_ref()) {
            *acc = sum(*acc, x);
        }
    }
    #[doc(hidden)]
    #[inline(always)]
    fn zip_biased<T: Copy>(self, acc: &mut [T], x: Self::F64, sum: impl Fn(T, u64) -> T) {
        let biased = self.add(x, self.splat(ROUNDER));
        self.zip_with(acc, biased, |acc, biased| sum(acc, biased.to_bits()));
    }
}

/// The operations beyond [`Simd`] that the passes of `fft/cube.rs` need.
#[cfg(target_arch = "x86_64")]
pub(crate) trait Cube: Simd {
    /// Whether additions have a port of their own, so that it is faster to have fewer products and more
    /// additions than fused operations alone.
    const ADDERS: bool;

    /// Writes the transpose of a matrix of `LANES` rows to `LANES` lines of `out`, from line
    /// `LANES * group` on, to vector `part` of each.
    fn store_transposed(
        self,
        out: &mut [[f64; 8]; 8],
        group: usize,
        part: usize,
        rows: &[Self::F64],
    );
}

/// Aligns the stack of the function that this is inlined into, for the vectors that it
/// spills. The compiler knows about spills too late to align the stack for them;
/// half of them, or all, would cross cache lines.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn align_spills() {
    #[repr(align(64))]
    struct Aligned(#[allow(dead_code)] [u8; 64]);
    core::hint::black_box(&core::mem::MaybeUninit::<Aligned>::uninit());
}
