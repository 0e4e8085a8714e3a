//! Vector AES on AVX-512 registers: four blocks per instruction, 32 blocks in flight.

use core::arch::x86_64::*;

use super::{AesNi, Block, FourBlocks, aes_ni};

/// Proof that the processor has VAES, AVX-512 F and BW, and AES-NI: a value exists only
/// after detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vaes(AesNi);

/// The number of registers in flight.
const IN_FLIGHT: usize = 8;

impl Vaes {
    pub(super) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let found = std::is_x86_feature_detected!("vaes")
            && std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw");
        #[cfg(not(feature = "std"))]
        let found = cfg!(all(
            target_feature = "vaes",
            target_feature = "avx512f",
            target_feature = "avx512bw"
        ));
        AesNi::detect().filter(|_| found).map(Self)
    }

    pub(super) fn aes_ni(self) -> AesNi {
        self.0
    }

    pub(super) fn counter_mode(self, key: &Block, counter: u128, out: &mut [FourBlocks]) {
        // SAFETY: `self` proves the features.
        unsafe { counter_mode(key, counter, out) };
    }
}

/// Returns the round keys of `key`, each four times.
#[inline]
#[target_feature(enable = "vaes,avx512f")]
fn round_keys(key: &Block) -> [__m512i; 11] {
    let mut wide = [_mm512_setzero_si512(); 11];
    for (wide, key) in wide.iter_mut().zip(aes_ni::round_keys(key)) {
        *wide = _mm512_broadcast_i32x4(key);
    }
    wide
}

#[target_feature(enable = "vaes,avx512f,avx512bw")]
fn counter_mode(key: &Block, mut counter: u128, out: &mut [FourBlocks]) {
    let round_keys = round_keys(key);
    let mut groups = out.chunks_exact_mut(IN_FLIGHT);
    for group in &mut groups {
        encrypt::<IN_FLIGHT>(&round_keys, counter, group);
        counter = counter.wrapping_add(4 * IN_FLIGHT as u128);
    }
    // Some blocks too many take no longer than the last ones by themselves, each of which would wait for its rounds.
    for rest in groups.into_remainder().chunks_mut(IN_FLIGHT / 2) {
        encrypt::<{ IN_FLIGHT / 2 }>(&round_keys, counter, rest);
        counter = counter.wrapping_add(2 * IN_FLIGHT as u128);
    }
}

/// Encrypts `counter` and the counters after it into `out`, which has at most `LEN` elements.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw")]
fn encrypt<const LEN: usize>(
    [whitening, rounds @ .., last]: &[__m512i; 11],
    counter: u128,
    out: &mut [FourBlocks],
) {
    let broadcast =
        |high: u64, low: u64| _mm512_broadcast_i32x4(_mm_set_epi64x(high as i64, low as i64));
    let (high, low) = ((counter >> 64) as u64, counter as u64);
    let start = broadcast(high, low);
    // For the high halves: the largest summand that their low halves take without a carry.
    let limit = broadcast(!low, u64::MAX);
    let reversed = broadcast(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
    let mut states = [start; LEN];
    for (i, state) in (0..).zip(&mut states) {
        let number = |block: i64| 4 * i + block;
        let [a, b, c, d] = [number(0), number(1), number(2), number(3)];
        let numbers = _mm512_setr_epi64(a, a, b, b, c, c, d, d);
        let carries = _mm512_cmpgt_epu64_mask(numbers, limit);
        let sum = _mm512_mask_add_epi64(start, 0x55, start, numbers);
        let sum = _mm512_mask_sub_epi64(sum, carries, sum, _mm512_set1_epi64(-1));
        *state = _mm512_xor_si512(_mm512_shuffle_epi8(sum, reversed), *whitening);
    }
    for key in rounds {
        for state in &mut states {
            *state = _mm512_aesenc_epi128(*state, *key);
        }
    }
    for (four, state) in out.iter_mut().zip(states) {
        let state = _mm512_aesenclast_epi128(state, *last);
        // SAFETY: the reference is good for writing 64 bytes.
        unsafe { _mm512_storeu_si512(four.as_mut_ptr().cast(), state) };
    }
}
