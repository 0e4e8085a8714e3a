//! The short form of an upload, for the way from a board to a server that knows the board's columns.
//!
//! Uploads of one board repeat their [`Definitions`]: the columns, and the fields of the list's header
//! that follow from columns, parameters and key. A server keeps them when it has stored an upload. The
//! next uploads of the same definitions may travel as the definitions' [`DefinitionsId`] and whatever is
//! their own, and the server restores each of them byte for byte before it checks, names and stores it.
//!
//! The form is cut out of the bytes of a whole upload and put back into them, so row labels of every form
//! and all kinds of lists come back as they were. Nothing but the way to the server knows it.
//!
//! | offset | length | content |
//! |---|---|---|
//! | 0 | 4 | `TSBU` |
//! | 4 | 2 | version, 1 |
//! | 6 | 2 | R, the length of the row labels |
//! | 8 | 16 | id of the definitions |
//! | 24 | 4 | checksum of the metadata message |
//! | 28 | R | row labels: the CBOR data item `rows` of the metadata, and all that follows it there |
//! | 28 + R | 36 | element count and mask seed of the list's header |
//! | 64 + R | | payload and checksum of the list |
//!
//! Integers are unsigned and little-endian. The definitions are bytes 0 to 55 of the list's header, then
//! the CBOR data item `columns`; their id is bytes 0 to 15 of their BLAKE3 hash (mode `derive_key`).

use std::fmt;

use serde::de::IgnoredAny;
use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterFingerprint};
use tfhe_sbc_core::wire::{CHECKSUM_BYTES, HEADER_BYTES, Header, Kind};
use thiserror::Error;

/// The largest number of bytes of a short upload. A larger upload gains nothing worth mentioning, and a
/// server holds a restored upload in addition to the short one.
pub const MAX_SHORT_BYTES: usize = 1 << 16;
/// The largest number of bytes of definitions.
pub const MAX_DEFINITIONS_BYTES: usize = 1 << 14;

const MAGIC: [u8; 4] = *b"TSBU";
const VERSION: u16 = 1;
/// The number of bytes before the row labels.
const FIXED_BYTES: usize = 28;
/// The bytes of the list's header that belong to the definitions: all before the element count.
const COMMON_BYTES: usize = 56;
/// The bytes of the list's header after them, up to the length of the payload.
const OWN_BYTES: usize = 36;
/// The context of the hash of definitions (BLAKE3, section 2.3: `derive_key`).
const ID_CONTEXT: &str = "tfhe-sbc 2026-11-23 definitions of an upload";
/// The CBOR of the head of a map of two entries, columns and rows, and of one with gaps behind them.
const MAPS: [u8; 2] = [0xa2, 0xa3];
/// The first key.
const BEFORE_COLUMNS: &[u8] = b"\x67columns";
/// The second key.
const BEFORE_ROWS: &[u8] = b"\x64rows";
/// The greatest depth of nesting of columns.
const MAX_DEPTH: usize = 16;

/// The name of [`Definitions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefinitionsId(pub [u8; 16]);

impl fmt::Display for DefinitionsId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DefinitionsId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DefinitionsId({self})")
    }
}

/// The reason why a short upload cannot be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ShortError {
    /// Bytes that begin otherwise.
    #[error("this is no short upload")]
    Magic,
    /// Fewer bytes than the form has.
    #[error("the short upload ends too early")]
    Truncated,
    /// More than [`MAX_SHORT_BYTES`].
    #[error("the short upload has {0} bytes, more than the {MAX_SHORT_BYTES} that are allowed")]
    TooLong(usize),
    /// A version that this program does not know.
    #[error("the short upload has version {0}, and this program knows version {VERSION}")]
    Version(u16),
    /// Definitions of another id than the short upload names.
    #[error("the short upload refers to the definitions {expected}, not {found}")]
    OtherDefinitions {
        /// The id in the short upload.
        expected: DefinitionsId,
        /// The id of the definitions that were given.
        found: DefinitionsId,
    },
}

