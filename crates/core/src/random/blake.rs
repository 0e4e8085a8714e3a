//! The common part of BLAKE2b and BLAKE3: the rounds of their compression. Output blocks differ only
//! in a counter, so many are made side by side, one in every lane of a vector.

use super::keystream::BLOCK_BYTES;
use crate::simd::{Isa, Simd, dispatch};

/// A word of a hash function of the family.
pub(super) trait Word: Copy + Default {
    /// The right rotations of the four steps of a quarter round.
    const ROTATIONS: [u32; 4];
    /// The number of bytes of a word.
    const BYTES: usize;

    fn add(self, other: Self) -> Self;
    fn xor_rotated(self, other: Self, right: u32) -> Self;
    fn write(self, out: &mut [u8]);
}

macro_rules! word {
    ($word:ty, $rotations:expr) => {
        impl Word for $word {
            const ROTATIONS: [u32; 4] = $rotations;
            const BYTES: usize = size_of::<$word>();

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn xor_rotated(self, other: Self, right: u32) -> Self {
                (self ^ other).rotate_right(right)
            }

            #[inline(always)]
            fn write(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }
        }
    };
}
word!(u32, [16, 12, 8, 7]);
word!(u64, [32, 24, 16, 63]);

/// Computes all rounds of a compression: round `r` takes the message words in the order of
/// `schedule[r]`. `UNROLLED` code is long and has no loop of its own, which lets the
/// compiler vectorise a loop around it; a board, which has one lane, uses the short code.
#[inline(always)]
pub(super) fn rounds<W: Word, const UNROLLED: bool>(
    v: &mut [W; 16],
    message: &[W; 16],
    schedule: &[[u8; 16]],
) {
    if UNROLLED {
        macro_rules! each {
            ($($number:literal)*) => {
                $(if let Some(order) = schedule.get($number) {
                    round(v, message, order);
                })*
            };
        }
        each!(0 1 2 3 4 5 6 7 8 9 10 11);
    } else {
        for order in schedule {
            round(v, message, order);
        }
    }
}

#[inline(always)]
fn round<W: Word>(v: &mut [W; 16], message: &[W; 16], order: &[u8; 16]) {
    let m = |i: usize| message[order[i] as usize & 15];
    quarter(v, [0, 4, 8, 12], m(0), m(1));
    quarter(v, [1, 5, 9, 13], m(2), m(3));
    quarter(v, [2, 6, 10, 14], m(4), m(5));
    quarter(v, [3, 7, 11, 15], m(6), m(7));
    quarter(v, [0, 5, 10, 15], m(8), m(9));
    quarter(v, [1, 6, 11, 12], m(10), m(11));
    quarter(v, [2, 7, 8, 13], m(12), m(13));
    quarter(v, [3, 4, 9, 14], m(14), m(15));
}

/// The function G of the BLAKE2 paper, section 2.4.
#[inline(always)]
fn quarter<W: Word>(v: &mut [W; 16], [a, b, c, d]: [usize; 4], x: W, y: W) {
    let [first, second, third, fourth] = W::ROTATIONS;
    v[a] = v[a].add(v[b]).add(x);
    v[d] = v[d].xor_rotated(v[a], first);
    v[c] = v[c].add(v[d]);
    v[b] = v[b].xor_rotated(v[c], second);
    v[a] = v[a].add(v[b]).add(y);
    v[d] = v[d].xor_rotated(v[a], third);
    v[c] = v[c].add(v[d]);
    v[b] = v[b].xor_rotated(v[c], fourth);
}

/// An extendable output each of whose blocks of [`BLOCK_BYTES`] is one compression, of the
/// block's number and of values that are constant in the stream.
pub(super) trait CounterMode {
    type Word: Word;

    /// Returns the words of block `number`, counted in blocks of `BLOCK_BYTES` from the first.
    /// `UNROLLED` is passed to [`rounds`].
    fn block<const UNROLLED: bool>(&self, number: u64) -> [Self::Word; 16];
}

/// The number of blocks made side by side: several vectors of them, because the compiler does not
/// vectorise a shorter loop.
const LANES: usize = 16;

/// The largest number of blocks that are made one after the other even if there are vectors.
const FEW: usize = 2;

/// Overwrites `out` with blocks `first`, `first + 1`, … of an output.
pub(super) fn output_blocks<C: CounterMode>(mode: &C, first: u64, out: &mut [[u8; BLOCK_BYTES]]) {
    if out.len() <= FEW {
        return one_by_one(mode, first, out);
    }
    let isa = Isa::detect();
    dispatch!(isa, |simd| with_simd(simd, mode, first, out));
}

#[inline(always)]
fn with_simd<S: Simd, C: CounterMode>(
    _simd: S,
    mode: &C,
    first: u64,
    out: &mut [[u8; BLOCK_BYTES]],
) {
    if S::LANES >= 4 || cfg!(target_arch = "aarch64") {
        side_by_side(mode, first, out);
    } else {
        one_by_one(mode, first, out);
    }
}

#[inline(always)]
fn side_by_side<C: CounterMode>(mode: &C, first: u64, out: &mut [[u8; BLOCK_BYTES]]) {
    let mut words = [[C::Word::default(); LANES]; 16];
    for (number, out) in out.chunks_mut(LANES).enumerate() {
        let first = first + (number * LANES) as u64;
        if out.len() <= FEW {
            one_by_one(mode, first, out);
            continue;
        }
        #[allow(clippy::needless_range_loop, reason = "the loop to be vectorised")]
        for lane in 0..LANES {
            let block = mode.block::<true>(first + lane as u64);
            for i in 0..16 {
                words[i][lane] = block[i];
            }
        }
        for (lane, block) in out.iter_mut().enumerate() {
            for (bytes, words) in block.chunks_exact_mut(C::Word::BYTES).zip(&words) {
                words[lane].write(bytes);
            }
        }
    }
    words.fill([C::Word::default(); LANES]);
    zeroize::optimization_barrier(&words);
}

/// Makes blocks one after the other, for processors without vectors and for short reads. It is a
/// function of its own so that the code exists once.
#[inline(never)]
fn one_by_one<C: CounterMode>(mode: &C, first: u64, out: &mut [[u8; BLOCK_BYTES]]) {
    for (number, block) in (first..).zip(out) {
        let mut words = mode.block::<false>(number);
        for (bytes, word) in block.chunks_exact_mut(C::Word::BYTES).zip(&words) {
            word.write(bytes);
        }
        words.fill(C::Word::default());
        zeroize::optimization_barrier(&words);
    }
}
