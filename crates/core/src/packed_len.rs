//! The length of packed values, which parameters, the vector kernels and the wire format calculate.

/// Returns the number of bytes of `count` values of `bits` bits, which is `usize::MAX / 8` or more,
/// and so the length of no buffer, if the number of bits overflows.
pub const fn packed_len(count: usize, bits: u32) -> usize {
    count.saturating_mul(bits as usize).div_ceil(8)
}
