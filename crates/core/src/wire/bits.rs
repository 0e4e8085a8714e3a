//! Truncated torus scalars as a stream of bits, least significant bit first.

use crate::memcheck::disclosed;
use crate::parameters::GlweSecret;
use crate::simd::{self, Isa};
use crate::torus::Torus;

pub use crate::packed_len::packed_len;

/// Returns whether the bits behind `count` values of `bits` bits, up to the end of the last
/// byte, are zero, as the format requires.
pub fn padding_is_zero(packed: &[u8], count: usize, bits: u32) -> bool {
    match (count % 8 * (bits as usize) % 8, packed.last()) {
        (0, _) | (_, None) => true,
        (used, Some(last)) => disclosed(last >> used == 0),
    }
}

/// Writes the `bits` most significant bits of every value, rounded to nearest, and
/// zeros behind the last. Constant-time in the values.
///
/// # Panics
/// If `out` does not have [`packed_len`] bytes, or `bits` is not in `1..=T::BITS`.
pub fn pack_top_bits<T: Torus>(values: &[T], bits: u32, out: &mut [u8]) {
    simd::pack_top_bits(Isa::detect(), values, bits, out);
}

/// Reads the output of [`pack_top_bits`]: every value gets its `bits` most significant
/// bits, and zeros below.
///
/// # Panics
/// If `packed` does not have [`packed_len`] bytes, or `bits` is not in `1..=T::BITS`.
pub fn unpack_top_bits<T: Torus>(packed: &[u8], bits: u32, values: &mut [T]) {
    simd::unpack_top_bits(Isa::detect(), packed, bits, values);
}

/// Adds what [`unpack_top_bits`] would write to the values, mod q.
///
/// # Panics
/// As [`unpack_top_bits`].
pub fn unpack_add<T: Torus>(packed: &[u8], bits: u32, values: &mut [T]) {
    simd::unpack_add(Isa::detect(), packed, bits, values);
}

/// Packs the coefficients of a secret key: 0 and 1 in a bit each, or -1, 0 and 1 in two's
/// complement of two bits. Constant-time in the values.
///
/// # Panics
/// If `out` does not have [`packed_len`] bytes for them.
pub fn pack_secret(secret: GlweSecret, coefficients: &[i8], out: &mut [u8]) {
    let bits = secret.packed_bits();
    assert_eq!(out.len(), packed_len(coefficients.len(), bits));
    let mask = (1 << bits) - 1;
    for (out, coefficients) in out.iter_mut().zip(coefficients.chunks(8 / bits as usize)) {
        *out = (0..8)
            .step_by(bits as usize)
            .zip(coefficients)
            .fold(0, |byte, (at, &s)| byte | ((s as u8 & mask) << at));
    }
}

/// Overwrites `out` with the first coefficients of the output of [`pack_secret`], each
/// converted by `number`. Constant-time.
///
/// # Panics
/// If `packed` does not have [`packed_len`] bytes for them.
pub fn unpack_secret<N>(
    secret: GlweSecret,
    packed: &[u8],
    out: &mut [N],
    number: impl Fn(i8) -> N,
) {
    let bits = secret.packed_bits();
    assert_eq!(packed.len(), packed_len(out.len(), bits));
    match secret {
        GlweSecret::Binary => {
            for (out, byte) in out.chunks_mut(8).zip(packed) {
                for (at, out) in out.iter_mut().enumerate() {
                    *out = number(((byte >> at) & 1) as i8);
                }
            }
        }
        GlweSecret::Ternary => {
            for (out, byte) in out.chunks_mut(4).zip(packed) {
                for (at, out) in out.iter_mut().enumerate() {
                    *out = number((byte << (6 - 2 * at)) as i8 >> 6);
                }
            }
        }
    }
}

