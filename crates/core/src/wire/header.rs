//! The fixed header, and messages: header, payload and the checksum of both.
//!
//! The checksum comes last, so that a device can send a message while it makes it:
//! [`Header::to_bytes`] first, the payload as it is made, and [`Checksum`] over everything at
//! the end. [`Header::seal`] does the same around a payload that is complete.

use crate::memcheck::disclosed;
#[cfg(feature = "alloc")]
use crate::packing::SlotBits;
use crate::parameters::{KeyFingerprint, ParameterFingerprint, Parameters, PlaintextKind};
use crate::random::{ExpanderKind, MaskSeed};
use crate::wire::error::{WireError, require};
#[cfg(feature = "alloc")]
use crate::wire::glwe::MAX_ELEMENTS;
use crate::wire::kind::{FLAG_SEEDED, FORMAT_VERSION, Kind};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// The first four bytes of every message.
pub const MAGIC: [u8; 4] = *b"TSBC";
/// The number of bytes of a header.
pub const HEADER_BYTES: usize = 100;
/// The number of bytes of the checksum behind the payload.
pub const CHECKSUM_BYTES: usize = 4;
/// The number of bytes of a message besides its payload.
pub const ENVELOPE_BYTES: usize = HEADER_BYTES + CHECKSUM_BYTES;

/// The header of a message. Fields that a kind does not use are zero: a reader
/// refuses other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind of the payload.
    pub kind: Kind,
    /// The parameter set that the message belongs to.
    pub parameters: ParameterFingerprint,
    /// The key set that the message belongs to.
    pub key: KeyFingerprint,
    /// The polynomial size N of GLWE ciphertexts.
    pub polynomial_size: u32,
    /// The dimension: k of GLWE ciphertexts, n of LWE ciphertexts and server keys.
    pub dimension: u32,
    /// log2 q of the ciphertexts: 32 or 64.
    pub torus_bits: u8,
    /// The number of bits kept of each body coefficient. In a server key, of those in the rows of the body of the
    /// bootstrapping key; 0 if it is the number that the parameter set implies.
    pub body_bits: u8,
    /// The number of bits kept of each mask coefficient, if masks are sent. In a server key, of the body coefficients in
    /// the rows of masks of the bootstrapping key; 0 if it is the number of the rows of the body.
    pub mask_bits: u8,
    /// The form of the plaintexts.
    pub plaintext: Option<PlaintextKind>,
    /// The expander of the mask seed.
    pub expander: Option<ExpanderKind>,
    /// The number of message bits of a block.
    pub message_bits: u8,
    /// The number of carry bits of a block.
    pub carry_bits: u8,
    /// The number of plaintexts.
    pub element_count: u32,
    /// The seed of the masks.
    pub mask_seed: MaskSeed,
}

impl Header {
    /// Makes a header of `kind` for a parameter set and key set, with all other fields zero.
    pub fn new(kind: Kind, parameters: ParameterFingerprint, key: KeyFingerprint) -> Self {
        Self {
            kind,
            parameters,
            key,
            polynomial_size: 0,
            dimension: 0,
            torus_bits: 0,
            body_bits: 0,
            mask_bits: 0,
            plaintext: None,
            expander: None,
            message_bits: 0,
            carry_bits: 0,
            element_count: 0,
            mask_seed: MaskSeed([0; 32]),
        }
    }

