//! TUniform noise: bounded, and drawn with integer operations only.

use super::expander::Expander;
use super::keystream::Scratch;
use crate::torus::Torus;

/// Bytes read from the expander at a time.
const CHUNK_BYTES: usize = 1024;

/// Adds an independent TUniform(`bound_log2`) integer to every element.
///
/// A sample is made of one little-endian word of the stream, of 4 bytes if
/// `bound_log2 <= 30`, else of 8. Of its `bound_log2 + 2` low bits `r` it is
/// `(r >> 1) + (r & 1) - 2^bound_log2`: the sum of a uniform integer and a bit, so
/// that the two end points have half the mass of the rest.
///
/// `bound_log2` is at most 62. Constant-time.
pub(super) fn add<T: Torus>(bound_log2: u32, expander: &mut impl Expander, values: &mut [T]) {
    let mut buffer = Scratch::<u8, CHUNK_BYTES>::new();
    let mask = u64::MAX >> (62 - bound_log2);
    let shift = 1i64 << bound_log2;
    let sample = |word: u64| {
        let r = word & mask;
        T::from_i64(((r >> 1) + (r & 1)) as i64 - shift)
    };
    let width = if bound_log2 <= 30 { 4 } else { 8 };
    for values in values.chunks_mut(CHUNK_BYTES / width) {
        let bytes = &mut buffer[..values.len() * width];
        expander.fill(bytes);
        if width == 4 {
            for (value, word) in values.iter_mut().zip(bytes.as_chunks().0) {
                *value = value.add(sample(u64::from(u32::from_le_bytes(*word))));
            }
        } else {
            for (value, word) in values.iter_mut().zip(bytes.as_chunks().0) {
                *value = value.add(sample(u64::from_le_bytes(*word)));
            }
        }
    }
}
