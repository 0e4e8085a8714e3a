//! The bytes of a segment: a head, and records one behind the other.
//!
//! Each record has its length and a checksum, and says all that the store knows of what is in it, so that the index can be made from the
//! segments alone. [`Records`] reads them one by one from bytes that a crash has cut or a disk has damaged, and finds the next whole record
//! behind damage.
//!
//! | offset | length | content of the head |
//! |---|---|---|
//! | 0 | 4 | `TSBG` |
//! | 4 | 2 | version, 1 |
//! | 6 | 2 | zero |
//! | 8 | 4 | number of the segment |
//! | 12 | 8 | sequence that those of the records count from |
//! | 20 | 8 | seconds since 1970 that times of arrival count from |
//! | 28 | 16 | random bytes, which all checksums of the segment begin with |
//! | 44 | 4 | CRC-32 of bytes 0 to 43 |
//!
//! A record is its kind in one byte, the length of its content as a number, the content, and the CRC-32 of the head's random bytes
//! and of the record before it. Uploaders do not know the random bytes, so what they upload cannot contain a record. Numbers are LEB128 of 64 bits, those
//! that may be negative in zigzag. Texts and bytes have their length as a number in front. All other integers are little-endian.

// With their paths, because fuzz targets have this file by its own.
#[path = "record/coding.rs"]
mod coding;
#[path = "record/scan.rs"]
mod scan;

pub use coding::{put_against, take_against};
pub use scan::{Found, Records};

use coding::{Reader, put_bytes, put_number, put_signed};

/// The number of bytes of a head.
pub const HEAD_BYTES: usize = 48;

const MAGIC: [u8; 4] = *b"TSBG";
const VERSION: u16 = 1;
const CHECKSUM_BYTES: usize = 4;
/// The most columns of a context.
const MOST_COLUMNS: u64 = 1 << 16;

/// The kinds of records.
mod kind {
    pub(super) const CONTEXT: u8 = 0xc1;
    pub(super) const UPLOAD: u8 = 0xc2;
    pub(super) const REMOVED: u8 = 0xc3;
    pub(super) const FRAME: u8 = 0xc4;
}

/// The parts of an upload's record that are there or not.
mod flag {
    pub(super) const SHORT: u8 = 1;
    pub(super) const SPAN: u8 = 2;
    pub(super) const SECONDS: u8 = 4;
    pub(super) const ELEMENTS: u8 = 8;
    pub(super) const FRAME: u8 = 16;
    pub(super) const UNDESCRIBED: u8 = 32;
    pub(super) const ALL: u8 = 63;
}

/// The reason why bytes are no segment of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// Fewer bytes than a head, other bytes, or a wrong checksum.
    #[error("the head of the segment is damaged")]
    Damaged,
    /// A version that this program does not know.
    #[error(
        "the segment has version {0}, this program knows version {VERSION}; use the newer program"
    )]
    Version(u16),
}

/// The head of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The number of the segment in its store.
    pub number: u32,
    /// The sequence that those of records count from.
    pub sequence: i64,
    /// The seconds since 1970 that times of arrival count from.
    pub seconds: i64,
    /// Random bytes, by which checksums of other segments are wrong in this one.
    pub nonce: [u8; 16],
}

impl Head {
    /// Returns the bytes.
    pub fn to_bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.seconds.to_le_bytes());
        bytes.extend_from_slice(&self.nonce);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        let mut head = [0; HEAD_BYTES];
        head.copy_from_slice(&bytes);
        head
    }

    /// Reads the bytes that a segment begins with.
    ///
    /// # Errors
    /// Bytes that are no head, and another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HeadError> {
        let mut reader = Reader(bytes.get(..HEAD_BYTES).ok_or(HeadError::Damaged)?);
        let parsed = (|| {
            let magic: [u8; 4] = reader.array()?;
            let version = u16::from_le_bytes(reader.array()?);
            let zero: [u8; 2] = reader.array()?;
            let head = Self {
                number: u32::from_le_bytes(reader.array()?),
                sequence: i64::from_le_bytes(reader.array()?),
                seconds: i64::from_le_bytes(reader.array()?),
                nonce: reader.array()?,
            };
            let checksum = u32::from_le_bytes(reader.array()?);
            let covered = bytes.get(..HEAD_BYTES - CHECKSUM_BYTES)?;
            let is_sound = magic == MAGIC && checksum == crc32fast::hash(covered);
            is_sound.then_some((version, zero, head))
        })();
        match parsed {
            Some((VERSION, [0, 0], head)) => Ok(head),
            Some((VERSION, ..)) | None => Err(HeadError::Damaged),
            Some((version, ..)) => Err(HeadError::Version(version)),
        }
    }

    fn checksum(&self, record: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.nonce);
        hasher.update(record);
        hasher.finalize()
    }
}

