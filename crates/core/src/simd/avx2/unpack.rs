//! Unpacking with AVX2: two values of every half of a register, whose bytes are shuffled into their
//! lanes.

use super::super::unpack::{EIGHT, MAX_WINDOW_BITS};
use super::Avx2;
use core::arch::x86_64::*;

/// The places of four values of equal width, in 16 bytes for each pair.
struct Places {
    /// The byte in which each pair begins.
    bytes: [usize; 2],
    /// The bytes of each value from the one in which it begins.
    shuffle: __m256i,
    /// The bits before each value in its first byte.
    down: __m256i,
}

/// The number of bytes that are loaded for a pair.
const PAIR_BYTES: usize = 16;

impl Avx2 {
    /// Returns the places of the values `2 * pair` to `2 * pair + 3` of a group.
    #[inline(always)]
    fn places(self, bits: u32, pair: usize) -> Places {
        let start = |value: usize| (2 * pair + value) * bits as usize;
        let pair_byte = |value: usize| start(value & 2) / 8;
        let mut shuffle = [0u8; 32];
        for (i, byte) in shuffle.iter_mut().enumerate() {
            let value = i / 8;
            *byte = (start(value) / 8 - pair_byte(value) + i % 8) as u8;
        }
        let down: [u64; 4] = core::array::from_fn(|value| start(value) as u64 % 8);
        Places {
            bytes: [pair_byte(0), pair_byte(2)],
            shuffle: proved!(_mm256_loadu_si256(shuffle.as_ptr().cast())),
            down: proved!(_mm256_loadu_si256(down.as_ptr().cast())),
        }
    }

    /// Unpacks groups of eight and returns their number; see [`unpack`](super::super::unpack::unpack).
    /// The last bytes are left, because a pair is loaded with bytes behind it.
    #[inline(always)]
    pub(super) fn unpack_256<const ADD: bool>(
        self,
        packed: &[u8],
        bits: u32,
        groups: &mut [[u64; EIGHT]],
    ) -> usize {
        if bits > MAX_WINDOW_BITS {
            return 0;
        }
        let halves = [self.places(bits, 0), self.places(bits, 2)];
        let read = halves[1].bytes[1] + PAIR_BYTES;
        let to_top = proved!(_mm256_set1_epi64x(i64::from(64 - bits)));
        let mut done = 0;
        for group in groups.iter_mut() {
            let Some(packed) = packed
                .get(done * bits as usize..)
                .and_then(|p| p.get(..read))
            else {
                break;
            };
            for (four, places) in group.as_chunks_mut::<4>().0.iter_mut().zip(&halves) {
                let [Some(first), Some(second)] = places
                    .bytes
                    .map(|byte| packed[byte..].first_chunk::<PAIR_BYTES>())
                else {
                    return done;
                };
                proved!({
                    let bytes = _mm256_inserti128_si256::<1>(
                        _mm256_castsi128_si256(_mm_loadu_si128(first.as_ptr().cast())),
                        _mm_loadu_si128(second.as_ptr().cast()),
                    );
                    let value = _mm256_shuffle_epi8(bytes, places.shuffle);
                    let mut value =
                        _mm256_sllv_epi64(_mm256_srlv_epi64(value, places.down), to_top);
                    if ADD {
                        let sum = _mm256_loadu_si256(four.as_ptr().cast());
                        value = _mm256_add_epi64(value, sum);
                    }
                    _mm256_storeu_si256(four.as_mut_ptr().cast(), value);
                });
            }
            done += 1;
        }
        done
    }
}