    /// Returns the header of a message with a payload of `payload_len` bytes. The caller is responsible
    /// for the fields: readers refuse a message with a value in a field that the kind does not use.
    pub fn to_bytes(&self, payload_len: u64) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[0..4].copy_from_slice(&MAGIC);
        header[4..6].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[6] = self.kind as u8;
        header[7] = self.kind.flags();
        header[8..24].copy_from_slice(&self.parameters.0);
        header[24..40].copy_from_slice(&self.key.0);
        header[40..44].copy_from_slice(&self.polynomial_size.to_le_bytes());
        header[44..48].copy_from_slice(&self.dimension.to_le_bytes());
        header[48] = self.torus_bits;
        header[49] = self.body_bits;
        header[50] = self.plaintext.map_or(0, |kind| kind as u8);
        header[51] = self.expander.map_or(0, |kind| kind as u8);
        header[52] = self.message_bits;
        header[53] = self.carry_bits;
        header[54] = self.mask_bits;
        header[56..60].copy_from_slice(&self.element_count.to_le_bytes());
        header[60..92].copy_from_slice(&self.mask_seed.0);
        header[92..100].copy_from_slice(&payload_len.to_le_bytes());
        header
    }

    /// Completes a message in place: `message` has [`HEADER_BYTES`] free bytes, the payload, and
    /// [`CHECKSUM_BYTES`] free bytes.
    pub fn seal(&self, message: &mut [u8]) -> Result<(), WireError> {
        let Some(payload_len) = message.len().checked_sub(ENVELOPE_BYTES) else {
            return Err(WireError::BufferTooSmall {
                needed: ENVELOPE_BYTES,
                found: message.len(),
            });
        };
        let (covered, trailer) = message.split_at_mut(HEADER_BYTES + payload_len);
        covered[..HEADER_BYTES].copy_from_slice(&self.to_bytes(payload_len as u64));
        trailer.copy_from_slice(&checksum_of(self.kind, covered));
        Ok(())
    }

    /// Completes a message in a vector that has [`HEADER_BYTES`] free bytes and the payload, and returns it. A vector that
    /// has no room for the header is returned as it is.
    #[cfg(feature = "alloc")]
    pub fn sealed(&self, mut message: Vec<u8>) -> Vec<u8> {
        let _ = self.seal_vec(&mut message);
        message
    }

    /// Completes a message in a vector that has [`HEADER_BYTES`] free bytes and the payload.
    #[cfg(feature = "alloc")]
    pub fn seal_vec(&self, message: &mut Vec<u8>) -> Result<(), WireError> {
        message.extend([0; CHECKSUM_BYTES]);
        self.seal(message)
    }

    /// Reads a header and the length of its payload without checking the checksum, so that a reader
    /// knows what follows before the payload has arrived.
    pub fn parse(bytes: &[u8]) -> Result<(Self, u64), WireError> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            if !bytes.starts_with(&MAGIC[..bytes.len().min(4)]) {
                return Err(WireError::Magic);
            }
            return Err(WireError::Truncated {
                expected: HEADER_BYTES as u64,
                found: bytes.len() as u64,
            });
        };
        if header[0..4] != MAGIC {
            return Err(WireError::Magic);
        }
        let version = u16::from_le_bytes(field(header, 4));
        if version != FORMAT_VERSION {
            return Err(WireError::Version(version));
        }
        let kind = Kind::from_u8(header[6]).ok_or(WireError::UnknownKind(header[6]))?;
        let unknown_flags = header[7] & !kind.flags();
        if unknown_flags != 0 {
            return Err(WireError::Flags(unknown_flags));
        }
        if header[7] != kind.flags() {
            return Err(WireError::Field("flags"));
        }
        if header[55] != 0 {
            return Err(WireError::Field("reserved"));
        }
        let parsed = Self {
            kind,
            parameters: ParameterFingerprint(field(header, 8)),
            key: KeyFingerprint(field(header, 24)),
            polynomial_size: u32::from_le_bytes(field(header, 40)),
            dimension: u32::from_le_bytes(field(header, 44)),
            torus_bits: header[48],
            body_bits: header[49],
            plaintext: match header[50] {
                0 => None,
                1 => Some(PlaintextKind::Boolean),
                2 => Some(PlaintextKind::Radix),
                _ => return Err(WireError::Field("plaintext kind")),
            },
            expander: match header[51] {
                0 => None,
                id => Some(ExpanderKind::try_from(id)?),
            },
            message_bits: header[52],
            carry_bits: header[53],
            mask_bits: header[54],
            element_count: u32::from_le_bytes(field(header, 56)),
            mask_seed: MaskSeed(field(header, 60)),
        };
        parsed.check_unused()?;
        Ok((parsed, u64::from_le_bytes(field(header, 92))))
    }

    /// Checks that the fields which the kind does not use are zero, so that a
    /// message has only one form.
    fn check_unused(&self) -> Result<(), WireError> {
        let values = matches!(
            self.kind,
            Kind::CompactValues | Kind::LinearBodies | Kind::DeviceBodies
        );
        let packed = self.kind == Kind::PackedList;
        let cut = self.kind == Kind::CutLweList;
        let masked = values || packed || matches!(self.kind, Kind::GlweList | Kind::ColumnList);
        // Each segment of a column list has an encoding of its own.
        let columns = matches!(self.kind, Kind::SeededColumnList | Kind::ColumnList);
        let one_encoding = matches!(
            self.kind,
            Kind::GlweList | Kind::SeededGlweList | Kind::LweList
        );
        let ciphertexts = one_encoding || columns || values || packed || cut;
        let seeded = self.kind.flags() & FLAG_SEEDED != 0;
        let check = |used, is_zero, what| {
            if used || is_zero {
                Ok(())
            } else {
                Err(WireError::Field(what))
            }
        };
        check(
            seeded || masked,
            self.polynomial_size == 0,
            "polynomial size",
        )?;
        check(ciphertexts || seeded, self.dimension == 0, "dimension")?;
        check(ciphertexts || seeded, self.torus_bits == 0, "torus bits")?;
        check(
            one_encoding || packed || cut || self.kind == Kind::ServerKey,
            self.body_bits == 0,
            "body bits",
        )?;
        check(
            masked || cut || self.kind == Kind::ServerKey,
            self.mask_bits == 0,
            "mask bits",
        )?;
        check(one_encoding, self.plaintext.is_none(), "plaintext kind")?;
        check(seeded, self.expander.is_none(), "expander")?;
        check(
            one_encoding || packed || cut,
            self.message_bits == 0,
            "message bits",
        )?;
        check(one_encoding, self.carry_bits == 0, "carry bits")?;
        check(ciphertexts, self.element_count == 0, "element count")?;
        check(seeded, self.mask_seed.0 == [0; 32], "mask seed")
    }

    /// Checks that a message belongs to this parameter set and key set.
    pub fn check_belongs(
        &self,
        parameters: ParameterFingerprint,
        key: KeyFingerprint,
    ) -> Result<(), WireError> {
        if self.parameters != parameters {
            return Err(WireError::WrongParameters {
                expected: parameters,
                found: self.parameters,
            });
        }
        if self.key != key {
            return Err(WireError::WrongKey {
                expected: key,
                found: self.key,
            });
        }
        Ok(())
    }

    /// Checks that the fields which describe ciphertexts agree with `parameters`,
    /// because a fingerprint alone does not stop a forged header.
    pub(crate) fn check_shape(
        &self,
        parameters: &Parameters,
        dimension: usize,
        torus_bits: u32,
    ) -> Result<(), WireError> {
        require(self.dimension as usize == dimension, "dimension")?;
        require(u32::from(self.torus_bits) == torus_bits, "torus bits")?;
        require(
            self.plaintext == Some(parameters.plaintext()),
            "plaintext kind",
        )?;
        self.check_message_bits(parameters)?;
        require(
            u32::from(self.carry_bits) == parameters.carry_bits().0,
            "carry bits",
        )
    }

    /// Checks that the ciphertexts of a list are GLWE ciphertexts of `parameters`.
    pub(crate) fn check_glwe_shape(&self, parameters: &Parameters) -> Result<(), WireError> {
        let size = parameters.polynomial_size().get();
        require(self.polynomial_size as usize == size, "polynomial size")?;
        let dimension = parameters.glwe_dimension().0;
        require(self.dimension as usize == dimension, "dimension")?;
        let torus_bits = parameters.torus_bits();
        require(u32::from(self.torus_bits) == torus_bits, "torus bits")
    }

    /// Checks that blocks have the message bits of `parameters`.
    pub(crate) fn check_message_bits(&self, parameters: &Parameters) -> Result<(), WireError> {
        let expected = parameters.message_bits().0;
        require(u32::from(self.message_bits) == expected, "message bits")
    }

    /// Returns the bits that are kept of each mask coefficient, of a torus of `torus_bits`.
    #[cfg(feature = "alloc")]
    pub(crate) fn kept_mask_bits(&self, torus_bits: u32) -> Result<u32, WireError> {
        let bits = u32::from(self.mask_bits);
        require((1..=torus_bits).contains(&bits), "mask bits")?;
        Ok(bits)
    }

    /// Returns the bits that are kept of the coefficients of answers, of a torus of `torus_bits`.
    #[cfg(feature = "alloc")]
    pub(crate) fn slot_bits(&self, torus_bits: u32) -> Result<SlotBits, WireError> {
        let (mask, body) = (self.kept_mask_bits(torus_bits)?, self.body_bits.into());
        require((1..=torus_bits).contains(&body), "body bits")?;
        Ok(SlotBits { mask, body })
    }

    /// Returns the number of elements, at most [`MAX_ELEMENTS`].
    #[cfg(feature = "alloc")]
    pub(crate) fn bounded_count(&self) -> Result<usize, WireError> {
        let count = self.element_count as usize;
        require(count <= MAX_ELEMENTS, "element count")?;
        Ok(count)
    }
}