/// What uploads of one uploader, one set of columns and one key have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// The name of the uploader.
    pub uploader: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The fingerprint of the key.
    pub key: Option<String>,
    /// The number of the key among its device's.
    pub epoch: Option<u32>,
    /// The hash of the file of pads by which frames became these uploads.
    pub pads: Option<[u8; 32]>,
    /// The definitions that [`Upload::payload`] leaves out of uploads in the short form.
    pub definitions: Option<Vec<u8>>,
}

/// A context in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedContext {
    /// The number by which later records of the segment refer to it.
    pub number: u32,
    /// The context.
    pub context: Context,
    /// What uploads in the short form are compared with.
    pub model: Model,
}

/// Parts of an upload, of which those of later uploads in the same context leave out what is the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    /// The row labels.
    pub labels: Vec<u8>,
    /// The beginning of the list: what is not random.
    pub list: Vec<u8>,
}

/// The first and the last moment of an upload's rows, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanMs {
    /// The earliest row's.
    pub first: i64,
    /// The latest row's.
    pub last: i64,
}

/// The counter and the tag of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameMark {
    /// The counter.
    pub counter: u32,
    /// The tag.
    pub tag: u64,
}

/// An upload in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload<P = Vec<u8>> {
    /// The number of its context in the segment.
    pub context: u32,
    /// Its place in the order of all uploads of the store.
    pub sequence: i64,
    /// The time of arrival, in seconds since 1970.
    pub created_at: i64,
    /// The number of rows.
    pub rows: u64,
    /// The number of encrypted values; `None` if there is one for each row and column.
    pub elements: Option<u64>,
    /// The span of the rows.
    pub span: Option<SpanMs>,
    /// The frame that the upload was made of.
    pub frame: Option<FrameMark>,
    /// True if span and key are not known yet.
    pub is_undescribed: bool,
    /// True if the payload is in the short form.
    pub is_short: bool,
    /// The bytes.
    pub payload: P,
}

/// The removal of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// The hash of the upload.
    pub id: [u8; 32],
    /// Its sequence. The same content that was stored again later has a larger one.
    pub sequence: i64,
}

/// A frame whose upload was removed: its pad stays used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedFrame {
    /// The number of a context that names the pads.
    pub context: u32,
    /// The frame.
    pub mark: FrameMark,
    /// The hash of the upload that it became.
    pub readings: [u8; 32],
}

/// A record of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A context for later records.
    Context(NumberedContext),
    /// An upload.
    Upload(Upload),
    /// A removal.
    Removed(Removal),
    /// A frame without its upload.
    Frame(UsedFrame),
}

impl Record {
    /// Appends the record to the bytes of a segment.
    pub fn write(&self, head: &Head, out: &mut Vec<u8>) {
        let mut content = Vec::new();
        let kind = match self {
            Self::Upload(upload) => return upload.write(head, out),
            Self::Context(numbered) => {
                put_number(&mut content, u64::from(numbered.number));
                numbered.context.write(&mut content);
                put_bytes(&mut content, &numbered.model.labels);
                put_bytes(&mut content, &numbered.model.list);
                kind::CONTEXT
            }
            Self::Removed(removal) => {
                content.extend_from_slice(&removal.id);
                put_signed(&mut content, removal.sequence.wrapping_sub(head.sequence));
                kind::REMOVED
            }
            Self::Frame(frame) => {
                put_number(&mut content, u64::from(frame.context));
                frame.mark.write(&mut content);
                content.extend_from_slice(&frame.readings);
                kind::FRAME
            }
        };
        put_record(kind, &content, &[], head, out);
    }

