//! The backend that computes: a server key behind the service's [`Backend`].

use tfhe_sbc_core::wire::{Header, Message, WireError};
use tfhe_sbc_engine::circuit;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::pads::PadFile;
use tfhe_sbc_upload::readings::{Column, ReadingsError, ReadingsMetadata, Upload};

use crate::backend::{Backend, BackendError, BackendErrorKind, Evaluation};
use tfhe_sbc_columns::Server;
use tfhe_sbc_query::cost::MAX_BOOTSTRAPS;
use tfhe_sbc_query::device_keys::{DeviceKeyError, DeviceKeys};
use tfhe_sbc_query::evaluate::{EvaluateError, Form, device_key_of, evaluate, first_header};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::RequestError;

/// A backend that computes with a server key on the uploads of its devices.
pub struct KeyBackend {
    server: Server,
    max_bootstraps: u64,
}

impl KeyBackend {
    /// Returns a backend that computes with `key`, on uploads that were encrypted under the key
    /// set's own device key or under the keys of `devices`.
    pub fn new(key: ServerKey<u64>, devices: DeviceKeys) -> Self {
        Self {
            server: Server::with_devices(key, devices),
            max_bootstraps: MAX_BOOTSTRAPS,
        }
    }

    /// Sets another bound on the bootstraps of one query than [`MAX_BOOTSTRAPS`].
    #[must_use]
    pub fn with_max_bootstraps(self, max_bootstraps: u64) -> Self {
        Self {
            max_bootstraps,
            ..self
        }
    }

    fn parse_upload<'a>(&self, bytes: &'a [u8]) -> Result<Upload<'a>, EvaluateError> {
        let header = first_header(bytes).map_err(ReadingsError::from)?;
        self.check_key(&header)?;
        Ok(Upload::parse(bytes, self.server.parameters(), header.key)?)
    }

    /// Checks that a device may upload under the key that a header names.
    fn check_key(&self, header: &Header) -> Result<(), EvaluateError> {
        match self.server.devices() {
            Some(devices) => {
                let checked = devices.check_upload(header);
                Ok(checked.map_err(device_key_of("readings"))?)
            }
            None => Ok(()),
        }
    }
}

impl Backend for KeyBackend {
    fn check_upload(&self, bytes: &[u8]) -> Result<UploadSummary, BackendError> {
        let upload = self.parse_upload(bytes).map_err(|error| refuse(&error))?;
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

    fn check_pads(&self, file: &[u8]) -> Result<PadFile, BackendError> {
        let pads = PadFile::read(file).map_err(|error| BackendError {
            message: error.to_string(),
            hint: "send a file of pads that `tfhe-sbc pads make` made".to_owned(),
            kind: BackendErrorKind::BadInput,
        })?;
        let checked = first_header(file)
            .map_err(ReadingsError::from)
            .map_err(EvaluateError::from)
            .and_then(|header| self.check_key(&header));
        checked.map_err(|error| {
            let refused = refuse(&error);
            match refused.kind {
                BackendErrorKind::WrongKey => BackendError {
                    hint: "make pads with a device key of the key set that this server has the server key \
                           of; if it is one that `tfhe-sbc device-key` issued, copy the switch key beside it into \
                           the directory that the server's --device-keys names"
                        .to_owned(),
                    ..refused
                },
                _ => refused,
            }
        })?;
        Ok(pads)
    }

    fn columns(&self, upload: &[u8]) -> Result<Vec<Column>, BackendError> {
        let (message, _) = Message::parse(upload).map_err(|error| bad_readings(error.into()))?;
        let described: ReadingsMetadata =
            metadata::read(message).map_err(|error| bad_readings(error.into()))?;
        Ok(described.columns)
    }

    fn evaluate(
        &self,
        readings: &[&[u8]],
        query: &[u8],
        progress: &Progress,
    ) -> Result<Evaluation, BackendError> {
        let (form, most) = (Form::ForDecryption, self.max_bootstraps);
        let evaluated = evaluate(&self.server, readings, query, form, most, progress);
        let (result, bootstraps) = evaluated.map_err(|error| refuse(&error))?;
        Ok(Evaluation { result, bootstraps })
    }
}

fn bad_readings(error: ReadingsError) -> BackendError {
    refuse(&EvaluateError::Readings(error))
}

fn refuse(error: &EvaluateError) -> BackendError {
    let wire = match error {
        EvaluateError::Readings(ReadingsError::Wire(wire))
        | EvaluateError::Request(RequestError::Wire(wire))
        | EvaluateError::DeviceKey {
            error: DeviceKeyError::Wire(wire),
            ..
        } => Some(wire),
        _ => None,
    };
    if let EvaluateError::DeviceKey {
        error: DeviceKeyError::Directory { .. },
        ..
    } = error
    {
        // Paths on the server's disk are for its log and not for callers.
        tracing::error!(%error, "no device switch keys");
        return BackendError {
            message: "the server's device switch keys cannot be read".to_owned(),
            hint: "this is the server's fault: its log says more".to_owned(),
            kind: BackendErrorKind::Internal,
        };
    }
    let (kind, hint) = match (error, wire) {
        (
            EvaluateError::DeviceKey {
                error: DeviceKeyError::Superseded { .. },
                ..
            },
            _,
        ) => (
            BackendErrorKind::WrongKey,
            "give the device its newest key, and encrypt the readings again",
        ),
        (
            EvaluateError::DeviceKey {
                error: DeviceKeyError::Second(_),
                ..
            },
            _,
        ) => (
            BackendErrorKind::WrongKey,
            "issue the device a key with a higher epoch, and encrypt the readings again",
        ),
        (
            EvaluateError::DeviceKey {
                error: DeviceKeyError::Unknown { .. },
                ..
            },
            _,
        )
        | (_, Some(WireError::WrongParameters { .. } | WireError::WrongKey { .. })) => (
            BackendErrorKind::WrongKey,
            "encrypt with the device key of the key set that this server has the server key of; \
             if it is one that `tfhe-sbc device-key` issued, copy the switch key beside it into \
             the directory that the server's --device-keys names",
        ),
        (EvaluateError::Readings(_), _) => (
            BackendErrorKind::BadInput,
            "make the readings again with `tfhe-sbc encrypt`",
        ),
        (EvaluateError::Request(_), _) => (
            BackendErrorKind::BadInput,
            "check the question against the columns that `tfhe-sbc inspect` shows of the readings",
        ),
        (EvaluateError::OtherColumns(_), _) => (
            BackendErrorKind::BadInput,
            "ask about uploads of the same columns together, about others separately",
        ),
        (EvaluateError::TooCostly { .. }, _) => (
            BackendErrorKind::BadInput,
            "ask fewer questions at once or about fewer rows, or let the server take on more with \
             --max-bootstraps; `tfhe-sbc eval --count` tells what questions cost",
        ),
        (EvaluateError::TooLarge(_) | EvaluateError::TooMany(_) | EvaluateError::Results(_), _) => {
            (
                BackendErrorKind::BadInput,
                "ask fewer questions at once, or upload fewer rows at a time",
            )
        }
        (EvaluateError::Evaluate(circuit::CircuitEvaluateError::Cancelled), _) => {
            (BackendErrorKind::Cancelled, "ask again")
        }
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
