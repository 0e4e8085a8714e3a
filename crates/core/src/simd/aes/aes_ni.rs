//! AES-NI: one block per instruction, eight blocks in flight.

use core::arch::x86_64::*;

use super::{AES_BLOCK_BYTES, Block, FourBlocks};

/// Proof that the processor has AES-NI and SSSE3: a value exists only after detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AesNi(());

impl AesNi {
    pub(super) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let found = std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("ssse3");
        #[cfg(not(feature = "std"))]
        let found = cfg!(all(target_feature = "aes", target_feature = "ssse3"));
        found.then_some(Self(()))
    }

    /// Returns the encryption of `block` under `key`.
    #[inline]
    pub(super) fn encrypt(self, key: &Block, block: &Block) -> Block {
        let mut encrypted = [0; AES_BLOCK_BYTES];
        // SAFETY: `self` proves the features.
        unsafe { encrypt_block(key, block, &mut encrypted) };
        encrypted
    }

    pub(super) fn counter_mode(self, key: &Block, counter: u128, out: &mut [FourBlocks]) {
        // SAFETY: `self` proves the features.
        unsafe { counter_mode(key, counter, out) };
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: the reference is good for reading 16 bytes.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn store(block: &mut Block, value: __m128i) {
    // SAFETY: the reference is good for writing 16 bytes.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}

const ROUND_CONSTANTS: [i32; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];

/// Returns the round key after `round_key` (FIPS 197, section 5.2). It uses the instruction for the
/// last round of an encryption, on a block whose columns are all the rotated last word:
/// that instruction substitutes bytes and adds the round constant.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn next_round_key(round_key: __m128i, constant: i32) -> __m128i {
    let rotated_last_word = _mm_set1_epi32(0x0c0f_0e0d);
    let last_word = _mm_shuffle_epi8(round_key, rotated_last_word);
    let substituted = _mm_aesenclast_si128(last_word, _mm_set1_epi32(constant));
    let sums = _mm_xor_si128(round_key, _mm_slli_si128::<4>(round_key));
    let sums = _mm_xor_si128(sums, _mm_slli_si128::<8>(sums));
    _mm_xor_si128(sums, substituted)
}

/// Returns the round keys of `key`.
#[inline]
#[target_feature(enable = "aes,ssse3")]
pub(super) fn round_keys(key: &Block) -> [__m128i; 11] {
    let mut round_keys = [load(key); 11];
    for (index, constant) in ROUND_CONSTANTS.into_iter().enumerate() {
        round_keys[index + 1] = next_round_key(round_keys[index], constant);
    }
    round_keys
}

/// Encrypts `block` while the round keys are computed, because each of them takes as long as a round.
#[target_feature(enable = "aes,ssse3")]
fn encrypt_block(key: &Block, block: &Block, encrypted: &mut Block) {
    let mut round_key = load(key);
    let mut state = _mm_xor_si128(load(block), round_key);
    let [constants @ .., last] = ROUND_CONSTANTS;
    for constant in constants {
        round_key = next_round_key(round_key, constant);
        state = _mm_aesenc_si128(state, round_key);
    }
    round_key = next_round_key(round_key, last);
    store(encrypted, _mm_aesenclast_si128(state, round_key));
}

#[target_feature(enable = "aes,ssse3")]
fn counter_mode(key: &Block, mut counter: u128, out: &mut [FourBlocks]) {
    let keys = &round_keys(key);
    let mut pairs = out.chunks_exact_mut(2);
    for pair in &mut pairs {
        encrypt::<8>(keys, counter, pair.as_flattened_mut().as_chunks_mut().0);
        counter = counter.wrapping_add(8);
    }
    let rest = pairs.into_remainder().as_flattened_mut();
    if !rest.is_empty() {
        encrypt::<4>(keys, counter, rest.as_chunks_mut().0);
    }
}

/// Encrypts `counter` and the counters after it into the first `BLOCKS` blocks of `out`.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn encrypt<const BLOCKS: usize>(
    [whitening, rounds @ .., last]: &[__m128i; 11],
    counter: u128,
    out: &mut [Block],
) {
    let mut states = [*whitening; BLOCKS];
    for (i, state) in states.iter_mut().enumerate() {
        let block = counter.wrapping_add(i as u128).swap_bytes();
        let block = _mm_set_epi64x((block >> 64) as i64, block as i64);
        *state = _mm_xor_si128(block, *whitening);
    }
    for key in rounds {
        for state in &mut states {
            *state = _mm_aesenc_si128(*state, *key);
        }
    }
    for (block, state) in out.iter_mut().zip(states) {
        store(block, _mm_aesenclast_si128(state, *last));
    }
}
