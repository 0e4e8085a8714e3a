//! Vector AES on AVX registers, for processors without AVX-512: two blocks per
//! instruction, 16 blocks in flight.

use core::arch::x86_64::*;

use super::{AesNi, Block, FourBlocks, aes_ni};

/// Proof that the processor has VAES, AVX2 and AES-NI: a value exists only after
/// detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vaes256(AesNi);

/// The number of quadruples of blocks in flight, of two registers each.
const IN_FLIGHT: usize = 4;

impl Vaes256 {
    pub(super) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let found = std::is_x86_feature_detected!("vaes") && std::is_x86_feature_detected!("avx2");
        #[cfg(not(feature = "std"))]
        let found = cfg!(all(target_feature = "vaes", target_feature = "avx2"));
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

#[target_feature(enable = "vaes,avx2")]
fn counter_mode(key: &Block, mut counter: u128, out: &mut [FourBlocks]) {
    let mut round_keys = [_mm256_setzero_si256(); 11];
    for (wide, key) in round_keys.iter_mut().zip(aes_ni::round_keys(key)) {
        *wide = _mm256_broadcastsi128_si256(key);
    }
    let (groups, rest) = out.as_chunks_mut::<IN_FLIGHT>();
    for group in groups {
        encrypt(&round_keys, counter, group);
        counter = counter.wrapping_add(4 * IN_FLIGHT as u128);
    }
    for four in rest.as_chunks_mut::<1>().0 {
        encrypt(&round_keys, counter, four);
        counter = counter.wrapping_add(4);
    }
}

/// Encrypts `counter` and the counters after it.
#[inline]
#[target_feature(enable = "vaes,avx2")]
fn encrypt<const LEN: usize>(
    [whitening, rounds @ .., last]: &[__m256i; 11],
    counter: u128,
    out: &mut [FourBlocks; LEN],
) {
    // Only signed integers can be compared, so 2^63 is added to all low halves. A constant that is
    // added with the whitening subtracts it again.
    let bias = _mm256_set_epi64x(0, i64::MIN, 0, i64::MIN);
    let start = _mm_set_epi64x((counter >> 64) as i64, counter as i64);
    let start = _mm256_xor_si256(_mm256_broadcastsi128_si256(start), bias);
    let mut offset = _mm256_set_epi64x(0, 1, 0, 0);
    let two = _mm256_set_epi64x(0, 2, 0, 2);
    let reversed = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
    let reversed = _mm256_broadcastsi128_si256(reversed);
    let whitening = _mm256_xor_si256(*whitening, _mm256_shuffle_epi8(bias, reversed));
    let mut states = [[start; 2]; LEN];
    for state in states.as_flattened_mut() {
        let sum = _mm256_add_epi64(start, offset);
        // A low half that has become smaller carries into the high half beside it.
        let carries = _mm256_cmpgt_epi64(_mm256_xor_si256(offset, bias), sum);
        let sum = _mm256_sub_epi64(sum, _mm256_slli_si256::<8>(carries));
        *state = _mm256_xor_si256(_mm256_shuffle_epi8(sum, reversed), whitening);
        offset = _mm256_add_epi64(offset, two);
    }
    for key in rounds {
        for state in states.as_flattened_mut() {
            *state = _mm256_aesenc_epi128(*state, *key);
        }
    }
    for (four, states) in out.iter_mut().zip(states) {
        for (two, state) in four.as_chunks_mut::<32>().0.iter_mut().zip(states) {
            let state = _mm256_aesenclast_epi128(state, *last);
            // SAFETY: the reference is good for writing 32 bytes.
            unsafe { _mm256_storeu_si256(two.as_mut_ptr().cast(), state) };
        }
    }
}
