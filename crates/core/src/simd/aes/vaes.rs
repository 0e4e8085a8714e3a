//! Vector AES on AVX-512 registers: four blocks per instruction, 32 blocks in flight.

use core::arch::x86_64::*;

use super::{AesNi, Block, FourBlocks, RowPart, aes_ni, counter_mode_row_by_row};

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

    pub(super) fn counter_mode_of_rows(self, key: &Block, counter: u128, rows: &mut [RowPart]) {
        // SAFETY: `self` proves the features.
        unsafe { counter_mode_of_rows(key, counter, rows) };
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

/// The number of registers of a part of a row.
const OF_ROW: usize = size_of::<RowPart>() / size_of::<FourBlocks>();
/// The number of rows in flight.
const ROWS: usize = IN_FLIGHT / OF_ROW;

#[target_feature(enable = "vaes,avx512f,avx512bw")]
fn counter_mode_of_rows(key: &Block, counter: u128, out: &mut [RowPart]) {
    let low = counter as u64;
    if low.checked_add(4 * OF_ROW as u64).is_none() {
        return counter_mode_row_by_row(counter, out, |counter, row| {
            counter_mode(key, counter, row);
        });
    }
    let round_keys = &round_keys(key);
    // The low halves of the counters, and the key that is added first, are the same in all rows.
    let mut starts = [round_keys[0]; OF_ROW];
    for (start, first) in starts.iter_mut().zip((low..).step_by(4)) {
        let of = |block: u64| (first + block).swap_bytes() as i64;
        let halves = _mm512_setr_epi64(0, of(0), 0, of(1), 0, of(2), 0, of(3));
        *start = _mm512_xor_si512(*start, halves);
    }
    let mut high = (counter >> 64) as u64;
    let mut groups = out.chunks_exact_mut(ROWS);
    for group in &mut groups {
        encrypt_rows::<ROWS>(round_keys, &starts, high, group);
        high = high.wrapping_add(ROWS as u64);
    }
    for row in groups.into_remainder().chunks_mut(1) {
        encrypt_rows::<1>(round_keys, &starts, high, row);
        high = high.wrapping_add(1);
    }
}

/// Encrypts the counters of `R` rows, of which `high` is the first high half, into `out`, which has `R` elements. `starts` has the low
/// halves, to which the first round key is added.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw")]
fn encrypt_rows<const R: usize>(
    [_, rounds @ .., last]: &[__m512i; 11],
    starts: &[__m512i; OF_ROW],
    high: u64,
    out: &mut [RowPart],
) {
    let mut states = [*starts; R];
    for (states, row) in states.iter_mut().zip(0..) {
        let high = high.wrapping_add(row).swap_bytes();
        let high = _mm512_maskz_set1_epi64(0x55, high as i64);
        for state in states {
            *state = _mm512_xor_si512(*state, high);
        }
    }
    for key in rounds {
        for state in states.as_flattened_mut() {
            *state = _mm512_aesenc_epi128(*state, *key);
        }
    }
    for (row, states) in out.iter_mut().zip(states) {
        for (four, state) in row.iter_mut().zip(states) {
            let state = _mm512_aesenclast_epi128(state, *last);
            // SAFETY: the reference is good for writing 64 bytes.
            unsafe { _mm512_storeu_si512(four.as_mut_ptr().cast(), state) };
        }
    }
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