/// A message: its header and its payload, whose checksum has been verified.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the first message of `bytes`, and returns it with the bytes that follow.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let (header, payload_len) = Header::parse(bytes)?;
        let (message, rest) = payload_len
            .checked_add(ENVELOPE_BYTES as u64)
            .and_then(|len| usize::try_from(len).ok())
            .and_then(|len| bytes.split_at_checked(len))
            .ok_or(WireError::Truncated {
                expected: payload_len.saturating_add(ENVELOPE_BYTES as u64),
                found: bytes.len() as u64,
            })?;
        let (covered, stored) = message.split_at(message.len() - CHECKSUM_BYTES);
        let computed = checksum_of(header.kind, covered);
        let differences = computed.iter().zip(stored);
        let differences = differences.fold(0, |all, (a, b)| all | (a ^ b));
        if disclosed(differences != 0) {
            return Err(WireError::Checksum);
        }
        let payload = &covered[HEADER_BYTES..];
        Ok((Self { header, payload }, rest))
    }

    /// Reads bytes that must be one message of `kind` and nothing else.
    pub fn parse_only(bytes: &'a [u8], kind: Kind) -> Result<Self, WireError> {
        let (message, rest) = Self::parse(bytes)?;
        message.expect(kind)?;
        match rest.len() {
            0 => Ok(message),
            len => Err(WireError::TrailingBytes(len)),
        }
    }

    /// Checks that this is a message of `kind` under these parameters and this key, and returns its header.
    #[cfg(feature = "alloc")]
    pub(crate) fn expect_under(
        &self,
        kind: Kind,
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Header, WireError> {
        self.expect(kind)?;
        self.header.check_belongs(parameters.fingerprint(), key)?;
        Ok(self.header)
    }

    /// Returns the error of a payload that should have `expected` bytes.
    pub fn wrong_length(&self, expected: usize) -> WireError {
        WireError::PayloadLength {
            expected: expected as u64,
            found: self.payload.len() as u64,
        }
    }

    /// Checks that the payload has `expected` bytes.
    ///
    /// # Errors
    /// [`WireError::PayloadLength`] if it has another length.
    pub fn expect_length(&self, expected: usize) -> Result<(), WireError> {
        match self.payload.len() == expected {
            true => Ok(()),
            false => Err(self.wrong_length(expected)),
        }
    }

    /// Checks the kind.
    pub fn expect(&self, kind: Kind) -> Result<(), WireError> {
        if self.header.kind == kind {
            Ok(())
        } else {
            Err(WireError::WrongKind {
                expected: kind,
                found: self.header.kind,
            })
        }
    }
}

