//! Uniform draws: torus elements for masks, and coefficients of secrets.

use super::expander::Expander;
use super::keystream::Scratch;
use crate::parameters::GlweSecret;
use crate::simd::{Isa, as_bytes_mut, vectorize};
use crate::torus::Torus;
use crate::wire::bits::pack_secret;

/// The number of bytes read from the expander at a time.
const CHUNK_BYTES: usize = 1024;
/// The number of elements that [`add_uniform`] draws at a time: at most 2 KiB, which stay in the
/// first-level cache beside the sums.
const ADDED_AT_ONCE: usize = 256;

/// Overwrites `out` with uniform torus elements.
///
/// Element `i` is the next `T::BITS / 8` bytes of the stream as a little-endian
/// integer: `out.len() * T::BITS / 8` bytes are consumed, so a long fill and
/// several short ones give the same elements. Constant-time.
pub fn fill_uniform<T: Torus>(expander: &mut impl Expander, out: &mut [T]) {
    expander.fill(as_bytes_mut(out));
    if cfg!(target_endian = "big") {
        for value in out {
            *value = value.swap_bytes();
        }
    }
}

/// Adds the elements with which [`fill_uniform`] would overwrite `out`, mod q. Constant-time.
pub fn add_uniform<T: Torus>(expander: &mut impl Expander, out: &mut [T]) {
    let isa = Isa::detect();
    let mut buffer = Scratch::<T, ADDED_AT_ONCE>::new();
    for out in out.chunks_mut(ADDED_AT_ONCE) {
        let terms = &mut buffer[..out.len()];
        fill_uniform(expander, terms);
        vectorize(
            isa,
            #[inline(always)]
            || {
                for (out, &mut term) in out.iter_mut().zip(terms) {
                    *out = out.add(term);
                }
            },
        );
    }
}

/// Overwrites `out` with uniform bits, one `0` or `1` per element: the
/// coefficients of a binary secret.
///
/// Element `i` is bit `i % 8`, counted from the least significant, of byte `i / 8`
/// of the bytes that this call reads. It reads `ceil(out.len() / 8)` bytes and discards the unused
/// bits of the last. Constant-time.
pub fn fill_binary<B: From<bool>>(expander: &mut impl Expander, out: &mut [B]) {
    let mut buffer = Scratch::<u8, { CHUNK_BYTES / 8 }>::new();
    for bits in out.chunks_mut(CHUNK_BYTES) {
        let bytes = &mut buffer[..bits.len().div_ceil(8)];
        expander.fill(bytes);
        for (bits, byte) in bits.chunks_mut(8).zip(bytes) {
            for (i, bit) in bits.iter_mut().enumerate() {
                *bit = B::from((*byte >> i) & 1 == 1);
            }
        }
    }
}

/// Overwrites `out` with uniform coefficients of a ternary secret, -1, 0 and 1, whose
/// probabilities are 1/3 to within 2^-64.
///
/// Each coefficient takes a word of 64 bits of the stream: it is -1, 0 or 1 for a word in the first,
/// second or last third of the range. Constant-time.
pub fn fill_ternary(expander: &mut impl Expander, out: &mut [i8]) {
    /// The smallest words of the second and of the last third of the range.
    const THIRDS: [u64; 2] = [u64::MAX / 3 + 1, u64::MAX / 3 * 2 + 1];
    let mut buffer = Scratch::<u64, { CHUNK_BYTES / 8 }>::new();
    for out in out.chunks_mut(CHUNK_BYTES / 8) {
        let words = &mut buffer[..out.len()];
        fill_uniform(expander, words);
        for (out, word) in out.iter_mut().zip(words) {
            let passed = THIRDS.map(|third| i8::from(*word >= third));
            *out = passed[0] + passed[1] - 1;
        }
    }
}

/// Overwrites `packed` with uniform coefficients of a GLWE secret, in the packed form of key
/// files. Binary ones are the bytes of the stream, ternary ones those of [`fill_ternary`].
/// Constant-time.
pub fn fill_packed_secret(secret: GlweSecret, expander: &mut impl Expander, packed: &mut [u8]) {
    match secret {
        GlweSecret::Binary => expander.fill(packed),
        GlweSecret::Ternary => {
            let mut coefficients = Scratch::<i8, { CHUNK_BYTES / 8 }>::new();
            for packed in packed.chunks_mut(CHUNK_BYTES / 32) {
                let coefficients = &mut coefficients[..4 * packed.len()];
                fill_ternary(expander, coefficients);
                pack_secret(secret, coefficients, packed);
            }
        }
    }
}

/// Overwrites `out` with uniform coefficients of a GLWE secret, by [`fill_binary`] or
/// [`fill_ternary`]. Constant-time.
pub fn fill_secret(secret: GlweSecret, expander: &mut impl Expander, out: &mut [i8]) {
    match secret {
        GlweSecret::Binary => fill_binary(expander, out),
        GlweSecret::Ternary => fill_ternary(expander, out),
    }
}
