//! Lists of small LWE ciphertexts, which a server returns as answers.
//!
//! The payload is `element_count` times `n + 1` little-endian u32: mask, then body.

use alloc::vec::Vec;

use crate::lwe::LweCiphertext;
use crate::parameters::{KeyFingerprint, Parameters};
use crate::wire::{ENVELOPE_BYTES, HEADER_BYTES, Header, Kind, Message, WireError, require};

/// Makes the message of a list of ciphertexts under the small LWE key.
///
/// # Panics
/// If a ciphertext has another dimension than the parameters say, or there are more
/// than 2^32 - 1.
pub fn write(
    parameters: &Parameters,
    key: KeyFingerprint,
    ciphertexts: &[LweCiphertext<u32>],
) -> Vec<u8> {
    let dimension = parameters.lwe_dimension();
    let count = u32::try_from(ciphertexts.len()).expect("fewer than 2^32 ciphertexts");
    let mut message =
        Vec::with_capacity(ENVELOPE_BYTES + ciphertexts.len() * (dimension.0 + 1) * 4);
    message.resize(HEADER_BYTES, 0);
    for ciphertext in ciphertexts {
        assert_eq!(ciphertext.dimension(), dimension);
        for limb in ciphertext.as_slice() {
            message.extend_from_slice(&limb.to_le_bytes());
        }
    }
    let header = Header {
        dimension: dimension.0 as u32,
        torus_bits: 32,
        body_bits: 32,
        plaintext: Some(parameters.plaintext()),
        message_bits: parameters.message_bits().0 as u8,
        carry_bits: parameters.carry_bits().0 as u8,
        element_count: count,
        ..Header::new(Kind::LweList, parameters.fingerprint(), key)
    };
    header.sealed(message)
}

/// Reads and checks the message of a list of ciphertexts.
pub fn read(
    message: Message<'_>,
    parameters: &Parameters,
    key: KeyFingerprint,
) -> Result<Vec<LweCiphertext<u32>>, WireError> {
    let header = message.expect_under(Kind::LweList, parameters, key)?;
    header.check_shape(parameters, parameters.lwe_dimension().0, 32)?;
    require(header.body_bits == 32, "body bits")?;
    let bytes_each = (parameters.lwe_dimension().0 + 1) * 4;
    let expected = u64::from(header.element_count) * bytes_each as u64;
    if message.payload.len() as u64 != expected {
        return Err(WireError::PayloadLength {
            expected,
            found: message.payload.len() as u64,
        });
    }
    Ok(message
        .payload
        .chunks_exact(bytes_each)
        .filter_map(|bytes| {
            let (limbs, _) = bytes.as_chunks::<4>();
            LweCiphertext::from_vec(limbs.iter().map(|&limb| u32::from_le_bytes(limb)).collect())
        })
        .collect())
}
