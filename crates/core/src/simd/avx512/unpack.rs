//! Unpacking with AVX-512: the 16-bit words of a value are permuted into its lane.

use super::super::unpack::EIGHT;
use super::Avx512;
use core::arch::x86_64::*;

/// The places of eight values of equal width within the bytes that they take.
struct Places {
    /// The 16-bit words from the one in which each value begins.
    low: __m512i,
    /// The four words behind those.
    high: __m512i,
    /// The bits before each value in its first word.
    down: __m512i,
    /// 64 less these numbers of bits.
    up: __m512i,
    /// Whether no value reaches beyond its first four words.
    in_low: bool,
}

impl Avx512 {
    #[inline(always)]
    fn places(self, bits: u32) -> Places {
        let start = |value: usize| value as u32 * bits;
        let words = |more: u32| {
            let mut words = [0u16; 32];
            for (i, word) in words.iter_mut().enumerate() {
                // A word behind the last, mod 32, is cut off.
                *word = (start(i / 4) / 16) as u16 + (i % 4) as u16 + more as u16;
            }
            proved!(_mm512_loadu_si512(words.as_ptr().cast()))
        };
        let shifts: [u64; EIGHT] = core::array::from_fn(|value| u64::from(start(value) % 16));
        let down = proved!(_mm512_loadu_si512(shifts.as_ptr().cast()));
        Places {
            low: words(0),
            high: words(4),
            down,
            up: proved!(_mm512_sub_epi64(_mm512_set1_epi64(64), down)),
            in_low: shifts.iter().all(|&shift| shift as u32 + bits <= 64),
        }
    }

    /// Unpacks whole groups of eight; see [`unpack`](super::super::unpack::unpack).
    #[inline(always)]
    pub(super) fn unpack_512<const ADD: bool>(
        self,
        packed: &[u8],
        bits: u32,
        groups: &mut [[u64; EIGHT]],
    ) {
        let places = self.places(bits);
        match places.in_low {
            true => self.unpack_at::<ADD, true>(&places, packed, bits, groups),
            false => self.unpack_at::<ADD, false>(&places, packed, bits, groups),
        }
    }

    #[inline(always)]
    fn unpack_at<const ADD: bool, const IN_LOW: bool>(
        self,
        places: &Places,
        packed: &[u8],
        bits: u32,
        groups: &mut [[u64; EIGHT]],
    ) {
        let kept = u64::MAX >> (64 - bits);
        let to_top = proved!(_mm512_set1_epi64(i64::from(64 - bits)));
        for (group, packed) in groups.iter_mut().zip(packed.chunks_exact(bits as usize)) {
            proved!({
                // Only the bytes in `kept`, as many as the chunk has, are read.
                let bytes = _mm512_maskz_loadu_epi8(kept, packed.as_ptr().cast());
                let low = _mm512_permutexvar_epi16(places.low, bytes);
                let mut value = _mm512_srlv_epi64(low, places.down);
                if !IN_LOW {
                    let high = _mm512_permutexvar_epi16(places.high, bytes);
                    value = _mm512_or_si512(value, _mm512_sllv_epi64(high, places.up));
                }
                let mut value = _mm512_sllv_epi64(value, to_top);
                if ADD {
                    value = _mm512_add_epi64(value, _mm512_loadu_si512(group.as_ptr().cast()));
                }
                _mm512_storeu_si512(group.as_mut_ptr().cast(), value);
            });
        }
    }
}
