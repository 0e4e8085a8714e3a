//! AVX-512 F, DQ, VL and BW: 8 doubles or 16 `u32` per vector, 32 registers, and
//! conversions between doubles and 64-bit integers.

use core::arch::x86_64::*;

use super::box_muller::{self, WORDS};
use super::decompose::DigitPlace;
use super::pack::{self, BLOCK, Top};
use super::torus_slice::{TorusSlice, TorusSliceMut};
use super::unpack::EIGHT;
use super::{Simd, align_spills, convert};
use crate::parameters::PackedWidth;
use crate::torus::{Torus, exp2_neg};

/// Proof that the processor has AVX-512 F, DQ, VL and BW, AVX2, BMI2 and FMA: a value
/// exists only after detection.
///
/// With `ADDERS`, transforms have the form for processors whose additions have ports of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512<const ADDERS: bool = false> {
    /// True if transforms are to have that form.
    has_adders: bool,
}

/// Calls intrinsics; the `Avx512` value that the method was called on proves that they are
/// available.
macro_rules! proved {
    ($call:expr) => {{
        // SAFETY: a value of `Avx512` proves the features, and pointers come from
        // references to arrays of the length that is read or written.
        unsafe { $call }
    }};
}

/// Returns `c - a * b`. It is in assembly, because the compiler negates a factor that several products have in common: two
/// instructions and two registers more in the products of an external product, whose sums then have no room.
#[inline]
#[target_feature(enable = "avx512f")]
fn neg_mul_add(a: __m512d, b: __m512d, mut c: __m512d) -> __m512d {
    // SAFETY: arithmetic on registers.
    unsafe {
        core::arch::asm!(
            "vfnmadd231pd {c}, {a}, {b}",
            c = inout(zmm_reg) c,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    c
}

mod cube;
mod packed_key;
mod unpack;

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let found = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512vl")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("fma");
        #[cfg(not(feature = "std"))]
        let found = cfg!(all(
            target_feature = "avx512f",
            target_feature = "avx512dq",
            target_feature = "avx512vl",
            target_feature = "avx512bw",
            target_feature = "avx2",
            target_feature = "bmi2",
            target_feature = "fma"
        ));
        found.then(|| Self {
            has_adders: super::adders::found(),
        })
    }

    /// Returns the proof with the other form of transforms than [`detect`](Self::detect) chooses: any processor can run both.
    pub(super) fn with_other_transforms(self) -> Self {
        Self {
            has_adders: !self.has_adders,
        }
    }

    /// Returns the proof as one with `ADDERS` if transforms are to have the form for processors whose additions have ports of
    /// their own. On those, transforms with fewer products and more additions are faster, where processors whose additions and
    /// products share ports are faster with fused operations alone; and stores of parts of vectors take so long that
    /// vectors had better be transposed in registers.
    #[inline(always)]
    pub(crate) fn adders(self) -> Option<Avx512<true>> {
        self.has_adders.then_some(Avx512 { has_adders: true })
    }
}

impl<const ADDERS: bool> Avx512<ADDERS> {
    /// Returns the proof for kernels that have one form only.
    #[inline(always)]
    fn plain(self) -> Avx512 {
        Avx512 {
            has_adders: self.has_adders,
        }
    }

    /// Runs `body` compiled for this instruction set.
    #[inline(always)]
    pub(crate) fn vectorize<R>(self, body: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,bmi2,fma")]
        fn run<R>(body: impl FnOnce() -> R) -> R {
            align_spills();
            body()
        }
        // SAFETY: `self` proves that the processor has these features.
        unsafe { run(body) }
    }

    /// Joins the integers of `bits` bits in the two halves of every 64-bit lane.
    #[inline(always)]
    fn joining(self, bits: u32) -> impl Fn(__m512i) -> __m512i {
        let down = proved!(_mm512_set1_epi64(i64::from(32 - bits)));
        let low = proved!(_mm512_set1_epi64((1 << bits) - 1));
        // Bitwise `low ? x : x >> down`.
        move |x| {
            proved!(_mm512_ternarylogic_epi64::<0xca>(
                low,
                x,
                _mm512_srlv_epi64(x, down)
            ))
        }
    }