fn field<const LEN: usize>(bytes: &[u8], at: usize) -> [u8; LEN] {
    let mut out = [0; LEN];
    out.copy_from_slice(&bytes[at..at + LEN]);
    out
}

/// The checksum of a message, over header and payload in pieces of any length: CRC-32
/// (ISO-HDLC, as in zlib). It detects accidents; against attackers there is the TLS channel.
#[derive(Debug)]
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Starts the checksum of an empty message.
    #[expect(clippy::new_without_default, reason = "an empty checksum is no value")]
    pub fn new() -> Self {
        Self(crc32fast::Hasher::new())
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the bytes that end the message.
    pub fn finish(self) -> [u8; CHECKSUM_BYTES] {
        self.0.finalize().to_le_bytes()
    }
}

/// Returns the checksum of a message's header and payload. For keys that are secret it is computed without tables
/// and branches, in time that depends on the length only.
fn checksum_of(kind: Kind, covered: &[u8]) -> [u8; CHECKSUM_BYTES] {
    if kind.is_secret() {
        return crc32_of_secrets(covered).to_le_bytes();
    }
    let mut checksum = Checksum::new();
    checksum.update(covered);
    checksum.finish()
}

/// Returns the CRC-32 of [`Checksum`], bit by bit: the usual tables have a place in memory for each byte.
/// Constant-time.
fn crc32_of_secrets(bytes: &[u8]) -> u32 {
    /// The polynomial of CRC-32 (ISO-HDLC), its bits reversed.
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let register = bytes.iter().fold(!0, |register: u32, &byte| {
        (0..8).fold(register ^ u32::from(byte), |register, _| {
            (register >> 1) ^ (POLYNOMIAL & (register & 1).wrapping_neg())
        })
    });
    !register
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the catalogue of CRCs, and the crate that other messages use.
    #[test]
    fn both_ways_to_compute_a_checksum_agree() {
        assert_eq!(crc32_of_secrets(b"123456789"), 0xcbf4_3926);
        let bytes: [u8; 300] = core::array::from_fn(|i| (i * i / 3) as u8);
        for len in [0, 1, 2, 15, 16, 17, 255, 300] {
            let (usual, secret) = (Kind::Metadata, Kind::DeviceKey);
            assert_eq!(
                checksum_of(usual, &bytes[..len]),
                checksum_of(secret, &bytes[..len]),
                "{len}"
            );
        }
    }
}