    /// Reads the record that is these bytes, no more and no fewer.
    pub fn read(head: &Head, bytes: &[u8]) -> Option<Self> {
        let shape = Shape::of(bytes)?;
        if shape.whole() != bytes.len() as u64 {
            return None;
        }
        let (covered, checksum) = bytes.split_at_checked(bytes.len() - CHECKSUM_BYTES)?;
        if checksum != head.checksum(covered).to_le_bytes() {
            return None;
        }
        let mut reader = Reader(covered.get(shape.before..)?);
        let record = match shape.kind {
            kind::CONTEXT => Self::Context(NumberedContext {
                number: reader.number_of_32_bits()?,
                context: Context::read(&mut reader)?,
                model: Model {
                    labels: reader.bytes()?.to_vec(),
                    list: reader.bytes()?.to_vec(),
                },
            }),
            kind::UPLOAD => Self::Upload(Upload::read(head, &mut reader)?),
            kind::REMOVED => Self::Removed(Removal {
                id: reader.array()?,
                sequence: reader.signed()?.wrapping_add(head.sequence),
            }),
            _ => Self::Frame(UsedFrame {
                context: reader.number_of_32_bits()?,
                mark: FrameMark::read(&mut reader)?,
                readings: reader.array()?,
            }),
        };
        reader.0.is_empty().then_some(record)
    }
}

impl Context {
    /// Returns the bytes, of which the index keeps the hash.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// Reads [`Context::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let context = Self::read(&mut reader)?;
        reader.0.is_empty().then_some(context)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let present = [
            self.key.is_some(),
            self.epoch.is_some(),
            self.pads.is_some(),
            self.definitions.is_some(),
        ];
        let flags = present.iter().rev();
        out.push(flags.fold(0, |flags, &set| flags << 1 | u8::from(set)));
        put_bytes(out, self.uploader.as_bytes());
        put_number(out, self.columns.len() as u64);
        for column in &self.columns {
            put_bytes(out, column.as_bytes());
        }
        if let Some(key) = &self.key {
            put_bytes(out, key.as_bytes());
        }
        if let Some(epoch) = self.epoch {
            put_number(out, u64::from(epoch));
        }
        if let Some(pads) = &self.pads {
            out.extend_from_slice(pads);
        }
        if let Some(definitions) = &self.definitions {
            put_bytes(out, definitions);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let [flags] = reader.array()?;
        if flags > 15 {
            return None;
        }
        let has = |bit: u8| flags >> bit & 1 == 1;
        let uploader = reader.text()?;
        let columns = reader.number()?;
        if columns > MOST_COLUMNS {
            return None;
        }
        let columns = (0..columns).map(|_| reader.text());
        Some(Self {
            uploader,
            columns: columns.collect::<Option<_>>()?,
            key: match has(0) {
                true => Some(reader.text()?),
                false => None,
            },
            epoch: match has(1) {
                true => Some(reader.number_of_32_bits()?),
                false => None,
            },
            pads: match has(2) {
                true => Some(reader.array()?),
                false => None,
            },
            definitions: match has(3) {
                true => Some(reader.bytes()?.to_vec()),
                false => None,
            },
        })
    }
}

impl FrameMark {
    fn write(self, out: &mut Vec<u8>) {
        put_number(out, u64::from(self.counter));
        out.extend_from_slice(&self.tag.to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            counter: reader.number_of_32_bits()?,
            tag: u64::from_le_bytes(reader.array()?),
        })
    }
}

impl<P: AsRef<[u8]>> Upload<P> {
    /// Appends the record to the bytes of a segment.
    pub fn write(&self, head: &Head, out: &mut Vec<u8>) {
        let mut about = Vec::new();
        self.write_about(head, &mut about);
        put_record(kind::UPLOAD, &about, self.payload.as_ref(), head, out);
    }

