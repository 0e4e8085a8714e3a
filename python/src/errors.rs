//! Errors of computations as exceptions.

use pyo3::create_exception;
use pyo3::prelude::*;
use tfhe_sbc_columns::Error;
use tfhe_sbc_python_shared::errors::{self, KeyMismatch, RangeError, TfheSbcError};

create_exception!(
    tfhe_sbc,
    TooLarge,
    TfheSbcError,
    "A computation that loads more rows at once than memory should hold."
);

/// Returns the exception of an error of a computation.
pub(crate) fn refused(error: Error) -> PyErr {
    match error {
        Error::Readings(error) => errors::readings(error),
        Error::Wire(error) => errors::wire(error),
        error @ (Error::KeySets(..) | Error::DeviceKey { .. }) => {
            KeyMismatch::new_err(error.to_string())
        }
        error @ Error::TooLarge(_) => TooLarge::new_err(error.to_string()),
        error @ Error::OutOfRange { .. } => RangeError::new_err(error.to_string()),
        error => TfheSbcError::new_err(error.to_string()),
    }
}
