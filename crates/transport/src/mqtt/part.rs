//! A part of an upload, as the payload of a message.
//!
//! | offset | length | content |
//! |---|---|---|
//! | 0 | 4 | `TSBP` |
//! | 4 | 1 | version, 1 |
//! | 5 | 3 | zero |
//! | 8 | 32 | BLAKE3 hash of the upload, which is its id |
//! | 40 | 4 | length of the upload |
//! | 44 | 4 | number of this part, from 0 |
//! | 48 | 4 | number of parts |
//! | 52 | | its bytes; all parts but the last have as many |
//!
//! Integers are unsigned and little-endian.

use std::collections::BTreeMap;

const MAGIC: &[u8; 4] = b"TSBP";
const VERSION: u8 = 1;
/// The number of bytes before the part's own.
pub const HEADER_BYTES: usize = 52;

/// A part of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The hash of the upload.
    pub hash: [u8; 32],
    /// The length of the upload in bytes.
    pub len: u32,
    /// The number of this part, from 0.
    pub index: u32,
    /// The number of parts.
    pub count: u32,
    /// The part's bytes.
    pub bytes: &'a [u8],
}

/// A payload that is no part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// The payload begins otherwise, or is too short.
    #[error("it is no part of an upload")]
    Magic,
    /// The payload has another version.
    #[error("it has version {0}, and this program knows version {VERSION}")]
    Version(u8),
    /// The numbers in the header contradict each other.
    #[error("its header contradicts itself")]
    Header,
    /// The part contradicts parts that came before.
    #[error("it does not fit the other parts of its upload")]
    Mismatch,
    /// The parts together do not have the upload's hash.
    #[error("the parts together do not have the upload's hash")]
    Hash,
}

impl<'a> Part<'a> {
    /// Cuts an upload into parts of `size` bytes; a `size` of 0 counts as 1.
    pub fn cut(upload: &'a [u8], size: usize) -> impl ExactSizeIterator<Item = Part<'a>> {
        let hash = *blake3::hash(upload).as_bytes();
        let chunks = upload.chunks(size.max(1));
        let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        let len = u32::try_from(upload.len()).unwrap_or(u32::MAX);
        chunks.enumerate().map(move |(index, bytes)| Part {
            hash,
            len,
            index: index as u32,
            count,
            bytes,
        })
    }

    /// Returns the payload of the message.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(HEADER_BYTES + self.bytes.len());
        payload.extend_from_slice(MAGIC);
        payload.extend_from_slice(&[VERSION, 0, 0, 0]);
        payload.extend_from_slice(&self.hash);
        for number in [self.len, self.index, self.count] {
            payload.extend_from_slice(&number.to_le_bytes());
        }
        payload.extend_from_slice(self.bytes);
        payload
    }

    /// Reads the payload of a message.
    ///
    /// # Errors
    /// If the payload is no part, or its numbers contradict each other.
    pub fn parse(payload: &'a [u8]) -> Result<Self, PartError> {
        let (header, bytes) = payload
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or(PartError::Magic)?;
        if !header.starts_with(MAGIC) {
            return Err(PartError::Magic);
        }
        if header[4] != VERSION {
            return Err(PartError::Version(header[4]));
        }
        let number = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&header[at..at + 4]);
            u32::from_le_bytes(bytes)
        };
        let mut hash = [0; 32];
        hash.copy_from_slice(&header[8..40]);
        let part = Self {
            hash,
            len: number(40),
            index: number(44),
            count: number(48),
            bytes,
        };
        match header[5..8] == [0; 3] && part.is_possible() {
            true => Ok(part),
            false => Err(PartError::Header),
        }
    }

    fn is_possible(&self) -> bool {
        let (len, size) = (u64::from(self.len), self.bytes.len() as u64);
        let (index, count) = (u64::from(self.index), u64::from(self.count));
        if size == 0 || index >= count || len < count {
            return false;
        }
        // The last part has the rest, from which the size of the others follows.
        if index + 1 < count {
            size.checked_mul(count - 1)
                .is_some_and(|before| before < len)
                && len.div_ceil(size) == count
        } else {
            size <= len && (count == 1) == (size == len)
        }
    }
}

/// The parts of one upload, until all are there.
#[derive(Debug, Default)]
pub struct Assembly {
    /// The length of the upload and the number of its parts, as the first part says.
    shape: Option<(u32, u32)>,
    parts: BTreeMap<u32, Vec<u8>>,
    bytes: usize,
}

