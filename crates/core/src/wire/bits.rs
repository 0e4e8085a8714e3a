//! Truncated torus scalars as a stream of bits, least significant bit first.

use crate::torus::Torus;

/// Number of bytes of `count` values of `bits` bits. A count whose bits no memory
/// could hold gives a length that no buffer has.
pub const fn packed_len(count: usize, bits: u32) -> usize {
    count.saturating_mul(bits as usize).div_ceil(8)
}

/// Whether the bits behind `count` values of `bits` bits, up to the end of the last
/// byte, are zero, as the format wants them.
pub fn padding_is_zero(packed: &[u8], count: usize, bits: u32) -> bool {
    match (count % 8 * (bits as usize) % 8, packed.last()) {
        (0, _) | (_, None) => true,
        (used, Some(last)) => last >> used == 0,
    }
}

/// Writes the `bits` most significant bits of every value, rounded to nearest, and
/// zeros behind the last. Constant-time in the values.
///
/// # Panics
/// If `out` does not have [`packed_len`] bytes, or `bits` is not in `1..=T::BITS`.
pub fn pack_top_bits<T: Torus>(values: &[T], bits: u32, out: &mut [u8]) {
    assert!((1..=T::BITS).contains(&bits));
    assert_eq!(out.len(), packed_len(values.len(), bits));
    let mask = u64::MAX >> (64 - bits);
    let mut buffer = 0u128;
    let mut filled = 0;
    let mut at = 0;
    for value in values {
        buffer |= u128::from(value.round_to_bits(bits) & mask) << filled;
        filled += bits;
        while filled >= 8 {
            out[at] = buffer as u8;
            at += 1;
            buffer >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out[at] = buffer as u8;
    }
}

/// Reads what [`pack_top_bits`] wrote: every value with its `bits` most significant
/// bits, zeros below.
///
/// # Panics
/// If `packed` does not have [`packed_len`] bytes, or `bits` is not in `1..=T::BITS`.
pub fn unpack_top_bits<T: Torus>(packed: &[u8], bits: u32, values: &mut [T]) {
    assert!((1..=T::BITS).contains(&bits));
    assert_eq!(packed.len(), packed_len(values.len(), bits));
    let mask = u64::MAX >> (64 - bits);
    let mut bytes = packed.iter();
    let mut buffer = 0u128;
    let mut filled = 0;
    for value in values {
        while filled < bits {
            buffer |= u128::from(bytes.next().copied().unwrap_or(0)) << filled;
            filled += 8;
        }
        *value = T::from_top_bits(buffer as u64 & mask, bits);
        buffer >>= bits;
        filled -= bits;
    }
}

/// Packs coefficients 0 and 1, eight a byte. Constant-time in the values.
///
/// # Panics
/// If `out` does not have [`packed_len`]`(bits.len(), 1)` bytes.
pub fn pack_binary(bits: &[u8], out: &mut [u8]) {
    assert_eq!(out.len(), packed_len(bits.len(), 1));
    for (out, bits) in out.iter_mut().zip(bits.chunks(8)) {
        *out = bits
            .iter()
            .enumerate()
            .fold(0, |byte, (i, &bit)| byte | ((bit & 1) << i));
    }
}

/// Reads coefficient `index` of what [`pack_binary`] wrote.
///
/// # Panics
/// If `packed` ends before it.
pub fn binary_at(packed: &[u8], index: usize) -> u8 {
    (packed[index / 8] >> (index % 8)) & 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packing_keeps_the_rounded_top(values in proptest::collection::vec(any::<u64>(), 1..40), bits in 1u32..=64) {
            let mut packed = vec![0; packed_len(values.len(), bits)];
            pack_top_bits(&values, bits, &mut packed);
            let mut read = vec![0u64; values.len()];
            unpack_top_bits(&packed, bits, &mut read);
            for (&value, &kept) in values.iter().zip(&read) {
                let error = (value.wrapping_sub(kept) as i64).unsigned_abs();
                prop_assert!(bits == 64 && error == 0 || error <= 1 << (63 - bits));
            }
        }

        #[test]
        fn binary_round_trip(bits in proptest::collection::vec(0u8..2, 1..70)) {
            let mut packed = vec![0; packed_len(bits.len(), 1)];
            pack_binary(&bits, &mut packed);
            for (i, &bit) in bits.iter().enumerate() {
                prop_assert_eq!(binary_at(&packed, i), bit);
            }
        }
    }
}
