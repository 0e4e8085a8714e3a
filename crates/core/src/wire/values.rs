//! Lists of compact codes that a server has added up: GLWE ciphertexts under the evaluation key, each
//! with some codes in its first coefficients.
//!
//! The payload is a table, the number of ciphertexts and then the number of codes of each as u32, and
//! then for every ciphertext its `k · N` mask coefficients and its used body coefficients, each cut to
//! the header's [`mask_bits`](Header::mask_bits) top bits, both rounded and padded to a byte.

use alloc::vec::Vec;

use crate::glwe::GlweCiphertext;
use crate::parameters::{KeyFingerprint, Parameters};
use crate::wire::bits::{pack_top_bits, packed_len, padding_is_zero, unpack_top_bits};
use crate::wire::{HEADER_BYTES, Header, Kind, Message, WireError, require};

/// The number of bytes of a number in the table.
const NUMBER_BYTES: usize = 4;

/// Returns the number of bytes of a ciphertext with `count` codes whose coefficients are cut to `bits` bits, without
/// its entry in the table.
pub fn ciphertext_len(parameters: &Parameters, count: usize, bits: u32) -> usize {
    let mask_len = parameters.glwe_dimension().0 * parameters.polynomial_size().get();
    packed_len(mask_len, bits) + packed_len(count, bits)
}

/// Returns the message of ciphertexts, each with the number of its codes, whose coefficients are cut to
/// `bits` bits.
///
/// # Panics
/// If a ciphertext is of other parameters or has fewer coefficients than codes, or `bits` is not in
/// `1..=64`.
pub fn write(
    parameters: &Parameters,
    key: KeyFingerprint,
    bits: u32,
    ciphertexts: &[(usize, &GlweCiphertext<u64>)],
) -> Vec<u8> {
    let size = parameters.polynomial_size().get();
    let mask_len = parameters.glwe_dimension().0 * size;
    let mut message = alloc::vec![0; HEADER_BYTES];
    let number = |number: usize| (number as u32).to_le_bytes();
    message.extend(number(ciphertexts.len()));
    for (count, _) in ciphertexts {
        message.extend(number(*count));
    }
    let mut element_count = 0;
    for (count, ciphertext) in ciphertexts {
        let (masks, body) = ciphertext.as_slice().split_at(mask_len);
        for values in [masks, &body[..*count]] {
            let start = message.len();
            message.resize(start + packed_len(values.len(), bits), 0);
            pack_top_bits(values, bits, &mut message[start..]);
        }
        element_count += count;
    }
    let header = Header {
        polynomial_size: size as u32,
        dimension: parameters.glwe_dimension().0 as u32,
        torus_bits: parameters.torus_bits() as u8,
        mask_bits: bits as u8,
        element_count: element_count as u32,
        ..Header::new(Kind::CompactValues, parameters.fingerprint(), key)
    };
    header.sealed(message)
}

