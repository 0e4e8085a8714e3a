//! The backend that computes: a server key behind the service's [`Backend`].

use tfhe_sbc_adapter::readings::{ReadingsError, Upload};
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_engine::server_key::ServerKey;

use crate::backend::{
    Backend, BackendError, BackendErrorKind, Evaluation, Progress, UploadSummary,
};
use crate::query::evaluate::{EvaluateError, evaluate};
use crate::query::request::RequestError;

/// A server key at the service's disposal.
pub struct KeyBackend {
    key: ServerKey<u64>,
}

impl KeyBackend {
    /// A backend that computes with this key.
    pub fn new(key: ServerKey<u64>) -> Self {
        Self { key }
    }
}

impl Backend for KeyBackend {
    fn check_upload(&self, bytes: &[u8]) -> Result<UploadSummary, BackendError> {
        let upload = Upload::parse(bytes, self.key.parameters(), self.key.fingerprint())
            .map_err(|error| refuse(&error.into()))?;
        Ok(UploadSummary {
            elements: upload.list.element_count() as u64,
            rows: upload.metadata.rows.len() as u64,
            columns: upload
                .metadata
                .columns
                .into_iter()
                .map(|c| c.name)
                .collect(),
        })
    }

    fn evaluate(
        &self,
        readings: &[u8],
        query: &[u8],
        progress: &Progress,
    ) -> Result<Evaluation, BackendError> {
        let (result, bootstraps) =
            evaluate(&self.key, readings, query, progress).map_err(|error| refuse(&error))?;
        Ok(Evaluation { result, bootstraps })
    }
}

fn refuse(error: &EvaluateError) -> BackendError {
    let wire = match error {
        EvaluateError::Readings(ReadingsError::Wire(wire))
        | EvaluateError::Request(RequestError::Wire(wire)) => Some(wire),
        _ => None,
    };
    let (kind, hint) = match (error, wire) {
        (_, Some(WireError::WrongParameters { .. } | WireError::WrongKey { .. })) => (
            BackendErrorKind::WrongKey,
            "encrypt with the device key of the key set that this server has the server key of",
        ),
        (EvaluateError::Readings(_), _) => (
            BackendErrorKind::BadInput,
            "make the readings again with `tfhe-sbc encrypt`",
        ),
        (EvaluateError::Request(_), _) => (
            BackendErrorKind::BadInput,
            "check the question against the columns that `tfhe-sbc inspect` shows of the readings",
        ),
        (EvaluateError::TooLarge(_) | EvaluateError::Results(_), _) => (
            BackendErrorKind::BadInput,
            "ask fewer questions at once, or upload fewer rows at a time",
        ),
        (EvaluateError::Cancelled, _) => (BackendErrorKind::Cancelled, "ask again"),
        _ => (
            BackendErrorKind::Internal,
            "use a server key of an integer parameter set",
        ),
    };
    BackendError {
        message: error.to_string(),
        hint: hint.to_owned(),
        kind,
    }
}
