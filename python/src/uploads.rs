//! Uploads in the clear, for the key owner, and what bytes are.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfhe_sbc_columns::decrypt::{Reading, UploadDecryption};
use tfhe_sbc_core::wire::Kind;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_python_shared::errors::{FormatError, TfheSbcError};
use tfhe_sbc_query::results::Results;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::errors::refused;
use crate::keys::SecretKey;
use crate::watch::watched;

/// A column in the clear: its name, its unit, and its readings, which are NaN where they are missing.
type ClearColumn = (String, String, Py<PyArray1<f64>>);

/// What bytes are, by their first message: `upload`, `result`, or the name of another kind of message.
///
/// # Errors
/// Bytes that begin with no message.
#[pyfunction]
pub(crate) fn kind_of(bytes: &[u8]) -> PyResult<String> {
    let (message, _) = Message::parse(bytes).map_err(tfhe_sbc_python_shared::errors::wire)?;
    Ok(match message.header.kind {
        Kind::Metadata if metadata::read::<ReadingsMetadata>(message).is_ok() => "upload".into(),
        Kind::Metadata if Results::read(message).is_ok() => "result".into(),
        kind => kind.to_string(),
    })
}

/// The readings of an upload, and the labels of its rows. `device_keys` is the directory of the switch keys of devices that
/// have keys of their own.
///
/// # Errors
/// Uploads of other keys, and such as no key of the key set has made.
#[pyfunction]
pub(crate) fn open_upload<'py>(
    py: Python<'py>,
    bytes: &Bound<'py, PyBytes>,
    secret: &SecretKey,
    device_keys: Option<PathBuf>,
) -> PyResult<(Vec<ClearColumn>, Vec<String>)> {
    let (secret, bytes) = (Arc::clone(&secret.secret), bytes.as_bytes());
    let decrypted = watched(py, None, |_| {
        let decryption = UploadDecryption::new(&secret, device_keys.as_deref());
        let mut decryption =
            decryption.map_err(|error| TfheSbcError::new_err(error.to_string()))?;
        decryption.decrypt(bytes).map_err(refused)
    })??;
    let labels = decrypted.metadata.rows;
    let columns = decrypted.metadata.columns.into_iter();
    let columns = columns.zip(decrypted.readings).map(|(column, readings)| {
        let clear = readings.iter().enumerate().map(|(row, reading)| match reading {
            Reading::Unreadable => Err(FormatError::new_err(format!(
                "row {}, column '{}': the reading has no code of this column: the upload is damaged or forged, \
                 ask its device for another one",
                row + 1,
                column.name
            ))),
            // What is missing is NaN, as in pandas.
            reading => Ok(reading.value().unwrap_or(f64::NAN)),
        });
        let clear = PyArray1::from_vec(py, clear.collect::<PyResult<_>>()?);
        Ok((column.name, column.unit, clear.unbind()))
    });
    Ok((columns.collect::<PyResult<_>>()?, labels))
}