    /// Writes the `bits` rounded top bits of every value, at most
    /// [`MAX_SIXTEENS_BITS`](pack::MAX_SIXTEENS_BITS), to `out`, sixteen values at a time: the
    /// next sixteen overwrite the zeros behind them.
    #[inline(always)]
    fn pack_sixteens(self, bits: u32, block: &[u32; BLOCK], out: &mut [u8]) {
        let [bytes, words] = pack::joining_factors(bits);
        let half = proved!(_mm512_set1_epi32(1 << (31 - bits)));
        let down = proved!(_mm512_set1_epi32(32 - bits as i32));
        let [a, b, c, d] = block.as_chunks::<16>().0 else {
            unreachable!("64 values");
        };
        let top = |values: &[u32; 16]| {
            proved!(_mm512_srlv_epi32(
                _mm512_add_epi32(_mm512_loadu_si512(values.as_ptr().cast()), half),
                down
            ))
        };
        let eights = proved!({
            let ab = _mm512_packus_epi32(top(a), top(b));
            let cd = _mm512_packus_epi32(top(c), top(d));
            // Four values of each quarter of the block in every quarter of the vector.
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            let ones = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(ab, cd));
            let pairs = _mm512_maddubs_epi16(ones, _mm512_set1_epi32(bytes));
            let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(words));
            self.joining(4 * bits)(fours)
        });
        let mut sixteens = [[0; 16]; 4];
        proved!({
            let kept = _mm_loadu_si128(pack::BYTES_KEPT[bits as usize].as_ptr().cast());
            let joined = _mm512_shuffle_epi8(eights, _mm512_broadcast_i32x4(kept));
            _mm512_storeu_si512(sixteens.as_mut_ptr().cast(), joined);
        });
        for (i, sixteen) in sixteens.iter().enumerate() {
            out[2 * i * bits as usize..][..16].copy_from_slice(sixteen);
        }
    }

    /// Transposes a 4 x 4 matrix of pairs of doubles.
    #[inline(always)]
    fn transpose_pairs(self, [a, b, c, d]: [__m512d; 4]) -> [__m512d; 4] {
        proved!({
            let ab_even = _mm512_shuffle_f64x2::<0x88>(a, b);
            let ab_odd = _mm512_shuffle_f64x2::<0xdd>(a, b);
            let cd_even = _mm512_shuffle_f64x2::<0x88>(c, d);
            let cd_odd = _mm512_shuffle_f64x2::<0xdd>(c, d);
            [
                _mm512_shuffle_f64x2::<0x88>(ab_even, cd_even),
                _mm512_shuffle_f64x2::<0x88>(ab_odd, cd_odd),
                _mm512_shuffle_f64x2::<0xdd>(ab_even, cd_even),
                _mm512_shuffle_f64x2::<0xdd>(ab_odd, cd_odd),
            ]
        })
    }
}

