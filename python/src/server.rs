//! Bindings of servers and rehearsals: what they load, and questions in words.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfhe_sbc_columns::device_keys::DeviceKeys;
use tfhe_sbc_columns::{self as columns, Uploads, Values};
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_python_shared::device::{ColumnTuple, under};
use tfhe_sbc_python_shared::errors::{self, KeyMismatch, TfheSbcError};
use tfhe_sbc_query::evaluate::{
    EvaluateError, Form, StoredUpload, device_of, evaluate, first_header,
};
use tfhe_sbc_query::scope::Scope;
use tfhe_sbc_upload::definition::{Under, UploadKind};
use tfhe_sbc_upload::fresh_seeds;
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::{ReadingsMetadata, Upload};

use crate::errors::refused;
use crate::keys::ServerKey;
use crate::number::{Number, number};
use crate::optional::Optional;
use crate::params::Parameters;
use crate::sealing::{self, KeysTuple};
use crate::watch::{check_process, watched};

/// A server that computes on ciphertexts, or a rehearsal.
#[pyclass(frozen)]
pub(crate) struct Server(pub(crate) columns::Server);

/// The values of a column of a loaded table.
#[derive(IntoPyObject)]
enum LoadedValues {
    Whole(Number),
    Optional(Optional),
}

/// A column of a loaded table: name, unit, values.
type LoadedColumn = (String, String, LoadedValues);

/// A table: its columns and its rows' labels.
type Loaded = (Vec<LoadedColumn>, Vec<String>);

fn query_error(error: EvaluateError) -> PyErr {
    match error {
        EvaluateError::Readings(error) => errors::readings(error),
        EvaluateError::DeviceKey { .. } => KeyMismatch::new_err(error.to_string()),
        error => TfheSbcError::new_err(error.to_string()),
    }
}

#[pymethods]
impl Server {
    /// Prepares a server key; `devices` is a directory of switch keys.
    #[new]
    fn new(
        py: Python<'_>,
        key: &ServerKey,
        devices: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let bytes = Arc::clone(&key.bytes);
        let prepared = watched(py, progress, |progress| {
            let seeded = SeededServerKey::<u64>::from_bytes(&bytes)?;
            progress.expect_bootstraps(SeededServerKey::<u64>::step_count(seeded.parameters()));
            Ok(seeded.prepare(&|steps| progress.add_bootstraps(steps)))
        })?;
        let key = prepared.map_err(errors::wire)?;
        let devices = match devices {
            None => DeviceKeys::none(&key),
            Some(directory) => DeviceKeys::in_directory(&key, &directory)
                .map_err(|error| TfheSbcError::new_err(error.to_string()))?,
        };
        let server = columns::Server::with_devices(key, devices);
        server.check_parameters().map_err(refused)?;
        Ok(Self(server))
    }

    /// Computes in the clear.
    #[staticmethod]
    fn rehearsal(parameters: &Parameters) -> PyResult<Self> {
        let server = columns::Server::rehearsal(&parameters.set);
        Ok(Self(server.map_err(refused)?))
    }

    #[getter]
    fn fingerprint(&self) -> Option<String> {
        self.0.fingerprint().map(|key| key.to_string())
    }

    #[getter]
    fn parameters(&self) -> Parameters {
        Parameters {
            set: *self.0.parameters(),
        }
    }

