//! The wire format: every file and upload is a sequence of *messages*, each a fixed
//! 100-byte [`Header`], a payload and a checksum of both. `docs/wire-format.md`
//! describes every byte.
//!
//! Writing: put the payload behind [`HEADER_BYTES`] free bytes, then
//! [`Header::seal`]; or stream header, payload and [`Checksum`]. Reading: [`Message::parse`] checks sizes, version, kind, flags
//! and checksum before anything looks at the payload; [`glwe`], [`lwe`], [`key`],
//! [`public_key`] and [`card`] read the payloads.

pub mod bits;
pub mod card;
pub mod glwe;
mod header;
pub mod key;
#[cfg(feature = "alloc")]
pub mod lwe;
pub mod public_key;
mod upload_size;

pub use header::{
    CHECKSUM_BYTES, Checksum, ENVELOPE_BYTES, FLAG_SEEDED, FORMAT_VERSION, HEADER_BYTES, Header,
    Kind, MAGIC, Message,
};
pub use upload_size::UploadSize;

use thiserror::Error;

use crate::parameters::{KeyFingerprint, ParameterError, ParameterFingerprint};
use crate::random::UnsupportedExpander;

/// Why bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// Not ours at all.
    #[error("these bytes are not in tfhe-sbc's format: they do not begin with \"TSBC\"")]
    Magic,
    /// A version that this build does not know.
    #[error(
        "format version {0} is not known here (this build reads version {FORMAT_VERSION}): update the reader"
    )]
    Version(u16),
    /// A kind that this build does not know.
    #[error("message kind {0} is not known here: update the reader")]
    UnknownKind(u8),
    /// Flags that this build does not know for the kind.
    #[error("flag bits {0:#04x} are not known here: update the reader")]
    Flags(u8),
    /// An expander that this build does not have.
    #[error(transparent)]
    Expander(#[from] UnsupportedExpander),
    /// A field, or the padding of the payload, with a value that it cannot have.
    #[error("the field '{0}' has a value that it cannot have: the file is damaged or forged")]
    Field(&'static str),
    /// Fewer bytes than the header announces.
    #[error(
        "the data is cut short: {expected} bytes were announced, {found} are there: transfer it again"
    )]
    Truncated {
        /// Bytes announced.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// Bytes after the last message.
    #[error("{0} bytes follow the end of the last message: the file is damaged")]
    TrailingBytes(usize),
    /// The payload has another length than the header's fields ask for.
    #[error(
        "the payload has {found} bytes where its header asks for {expected}: the file is damaged or forged"
    )]
    PayloadLength {
        /// Bytes that the fields ask for.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// The checksum does not match.
    #[error("the checksum does not match: the data was changed on its way: transfer it again")]
    Checksum,
    /// A message of another kind.
    #[error("this is a {found}, but a {expected} is needed here: give the right file")]
    WrongKind {
        /// The kind that is needed.
        expected: Kind,
        /// The kind that is there.
        found: Kind,
    },
    /// Parameters that do not validate.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// Made under other parameters.
    #[error(
        "it was made under other parameters ({found}) than the key's ({expected}): use the key set that it was made with"
    )]
    WrongParameters {
        /// The key's.
        expected: ParameterFingerprint,
        /// The message's.
        found: ParameterFingerprint,
    },
    /// Made under another key.
    #[error(
        "it was made under another key set ({found}) than this one ({expected}): use the key set that it was made with"
    )]
    WrongKey {
        /// This key set.
        expected: KeyFingerprint,
        /// The message's.
        found: KeyFingerprint,
    },
    /// An output buffer that is too small.
    #[error("the output buffer has {found} bytes, {needed} are needed")]
    BufferTooSmall {
        /// Bytes needed.
        needed: usize,
        /// Bytes given.
        found: usize,
    },
}
