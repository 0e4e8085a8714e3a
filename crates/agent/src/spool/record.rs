//! The file of a batch: a header that tells what it is and how far its sources were read, and the
//! upload as it will be sent.
//!
//! | offset | length | content |
//! |---|---|---|
//! | 0 | 8 | `TSBSPOOL` |
//! | 8 | 2 | version, 1 |
//! | 10 | 2 | length of the cursor, at most 4096 |
//! | 12 | 4 | rows |
//! | 16 | 8 | sequence number |
//! | 24 | 8 | when it was encrypted, in seconds since 1970 |
//! | 32 | 8 | length of the upload |
//! | 40 | 32 | BLAKE3 hash of the upload |
//! | 72 | 4 | CRC-32 of bytes 0 to 71 and the cursor |
//! | 76 | | the cursor, then the upload |
//!
//! Integers are unsigned and little-endian. When the newest batch is removed, its header alone,
//! with an upload of 0 bytes, stays in the file `position`.

const MAGIC: &[u8; 8] = b"TSBSPOOL";
const VERSION: u16 = 1;
/// The number of bytes before the cursor.
pub(crate) const FIXED_BYTES: usize = 76;
/// The longest cursor in bytes.
pub(crate) const MAX_CURSOR: usize = 4096;

/// The header of a spool file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The number of the batch.
    pub sequence: u64,
    /// The number of its rows.
    pub rows: u32,
    /// The time at which it was encrypted, in seconds since 1970.
    pub created: u64,
    /// The length of the upload.
    pub len: u64,
    /// Its BLAKE3 hash.
    pub hash: [u8; 32],
    /// The cursor of its sources.
    pub cursor: Vec<u8>,
}

/// Bytes that are no header of a spool file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The bytes begin otherwise.
    #[error("it is no file of a spool")]
    Magic,
    /// The header has another version.
    #[error("it has version {0}, and this program knows version {VERSION}")]
    Version(u16),
    /// There are too few bytes, or others than were written.
    #[error("its header is damaged")]
    Damaged,
}

impl Header {
    /// Returns the bytes of the header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let cursor = &self.cursor[..self.cursor.len().min(MAX_CURSOR)];
        let mut bytes = Vec::with_capacity(FIXED_BYTES + cursor.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(cursor.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&self.rows.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.created.to_le_bytes());
        bytes.extend_from_slice(&self.len.to_le_bytes());
        bytes.extend_from_slice(&self.hash);
        let checksum = checksum(&bytes, cursor);
        bytes.extend_from_slice(&checksum);
        bytes.extend_from_slice(cursor);
        bytes
    }

    /// Reads the header at the beginning of `bytes`. Returns the header and its length.
    ///
    /// # Errors
    /// If the bytes are not what [`Header::to_bytes`] wrote.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), HeaderError> {
        let mut rest = bytes;
        if !bytes.starts_with(MAGIC) {
            return Err(HeaderError::Magic);
        }
        rest = &rest[MAGIC.len()..];
        let version = u16::from_le_bytes(take(&mut rest)?);
        if version != VERSION {
            return Err(HeaderError::Version(version));
        }
        let cursor_len = usize::from(u16::from_le_bytes(take(&mut rest)?));
        let rows = u32::from_le_bytes(take(&mut rest)?);
        let sequence = u64::from_le_bytes(take(&mut rest)?);
        let created = u64::from_le_bytes(take(&mut rest)?);
        let len = u64::from_le_bytes(take(&mut rest)?);
        let hash = take(&mut rest)?;
        let expected: [u8; 4] = take(&mut rest)?;
        let cursor = rest.get(..cursor_len).ok_or(HeaderError::Damaged)?;
        let fixed = &bytes[..FIXED_BYTES - expected.len()];
        if cursor_len > MAX_CURSOR || checksum(fixed, cursor) != expected {
            return Err(HeaderError::Damaged);
        }
        let header = Self {
            sequence,
            rows,
            created,
            len,
            hash,
            cursor: cursor.to_vec(),
        };
        Ok((header, FIXED_BYTES + cursor_len))
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], HeaderError> {
    let (first, others) = rest.split_first_chunk().ok_or(HeaderError::Damaged)?;
    *rest = others;
    Ok(*first)
}

fn checksum(fixed: &[u8], cursor: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(fixed);
    hasher.update(cursor);
    hasher.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            sequence: 0x0102_0304,
            rows: 60,
            created: 1_767_225_600,
            len: 70_000,
            hash: [0xab; 32],
            cursor: vec![1, 2, 3],
        }
    }

    #[test]
    fn golden_bytes() {
        let mut expected = b"TSBSPOOL\x01\0\x03\0\x3c\0\0\0\x04\x03\x02\x01\0\0\0\0".to_vec();
        expected.extend_from_slice(&[0x00, 0xb9, 0x55, 0x69, 0, 0, 0, 0]);
        expected.extend_from_slice(&[0x70, 0x11, 0x01, 0, 0, 0, 0, 0]);
        expected.extend_from_slice(&[0xab; 32]);
        let crc = {
            let all = [&expected[..], &[1, 2, 3]].concat();
            crc32fast::hash(&all).to_le_bytes()
        };
        expected.extend_from_slice(&crc);
        expected.extend_from_slice(&[1, 2, 3]);
        assert_eq!(header().to_bytes(), expected);
        assert_eq!(Header::parse(&expected), Ok((header(), 79)));
        // The upload follows.
        expected.push(9);
        assert_eq!(Header::parse(&expected), Ok((header(), 79)));
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let bytes = header().to_bytes();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::parse(&flipped).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Header::parse(&bytes[..len]).is_err(), "{len} bytes");
        }
    }
}