/// The memory of a part beside its bytes, on the heap and in the map.
const OVERHEAD: usize = 96;

impl Assembly {
    /// Adds a part of the upload that this assembly is for. Returns the upload once it is whole. A
    /// part that is there already changes nothing.
    ///
    /// # Errors
    /// If the part contradicts others. The assembly cannot be used any more then.
    pub fn add(&mut self, part: &Part<'_>) -> Result<Option<Vec<u8>>, PartError> {
        let shape = (part.len, part.count);
        if *self.shape.get_or_insert(shape) != shape {
            return Err(PartError::Mismatch);
        }
        if !self.parts.contains_key(&part.index) {
            self.bytes += part.bytes.len();
            self.parts.insert(part.index, part.bytes.to_vec());
        }
        if self.bytes > part.len as usize {
            return Err(PartError::Mismatch);
        }
        if self.parts.len() < part.count as usize {
            return Ok(None);
        }
        let mut upload = Vec::with_capacity(self.bytes);
        for part in std::mem::take(&mut self.parts).into_values() {
            upload.extend_from_slice(&part);
        }
        self.bytes = 0;
        match upload.len() == part.len as usize && *blake3::hash(&upload).as_bytes() == part.hash {
            true => Ok(Some(upload)),
            false => Err(PartError::Hash),
        }
    }

    /// Returns the number of parts that are there.
    pub fn count(&self) -> u32 {
        u32::try_from(self.parts.len()).unwrap_or(u32::MAX)
    }

    /// Returns the memory that the parts take, in bytes.
    pub fn memory(&self) -> usize {
        self.bytes + OVERHEAD * self.parts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 31 % 251) as u8).collect()
    }

    #[test]
    fn golden_bytes() {
        let upload = upload(5);
        let parts: Vec<_> = Part::cut(&upload, 3).map(|part| part.to_bytes()).collect();
        let hash = blake3::hash(&upload);
        let expected = |index: u8, bytes: &[u8]| {
            let head = [&b"TSBP\x01\0\0\0"[..], hash.as_bytes()].concat();
            let numbers = [5, 0, 0, 0, index, 0, 0, 0, 2, 0, 0, 0];
            [&head[..], &numbers, bytes].concat()
        };
        assert_eq!(
            parts,
            [expected(0, &upload[..3]), expected(1, &upload[3..])]
        );
    }

    #[test]
    fn parts_in_any_order_and_twice_make_the_upload() {
        for (len, size) in [
            (1, 1),
            (1, 100),
            (1000, 7),
            (1001, 7),
            (1000, 1000),
            (4096, 4095),
        ] {
            let upload = upload(len);
            let payloads: Vec<_> = Part::cut(&upload, size)
                .map(|part| part.to_bytes())
                .collect();
            assert_eq!(payloads.len(), len.div_ceil(size));
            let mut assembly = Assembly::default();
            let mut whole = None;
            for payload in payloads.iter().rev().chain(&payloads[1..]) {
                let part = Part::parse(payload).unwrap();
                assert_eq!(part.hash, *blake3::hash(&upload).as_bytes());
                if whole.is_none() {
                    whole = assembly.add(&part).unwrap();
                }
            }
            assert_eq!(whole.as_ref(), Some(&upload), "{len} by {size}");
            assert_eq!(assembly.memory(), 0);
        }
    }

    #[test]
    fn damaged_parts_never_make_another_upload() {
        let upload = upload(100);
        let payloads: Vec<_> = Part::cut(&upload, 30).map(|part| part.to_bytes()).collect();
        for place in 0..payloads.len() {
            for bit in 0..payloads[place].len() * 8 {
                let mut payloads = payloads.clone();
                payloads[place][bit / 8] ^= 1 << (bit % 8);
                let mut assemblies = BTreeMap::<[u8; 32], Assembly>::new();
                for payload in &payloads {
                    let Ok(part) = Part::parse(payload) else {
                        continue;
                    };
                    let added = assemblies.entry(part.hash).or_default().add(&part);
                    assert!(!matches!(added, Ok(Some(_))), "part {place}, bit {bit}");
                    if added.is_err() {
                        assemblies.remove(&part.hash);
                    }
                }
            }
        }
        for len in 0..HEADER_BYTES + 1 {
            assert!(Part::parse(&payloads[0][..len]).is_err(), "{len}");
        }
    }
}