    fn write_about(&self, head: &Head, out: &mut Vec<u8>) {
        // The age of the newest row on arrival, and the time from the first row to it.
        let times = self.span.map(|span| {
            let arrival = self.created_at.wrapping_mul(1000);
            (
                arrival.wrapping_sub(span.last),
                span.last.wrapping_sub(span.first),
            )
        });
        let in_seconds = times.is_some_and(|(age, length)| age % 1000 == 0 && length % 1000 == 0);
        let flags = [
            (self.is_short, flag::SHORT),
            (times.is_some(), flag::SPAN),
            (in_seconds, flag::SECONDS),
            (self.elements.is_some(), flag::ELEMENTS),
            (self.frame.is_some(), flag::FRAME),
            (self.is_undescribed, flag::UNDESCRIBED),
        ];
        let set = flags.iter().filter(|(set, _)| *set);
        out.push(set.fold(0, |flags, (_, flag)| flags | flag));
        put_number(out, u64::from(self.context));
        put_signed(out, self.sequence.wrapping_sub(head.sequence));
        put_signed(out, self.created_at.wrapping_sub(head.seconds));
        put_number(out, self.rows);
        if let Some(elements) = self.elements {
            put_number(out, elements);
        }
        if let Some((age, length)) = times {
            let unit = if in_seconds { 1000 } else { 1 };
            put_signed(out, age / unit);
            put_signed(out, length / unit);
        }
        if let Some(frame) = self.frame {
            frame.write(out);
        }
    }
}

impl Upload {
    fn read(head: &Head, reader: &mut Reader<'_>) -> Option<Self> {
        let [flags] = reader.array()?;
        if flags & !flag::ALL != 0 {
            return None;
        }
        let has = |flag: u8| flags & flag != 0;
        let context = reader.number_of_32_bits()?;
        let sequence = reader.signed()?.wrapping_add(head.sequence);
        let created_at = reader.signed()?.wrapping_add(head.seconds);
        let rows = reader.number()?;
        let elements = match has(flag::ELEMENTS) {
            true => Some(reader.number()?),
            false => None,
        };
        let span = match has(flag::SPAN) {
            true => {
                let unit = if has(flag::SECONDS) { 1000 } else { 1 };
                let age = reader.signed()?.wrapping_mul(unit);
                let length = reader.signed()?.wrapping_mul(unit);
                let last = created_at.wrapping_mul(1000).wrapping_sub(age);
                let first = last.wrapping_sub(length);
                Some(SpanMs { first, last })
            }
            false => None,
        };
        let frame = match has(flag::FRAME) {
            true => Some(FrameMark::read(reader)?),
            false => None,
        };
        Some(Self {
            context,
            sequence,
            created_at,
            rows,
            elements,
            span,
            frame,
            is_undescribed: has(flag::UNDESCRIBED),
            is_short: has(flag::SHORT),
            payload: std::mem::take(&mut reader.0).to_vec(),
        })
    }
}

/// The kind of a record, and its lengths.
struct Shape {
    kind: u8,
    /// The bytes before the content.
    before: usize,
    content: u64,
}

impl Shape {
    /// Reads the beginning of a record.
    fn of(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        if !(kind::CONTEXT..=kind::FRAME).contains(&kind) {
            return None;
        }
        let mut reader = Reader(rest);
        let content = reader.number()?;
        Some(Self {
            kind,
            before: bytes.len() - reader.0.len(),
            content,
        })
    }

    /// The bytes of the whole record.
    fn whole(&self) -> u64 {
        let around = (self.before + CHECKSUM_BYTES) as u64;
        self.content.saturating_add(around)
    }
}

/// Writes a record whose content has two parts.
fn put_record(kind: u8, content: &[u8], more: &[u8], head: &Head, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(kind);
    put_number(out, (content.len() + more.len()) as u64);
    out.extend_from_slice(content);
    out.extend_from_slice(more);
    let checksum = head.checksum(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&checksum.to_le_bytes());
}

#[cfg(test)]
mod tests;
