//! Who computes: servers and rehearsals. What they load, and questions in words.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata, Upload};
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_python_shared::device::{Session, column};
use tfhe_sbc_python_shared::errors::{self, KeyMismatch, RangeError, TfheSbcError};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::device_keys::DeviceKeys;
use tfhe_sbc_query::evaluate::{EvaluateError, evaluate, expand, first_header, joined};
use tfhe_sbc_query::request::Request;

use crate::compute::{Backend, ServerBackend, new_circuit};
use crate::keys::ServerKey;
use crate::node::{Content, Kind, Op, Source};
use crate::number::Number;
use crate::params::Parameters;
use crate::watch::{check_process, watched};

/// Who computes.
#[pyclass(frozen)]
pub(crate) struct Server {
    pub(crate) backend: Arc<Backend>,
}

/// A column of a loaded table: name, unit, number.
type LoadedColumn = (String, String, Number);

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
        new_circuit(key.parameters())?;
        let devices = match devices {
            None => DeviceKeys::none(&key),
            Some(directory) => DeviceKeys::in_directory(&key, &directory)
                .map_err(|error| TfheSbcError::new_err(error.to_string()))?,
        };
        let backend = Backend::Server(Box::new(ServerBackend::new(key, devices)));
        Ok(Self {
            backend: Arc::new(backend),
        })
    }

    /// Computes in the clear.
    #[staticmethod]
    fn rehearsal(parameters: &Parameters) -> PyResult<Self> {
        new_circuit(&parameters.set)?;
        Ok(Self {
            backend: Arc::new(Backend::Rehearsal(parameters.set)),
        })
    }

    #[getter]
    fn fingerprint(&self) -> Option<String> {
        self.backend.fingerprint().map(|key| key.to_string())
    }

    #[getter]
    fn parameters(&self) -> Parameters {
        Parameters {
            set: *self.backend.parameters(),
        }
    }

    /// Loads uploads of the same columns, their rows one after the other.
    fn load(&self, py: Python<'_>, boxes: Vec<Bound<'_, PyBytes>>) -> PyResult<Loaded> {
        let Backend::Server(server) = &*self.backend else {
            return Err(errors::refused(
                "a rehearsal loads no ciphertexts",
                "give it readings with load_clear",
            ));
        };
        check_process()?;
        let boxes: Vec<&[u8]> = boxes.iter().map(|bytes| bytes.as_bytes()).collect();
        let source = py.detach(|| load(server, &boxes)).map_err(query_error)?;
        self.columns(source)
    }

    /// Readings of a rehearsal.
    fn load_clear(
        &self,
        columns: Vec<(String, String, f64, f64, u32)>,
        rows: Vec<String>,
        values: Vec<Vec<f64>>,
    ) -> PyResult<Loaded> {
        let metadata = ReadingsMetadata {
            columns: columns.into_iter().map(column).collect(),
            rows,
        };
        metadata.check().map_err(errors::readings)?;
        let mut codes = Vec::with_capacity(values.len());
        for (column, values) in metadata.columns.iter().zip(&values) {
            let encoding = column.fixed_point();
            let encoding = encoding.map_err(|error| TfheSbcError::new_err(error.to_string()))?;
            let encode = |(row, value): (usize, &f64)| {
                encoding.encode(*value).map_err(|error| {
                    RangeError::new_err(format!(
                        "row {} ({}), column '{}': {error}",
                        row + 1,
                        metadata.rows[row],
                        column.name
                    ))
                })
            };
            codes.push(
                values
                    .iter()
                    .enumerate()
                    .map(encode)
                    .collect::<PyResult<_>>()?,
            );
        }
        self.columns(Source {
            metadata,
            content: Content::Codes(codes),
        })
    }

    /// Answers questions as the service does: the bytes of a result.
    fn query<'py>(
        &self,
        py: Python<'py>,
        boxes: Vec<Bound<'py, PyBytes>>,
        questions: Vec<String>,
        session: Option<Py<Session>>,
        max_bootstraps: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let Backend::Server(server) = &*self.backend else {
            return Err(errors::refused(
                "a rehearsal answers no questions in words",
                "use its columns",
            ));
        };
        let boxes: Vec<&[u8]> = boxes.iter().map(|bytes| bytes.as_bytes()).collect();
        let questions: Vec<Question> = questions
            .iter()
            .map(|text| {
                text.parse()
                    .map_err(|error: tfhe_sbc_query::parse::ParseError| {
                        TfheSbcError::new_err(error.to_string())
                    })
            })
            .collect::<PyResult<_>>()?;
        let first = boxes
            .first()
            .ok_or_else(|| errors::refused("there are no readings", "give at least one upload"))?;
        let header = first_header(first).map_err(errors::wire)?;
        let upload = Upload::parse(first, server.key.parameters(), header.key);
        let metadata = upload.map_err(errors::readings)?.metadata;
        let parameters = server.key.parameters();
        let request = match &session {
            None => Request::seal(
                &questions,
                &metadata,
                parameters,
                server.key.fingerprint(),
                None,
            ),
            Some(session) => {
                let session = session.get();
                let key = session.key();
                session.with_encryptor(|encrypt| {
                    Request::seal(&questions, &metadata, parameters, key, Some(encrypt))
                })?
            }
        };
        let request = request.map_err(|error| TfheSbcError::new_err(error.to_string()))?;
        let answered = watched(py, progress, |progress| {
            evaluate(
                &server.key,
                &server.devices,
                &boxes,
                &request,
                max_bootstraps,
                progress,
            )
        })?;
        let (result, _) = answered.map_err(query_error)?;
        Ok(PyBytes::new(py, &result))
    }
}

impl Server {
    fn columns(&self, source: Source) -> PyResult<Loaded> {
        let source = Arc::new(source);
        let rows = Some(source.metadata.rows.len());
        let number = |(place, column): (usize, &Column)| {
            let op = Op::Load {
                source: Arc::clone(&source),
                column: place,
            };
            let number = Number::of_column(&self.backend, rows, column, op)?;
            debug_assert_eq!(number.node.kind, Kind::Code(column.bits));
            Ok((column.name.clone(), column.unit.clone(), number))
        };
        let columns = source.metadata.columns.iter().enumerate().map(number);
        Ok((
            columns.collect::<PyResult<_>>()?,
            source.metadata.rows.clone(),
        ))
    }
}

fn load(server: &ServerBackend, boxes: &[&[u8]]) -> Result<Source, EvaluateError> {
    let parameters = server.key.parameters();
    let mut uploads = Vec::with_capacity(boxes.len());
    for bytes in boxes {
        let header = first_header(bytes).map_err(|error| EvaluateError::Readings(error.into()))?;
        let switch = server
            .devices
            .switch_key(&header)
            .map_err(tfhe_sbc_query::evaluate::device_key_of("readings"))?;
        uploads.push((Upload::parse(bytes, parameters, header.key)?, switch));
    }
    let metadata = joined(uploads.iter().map(|(upload, _)| &upload.metadata))?;
    let tables = uploads.into_iter().map(|(upload, switch)| {
        let list = expand(&upload.list, parameters, switch.as_ref());
        (upload.metadata.rows.len(), list)
    });
    Ok(Source {
        metadata,
        content: Content::Ciphertexts(tables.collect()),
    })
}
