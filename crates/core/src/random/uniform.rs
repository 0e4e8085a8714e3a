//! Uniform draws: torus elements for masks, bits for binary secrets.

use super::expander::Expander;
use super::keystream::Scratch;
use crate::simd::as_bytes_mut;
use crate::torus::Torus;

/// Bytes read from the expander at a time.
const CHUNK_BYTES: usize = 1024;

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

/// Overwrites `out` with uniform bits, one `0` or `1` per element: the
/// coefficients of a binary secret.
///
/// Element `i` is bit `i % 8`, counted from the least significant, of byte `i / 8`
/// of the bytes that this call consumes: `ceil(out.len() / 8)`, the unused bits of
/// the last byte discarded. Constant-time.
pub fn fill_binary(expander: &mut impl Expander, out: &mut [u8]) {
    let mut buffer = Scratch::<u8, { CHUNK_BYTES / 8 }>::new();
    for bits in out.chunks_mut(CHUNK_BYTES) {
        let bytes = &mut buffer[..bits.len().div_ceil(8)];
        expander.fill(bytes);
        for (bits, byte) in bits.chunks_mut(8).zip(bytes) {
            for (i, bit) in bits.iter_mut().enumerate() {
                *bit = (*byte >> i) & 1;
            }
        }
    }
}