/// The bytes that all uploads of the same columns under the same key have in common, at most
/// [`MAX_DEFINITIONS_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definitions(Vec<u8>);

impl Definitions {
    /// Returns the definitions of an upload; `None` if the bytes are no upload of readings, or its
    /// columns are too long. The ciphertexts are not looked at.
    pub fn of(upload: &[u8]) -> Option<Self> {
        let parts = Parts::of(upload)?;
        Self::from_bytes([parts.common, parts.columns].concat())
    }

    /// Returns the definitions that [`Definitions::as_bytes`] gave; `None` if they are too short or too
    /// long to be any.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let allowed = COMMON_BYTES + 1..=MAX_DEFINITIONS_BYTES;
        allowed.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name of these definitions.
    pub fn id(&self) -> DefinitionsId {
        let mut hasher = blake3::Hasher::new_derive_key(ID_CONTEXT);
        hasher.update(&self.0);
        let mut id = [0; 16];
        hasher.finalize_xof().fill(&mut id);
        DefinitionsId(id)
    }
}

/// The parts of an upload whose metadata has the form in which this project writes it.
struct Parts<'a> {
    common: &'a [u8],
    columns: &'a [u8],
    rows: &'a [u8],
    checksum: &'a [u8],
    own: &'a [u8],
    list: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(upload: &'a [u8]) -> Option<Self> {
        let (header, payload_len) = Header::parse(upload).ok()?;
        if header.kind != Kind::Metadata {
            return None;
        }
        let (_, after_header) = upload.split_at_checked(HEADER_BYTES)?;
        let (payload, after_payload) =
            after_header.split_at_checked(usize::try_from(payload_len).ok()?)?;
        let (checksum, list) = after_payload.split_at_checked(CHECKSUM_BYTES)?;
        let (map, payload) = payload.split_first()?;
        if !MAPS.contains(map) {
            return None;
        }
        let from_columns = payload.strip_prefix(BEFORE_COLUMNS)?;
        let after_columns = after_item(from_columns)?;
        let (columns, _) =
            from_columns.split_at_checked(from_columns.len() - after_columns.len())?;
        let rows = after_columns.strip_prefix(BEFORE_ROWS)?;
        let (common, after_common) = list.split_at_checked(COMMON_BYTES)?;
        let (own, _) = after_common.split_at_checked(OWN_BYTES)?;
        let (_, list) = list.split_at_checked(HEADER_BYTES)?;
        Some(Self {
            common,
            columns,
            rows,
            checksum,
            own,
            list,
        })
    }
}

/// Returns the bytes behind a CBOR data item.
fn after_item(mut bytes: &[u8]) -> Option<&[u8]> {
    let item =
        ciborium::de::from_reader_with_recursion_limit::<IgnoredAny, _>(&mut bytes, MAX_DEPTH);
    item.ok().map(|_| bytes)
}

/// An upload in the short form, as its sender makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// The definitions that the receiver must know.
    pub definitions: DefinitionsId,
    /// The bytes that travel.
    pub bytes: Vec<u8>,
}

/// Returns the short form of an upload. `None` if it has none: because the bytes are no upload of readings
/// as this project writes it, because they would not come back exactly, or because it would be longer
/// than [`MAX_SHORT_BYTES`].
pub fn shorten(upload: &[u8]) -> Option<Shortened> {
    let parts = Parts::of(upload)?;
    let definitions = Definitions::from_bytes([parts.common, parts.columns].concat())?;
    let len = FIXED_BYTES + parts.rows.len() + OWN_BYTES + parts.list.len();
    let rows_len = u16::try_from(parts.rows.len()).ok()?;
    if len > MAX_SHORT_BYTES {
        return None;
    }
    let id = definitions.id();
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&rows_len.to_le_bytes());
    bytes.extend_from_slice(&id.0);
    for part in [parts.checksum, parts.rows, parts.own, parts.list] {
        bytes.extend_from_slice(part);
    }
    let restored = ShortUpload::parse(&bytes)
        .ok()?
        .restore(&definitions)
        .ok()?;
    (restored == upload).then_some(Shortened {
        definitions: id,
        bytes,
    })
}