/// Returns whether packed bits are coefficients of such a key; of two bits, `10` is not one.
/// Constant-time, except for the outcome.
pub fn is_packed_secret(secret: GlweSecret, packed: &[u8]) -> bool {
    match secret {
        GlweSecret::Binary => true,
        GlweSecret::Ternary => {
            let wrong = packed
                .iter()
                .fold(0, |wrong, &byte| wrong | (byte & 0xaa & !(byte << 1)));
            disclosed(wrong == 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bit by bit.
    fn reference_pack<T: Torus>(values: &[T], bits: u32) -> Vec<u8> {
        let mut out = vec![0; packed_len(values.len(), bits)];
        for (i, value) in values.iter().enumerate() {
            for bit in 0..bits as usize {
                let at = i * bits as usize + bit;
                out[at / 8] |= ((value.round_to_bits(bits) >> bit & 1) as u8) << (at % 8);
            }
        }
        out
    }

    fn check_packing<T: Torus>(values: &[T], bits: u32) {
        let expected = reference_pack(values, bits);
        for isa in Isa::available() {
            let mut packed = vec![0xff; expected.len()];
            simd::pack_top_bits(isa, values, bits, &mut packed);
            assert_eq!(packed, expected, "{} {} x {bits}", isa.name(), values.len());
        }
        for isa in Isa::available() {
            let mut read = vec![T::ONE; values.len()];
            simd::unpack_top_bits(isa, &expected, bits, &mut read);
            let mut sums = values.to_vec();
            simd::unpack_add(isa, &expected, bits, &mut sums);
            for ((value, kept), sum) in values.iter().zip(read).zip(sums) {
                let top = T::from_top_bits(value.round_to_bits(bits), bits);
                assert_eq!(kept, top, "{} {} x {bits}", isa.name(), values.len());
                assert_eq!(sum, value.add(top));
            }
        }
    }

    /// Every width, on both sides of whole blocks.
    #[test]
    fn packing_is_that_of_single_bits() {
        let mut word = 1u64;
        let values: Vec<u64> = (0..2 * 64 + 7)
            .map(|_| {
                word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                word ^ (word >> 29)
            })
            .chain([u64::MAX, 0, 1 << 63, u64::MAX >> 1])
            .collect();
        let narrow: Vec<u32> = values.iter().map(|&x| (x >> 32) as u32).collect();
        for bits in 1..=64 {
            for len in [0, 1, 7, 63, 64, 65, 128, 129, values.len()] {
                check_packing(&values[values.len() - len..], bits);
                if bits <= 32 {
                    check_packing(&narrow[values.len() - len..], bits);
                }
            }
        }
    }

    #[test]
    fn the_field_that_is_no_coefficient_is_found_at_every_place() {
        let key = [0b11_01_00_11, 0b00_01_11_01];
        assert!(is_packed_secret(GlweSecret::Ternary, &key));
        for place in 0..8 {
            let mut wrong = key;
            wrong[place / 4] &= !(3 << (2 * (place % 4)));
            wrong[place / 4] |= 2 << (2 * (place % 4));
            assert!(!is_packed_secret(GlweSecret::Ternary, &wrong), "{place}");
            assert!(is_packed_secret(GlweSecret::Binary, &wrong));
        }
    }

    proptest! {
        #[test]
        fn secret_round_trip(ternary in proptest::collection::vec(-1i8..2, 1..70)) {
            let binary: Vec<i8> = ternary.iter().map(|s| s & 1).collect();
            for (secret, all) in [(GlweSecret::Binary, binary), (GlweSecret::Ternary, ternary)] {
                let bits = secret.packed_bits();
                let mut packed = vec![0xff; packed_len(all.len(), bits)];
                pack_secret(secret, &all, &mut packed);
                // As the format has it: bit by bit.
                for (i, &s) in all.iter().enumerate() {
                    let at = i * bits as usize;
                    let field = packed[at / 8] >> (at % 8) & ((1 << bits) - 1);
                    prop_assert_eq!(field, s as u8 & ((1 << bits) - 1));
                }
                prop_assert!(padding_is_zero(&packed, all.len(), bits));
                prop_assert!(is_packed_secret(secret, &packed));
                let mut read = vec![7; all.len()];
                unpack_secret(secret, &packed, &mut read, |s| s);
                prop_assert_eq!(read, all);
            }
        }
    }
}
