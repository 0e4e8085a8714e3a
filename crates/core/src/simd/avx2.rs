//! AVX2 with FMA: 4 doubles or 8 `u32` per vector, 16 registers.

use core::arch::x86_64::*;

use super::box_muller::WORDS;
use super::convert::{ABOVE_TURN, ROUNDER, ROUNDER_51};
use super::decompose::DigitPlace;
use super::pack::{self, BLOCK, Top};
use super::torus_slice::TorusSlice;
use super::unpack::EIGHT;
use super::{Cube, Simd, align_spills};
use crate::parameters::PackedWidth;
use crate::torus::Torus;

/// Proof that the processor has AVX2, BMI2 and FMA: a value exists only after detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let found = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("fma");
        #[cfg(not(feature = "std"))]
        let found = cfg!(all(
            target_feature = "avx2",
            target_feature = "bmi2",
            target_feature = "fma"
        ));
        found.then_some(Self(()))
    }

    /// Runs `body` compiled for this instruction set.
    #[inline(always)]
    pub(crate) fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,bmi2,fma")]
        fn run<R>(body: impl FnOnce() -> R) -> R {
            align_spills();
            body()
        }
        // SAFETY: `self` proves that the processor has these features.
        unsafe { run(body) }
    }
}

/// Calls intrinsics; the `Avx2` value that the method was called on proves that they are available.
macro_rules! proved {
    ($call:expr) => {{
        // SAFETY: a value of `Avx2` proves the features, and pointers come from
        // references to arrays of the length that is read or written.
        unsafe { $call }
    }};
}

/// 2^52, from which on doubles are integers whose low bits are those of the double.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

mod packed_key;
mod unpack;

impl Avx2 {
    /// Joins the integers of `bits` bits in the two halves of every 64-bit lane.
    #[inline(always)]
    fn joining(self, bits: u32) -> impl Fn(__m256i) -> __m256i {
        let down = proved!(_mm256_set1_epi64x(i64::from(32 - bits)));
        let low = proved!(_mm256_set1_epi64x((1 << bits) - 1));
        // Bitwise `low ? x : x >> down`.
        move |x| {
            proved!(_mm256_or_si256(
                _mm256_and_si256(low, x),
                _mm256_andnot_si256(low, _mm256_srlv_epi64(x, down))
            ))
        }
    }

    /// Converts signed 32-bit integers in the low halves of lanes, with zeros above, to doubles. It uses
    /// doubles in `[2^52, 2^53)`, whose low bits are an integer.
    #[inline(always)]
    fn biased_to_f64(self, x: __m256i) -> __m256d {
        const BIAS: f64 = INTEGERS + 2_147_483_648.0;
        proved!({
            let biased = _mm256_xor_si256(x, _mm256_set1_epi64x(BIAS.to_bits() as i64));
            _mm256_sub_pd(_mm256_castsi256_pd(biased), _mm256_set1_pd(BIAS))
        })
    }
}

impl Avx2 {
    /// Does the same as [`pack::pack_narrow`] for at most [`MAX_SIXTEENS_BITS`](pack::MAX_SIXTEENS_BITS)
    /// bits, sixteen values at a time: the next sixteen overwrite the zeros behind them.
    #[inline(always)]
    fn pack_sixteens(self, bits: u32, block: &[u32; BLOCK], out: &mut [u8]) {
        let [bytes, words] = pack::joining_factors(bits);
        let joining = self.joining(4 * bits);
        let half = proved!(_mm256_set1_epi32(1 << (31 - bits)));
        let down = proved!(_mm256_set1_epi32(32 - bits as i32));
        let kept = proved!(_mm256_broadcastsi128_si256(_mm_loadu_si128(
            pack::BYTES_KEPT[bits as usize].as_ptr().cast()
        )));
        let top = |values: &[u32; 8]| {
            proved!(_mm256_srlv_epi32(
                _mm256_add_epi32(_mm256_loadu_si256(values.as_ptr().cast()), half),
                down
            ))
        };
        let mut sixteens = [[0; 16]; 4];
        for (values, two) in block
            .as_chunks::<32>()
            .0
            .iter()
            .zip(sixteens.as_chunks_mut::<2>().0)
        {
            let [a, b, c, d] = values.as_chunks::<8>().0 else {
                unreachable!("32 values");
            };
            proved!({
                let ab = _mm256_packus_epi32(top(a), top(b));
                let cd = _mm256_packus_epi32(top(c), top(d));
                // Four values of each half of an eight in every half of the vector.
                let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
                let ones = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
                let pairs = _mm256_maddubs_epi16(ones, _mm256_set1_epi32(bytes));
                let eights = joining(_mm256_madd_epi16(pairs, _mm256_set1_epi32(words)));
                let joined = _mm256_shuffle_epi8(eights, kept);
                _mm256_storeu_si256(two.as_mut_ptr().cast(), joined);
            });
        }
        for (i, sixteen) in sixteens.iter().enumerate() {
            out[2 * i * bits as usize..][..16].copy_from_slice(sixteen);
        }
    }
}