/// Returns whether the bytes begin as a short upload does. No other message begins so.
pub fn is_short(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// A short upload, as its receiver reads it.
#[derive(Clone, Copy, Debug)]
pub struct ShortUpload<'a> {
    /// The definitions that the upload needs.
    pub definitions: DefinitionsId,
    checksum: &'a [u8],
    rows: &'a [u8],
    own: &'a [u8],
    list: &'a [u8],
}

impl<'a> ShortUpload<'a> {
    /// Reads a short upload.
    ///
    /// # Errors
    /// Returns an error if the bytes are none, too few or too many, or of another version.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ShortError> {
        if !is_short(bytes) {
            return Err(ShortError::Magic);
        }
        if bytes.len() > MAX_SHORT_BYTES {
            return Err(ShortError::TooLong(bytes.len()));
        }
        let fixed = bytes.split_first_chunk::<FIXED_BYTES>();
        let (fixed, rest) = fixed.ok_or(ShortError::Truncated)?;
        let number = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        match number(4) {
            VERSION => {}
            other => return Err(ShortError::Version(other)),
        }
        let mut id = [0; 16];
        id.copy_from_slice(&fixed[8..24]);
        let split = |bytes: &'a [u8], at| bytes.split_at_checked(at).ok_or(ShortError::Truncated);
        let (rows, rest) = split(rest, usize::from(number(6)))?;
        let (own, list) = split(rest, OWN_BYTES)?;
        if list.len() < CHECKSUM_BYTES {
            return Err(ShortError::Truncated);
        }
        Ok(Self {
            definitions: DefinitionsId(id),
            checksum: &bytes[24..FIXED_BYTES],
            rows,
            own,
            list,
        })
    }

    /// Returns the whole upload: the bytes that [`shorten`] was given, if the short upload is what it
    /// returned. Other bytes make something that [`Upload::parse`](crate::readings::Upload::parse)
    /// refuses or that is an upload in its own right.
    ///
    /// # Errors
    /// Returns an error if the short upload needs other definitions.
    pub fn restore(&self, definitions: &Definitions) -> Result<Vec<u8>, ShortError> {
        let found = definitions.id();
        if found != self.definitions {
            return Err(ShortError::OtherDefinitions {
                expected: self.definitions,
                found,
            });
        }
        let (common, columns) = definitions.0.split_at(COMMON_BYTES);
        let field = |at: usize| {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&common[at..at + 16]);
            bytes
        };
        let header = Header::new(
            Kind::Metadata,
            ParameterFingerprint(field(8)),
            KeyFingerprint(field(24)),
        );
        let has_gaps = after_item(self.rows).is_some_and(|rest| !rest.is_empty());
        let map = &MAPS[usize::from(has_gaps)..][..1];
        let payload = [map, BEFORE_COLUMNS, columns, BEFORE_ROWS, self.rows];
        let payload_len = payload.iter().map(|part| part.len()).sum::<usize>();
        let list_len = (self.list.len() - CHECKSUM_BYTES) as u64;
        let len = 2 * HEADER_BYTES + payload_len + CHECKSUM_BYTES + self.list.len();
        let mut upload = Vec::with_capacity(len);
        upload.extend_from_slice(&header.to_bytes(payload_len as u64));
        for part in payload {
            upload.extend_from_slice(part);
        }
        for part in [self.checksum, common, self.own] {
            upload.extend_from_slice(part);
        }
        upload.extend_from_slice(&list_len.to_le_bytes());
        upload.extend_from_slice(self.list);
        Ok(upload)
    }
}
