//! Exceptions, and which of them an error becomes. All of them are `ValueError`s.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_upload::UploadError;
use tfhe_sbc_upload::metadata::MetadataError;
use tfhe_sbc_upload::readings::ReadingsError;

create_exception!(
    tfhe_sbc,
    TfheSbcError,
    PyValueError,
    "Something that tfhe-sbc refuses; the message says what to do."
);
create_exception!(
    tfhe_sbc,
    KeyMismatch,
    TfheSbcError,
    "Data of one key set met a key, or data, of another."
);
create_exception!(
    tfhe_sbc,
    FormatError,
    TfheSbcError,
    "Bytes that are not what they should be: damaged, cut short, or another kind of file."
);
create_exception!(
    tfhe_sbc,
    RangeError,
    TfheSbcError,
    "A reading that its column's encoding cannot hold: NaN, infinite or out of range."
);

/// An exception with advice.
pub fn refused(what: impl Display, advice: impl Display) -> PyErr {
    TfheSbcError::new_err(format!("{what}: {advice}"))
}

/// Returns the exception for bytes that are no message.
pub fn wire(error: WireError) -> PyErr {
    match error {
        WireError::WrongKey { .. } | WireError::WrongParameters { .. } => {
            KeyMismatch::new_err(error.to_string())
        }
        _ => FormatError::new_err(error.to_string()),
    }
}

/// Returns the exception for an upload that cannot be read.
pub fn readings(error: ReadingsError) -> PyErr {
    match error {
        ReadingsError::Wire(error) | ReadingsError::Metadata(MetadataError::Wire(error)) => {
            wire(error)
        }
        error => FormatError::new_err(error.to_string()),
    }
}

/// Returns the exception for readings that cannot be encrypted.
pub fn upload(error: UploadError) -> PyErr {
    let message = match error.advice() {
        Some(advice) => format!("{error}: {advice}"),
        None => error.to_string(),
    };
    match error {
        UploadError::Key(error) => wire(error),
        UploadError::Reading { .. } => RangeError::new_err(message),
        _ => TfheSbcError::new_err(message),
    }
}