impl<const ADDERS: bool> Simd for Avx512<ADDERS> {
    const LANES: usize = 8;
    const FUSED: bool = !ADDERS;
    const MAX_RADIX_LOG: u32 = 3;
    const KEY_SWITCH_VECTORS: usize = 4;
    const PRODUCT_OUTPUTS: usize = 4;
    const HOLDS_PAIRS: bool = true;
    const PACKED_WIDTHS: &'static [PackedWidth] = &[
        PackedWidth::Six,
        PackedWidth::SevenAndSix,
        PackedWidth::Seven,
    ];

    type F64 = __m512d;
    type Chunk = [f64; 8];
    type U32 = __m512i;
    type ChunkU32 = [u32; 16];
    type PackedPlaces = packed_key::Places;

    #[inline(always)]
    fn apart<R>(self, body: impl FnOnce() -> R) -> R {
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,bmi2,fma")]
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
        proved!(_mm512_set1_pd(value))
    }
    #[inline(always)]
    fn load(self, chunk: &Self::Chunk) -> Self::F64 {
        proved!(_mm512_loadu_pd(chunk.as_ptr()))
    }
    #[inline(always)]
    fn packed_places<const BYTES: usize>(self) -> Self::PackedPlaces {
        self.places_of::<BYTES>()
    }
    #[inline(always)]
    fn load_packed_pair<const BYTES: usize>(
        self,
        places: Self::PackedPlaces,
        pair: &[u8],
    ) -> [Self::F64; 2] {
        self.load_pair::<BYTES>(places, pair)
    }
    #[inline(always)]
    fn store(self, chunk: &mut Self::Chunk, value: Self::F64) {
        proved!(_mm512_storeu_pd(chunk.as_mut_ptr(), value));
    }
    #[inline(always)]
    fn prefetch(self, line: &[u8; 64]) {
        proved!(_mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()));
    }
    #[inline(always)]
    fn add(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        proved!(_mm512_add_pd(a, b))
    }
    #[inline(always)]
    fn sub(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        proved!(_mm512_sub_pd(a, b))
    }
    #[inline(always)]
    fn mul(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        proved!(_mm512_mul_pd(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        proved!(_mm512_fmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn mul_sub(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        proved!(_mm512_fmsub_pd(a, b, c))
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        proved!(neg_mul_add(a, b, c))
    }
    #[inline(always)]
    fn round(self, a: Self::F64) -> Self::F64 {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        proved!(_mm512_roundscale_pd::<NEAREST>(a))
    }
    #[inline(always)]
    fn transpose(self, rows: &mut [Self::F64]) {
        let [a, b, c, d, e, f, g, h]: &mut [Self::F64; 8] = rows.try_into().expect("8 rows");
        proved!({
            let even = [
                _mm512_unpacklo_pd(*a, *b),
                _mm512_unpacklo_pd(*c, *d),
                _mm512_unpacklo_pd(*e, *f),
                _mm512_unpacklo_pd(*g, *h),
            ];
            let odd = [
                _mm512_unpackhi_pd(*a, *b),
                _mm512_unpackhi_pd(*c, *d),
                _mm512_unpackhi_pd(*e, *f),
                _mm512_unpackhi_pd(*g, *h),
            ];
            [*a, *c, *e, *g] = self.transpose_pairs(even);
            [*b, *d, *f, *h] = self.transpose_pairs(odd);
        });
    }

    #[inline(always)]
    fn splat_u32(self, value: u32) -> Self::U32 {
        proved!(_mm512_set1_epi32(value as i32))
    }
    #[inline(always)]
    fn load_u32(self, chunk: &Self::ChunkU32) -> Self::U32 {
        proved!(_mm512_loadu_si512(chunk.as_ptr().cast()))
    }
    #[inline(always)]
    fn store_u32(self, chunk: &mut Self::ChunkU32, value: Self::U32) {
        proved!(_mm512_storeu_si512(chunk.as_mut_ptr().cast(), value));
    }
    #[inline(always)]
    fn neg_mul_add_u32(self, a: Self::U32, b: Self::U32, c: Self::U32) -> Self::U32 {
        proved!(_mm512_sub_epi32(c, _mm512_mullo_epi32(a, b)))
    }

    #[inline(always)]
    fn u64_to_f64(self, out: &mut [f64], input: &[u64]) {
        let (out, out_rest) = out.as_chunks_mut::<8>();
        let (input, input_rest) = input.as_chunks::<8>();
        for (out, x) in out.iter_mut().zip(input) {
            proved!({
                let x = _mm512_loadu_si512(x.as_ptr().cast());
                _mm512_storeu_pd(out.as_mut_ptr(), _mm512_cvtepi64_pd(x));
            });
        }
        convert::u64_to_f64(out_rest, input_rest);
    }
    #[inline(always)]
    fn load_signed(self, input: &[u32]) -> Self::F64 {
        let input: &[u32; 8] = input.try_into().expect("8 elements");
        proved!(_mm512_cvtepi32_pd(_mm256_loadu_si256(
            input.as_ptr().cast()
        )))
    }
    #[inline(always)]
    fn load_low_half(self, input: &[u64]) -> Self::F64 {
        let input: &[u64; 8] = input.try_into().expect("8 elements");
        proved!({
            let x = _mm512_loadu_si512(input.as_ptr().cast());
            _mm512_cvtepi64_pd(_mm512_srai_epi64::<32>(_mm512_slli_epi64::<32>(x)))
        })
    }
    #[inline(always)]
    fn load_high_half(self, input: &[u64]) -> Self::F64 {
        let input: &[u64; 8] = input.try_into().expect("8 elements");
        proved!({
            let x = _mm512_loadu_si512(input.as_ptr().cast());
            let x = _mm512_add_epi64(x, _mm512_set1_epi64(1 << 31));
            _mm512_cvtepi64_pd(_mm512_srai_epi64::<32>(x))
        })
    }
    #[inline(always)]
    fn load_digit_u32(self, input: &[u32], place: DigitPlace) -> Self::F64 {
        let input: &[u32; 8] = input.try_into().expect("8 elements");
        proved!({
            let x = _mm256_loadu_si256(input.as_ptr().cast());
            let x = _mm256_add_epi32(x, _mm256_set1_epi32(place.offset as i32));
            let x = _mm256_sll_epi32(x, _mm_cvtsi32_si128(place.up as i32));
            _mm512_cvtepi32_pd(_mm256_sra_epi32(x, _mm_cvtsi32_si128(place.down as i32)))
        })
    }
    #[inline(always)]
    fn load_digit_u64(self, input: &[u64], place: DigitPlace) -> Self::F64 {
        let input: &[u64; 8] = input.try_into().expect("8 elements");
        proved!({
            let x = _mm512_loadu_si512(input.as_ptr().cast());
            let x = _mm512_add_epi64(x, _mm512_set1_epi64(place.offset as i64));
            let x = _mm512_sll_epi64(x, _mm_cvtsi32_si128(place.up as i32));
            _mm512_cvtepi64_pd(_mm512_sra_epi64(x, _mm_cvtsi32_si128(place.down as i32)))
        })
    }
    #[inline(always)]
    fn add_turns_u32(self, acc: &mut [u32], turns: Self::F64) {
        let acc: &mut [u32; 8] = acc.try_into().expect("8 elements");
        proved!({
            let turns = _mm512_reduce_pd::<0>(turns);
            // Half a turn converts to the indefinite integer, -2^31, which is congruent.
            let rounded = _mm512_cvtpd_epi32(self.mul(turns, self.splat(1.0 / exp2_neg(32))));
            let sum = _mm256_add_epi32(_mm256_loadu_si256(acc.as_ptr().cast()), rounded);
            _mm256_storeu_si256(acc.as_mut_ptr().cast(), sum);
        });
    }
    #[inline(always)]
    fn add_turns_u64(self, acc: &mut [u64], turns: Self::F64) {
        let acc: &mut [u64; 8] = acc.try_into().expect("8 elements");
        proved!({
            let turns = _mm512_reduce_pd::<0>(turns);
            // Half a turn converts to the indefinite integer, -2^63, which is congruent.
            let rounded = _mm512_cvtpd_epi64(self.mul(turns, self.splat(1.0 / exp2_neg(64))));
            let sum = _mm512_add_epi64(_mm512_loadu_si512(acc.as_ptr().cast()), rounded);
            _mm512_storeu_si512(acc.as_mut_ptr().cast(), sum);
        });
    }
    #[inline(always)]
    fn add_small_u32(self, acc: &mut [u32], x: Self::F64) {
        let acc: &mut [u32; 8] = acc.try_into().expect("8 elements");
        proved!({
            let biased = _mm512_castpd_si512(self.add(x, self.splat(convert::ROUNDER)));
            let even = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 14, 12, 10, 8, 6, 4, 2, 0);
            let rounded = _mm512_castsi512_si256(_mm512_permutexvar_epi32(even, biased));
            let sum = _mm256_add_epi32(_mm256_loadu_si256(acc.as_ptr().cast()), rounded);
            _mm256_storeu_si256(acc.as_mut_ptr().cast(), sum);
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
        let low: &mut [u32; 8] = low.try_into().expect("8 elements");
        let high: &mut [u32; 8] = high.try_into().expect("8 elements");
        proved!({
            let rounder = self.splat(convert::ROUNDER);
            let x0 = _mm512_castpd_si512(self.mul_add(x[0], scale, rounder));
            let x1 = _mm512_castpd_si512(self.mul_add(x[1], scale, rounder));
            let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
            let rounded = _mm512_permutex2var_epi32(x0, even, x1);
            let acc = _mm512_inserti64x4::<1>(
                _mm512_castsi256_si512(_mm256_loadu_si256(low.as_ptr().cast())),
                _mm256_loadu_si256(high.as_ptr().cast()),
            );
            let sum = _mm512_add_epi32(acc, rounded);
            _mm256_storeu_si256(low.as_mut_ptr().cast(), _mm512_castsi512_si256(sum));
            let upper = _mm512_extracti64x4_epi64::<1>(sum);
            _mm256_storeu_si256(high.as_mut_ptr().cast(), upper);
        });
    }
    #[inline(always)]
    fn add_small_u64(self, acc: &mut [u64], x: Self::F64) {
        let acc: &mut [u64; 8] = acc.try_into().expect("8 elements");
        proved!({
            let rounded = _mm512_cvtpd_epi64(x);
            let sum = _mm512_add_epi64(_mm512_loadu_si512(acc.as_ptr().cast()), rounded);
            _mm512_storeu_si512(acc.as_mut_ptr().cast(), sum);
        });
    }
    #[inline(always)]
    fn add_small_high(self, acc: &mut [u64], x: Self::F64) {
        let acc: &mut [u64; 8] = acc.try_into().expect("8 elements");
        proved!({
            let rounded = _mm512_slli_epi64::<32>(_mm512_cvtpd_epi64(x));
            let sum = _mm512_add_epi64(_mm512_loadu_si512(acc.as_ptr().cast()), rounded);
            _mm512_storeu_si512(acc.as_mut_ptr().cast(), sum);
        });
    }

    #[inline(always)]
    fn join_pairs(self, pairs: &mut [u64; BLOCK / 2], ones: &[u32; BLOCK], bits: u32) {
        let joining = self.joining(bits);
        for (pairs, ones) in pairs
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .zip(ones.as_chunks::<16>().0)
        {
            proved!({
                let joined = joining(_mm512_loadu_si512(ones.as_ptr().cast()));
                _mm512_storeu_si512(pairs.as_mut_ptr().cast(), joined);
            });
        }
    }
    #[inline(always)]
    fn pack_narrow<T: Torus>(self, top: &Top<T>, block: &[T; BLOCK], out: &mut [u8]) {
        let bits = top.bits;
        if bits <= pack::MAX_SIXTEENS_BITS
            && let TorusSlice::U32(block) = TorusSlice::new(block)
            && let Ok(block) = block.try_into()
        {
            pack::in_room::<16>(
                bits,
                out,
                #[inline(always)]
                |room| self.pack_sixteens(bits, block, room),
            );
        } else if bits <= 8 {
            let ones = block.map(|value| top.of(value).to_u64() as u8);
            let kept = u64::from_ne_bytes([u8::MAX >> (8 - bits); 8]);
            pack::in_room::<8>(
                bits,
                out,
                #[inline(always)]
                |room| {
                    for (i, eight) in ones.as_chunks().0.iter().enumerate() {
                        let eight = proved!(_pext_u64(u64::from_le_bytes(*eight), kept));
                        room[i * bits as usize..][..8].copy_from_slice(&eight.to_le_bytes());
                    }
                },
            );
        } else {
            let ones = block.map(|value| top.of(value).to_u64());
            let kept = 0x0001_0001_0001_0001 * u64::from(u16::MAX >> (16 - bits));
            let mut fours = [0; BLOCK / 4];
            for (four, [a, b, c, d]) in fours.iter_mut().zip(ones.as_chunks().0) {
                *four = proved!(_pext_u64(a | b << 16 | c << 32 | d << 48, kept));
            }
            pack::in_room::<16>(
                bits,
                out,
                #[inline(always)]
                |room| pack::place_eights::<16>(&fours, bits, room),
            );
        }
    }

    #[inline(always)]
    fn unpack_eights<const ADD: bool>(
        self,
        packed: &[u8],
        bits: u32,
        groups: &mut [[u64; EIGHT]],
    ) -> usize {
        self.plain().unpack_512::<ADD>(packed, bits, groups);
        groups.len()
    }

    #[inline(always)]
    fn replace_by_normals(self, words: &mut [u32; WORDS], root: &[f32; 4]) {
        self.plain().replace_by_normals_512(words, root);
    }

    #[inline(always)]
    fn add_normals<T: Torus>(self, words: &mut [u32; WORDS], root: &[f32; 4], values: &mut [T]) {
        if let TorusSliceMut::U32(values) = TorusSliceMut::new(values)
            && let Ok(values) = values.try_into()
        {
            return self.plain().add_normals_512(words, root, values);
        }
        box_muller::add_normals(self, words, root, values);
    }
}
