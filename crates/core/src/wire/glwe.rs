//! Seeded GLWE lists: what a device uploads.
//!
//! The payload holds, for every GLWE ciphertext in order, the used coefficients of
//! its body, [`body_bits`](Header::body_bits) bits each, packed least significant bit
//! first and padded with zeros to a byte. The mask of ciphertext `j` is stream `j` of the
//! header's expander under the header's seed. Only the last ciphertext may use fewer
//! than N coefficients.

use crate::parameters::{KeyFingerprint, Parameters};
use crate::random::{ExpanderKind, MaskSeed};
use crate::wire::bits::{packed_len, padding_is_zero};
use crate::wire::{ENVELOPE_BYTES, Header, Kind, Message, WireError};

/// Most plaintexts of one list: what keeps a forged header from asking for memory.
pub const MAX_ELEMENTS: usize = 1 << 22;

/// Number of GLWE ciphertexts that hold `element_count` plaintexts.
pub const fn ciphertext_count(element_count: usize, polynomial_size: usize) -> usize {
    element_count.div_ceil(polynomial_size)
}

/// Number of bytes of the whole message, header and checksum included; for counts above
/// [`MAX_ELEMENTS`], which no message has, possibly fewer.
///
/// # Panics
/// If `polynomial_size` is 0.
pub const fn message_len(element_count: usize, polynomial_size: usize, body_bits: u32) -> usize {
    payload_len(element_count, polynomial_size, body_bits).saturating_add(ENVELOPE_BYTES)
}

/// Number of bytes of the message without header and checksum.
///
/// # Panics
/// If `polynomial_size` is 0.
pub const fn payload_len(element_count: usize, polynomial_size: usize, body_bits: u32) -> usize {
    let full = element_count / polynomial_size;
    full.saturating_mul(packed_len(polynomial_size, body_bits))
        .saturating_add(packed_len(element_count % polynomial_size, body_bits))
}

/// The header of a list of `element_count` plaintexts.
pub fn header(
    parameters: &Parameters,
    key: KeyFingerprint,
    expander: ExpanderKind,
    mask_seed: MaskSeed,
    element_count: u32,
) -> Header {
    Header {
        polynomial_size: parameters.polynomial_size().get() as u32,
        dimension: parameters.glwe_dimension.0 as u32,
        torus_bits: parameters.torus_bits as u8,
        body_bits: parameters.body_bits as u8,
        plaintext: Some(parameters.plaintext),
        expander: Some(expander),
        message_bits: parameters.message_bits.0 as u8,
        carry_bits: parameters.carry_bits.0 as u8,
        element_count,
        mask_seed,
        ..Header::new(Kind::SeededGlweList, parameters.fingerprint(), key)
    }
}

/// A checked list, still in the bytes that it came in.
#[derive(Clone, Copy, Debug)]
pub struct SeededGlweList<'a> {
    header: Header,
    expander: ExpanderKind,
    payload: &'a [u8],
}

impl<'a> SeededGlweList<'a> {
    /// Checks that a message is a list under these parameters and this key, with
    /// every field as the parameters have it and a payload of the right length.
    pub fn check(
        message: Message<'a>,
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, WireError> {
        message.expect(Kind::SeededGlweList)?;
        let header = message.header;
        header.check_belongs(parameters.fingerprint(), key)?;
        header.check_shape(
            parameters,
            parameters.glwe_dimension.0,
            parameters.torus_bits,
        )?;
        let size = parameters.polynomial_size().get();
        if header.polynomial_size as usize != size {
            return Err(WireError::Field("polynomial size"));
        }
        if u32::from(header.body_bits) != parameters.body_bits {
            return Err(WireError::Field("body bits"));
        }
        let count = header.element_count as usize;
        if count == 0 || count > MAX_ELEMENTS {
            return Err(WireError::Field("element count"));
        }
        let expander = header.expander.ok_or(WireError::Field("expander"))?;
        let expected = payload_len(count, size, parameters.body_bits);
        if message.payload.len() != expected {
            return Err(WireError::PayloadLength {
                expected: expected as u64,
                found: message.payload.len() as u64,
            });
        }
        // Whole ciphertexts end with a byte, so only the last one has padding.
        if !padding_is_zero(message.payload, count % size, parameters.body_bits) {
            return Err(WireError::Field("padding"));
        }
        Ok(Self {
            header,
            expander,
            payload: message.payload,
        })
    }

    /// Number of plaintexts.
    pub fn element_count(&self) -> usize {
        self.header.element_count as usize
    }

    /// The expander of the masks.
    pub fn expander(&self) -> ExpanderKind {
        self.expander
    }

    /// The seed of the masks; ciphertext `j` is its stream `j`.
    pub fn mask_seed(&self) -> MaskSeed {
        self.header.mask_seed
    }

    /// The packed bodies, ciphertext after ciphertext: the number of coefficients
    /// used, and the bytes.
    pub fn bodies(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let size = self.header.polynomial_size as usize;
        let body_bits = u32::from(self.header.body_bits);
        let mut elements = self.element_count();
        self.payload
            .chunks(packed_len(size, body_bits))
            .map(move |packed| {
                let used = elements.min(size);
                elements -= used;
                (used, packed)
            })
    }
}