impl Simd for Avx2 {
    const LANES: usize = 4;
    const FUSED: bool = true;
    const MAX_RADIX_LOG: u32 = 2;
    const KEY_SWITCH_VECTORS: usize = 2;
    const PRODUCT_OUTPUTS: usize = 2;
    const HOLDS_PAIRS: bool = false;
    const PACKED_WIDTHS: &'static [PackedWidth] = &[PackedWidth::Six, PackedWidth::EightAndSix];

    type F64 = __m256d;
    type Chunk = [f64; 4];
    type U32 = __m256i;
    type ChunkU32 = [u32; 8];
    type PackedPlaces = ();

    #[inline(always)]
    fn apart<R>(self, body: impl FnOnce() -> R) -> R {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi2,fma")]
        fn run<R>(body: impl FnOnce() -> R) -> R {
            align_spills();
            body()
        }
        // SAFETY: `self` proves that the processor has these features.
        unsafe { run(body) }
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
        proved!(_mm256_set1_pd(value))
    }
    #[inline(always)]
    fn packed_places<const BYTES: usize>(self) {}
    #[inline(always)]
    fn load_packed_pair<const BYTES: usize>(self, (): (), pair: &[u8]) -> [Self::F64; 2] {
        self.load_pair::<BYTES>(pair)
    }
    #[inline(always)]
    fn load_of_packed_quad<const BYTES: usize, const PAIR: usize>(
        self,
        (): (),
        quad: &[u8],
        shifted: &[u8],
    ) -> [Self::F64; 2] {
        self.load_of_quad::<BYTES, PAIR>(quad, shifted)
    }
    #[inline]
    fn arrange_packed<const BYTES: usize>(numbers: &mut [u8]) {
        packed_key::arrange::<BYTES>(numbers);
    }
    #[inline(always)]
    fn load(self, chunk: &Self::Chunk) -> Self::F64 {
        proved!(_mm256_loadu_pd(chunk.as_ptr()))
    }
    #[inline(always)]
    fn store(self, chunk: &mut Self::Chunk, value: Self::F64) {
        proved!(_mm256_storeu_pd(chunk.as_mut_ptr(), value));
    }
    #[inline(always)]
    fn prefetch(self, line: &[u8; 64]) {
        proved!(_mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()));
    }
    #[inline(always)]
    fn add(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        proved!(_mm256_add_pd(a, b))
    }
    #[inline(always)]
    fn sub(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        proved!(_mm256_sub_pd(a, b))
    }
    #[inline(always)]
    fn mul(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        proved!(_mm256_mul_pd(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        proved!(_mm256_fmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn mul_sub(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        proved!(_mm256_fmsub_pd(a, b, c))
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        proved!(_mm256_fnmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn round(self, a: Self::F64) -> Self::F64 {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        proved!(_mm256_round_pd::<NEAREST>(a))
    }
    #[inline(always)]
    fn transpose(self, rows: &mut [Self::F64]) {
        let [a, b, c, d]: &mut [Self::F64; 4] = rows.try_into().expect("4 rows");
        proved!({
            let (ab_even, ab_odd) = (_mm256_unpacklo_pd(*a, *b), _mm256_unpackhi_pd(*a, *b));
            let (cd_even, cd_odd) = (_mm256_unpacklo_pd(*c, *d), _mm256_unpackhi_pd(*c, *d));
            *a = _mm256_permute2f128_pd::<0x20>(ab_even, cd_even);
            *b = _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd);
            *c = _mm256_permute2f128_pd::<0x31>(ab_even, cd_even);
            *d = _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd);
        });
    }

    #[inline(always)]
    fn splat_u32(self, value: u32) -> Self::U32 {
        proved!(_mm256_set1_epi32(value as i32))
    }
    #[inline(always)]
    fn load_u32(self, chunk: &Self::ChunkU32) -> Self::U32 {
        proved!(_mm256_loadu_si256(chunk.as_ptr().cast()))
    }
    #[inline(always)]
    fn store_u32(self, chunk: &mut Self::ChunkU32, value: Self::U32) {
        proved!(_mm256_storeu_si256(chunk.as_mut_ptr().cast(), value));
    }
    #[inline(always)]
    fn neg_mul_add_u32(self, a: Self::U32, b: Self::U32, c: Self::U32) -> Self::U32 {
        proved!(_mm256_sub_epi32(c, _mm256_mullo_epi32(a, b)))
    }

    #[inline(always)]
    fn load_signed(self, input: &[u32]) -> Self::F64 {
        let input: &[u32; 4] = input.try_into().expect("4 elements");
        proved!(_mm256_cvtepi32_pd(_mm_loadu_si128(input.as_ptr().cast())))
    }
    #[inline(always)]
    fn load_low_half(self, input: &[u64]) -> Self::F64 {
        let input: &[u64; 4] = input.try_into().expect("4 elements");
        proved!({
            let x = _mm256_loadu_si256(input.as_ptr().cast());
            self.biased_to_f64(_mm256_and_si256(x, _mm256_set1_epi64x(0xffff_ffff)))
        })
    }
    #[inline(always)]
    fn load_high_half(self, input: &[u64]) -> Self::F64 {
        let input: &[u64; 4] = input.try_into().expect("4 elements");
        proved!({
            let x = _mm256_loadu_si256(input.as_ptr().cast());
            let x = _mm256_add_epi64(x, _mm256_set1_epi64x(1 << 31));
            self.biased_to_f64(_mm256_srli_epi64::<32>(x))
        })
    }
    #[inline(always)]
    fn load_digit_u64(self, input: &[u64], place: DigitPlace) -> Self::F64 {
        let input: &[u64; 4] = input.try_into().expect("4 elements");
        // The digit as an unsigned number, and half its range.
        let half = 1u64 << (63 - place.down);
        let bias = INTEGERS + half as f64;
        proved!({
            let x = _mm256_loadu_si256(input.as_ptr().cast());
            let x = _mm256_add_epi64(x, _mm256_set1_epi64x(place.offset as i64));
            let x = _mm256_sll_epi64(x, _mm_cvtsi64_si128(place.up.into()));
            let x = _mm256_srl_epi64(x, _mm_cvtsi64_si128(place.down.into()));
            // With its top bit flipped, it is the digit plus half its range.
            let biased =
                _mm256_xor_si256(x, _mm256_set1_epi64x((INTEGERS.to_bits() ^ half) as i64));
            _mm256_sub_pd(_mm256_castsi256_pd(biased), _mm256_set1_pd(bias))
        })
    }
    #[inline(always)]
    fn add_turns_u64(self, acc: &mut [u64], turns: Self::F64) {
        let acc: &mut [u64; 4] = acc.try_into().expect("4 elements");
        // As in `convert::turns_to_u64`.
        let (rounder, both) = (self.splat(ROUNDER), self.splat(ROUNDER + ROUNDER_51));
        let whole = self.sub(self.add(turns, rounder), both);
        let rest = self.sub(turns, whole);
        proved!({
            let rounded = _mm256_slli_epi64::<{ ABOVE_TURN as i32 }>(_mm256_castpd_si256(rest));
            let sum = _mm256_add_epi64(_mm256_loadu_si256(acc.as_ptr().cast()), rounded);
            _mm256_storeu_si256(acc.as_mut_ptr().cast(), sum);
        });
    }
    #[inline(always)]
    fn add_small_u32(self, acc: &mut [u32], x: Self::F64) {
        let acc: &mut [u32; 4] = acc.try_into().expect("4 elements");
        proved!({
            let biased = _mm256_castpd_si256(self.add(x, self.splat(ROUNDER)));
            let even = _mm256_set_epi32(0, 0, 0, 0, 6, 4, 2, 0);
            let rounded = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(biased, even));
            let sum = _mm_add_epi32(_mm_loadu_si128(acc.as_ptr().cast()), rounded);
            _mm_storeu_si128(acc.as_mut_ptr().cast(), sum);
        });
    }
    #[inline(always)]
    fn add_scaled_u32(
        self,
        low: &mut [u32],
        high: &mut [u32],
        x: [Self::F64; 2],
        scale: Self::F64,
    ) {
        let low: &mut [u32; 4] = low.try_into().expect("4 elements");
        let high: &mut [u32; 4] = high.try_into().expect("4 elements");
        proved!({
            let rounder = self.splat(ROUNDER);
            let x0 = _mm256_castpd_ps(self.mul_add(x[0], scale, rounder));
            let x1 = _mm256_castpd_ps(self.mul_add(x[1], scale, rounder));
            let pairs = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(x0, x1));
            let rounded = _mm256_castpd_si256(_mm256_permute4x64_pd::<0b11_01_10_00>(pairs));
            let acc = _mm256_loadu2_m128i(high.as_ptr().cast(), low.as_ptr().cast());
            let sum = _mm256_add_epi32(acc, rounded);
            _mm256_storeu2_m128i(high.as_mut_ptr().cast(), low.as_mut_ptr().cast(), sum);
        });
    }
    #[inline(always)]
    fn add_small_u64(self, acc: &mut [u64], x: Self::F64) {
        let acc: &mut [u64; 4] = acc.try_into().expect("4 elements");
        proved!({
            let biased = _mm256_castpd_si256(self.add(x, self.splat(ROUNDER)));
            let bias = _mm256_set1_epi64x(ROUNDER.to_bits() as i64);
            let rounded = _mm256_sub_epi64(biased, bias);
            let sum = _mm256_add_epi64(_mm256_loadu_si256(acc.as_ptr().cast()), rounded);
            _mm256_storeu_si256(acc.as_mut_ptr().cast(), sum);
        });
    }
    #[inline(always)]
    fn add_small_high(self, acc: &mut [u64], x: Self::F64) {
        let acc: &mut [u64; 4] = acc.try_into().expect("4 elements");
        proved!({
            let biased = _mm256_castpd_si256(self.add(x, self.splat(ROUNDER)));
            let high = _mm256_slli_epi64::<32>(biased);
            let sum = _mm256_add_epi64(_mm256_loadu_si256(acc.as_ptr().cast()), high);
            _mm256_storeu_si256(acc.as_mut_ptr().cast(), sum);
        });
    }

    #[inline(always)]
    fn join_pairs(self, pairs: &mut [u64; BLOCK / 2], ones: &[u32; BLOCK], bits: u32) {
        let joining = self.joining(bits);
        for (pairs, ones) in pairs
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .zip(ones.as_chunks::<8>().0)
        {
            proved!({
                let joined = joining(_mm256_loadu_si256(ones.as_ptr().cast()));
                _mm256_storeu_si256(pairs.as_mut_ptr().cast(), joined);
            });
        }
    }
    #[inline(always)]
    fn join_fours(self, fours: &mut [u64; BLOCK / 4], ones: &[u32; BLOCK], bits: u32) {
        let joining = self.joining(bits);
        for (fours, ones) in fours
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .zip(ones.as_chunks::<16>().0)
        {
            proved!({
                let [a, b] = [0, 8].map(|at| _mm256_loadu_si256(ones[at..].as_ptr().cast()));
                // Groups of four at even and at odd places.
                let even = joining(_mm256_permute2x128_si256::<0x20>(a, b));
                let odd = joining(_mm256_permute2x128_si256::<0x31>(a, b));
                let low = _mm256_unpacklo_epi64(even, odd);
                let high = _mm256_unpackhi_epi64(even, odd);
                let high = _mm256_sllv_epi64(high, _mm256_set1_epi64x(i64::from(2 * bits)));
                _mm256_storeu_si256(fours.as_mut_ptr().cast(), _mm256_or_si256(low, high));
            });
        }
    }

    #[inline(always)]
    fn unpack_eights<const ADD: bool>(
        self,
        packed: &[u8],
        bits: u32,
        groups: &mut [[u64; EIGHT]],
    ) -> usize {
        self.unpack_256::<ADD>(packed, bits, groups)
    }

    #[inline(always)]
    fn replace_by_normals(self, words: &mut [u32; WORDS], root: &[f32; 4]) {
        self.replace_by_normals_256(words, root);
    }

    #[inline(always)]
    fn pack_narrow<T: Torus>(self, top: &Top<T>, block: &[T; BLOCK], out: &mut [u8]) {
        if top.bits <= pack::MAX_SIXTEENS_BITS
            && let TorusSlice::U32(block) = TorusSlice::new(block)
            && let Ok(block) = block.try_into()
        {
            return pack::in_room::<16>(
                top.bits,
                out,
                #[inline(always)]
                |room| self.pack_sixteens(top.bits, block, room),
            );
        }
        pack::pack_narrow(self, top, block, out);
    }
}

impl Cube for Avx2 {
    // True for Golden Cove and its successors, and for all Zens.
    const ADDERS: bool = true;

    #[inline(always)]
    fn store_transposed(
        self,
        out: &mut [[f64; 8]; 8],
        group: usize,
        part: usize,
        rows: &[Self::F64],
    ) {
        let mut rows = *rows.first_chunk::<4>().expect("4 rows");
        self.transpose(&mut rows);
        let block = &mut out.as_chunks_mut::<4>().0[group];
        for line in 0..4 {
            self.store(&mut block[line].as_chunks_mut::<4>().0[part], rows[line]);
        }
    }
}
