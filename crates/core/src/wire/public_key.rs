//! The bytes of device public keys: the parameters, then the bodies of k GLWE encryptions of
//! zero, N torus scalars each. The masks of row `j` are stream `j` of the header's
//! expander under the header's seed.

use crate::parameters::{KeyFingerprint, PARAMETERS_BYTES, Parameters};
use crate::random::{ExpanderKind, MaskSeed};
use crate::torus::Torus;
use crate::wire::key::parameters_of;
use crate::wire::{ENVELOPE_BYTES, Header, Kind, Message, WireError};

/// Returns the number of bytes of the message of a device public key.
pub fn device_public_key_len(parameters: &Parameters) -> usize {
    ENVELOPE_BYTES + PARAMETERS_BYTES + bodies_len(parameters)
}

fn bodies_len(parameters: &Parameters) -> usize {
    parameters.big_lwe_dimension().0 * (parameters.torus_bits() as usize / 8)
}

/// Makes the header of a device public key.
pub fn public_key_header(
    parameters: &Parameters,
    key: KeyFingerprint,
    expander: ExpanderKind,
    mask_seed: MaskSeed,
) -> Header {
    Header {
        polynomial_size: parameters.polynomial_size().get() as u32,
        dimension: parameters.glwe_dimension().0 as u32,
        torus_bits: parameters.torus_bits() as u8,
        expander: Some(expander),
        mask_seed,
        ..Header::new(Kind::DevicePublicKey, parameters.fingerprint(), key)
    }
}

/// A device public key, in the bytes that it was read from.
#[derive(Clone, Copy, Debug)]
pub struct PublicKeyBytes<'a> {
    /// The parameters that the key is for.
    pub parameters: Parameters,
    /// The key set that the key belongs to.
    pub key: KeyFingerprint,
    /// The expander of the masks.
    pub expander: ExpanderKind,
    /// The seed of the masks; the masks of row `j` are its stream `j`.
    pub mask_seed: MaskSeed,
    /// The bodies, row after row, as little-endian torus scalars.
    pub bodies: &'a [u8],
}

impl<'a> PublicKeyBytes<'a> {
    /// Reads a device public key.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let message = Message::parse_only(bytes, Kind::DevicePublicKey)?;
        let (parameters, bodies) = parameters_of(&message)?;
        let expected = bodies_len(&parameters);
        message.expect_length(PARAMETERS_BYTES + expected)?;
        let header = message.header;
        let expander = header.expander.ok_or(WireError::Field("expander"))?;
        let shape = public_key_header(&parameters, header.key, expander, header.mask_seed);
        for (field, is_right) in [
            (
                "polynomial size",
                header.polynomial_size == shape.polynomial_size,
            ),
            ("dimension", header.dimension == shape.dimension),
            ("torus bits", header.torus_bits == shape.torus_bits),
        ] {
            if !is_right {
                return Err(WireError::Field(field));
            }
        }
        Ok(Self {
            parameters,
            key: header.key,
            expander,
            mask_seed: header.mask_seed,
            bodies,
        })
    }
}

/// Reads little-endian torus scalars.
///
/// # Panics
/// If `bytes` does not have `T::BITS / 8` bytes for each place of `out`.
pub fn read_scalars<T: Torus>(bytes: &[u8], out: &mut [T]) {
    let width = T::BITS as usize / 8;
    assert_eq!(bytes.len(), out.len() * width);
    for (scalar, bytes) in out.iter_mut().zip(bytes.chunks_exact(width)) {
        let mut word = [0; 8];
        word[..width].copy_from_slice(bytes);
        *scalar = T::from_i64(i64::from_le_bytes(word));
    }
}
