//! The errors of reading and writing messages.

use thiserror::Error;

use super::kind::{FORMAT_VERSION, Kind};
use crate::parameters::{KeyFingerprint, ParameterError, ParameterFingerprint};
use crate::random::UnsupportedExpander;

/// The reason why bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// The bytes do not begin as a message of ours does.
    #[error("these bytes are not in tfhe-sbc's format: they do not begin with \"TSBC\"")]
    Magic,
    /// The version is not supported by this build.
    #[error(
        "format version {0} is not known here (this build reads version {FORMAT_VERSION}): update the reader"
    )]
    Version(u16),
    /// The kind is not supported by this build.
    #[error("message kind {0} is not known here: update the reader")]
    UnknownKind(u8),
    /// Flags are set that this build does not support for the kind.
    #[error("flag bits {0:#04x} are not known here: update the reader")]
    Flags(u8),
    /// This build does not have the expander.
    #[error(transparent)]
    Expander(#[from] UnsupportedExpander),
    /// A field, or the padding of the payload, has a value that it cannot have.
    #[error("the field '{0}' has a value that it cannot have: the file is damaged or forged")]
    Field(&'static str),
    /// There are fewer bytes than the header announces.
    #[error(
        "the data is cut short: {expected} bytes were announced, {found} are there: transfer it again"
    )]
    Truncated {
        /// The number of bytes announced.
        expected: u64,
        /// The number of bytes that are there.
        found: u64,
    },
    /// Bytes follow the last message.
    #[error("{0} bytes follow the end of the last message: the file is damaged")]
    TrailingBytes(usize),
    /// The payload has another length than the fields of the header require.
    #[error(
        "the payload has {found} bytes where its header asks for {expected}: the file is damaged or forged"
    )]
    PayloadLength {
        /// The number of bytes that the fields require.
        expected: u64,
        /// The number of bytes that are there.
        found: u64,
    },
    /// The checksum does not match.
    #[error("the checksum does not match: the data was changed on its way: transfer it again")]
    Checksum,
    /// The message is of another kind.
    #[error("this is a {found}, but a {expected} is needed here: give the right file")]
    WrongKind {
        /// The kind that is needed.
        expected: Kind,
        /// The kind that is there.
        found: Kind,
    },
    /// The parameters are not valid.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The message was made under other parameters.
    #[error(
        "it was made under other parameters ({found}) than the key's ({expected}): use the key set that it was made with"
    )]
    WrongParameters {
        /// The parameters of the key.
        expected: ParameterFingerprint,
        /// The parameters of the message.
        found: ParameterFingerprint,
    },
    /// The message was made under another key set.
    #[error(
        "it was made under another key set ({found}) than this one ({expected}): use the key set that it was made with"
    )]
    WrongKey {
        /// The key set that was given.
        expected: KeyFingerprint,
        /// The key set of the message.
        found: KeyFingerprint,
    },
    /// The output buffer is too small.
    #[error("the output buffer has {found} bytes, {needed} are needed")]
    BufferTooSmall {
        /// The number of bytes that are needed.
        needed: usize,
        /// The number of bytes that were given.
        found: usize,
    },
}

/// Checks a property of a field.
///
/// # Errors
/// [`WireError::Field`] with the field's name if `ok` is false.
pub fn require(ok: bool, field: &'static str) -> Result<(), WireError> {
    match ok {
        true => Ok(()),
        false => Err(WireError::Field(field)),
    }
}
