//! The header that every object begins with, the objects in other objects too.

use super::SealError;

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = Header::BYTES;

/// What it begins with: two bytes that say whose it is, and its own size.
const MAGIC: [u8; 3] = [0x5e, 0xa1, HEADER_BYTES as u8];

/// The header of an object of any version, compressed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Major and minor version of SEAL's that wrote the object.
    pub version: (u8, u8),
    /// SEAL's number for how all behind the header is compressed: 0 not at all, 1 by zlib, 2 by
    /// Zstandard.
    pub compression: u8,
    /// Bytes of the object, this header's too.
    pub bytes: u64,
}

impl Header {
    /// Bytes of a header.
    pub const BYTES: usize = 16;

    /// The header of an uncompressed object of so many bytes, in the version that is written here.
    pub(super) const fn of_bytes(bytes: usize) -> Self {
        Self {
            version: (3, 7),
            compression: 0,
            bytes: bytes as u64,
        }
    }

    /// Reads the header that `bytes` begin with; whether the object is read here is another
    /// question.
    ///
    /// # Errors
    /// [`SealError::NotSeal`] where no object begins, or [`SealError::Length`] where a header may
    /// begin and is cut short.
    pub fn read(bytes: &[u8]) -> Result<Self, SealError> {
        let header = bytes
            .split_first_chunk::<8>()
            .and_then(|(fixed, rest)| Some((*fixed, *rest.first_chunk()?)));
        let Some((fixed, size)) = header else {
            let begins = bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic);
            return Err(match begins {
                true => SealError::Length {
                    needed: HEADER_BYTES as u64,
                    found: bytes.len(),
                },
                false => SealError::NotSeal,
            });
        };
        let [magic @ .., major, minor, compression, zero, zero_too] = fixed;
        if magic != MAGIC || [zero, zero_too] != [0; 2] {
            return Err(SealError::NotSeal);
        }
        Ok(Self {
            version: (major, minor),
            compression,
            bytes: u64::from_le_bytes(size),
        })
    }

    /// The header as it is stored.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut header = [0; Self::BYTES];
        header[..3].copy_from_slice(&MAGIC);
        (header[3], header[4]) = self.version;
        header[5] = self.compression;
        header[8..].copy_from_slice(&self.bytes.to_le_bytes());
        header
    }
}
