//! TUniform noise: bounded, and drawn with integer operations only.

use super::expander::Expander;
use super::keystream::Scratch;
use crate::simd::{Isa, dispatch};
use crate::torus::Torus;

/// The number of bytes read from the expander at a time: two of the largest groups of blocks where
/// expanders have vectors.
const CHUNK_BYTES: usize = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    2048
} else {
    512
};

/// Adds an independent TUniform(`bound_log2`) integer to every element.
///
/// A sample is made from one little-endian word of the stream, of 2 bytes if
/// `bound_log2 <= 14`, of 4 if `bound_log2 <= 30`, else of 8. With the `bound_log2 + 2`
/// low bits `r` of the word it is `(r >> 1) + (r & 1) - 2^bound_log2`: the sum of a uniform
/// integer and a bit, so that the two end points have half the mass of the rest.
///
/// `bound_log2` is at most 62. `bytes` is memory, of any length, which is used if it has at least [`CHUNK_BYTES`]. Constant-time.
pub(super) fn add<T: Torus>(
    isa: Isa,
    bound_log2: u32,
    expander: &mut impl Expander,
    values: &mut [T],
    bytes: &mut [u8],
) {
    if bytes.len() < CHUNK_BYTES {
        let mut bytes = Scratch::<u8, CHUNK_BYTES>::new();
        return add_with(isa, bound_log2, expander, values, &mut bytes[..]);
    }
    add_with(isa, bound_log2, expander, values, bytes);
}

/// Does the same with as many words at a time as have room in `buffer`: at least one.
fn add_with<T: Torus>(
    isa: Isa,
    bound_log2: u32,
    expander: &mut impl Expander,
    values: &mut [T],
    buffer: &mut [u8],
) {
    let width = match bound_log2 {
        0..=14 => 2,
        15..=30 => 4,
        _ => 8,
    };
    for values in values.chunks_mut(buffer.len() / width) {
        let bytes = &mut buffer[..values.len() * width];
        expander.fill(bytes);
        let bytes = &*bytes;
        dispatch!(isa, |_simd| match width {
            2 => add_narrow(bound_log2, bytes, values),
            4 => add_middle(bound_log2, bytes, values),
            _ => add_wide(bound_log2, bytes, values),
        });
    }
}

/// Defines the loop for words of one width. A sample fits the signed integer of that width, and
/// the mask is made by shifting the largest unsigned integer of that width.
macro_rules! add_words {
    ($name:ident, $word:ty, $signed:ty) => {
        #[inline(always)]
        fn $name<T: Torus>(bound_log2: u32, bytes: &[u8], values: &mut [T]) {
            let mask = <$word>::MAX >> (<$word>::BITS - 2 - bound_log2);
            let shift: $word = 1 << bound_log2;
            for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
                let r = <$word>::from_le_bytes(*bytes) & mask;
                let sample = ((r >> 1) + (r & 1)).wrapping_sub(shift) as $signed;
                *value = value.add(T::from_i64(sample.into()));
            }
        }
    };
}

add_words!(add_narrow, u16, i16);
add_words!(add_middle, u32, i32);
add_words!(add_wide, u64, i64);
