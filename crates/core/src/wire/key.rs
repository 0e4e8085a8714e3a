//! Secret and device keys in bytes.
//!
//! Both payloads begin with the canonical form of the parameters; behind it come the
//! coefficients of the GLWE key and, in a secret key only, those of the small LWE key,
//! eight coefficients a byte, the last byte padded with zeros. A device key's payload
//! is thus a prefix of a secret key's, without what a device has no use for.

use crate::parameters::{KeyFingerprint, PARAMETERS_BYTES, Parameters};
use crate::wire::bits::{packed_len, padding_is_zero};
use crate::wire::{ENVELOPE_BYTES, HEADER_BYTES, Kind, Message, WireError};

/// Number of bytes of the message of a device key.
pub fn device_key_len(parameters: &Parameters) -> usize {
    ENVELOPE_BYTES + PARAMETERS_BYTES + packed_len(parameters.big_lwe_dimension().0, 1)
}

/// Number of bytes of the message of a secret key.
pub fn secret_key_len(parameters: &Parameters) -> usize {
    device_key_len(parameters) + packed_len(parameters.lwe_dimension.0, 1)
}

/// Reads the parameters that any key message begins with, and gives what follows them.
/// The header's fingerprint must be theirs.
pub fn parameters_of<'a>(message: &Message<'a>) -> Result<(Parameters, &'a [u8]), WireError> {
    let Some((bytes, rest)) = message.payload.split_first_chunk::<PARAMETERS_BYTES>() else {
        return Err(WireError::PayloadLength {
            expected: PARAMETERS_BYTES as u64,
            found: message.payload.len() as u64,
        });
    };
    let parameters = Parameters::from_bytes(bytes)?;
    if parameters.fingerprint() != message.header.parameters {
        return Err(WireError::Field("parameter fingerprint"));
    }
    Ok((parameters, rest))
}

/// A device or secret key, still in the bytes that it came in. Not for logs.
pub struct KeyBytes<'a> {
    /// The parameters that the key is for.
    pub parameters: Parameters,
    /// The key set that it belongs to.
    pub key: KeyFingerprint,
    /// The packed coefficients of the GLWE key.
    pub glwe: &'a [u8],
    /// The packed coefficients of the small LWE key; none in a device key.
    pub lwe: &'a [u8],
}

impl<'a> KeyBytes<'a> {
    /// Reads a device key.
    pub fn parse_device_key(bytes: &'a [u8]) -> Result<Self, WireError> {
        Self::parse(bytes, Kind::DeviceKey, device_key_len)
    }

    /// Reads a secret key.
    pub fn parse_secret_key(bytes: &'a [u8]) -> Result<Self, WireError> {
        Self::parse(bytes, Kind::SecretKey, secret_key_len)
    }

    fn parse(
        bytes: &'a [u8],
        kind: Kind,
        len: fn(&Parameters) -> usize,
    ) -> Result<Self, WireError> {
        let message = Message::parse_only(bytes, kind)?;
        let (parameters, coefficients) = parameters_of(&message)?;
        if bytes.len() != len(&parameters) {
            return Err(WireError::PayloadLength {
                expected: (len(&parameters) - ENVELOPE_BYTES) as u64,
                found: message.payload.len() as u64,
            });
        }
        let (glwe, lwe) = coefficients.split_at(packed_len(parameters.big_lwe_dimension().0, 1));
        // The GLWE key fills its bytes: N is a multiple of 8.
        if !padding_is_zero(lwe, parameters.lwe_dimension.0, 1) {
            return Err(WireError::Field("padding"));
        }
        Ok(Self {
            parameters,
            key: message.header.key,
            glwe,
            lwe,
        })
    }
}

/// Writes the message of a key into `out`, which has [`device_key_len`] or
/// [`secret_key_len`] bytes. `coefficients` are packed GLWE and, for a secret key,
/// LWE coefficients.
#[cfg(feature = "alloc")]
pub(crate) fn write(
    kind: Kind,
    parameters: &Parameters,
    key: KeyFingerprint,
    coefficients: [&[u8]; 2],
    out: &mut [u8],
) -> Result<(), WireError> {
    let needed = ENVELOPE_BYTES
        + PARAMETERS_BYTES
        + coefficients
            .iter()
            .map(|part| packed_len(part.len(), 1))
            .sum::<usize>();
    if out.len() != needed {
        return Err(WireError::BufferTooSmall {
            needed,
            found: out.len(),
        });
    }
    let (head, mut rest) = out.split_at_mut(HEADER_BYTES + PARAMETERS_BYTES);
    head[HEADER_BYTES..].copy_from_slice(&parameters.to_bytes());
    for part in coefficients {
        let (packed, after) = rest.split_at_mut(packed_len(part.len(), 1));
        super::bits::pack_binary(part, packed);
        rest = after;
    }
    super::Header::new(kind, parameters.fingerprint(), key).seal(out)
}
