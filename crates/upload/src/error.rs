//! Why something is not encrypted.

use crate::metadata::MetadataError;
use crate::readings::ReadingsError;
use tfhe_sbc_core::encoding::{FixedPointError, ReadingError};
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_device::DeviceError;
use thiserror::Error;

/// Why an upload cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UploadError {
    /// The bytes are no device key.
    #[error(transparent)]
    Key(#[from] WireError),
    /// The key's set is not for readings.
    #[error("the set '{set}' is for gates, not for integers")]
    Gates {
        /// Its name.
        set: String,
    },
    /// The operating system has no randomness.
    #[error("no randomness: {0}")]
    Entropy(#[from] EntropyError),
    /// The encryptor does not start.
    #[error(transparent)]
    Start(DeviceError),
    /// A column whose values have no encoding.
    #[error("column '{column}': {error}")]
    Column {
        /// Its name.
        column: String,
        /// What is wrong with it.
        error: FixedPointError,
    },
    /// A column has another number of readings than there are rows.
    #[error("column '{column}' has {found} readings, but there are {rows} rows")]
    Length {
        /// Its name.
        column: String,
        /// Its readings.
        found: usize,
        /// Rows.
        rows: usize,
    },
    /// Another number of lists of readings than there are columns.
    #[error("{found} lists of readings are given for {columns} columns")]
    Columns {
        /// Columns that are described.
        columns: usize,
        /// Lists of readings.
        found: usize,
    },
    /// A reading that its column's encoding does not have.
    #[error("row {} ({label}), column '{column}': {error}", row + 1)]
    Reading {
        /// Its row, from 0.
        row: usize,
        /// What the row is called.
        label: String,
        /// Its column's name.
        column: String,
        /// What is wrong with it.
        error: ReadingError,
    },
    /// Columns or labels that cannot be sent.
    #[error("the readings cannot be sent: {0}")]
    Description(#[from] ReadingsError),
    /// Columns and labels are too long together.
    #[error("the readings cannot be sent: {0}")]
    Metadata(#[from] MetadataError),
    /// The blocks do not make a message.
    #[error("the readings were not encrypted: {0}")]
    Encrypt(DeviceError),
}

impl UploadError {
    /// What to do about it, where the error does not say so itself.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Gates { .. } => Some("make keys of an integer set with `tfhe-sbc keygen`"),
            Self::Reading { .. } => {
                Some("correct the reading, or widen the column's range: its offset, scale and bits")
            }
            Self::Length { .. } | Self::Columns { .. } => {
                Some("give every column one reading for each row")
            }
            Self::Description(_) => Some("shorten names, units and timestamps"),
            Self::Metadata(_) | Self::Encrypt(_) => Some("encrypt fewer rows at a time"),
            Self::Key(_) | Self::Entropy(_) | Self::Start(_) | Self::Column { .. } => None,
        }
    }
}
