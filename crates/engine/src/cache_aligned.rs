//! Buffers at the boundaries of cache lines.

use aligned_vec::{AVec, ConstAlign};

/// A buffer in which no vector straddles two cache lines. At offsets of 16 bytes, where ordinary
/// allocations lie, a blind rotation takes a fifth longer.
pub(crate) type CacheAligned<T> = AVec<T, ConstAlign<64>>;

/// Returns a buffer of `len` elements, each equal to `value`.
pub(crate) fn cache_aligned<T: Copy>(value: T, len: usize) -> CacheAligned<T> {
    AVec::from_iter(64, std::iter::repeat_n(value, len))
}
