//! The header of every object, including objects inside other objects.

use super::error::SealError;

/// The number of bytes of a header.
pub(super) const HEADER_BYTES: usize = Header::BYTES;

/// The first bytes of a header: SEAL's magic number and the size of the header.
const MAGIC: [u8; 3] = [0x5e, 0xa1, HEADER_BYTES as u8];

/// Returns the header of an object of `total` bytes.
pub(super) fn header(total: usize) -> [u8; HEADER_BYTES] {
    Header::of_bytes(total).to_bytes()
}

/// The header of an object of any version, compressed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The major and minor version of SEAL that wrote the object.
    pub version: (u8, u8),
    /// SEAL's number for the compression of everything behind the header: 0 for none, 1 for zlib, 2 for
    /// Zstandard.
    pub compression: u8,
    /// The number of bytes of the object, including this header.
    pub bytes: u64,
}

impl Header {
    /// The number of bytes of a header.
    pub const BYTES: usize = 16;

    /// Makes the header of an uncompressed object of `bytes` bytes, in the version that is written here.
    pub(super) const fn of_bytes(bytes: usize) -> Self {
        Self {
            version: (3, 7),
            compression: 0,
            bytes: bytes as u64,
        }
    }

    /// Reads the header at the beginning of `bytes`. It does not check whether this crate can read the
    /// object.
    ///
    /// # Errors
    /// [`SealError::NotSeal`] if the bytes are not a header, [`SealError::Length`] if they may be the
    /// beginning of one that is cut short.
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

    /// Returns the header as it is stored.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut header = [0; Self::BYTES];
        header[..3].copy_from_slice(&MAGIC);
        (header[3], header[4]) = self.version;
        header[5] = self.compression;
        header[8..].copy_from_slice(&self.bytes.to_le_bytes());
        header
    }
}
