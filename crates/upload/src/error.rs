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
            Self::Description(error) => advice_on_description(error),
            Self::Metadata(_) | Self::Encrypt(_) => Some("encrypt fewer rows at a time"),
            Self::Key(_)
            | Self::Entropy(_)
            | Self::Start(_)
            | Self::Column { .. }
            | Self::Compact { .. } => None,
        }
    }
}

/// Returns advice on columns or labels that an upload cannot hold.
fn advice_on_description(error: &ReadingsError) -> Option<&'static str> {
    Some(match error {
        ReadingsError::Column { error, .. } => match error {
            FixedPointError::Offset => "give the lowest reading, a number in the column's unit",
            FixedPointError::Scale => {
                "give the step between readings, such as 0.1, in the column's unit"
            }
            FixedPointError::Bits(_) => {
                "give the bits of a code: readings go from offset to offset + scale * (2^bits - 1)"
            }
        },
        ReadingsError::DuplicateColumn(_) => "give each column a name of its own",
        ReadingsError::Shape(_) => {
            "name columns with ASCII letters, digits and underscores, shorten units and timestamps, and give one row or more"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_about_what_is_wrong() {
        let column = |error| ReadingsError::Column {
            name: "t".to_owned(),
            error,
        };
        for (error, words) in [
            (column(FixedPointError::Offset), "lowest reading"),
            (column(FixedPointError::Scale), "step between readings"),
            (column(FixedPointError::Bits(0)), "bits of a code"),
            (ReadingsError::DuplicateColumn("t".to_owned()), "of its own"),
            (ReadingsError::Shape("no rows"), "one row or more"),
        ] {
            let advice = UploadError::from(error).advice().unwrap();
            assert!(advice.contains(words), "{advice}");
        }
    }
}