    /// Loads uploads of the same columns, their rows one after the other.
    /// Readings, with the names of the devices of uploads. Labels of rows begin with these if there are several, or
    /// if names are given.
    fn load(
        &self,
        py: Python<'_>,
        boxes: Vec<(Option<String>, Bound<'_, PyBytes>)>,
    ) -> PyResult<Loaded> {
        check_process()?;
        let Some((key, devices)) = self.0.key().zip(self.0.devices()) else {
            return Err(refused(columns::Error::RehearsalLoads));
        };
        let boxes: Vec<StoredUpload<'_>> = boxes.iter().map(stored).collect();
        let is_named = boxes.iter().any(|upload| upload.device.is_some());
        let names: Vec<Option<String>> = boxes
            .iter()
            .map(|upload| device_of(devices, upload))
            .collect();
        let bytes: Vec<&[u8]> = boxes.iter().map(|upload| upload.bytes).collect();
        let uploads = py.detach(|| Uploads::parse(key.parameters(), devices, &bytes));
        let uploads = uploads.map_err(refused)?;
        let is_one = names.iter().all(|name| *name == names[0]);
        let labels = uploads.labels().zip(&names).flat_map(|(labels, name)| {
            labels.iter().map(move |label| match name {
                Some(name) if is_named || !is_one => format!("{name} {label}"),
                _ => label.clone(),
            })
        });
        let labels = labels.collect();
        let (columns, _) = loaded(Ok(self.0.load_parsed(uploads)))?;
        Ok((columns, labels))
    }

    /// Readings of a rehearsal.
    fn load_clear(
        &self,
        columns: Vec<ColumnTuple>,
        rows: Vec<String>,
        values: Vec<Vec<f64>>,
    ) -> PyResult<Loaded> {
        let key = Under {
            parameters: self.0.parameters(),
            kind: UploadKind::Symmetric,
        };
        let metadata = ReadingsMetadata {
            columns: under(columns, key)?,
            rows,
            gaps: Default::default(),
        };
        loaded(self.0.load_clear(metadata, &values))
    }

    /// Answers questions as the service does: the bytes of a result.
    fn query<'py>(
        &self,
        py: Python<'py>,
        boxes: Vec<(Option<String>, Bound<'py, PyBytes>)>,
        asked: (Vec<String>, ScopeTuple),
        keys: KeysTuple,
        max_bootstraps: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let Some(key) = self.0.key() else {
            return Err(errors::refused(
                "a rehearsal answers no questions in words",
                "use its columns",
            ));
        };
        let (questions, scope) = asked;
        let scope = self::scope(scope)?;
        let boxes: Vec<StoredUpload<'_>> = boxes.iter().map(stored).collect();
        let questions = sealing::questions(&questions)?;
        let first = boxes
            .first()
            .map(|first| first.bytes)
            .ok_or_else(|| errors::refused("there are no readings", "give at least one upload"))?;
        let header = first_header(first).map_err(errors::wire)?;
        let upload = Upload::parse(first, key.parameters(), header.key);
        let metadata = upload.map_err(errors::readings)?.metadata;
        let under = (key.parameters(), key.fingerprint());
        let request = sealing::seal(&questions, &metadata, scope, under, &keys)?;
        let (_, sanitise, device_keys) = &keys;
        // Without a packing key, answers are such as can be loaded and computed on again, which sanitised ones are not, nor
        // those without masks.
        let form = match (key.packing_key(), sanitise, device_keys) {
            (None, None, None) => Form::Whole,
            _ => Form::ForDecryption,
        };
        let answered = watched(py, progress, |progress| {
            evaluate(
                &self.0,
                &boxes,
                &request,
                form,
                max_bootstraps,
                progress,
                fresh_seeds,
            )
        })?;
        let (result, _) = answered.map_err(query_error)?;
        Ok(PyBytes::new(py, &result))
    }
}

/// The beginning and the end of a scope in milliseconds since 1970, the number of newest rows of each device, and the groups.
type ScopeTuple = (Option<i64>, Option<i64>, Option<u32>, Option<String>);

fn scope((since, until, newest, by): ScopeTuple) -> PyResult<Scope> {
    Ok(Scope {
        since: since.map(Moment::from_unix_ms),
        until: until.map(Moment::from_unix_ms),
        newest,
        by: sealing::groups(by.as_deref())?,
    })
}

/// Returns a loaded table for Python.
/// An upload as Python gives it.
fn stored<'a>((device, bytes): &'a (Option<String>, Bound<'_, PyBytes>)) -> StoredUpload<'a> {
    StoredUpload {
        device: device.as_deref(),
        bytes: bytes.as_bytes(),
    }
}

fn loaded(table: Result<columns::Table, columns::Error>) -> PyResult<Loaded> {
    let table = table.map_err(refused)?;
    let columns = table.columns().map(|(column, values)| {
        Ok((
            column.name.clone(),
            column.unit.clone(),
            match values {
                Values::Whole(values) => LoadedValues::Whole(number(values.clone())?),
                Values::Optional(values) => {
                    LoadedValues::Optional(Optional::made(Ok(values.clone()))?)
                }
            },
        ))
    });
    Ok((columns.collect::<PyResult<_>>()?, table.labels().to_vec()))
}
