//! The errors of making an upload.

use crate::metadata::MetadataError;
use crate::readings::ReadingsError;
use tfhe_sbc_core::encoding::{CompactError, FixedPointError, ReadingError};
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_device::DeviceError;
use thiserror::Error;

/// The reason why an upload cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UploadError {
    /// The bytes are no device key.
    #[error(transparent)]
    Key(#[from] WireError),
    /// The parameter set of the key carries gates of another library, not readings.
    #[error("the set '{set}' is for gates, not for integers")]
    Gates {
        /// The name of the set.
        set: String,
    },
    /// The operating system gives no randomness.
    #[error("no randomness: {0}")]
    Entropy(#[from] EntropyError),
    /// The encryptor does not start.
    #[error(transparent)]
    Start(DeviceError),
    /// A column whose values have no encoding.
    #[error("column '{column}': {error}")]
    Column {
        /// The name of the column.
        column: String,
        /// The defect of the encoding.
        error: FixedPointError,
    },
    /// A column whose compact form is not possible.
    #[error("column '{column}': {error}")]
    Compact {
        /// The name of the column.
        column: String,
        /// The defect of the form.
        error: CompactError,
    },
    /// The number of readings of a column differs from the number of rows.
    #[error("column '{column}' has {found} readings, but there are {rows} rows")]
    Length {
        /// The name of the column.
        column: String,
        /// The number of readings.
        found: usize,
        /// The number of rows.
        rows: usize,
    },
    /// The number of lists of readings differs from the number of columns.
    #[error("{found} lists of readings are given for {columns} columns")]
    Columns {
        /// The number of columns that are described.
        columns: usize,
        /// The number of lists of readings.
        found: usize,
    },
    /// A reading that the encoding of its column cannot represent.
    #[error("row {} ({label}), column '{column}': {error}", row + 1)]
    Reading {
        /// The row, counted from 0.
        row: usize,
        /// The label of the row.
        label: String,
        /// The name of the column.
        column: String,
        /// The reason why it has no code.
        error: ReadingError,
    },
    /// Columns or labels that an upload cannot hold.
    #[error("the readings cannot be sent: {0}")]
    Description(#[from] ReadingsError),
    /// Columns and labels that are too long together.
    #[error("the readings cannot be sent: {0}")]
    Metadata(#[from] MetadataError),
    /// An encryption that failed.
    #[error("the readings were not encrypted: {0}")]
    Encrypt(DeviceError),
}

impl UploadError {
    /// Advice on what to do, for errors whose message does not contain it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Gates { .. } => Some("make keys of an integer set with `tfhe-sbc keygen`"),
            Self::Reading {
                error: ReadingError::NotFinite,
                ..
            } => Some(
                "correct the reading, or declare the column optional = true if its readings may be missing",
            ),
            Self::Reading { .. } => {
                Some("correct the reading, or widen the column's range: its offset, scale and bits")
            }
            Self::Length { .. } | Self::Columns { .. } => {
                Some("give every column one reading for each row")
            }
            Self::Description(_) => Some("shorten names, units and timestamps"),
            Self::Metadata(_) | Self::Encrypt(_) => Some("encrypt fewer rows at a time"),
            Self::Key(_)
            | Self::Entropy(_)
            | Self::Start(_)
            | Self::Column { .. }
            | Self::Compact { .. } => None,
        }
    }
}
