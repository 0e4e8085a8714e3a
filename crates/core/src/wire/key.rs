//! The bytes of secret keys and device keys.
//!
//! Every key begins with the canonical form of its parameters. In a device key its *binding*
//! follows: the key set that it belongs to, and the device that it was issued to. Then come
//! the coefficients of the GLWE key and, in a secret key only, those of the small LWE
//! key. A binary coefficient takes one bit, a ternary one two, and the last byte is padded with
//! zeros.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::device_issue::{DeviceId, DeviceIssue, Epoch};
#[cfg(feature = "alloc")]
use crate::parameters::GlweSecret;
use crate::parameters::{KeyFingerprint, PARAMETERS_BYTES, Parameters};
use crate::wire::bits::{is_packed_secret, packed_len, padding_is_zero};
use crate::wire::{ENVELOPE_BYTES, Kind, Message, WireError};

/// The number of bytes of a binding: the key set's fingerprint, a device's name, an epoch.
pub const BINDING_BYTES: usize = 36;

/// Returns the number of bytes of the message of a device key.
pub fn device_key_len(parameters: &Parameters) -> usize {
    ENVELOPE_BYTES + PARAMETERS_BYTES + BINDING_BYTES + parameters.packed_glwe_key_len()
}

/// Returns the number of bytes of the message of a secret key.
pub fn secret_key_len(parameters: &Parameters) -> usize {
    ENVELOPE_BYTES
        + PARAMETERS_BYTES
        + parameters.packed_glwe_key_len()
        + packed_len(parameters.lwe_dimension().0, 1)
}

/// Reads the parameters at the beginning of any key message, and returns them with what follows.
/// The header must have their fingerprint.
pub fn parameters_of<'a>(message: &Message<'a>) -> Result<(Parameters, &'a [u8]), WireError> {
    let Some((bytes, rest)) = message.payload.split_first_chunk::<PARAMETERS_BYTES>() else {
        return Err(message.wrong_length(PARAMETERS_BYTES));
    };
    let parameters = Parameters::from_bytes(bytes)?;
    if parameters.fingerprint() != message.header.parameters {
        return Err(WireError::Field("parameter fingerprint"));
    }
    Ok((parameters, rest))
}

/// The key set and the device that a device key, and the switch key beside it, belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The key set for whose server and owner the key is.
    pub key_set: KeyFingerprint,
    /// The device that the key was issued to; `None` for the key that all devices of a key set share,
    /// which is the key set's own.
    pub issue: Option<DeviceIssue>,
}

impl Binding {
    /// Returns the canonical form.
    pub fn to_bytes(&self) -> [u8; BINDING_BYTES] {
        let mut bytes = [0; BINDING_BYTES];
        bytes[..16].copy_from_slice(&self.key_set.0);
        if let Some(DeviceIssue { device, epoch }) = self.issue {
            bytes[16..32].copy_from_slice(device.as_bytes());
            bytes[32..].copy_from_slice(&epoch.get().to_le_bytes());
        }
        bytes
    }

    /// Reads the binding of the key `key`, and returns it with what follows.
    pub fn parse(key: KeyFingerprint, bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let Some((bytes, rest)) = bytes.split_first_chunk::<BINDING_BYTES>() else {
            return Err(WireError::PayloadLength {
                expected: (PARAMETERS_BYTES + BINDING_BYTES) as u64,
                found: (PARAMETERS_BYTES + bytes.len()) as u64,
            });
        };
        let mut key_set = KeyFingerprint::default();
        key_set.0.copy_from_slice(&bytes[..16]);
        let mut device = [0; 16];
        device.copy_from_slice(&bytes[16..32]);
        let mut epoch = [0; 4];
        epoch.copy_from_slice(&bytes[32..]);
        let issue = match (device, Epoch::new(u32::from_le_bytes(epoch))) {
            ([0, ..], None) if device == [0; 16] => None,
            (_, Some(epoch)) => Some(DeviceIssue {
                device: DeviceId::from_bytes(device).ok_or(WireError::Field("device"))?,
                epoch,
            }),
            (_, None) => return Err(WireError::Field("epoch")),
        };
        // An issued key has a fingerprint of its own, the shared key has that of the key set.
        if issue.is_none() != (key_set == key) {
            return Err(WireError::Field("key set fingerprint"));
        }
        Ok((Self { key_set, issue }, rest))
    }
}

/// A device key or secret key, in the bytes that it was read from. It must not be logged.
pub struct KeyBytes<'a> {
    /// The parameters that the key is for.
    pub parameters: Parameters,
    /// The fingerprint in the headers of messages under the key.
    pub key: KeyFingerprint,
    /// The binding of the key; a secret key is bound to itself.
    pub binding: Binding,
    /// The packed coefficients of the GLWE key.
    pub glwe: &'a [u8],
    /// The packed coefficients of the small LWE key; empty in a device key.
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
        let (parameters, rest) = parameters_of(&message)?;
        message.expect_length(len(&parameters) - ENVELOPE_BYTES)?;
        let key = message.header.key;
        let (binding, coefficients) = match kind {
            Kind::DeviceKey => Binding::parse(key, rest)?,
            _ => (
                Binding {
                    key_set: key,
                    issue: None,
                },
                rest,
            ),
        };
        let (glwe, lwe) = coefficients.split_at(parameters.packed_glwe_key_len());
        // The GLWE key fills its bytes, because N is a multiple of 8.
        if !padding_is_zero(lwe, parameters.lwe_dimension().0, 1) {
            return Err(WireError::Field("padding"));
        }
        if !is_packed_secret(parameters.glwe_secret(), glwe) {
            return Err(WireError::Field("GLWE key coefficient"));
        }
        Ok(Self {
            parameters,
            key,
            binding,
            glwe,
            lwe,
        })
    }
}

/// Makes the message of a key: its parameters, a binding if it is a device key, and the
/// packed coefficients of each part.
#[cfg(feature = "alloc")]
pub(crate) fn write(
    kind: Kind,
    parameters: &Parameters,
    key: KeyFingerprint,
    binding: Option<&Binding>,
    parts: &[(GlweSecret, &[i8])],
) -> Result<zeroize::Zeroizing<Vec<u8>>, WireError> {
    use crate::wire::HEADER_BYTES;

    let binding = binding.map(Binding::to_bytes);
    let binding = binding.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    let part_len =
        |&(secret, part): &(GlweSecret, &[i8])| packed_len(part.len(), secret.packed_bits());
    let packed: usize = parts.iter().map(part_len).sum();
    let len = ENVELOPE_BYTES + PARAMETERS_BYTES + binding.len() + packed;
    // The vector has its full length from the start: growing would leave copies behind.
    let mut out = zeroize::Zeroizing::new(alloc::vec![0; len]);
    let (clear, mut rest) = out[HEADER_BYTES..].split_at_mut(PARAMETERS_BYTES + binding.len());
    clear[..PARAMETERS_BYTES].copy_from_slice(&parameters.to_bytes());
    clear[PARAMETERS_BYTES..].copy_from_slice(binding);
    for part in parts {
        let (packed, after) = rest.split_at_mut(part_len(part));
        super::bits::pack_secret(part.0, part.1, packed);
        rest = after;
    }
    super::Header::new(kind, parameters.fingerprint(), key).seal(&mut out)?;
    Ok(out)
}
