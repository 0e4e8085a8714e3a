//! The method of Box and Muller in single precision, with a radius from 64 random
//! bits: a kernel of [`crate::simd`] turns chunks of words from the stream into variates.
//!
//! The words of a chunk are ordered by kind, so that no lane has to be moved:
//! 16 extensions, 128 radii, 128 angles. A radius and its extension are the 64 bits
//! of the fraction of which the logarithm is taken. An extension serves eight pairs.
//! That is sound because an extension only continues the fraction below its first 32 bits: it
//! moves a variate by more than a part in 2^k only if the radius word is within 2^k of
//! either end, which has probability 2^(k-31). Two variates of different pairs
//! depend on each other through it only where both radius words are that close, with probability
//! 2^(2k-62) for a pair of pairs. Single precision can resolve k <= 24.

use super::super::expander::Expander;
use super::super::keystream::Scratch;
use super::super::uniform::fill_uniform;
use crate::simd::box_muller::{PAIRS, ROOT, WORDS};
use crate::simd::{Isa, Simd, dispatch};
use crate::torus::Torus;

/// The number of values of a chunk: pair `p` makes the values `p` and `p + PAIRS`.
const CHUNK: usize = 2 * PAIRS;

/// The number of chunks whose words are expanded at a time: where expanders have vectors, as many
/// as make whole groups of blocks; elsewhere one, to save stack.
const CHUNKS: usize = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    4
} else {
    1
};

/// Adds `round(scale * z)` to every element, where `z` is standard normal. `scale` is at most
/// 2^18. `words` is memory, of any length, which is used if the words of a chunk have room in it.
pub(super) fn add<T: Torus>(
    isa: Isa,
    scale: f32,
    expander: &mut impl Expander,
    values: &mut [T],
    words: &mut [u32],
) {
    if words.len() < WORDS {
        let mut words = Scratch::<u32, { WORDS * CHUNKS }>::new();
        return add_with(isa, scale, expander, values, &mut words[..]);
    }
    add_with(isa, scale, expander, values, words);
}

/// Does the same with as many chunks at a time as have room in `words`: at least one.
fn add_with<T: Torus>(
    isa: Isa,
    scale: f32,
    expander: &mut impl Expander,
    values: &mut [T],
    words: &mut [u32],
) {
    let root = ROOT.map(|coefficient| coefficient * scale);
    let at_a_time = words.len() / WORDS * CHUNK;
    for values in values.chunks_mut(at_a_time) {
        let words = &mut words[..values.len().div_ceil(CHUNK) * WORDS];
        fill_uniform(expander, words);
        let (words, _) = words.as_chunks_mut::<WORDS>();
        dispatch!(isa, |simd| {
            for (words, values) in words.iter_mut().zip(values.chunks_mut(CHUNK)) {
                simd.add_normals(words, &root, values);
            }
        });
    }
}
