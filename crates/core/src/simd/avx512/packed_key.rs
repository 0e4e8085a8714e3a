//! Packed keys with AVX-512: the 16-bit words of an integer are permuted into its lane.

use core::arch::x86_64::*;

use super::Avx512;

/// The number of bytes of a vector.
const VECTOR: usize = 64;

/// The places of the integers of a pair of vectors. The second vector is read with as many bytes before it as make 64, so that
/// nothing is read behind the pair.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    /// The words of the integers of the first vector.
    re: __m512i,
    /// The words of the integers of the second vector.
    im: __m512i,
    /// For integers of 7 bytes, the indices of a shuffle that moves the integer to the top of its lane.
    bytes: __m512i,
}

/// For each lane, the four words that end with the integer of the lane, or with the byte behind it. The integers have `bytes`
/// bytes, and begin at byte `start`. Of the first one there may be no word before; it does not stay in the lane.
const fn words(start: usize, bytes: usize) -> [u16; 32] {
    let mut words = [0; 32];
    let mut i = 0;
    while i < words.len() {
        let end = start + (i / 4 + 1) * bytes;
        words[i] = (end.div_ceil(2) + i % 4).saturating_sub(4) as u16;
        i += 1;
    }
    words
}

/// All words of a lane but the lowest one.
const UPPER_WORDS: __mmask32 = 0xeeee_eeee;

/// Repeats the words of two lanes.
const fn repeated(lanes: [u64; 2]) -> [u16; 32] {
    let mut words = [0; 32];
    let mut i = 0;
    while i < words.len() {
        words[i] = (lanes[i / 4 % 2] >> (16 * (i % 4))) as u16;
        i += 1;
    }
    words
}

impl<const ADDERS: bool> Avx512<ADDERS> {
    /// The places of integers of `BYTES` bytes: 6 or 7.
    #[inline(always)]
    pub(super) fn places_of<const BYTES: usize>(self) -> Places {
        /// Integers of even lanes begin at the first byte, those of odd lanes at the second one.
        const TO_TOP: [u16; 32] = repeated([0x0605_0403_0201_00ff, 0x0f0e_0d0c_0b0a_09ff]);
        proved!(Places {
            re: held(const { &words(0, BYTES) }),
            im: held(const { &words(VECTOR - 8 * BYTES, BYTES) }),
            bytes: held(&TO_TOP),
        })
    }

    /// Two vectors of integers of `BYTES` bytes.
    #[inline(always)]
    pub(super) fn load_pair<const BYTES: usize>(self, places: Places, pair: &[u8]) -> [__m512d; 2] {
        assert_eq!(pair.len(), 16 * BYTES);
        let first: &[u8; VECTOR] = pair.first_chunk().expect("a vector");
        let last: &[u8; VECTOR] = pair.last_chunk().expect("a vector");
        proved!({
            let re = _mm512_loadu_si512(first.as_ptr().cast());
            let im = _mm512_loadu_si512(last.as_ptr().cast());
            let [re, im] = match BYTES {
                6 => [
                    _mm512_maskz_permutexvar_epi16(UPPER_WORDS, places.re, re),
                    _mm512_maskz_permutexvar_epi16(UPPER_WORDS, places.im, im),
                ],
                _ => {
                    let re = _mm512_permutexvar_epi16(places.re, re);
                    let im = _mm512_permutexvar_epi16(places.im, im);
                    [
                        _mm512_shuffle_epi8(re, places.bytes),
                        _mm512_shuffle_epi8(im, places.bytes),
                    ]
                }
            };
            [_mm512_cvtepi64_pd(re), _mm512_cvtepi64_pd(im)]
        })
    }
}

/// Reads a vector that stays in a register. The compiler would read what it knows to be constant again for every pair.
#[inline]
#[target_feature(enable = "avx512f")]
fn held(words: &[u16; 32]) -> __m512i {
    let held;
    // SAFETY: reads the 64 bytes of the array.
    unsafe {
        core::arch::asm!(
            "vmovdqu64 {held}, [{words}]",
            held = out(zmm_reg) held,
            words = in(reg) words.as_ptr(),
            options(nostack, preserves_flags, readonly, pure)
        );
    }
    held
}