/// Reads a message that [`write()`] made under these parameters and this key. The coefficients behind the
/// codes of a ciphertext's body are 0.
///
/// # Errors
/// The first defect.
pub fn read(
    message: Message<'_>,
    parameters: &Parameters,
    key: KeyFingerprint,
) -> Result<Vec<(usize, GlweCiphertext<u64>)>, WireError> {
    let header = message.expect_under(Kind::CompactValues, parameters, key)?;
    let (size, k) = (parameters.polynomial_size(), parameters.glwe_dimension().0);
    require(parameters.torus_bits() == u64::BITS, "kind")?;
    header.check_glwe_shape(parameters)?;
    let bits = header.kept_mask_bits(u64::BITS)?;
    let number = |bytes: &[u8; NUMBER_BYTES]| u32::from_le_bytes(*bytes) as usize;
    let (ciphertext_count, rest) = message
        .payload
        .split_first_chunk()
        .ok_or(message.wrong_length(NUMBER_BYTES))?;
    let table_len = number(ciphertext_count).saturating_mul(NUMBER_BYTES);
    let (table, mut rest) = rest
        .split_at_checked(table_len)
        .ok_or(message.wrong_length(table_len.saturating_add(NUMBER_BYTES)))?;
    let counts = table.as_chunks().0.iter().map(number);
    let mask_len = k * size.get();
    let len_of = |count| ciphertext_len(parameters, count, bits);
    let (mut elements, mut expected) = (0usize, NUMBER_BYTES + table_len);
    for count in counts.clone() {
        require((1..=size.get()).contains(&count), "element count")?;
        elements = elements.saturating_add(count);
        expected = expected.saturating_add(len_of(count));
    }
    require(elements == header.bounded_count()?, "element count")?;
    message.expect_length(expected)?;
    let mut ciphertexts = Vec::with_capacity(table.len() / NUMBER_BYTES);
    for count in counts {
        let mut words = alloc::vec![0; mask_len + size.get()];
        let (masks, body) = words.split_at_mut(mask_len);
        for values in [masks, &mut body[..count]] {
            let (packed, behind) = rest
                .split_at_checked(packed_len(values.len(), bits))
                .ok_or(message.wrong_length(expected))?;
            require(padding_is_zero(packed, values.len(), bits), "padding")?;
            unpack_top_bits(packed, bits, values);
            rest = behind;
        }
        let ciphertext = GlweCiphertext::from_vec(words, size);
        ciphertexts.push((count, ciphertext.ok_or(WireError::Field("dimension"))?));
    }
    Ok(ciphertexts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_sets::MESSAGE_2_CARRY_2;
    use crate::wire::CHECKSUM_BYTES;

    const KEY: KeyFingerprint = KeyFingerprint([7; 16]);

    fn ciphertext(parameters: &Parameters, factor: u64) -> GlweCiphertext<u64> {
        let size = parameters.polynomial_size();
        let words = 0..2 * size.get() as u64;
        let words = words.map(|i| i.wrapping_mul(factor) ^ factor << 40);
        GlweCiphertext::from_vec(words.collect(), size).unwrap()
    }

    #[test]
    fn what_is_written_is_read_up_to_the_rounding() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let [a, b] =
            [0x9e37_79b9_7f4a_7c15, 0x2545_f491_4f6c_dd1d].map(|f| ciphertext(&parameters, f));
        let bits = 39;
        let message = write(&parameters, KEY, bits, &[(1, &a), (700, &b)]);
        let payload = 12 + 2 * (2048 * 39 / 8) + 5 + (700 * 39usize).div_ceil(8);
        assert_eq!(message.len(), HEADER_BYTES + payload + CHECKSUM_BYTES);
        let parsed = Message::parse_only(&message, Kind::CompactValues).unwrap();
        let read = read(parsed, &parameters, KEY).unwrap();
        for ((count, found), (written, original)) in read.iter().zip([(1, &a), (700, &b)]) {
            assert_eq!(*count, written);
            let used = 2048 + written;
            let words = found.as_slice().iter().zip(original.as_slice());
            for (found, original) in words.take(used) {
                assert!((found.wrapping_sub(*original) as i64).unsigned_abs() <= 1 << (63 - bits));
            }
            assert!(found.as_slice()[used..].iter().all(|&word| word == 0));
        }
    }

    #[test]
    fn what_is_forged_is_refused() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let a = ciphertext(&parameters, 3);
        let good = write(&parameters, KEY, 39, &[(3, &a)]);
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good[..good.len() - CHECKSUM_BYTES].to_vec();
            change(&mut bytes);
            let (mut header, _) = Header::parse(&good).unwrap();
            header.element_count = u32::from_le_bytes(bytes[56..60].try_into().unwrap());
            header.mask_bits = bytes[54];
            header.seal_vec(&mut bytes).unwrap();
            read(Message::parse(&bytes).unwrap().0, &parameters, KEY).unwrap_err()
        };
        let field = WireError::Field;
        assert_eq!(refused(&|bytes| bytes[56] = 4), field("element count"));
        assert_eq!(refused(&|bytes| bytes[54] = 0), field("mask bits"));
        assert_eq!(refused(&|bytes| bytes[54] = 65), field("mask bits"));
        assert_eq!(
            refused(&|bytes| bytes[HEADER_BYTES + 4] = 0),
            field("element count")
        );
        let wrong_length = |error| matches!(error, WireError::PayloadLength { .. });
        assert!(wrong_length(refused(
            &|bytes| bytes[HEADER_BYTES + 3] = 0xff
        )));
        assert!(wrong_length(refused(&|bytes| bytes.push(0))));
        assert!(wrong_length(refused(
            &|bytes| bytes.truncate(HEADER_BYTES + 2)
        )));
        let last = good.len() - CHECKSUM_BYTES - 1;
        assert_eq!(refused(&|bytes| bytes[last] |= 0x80), field("padding"));
        let parsed = Message::parse(&good).unwrap().0;
        assert!(matches!(
            read(parsed, &parameters, KeyFingerprint([8; 16])),
            Err(WireError::WrongKey { .. })
        ));
    }
}
