//! The counter of frames in the spool's directory: the limit below which counters may be used, written ahead.
//!
//! | offset | length | content |
//! |---|---|---|
//! | 0 | 8 | `TSBCOUNT` |
//! | 8 | 4 | the limit |
//! | 12 | 4 | CRC-32 of bytes 0 to 11 |
//!
//! Integers are unsigned and little-endian. The file is replaced in one step and flushed with its directory. Its name
//! tells keys apart, so that the counter of one key never is another's.

use std::fs;
use std::io;
use std::path::PathBuf;

use tfhe_sbc_frames::{BoardKey, CounterStore};
use tfhe_sbc_transport::files::{self, FileError};

use super::Spool;

const MAGIC: &[u8; 8] = b"TSBCOUNT";
const BYTES: usize = 16;
/// The context of the derivation of a file's name from a key (BLAKE3's mode `derive_key`), so that the hash is of no
/// use elsewhere.
const CONTEXT: &str = "tfhe-sbc agent, name of the counter of frames, 2026";
/// The bytes of the hash in the name.
const NAME_BYTES: usize = 8;

/// The file of the counter of one key.
pub(crate) struct CounterFile {
    path: PathBuf,
}

/// The reason why the counter cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct CounterFileError(#[from] FileError);

impl CounterFile {
    /// Returns the file for a key in a spool, which this process has locked.
    pub(crate) fn new(spool: &Spool, key: &BoardKey) -> Self {
        // One-way, so that the name says nothing about the key.
        let hash = blake3::derive_key(CONTEXT, key.as_bytes());
        let name = hash.iter().take(NAME_BYTES);
        let name: String = name.map(|byte| format!("{byte:02x}")).collect();
        Self {
            path: spool.directory.join(format!("frames-{name}.counter")),
        }
    }
}

impl CounterStore for CounterFile {
    type Error = CounterFileError;

    fn read(&mut self) -> Result<Option<u32>, CounterFileError> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(limit_in(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::io("read", &self.path)(error).into()),
        }
    }

    fn write(&mut self, limit: u32) -> Result<(), CounterFileError> {
        Ok(files::write_atomic(&self.path, &bytes_of(limit))?)
    }
}

fn bytes_of(limit: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&limit.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// Returns the limit in a file. `None` if the file is damaged: a board that does not know its counter uses none.
fn limit_in(bytes: &[u8]) -> Option<u32> {
    let (stated, checksum) = bytes.split_last_chunk()?;
    let limit = stated.strip_prefix(MAGIC)?.try_into().ok()?;
    (crc32fast::hash(stated) == u32::from_le_bytes(*checksum)).then(|| u32::from_le_bytes(limit))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::WhenFull;

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let bytes = bytes_of(0x0102_0304);
        assert_eq!(bytes[..12], *b"TSBCOUNT\x04\x03\x02\x01");
        assert_eq!(limit_in(&bytes), Some(0x0102_0304));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(limit_in(&flipped), None, "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert_eq!(limit_in(&bytes[..len]), None, "{len} bytes");
        }
        assert_eq!(limit_in(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn each_key_has_a_counter_of_its_own() {
        let desk = tempfile::tempdir().unwrap();
        let metrics = Arc::default();
        let spool = Spool::open(desk.path(), 1 << 20, WhenFull::Block, metrics).unwrap();
        let file = |byte| CounterFile::new(&spool, &BoardKey::from_bytes([byte; 32]));
        assert_eq!(file(1).read().unwrap(), None);
        file(1).write(16).unwrap();
        file(2).write(3).unwrap();
        assert_eq!(file(1).read().unwrap(), Some(16));
        assert_eq!(file(2).read().unwrap(), Some(3));
        fs::write(file(1).path, b"").unwrap();
        assert_eq!(file(1).read().unwrap(), None);
        // The spool leaves the files alone.
        drop(spool);
        let spool = Spool::open(desk.path(), 1 << 20, WhenFull::Block, Arc::default()).unwrap();
        let mut file = CounterFile::new(&spool, &BoardKey::from_bytes([2; 32]));
        assert_eq!(file.read().unwrap(), Some(3));
    }
}
