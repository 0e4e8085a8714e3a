//! The backend that computes: a server key behind the service's [`Backend`].

use tfhe_sbc_core::device_issue::DeviceIssue;
use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_core::wire::{Header, Message, WireError};
use tfhe_sbc_engine::circuit;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::moments::{Moment, Span, moments_of};
use tfhe_sbc_upload::pads::PadFile;
use tfhe_sbc_upload::readings::{Column, ReadingsError, ReadingsMetadata, Upload};

use crate::backend::{
    Backend, BackendError, BackendErrorKind, Evaluation, QueryDescription, Uploader,
};
use crate::signers;
use crate::store::Description;
use tfhe_sbc_columns::Server;
use tfhe_sbc_query::cost::MAX_BOOTSTRAPS;
use tfhe_sbc_query::device_keys::{DeviceKeyError, DeviceKeys};
use tfhe_sbc_query::evaluate::{
    EvaluateError, Form, StoredUpload, device_key_of, evaluate, first_header,
};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::{Request, RequestError};
use tfhe_sbc_query::scope::ScopeError;
use tfhe_sbc_upload::fresh_seeds;

/// The uploads that any device may send because their keys tell nothing about who made them. A key owner may send
/// them at any time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenKeys {
    /// Uploads under the key set's own device key, which every device that has it shares.
    pub shared_key: bool,
    /// Uploads with masks of their own, which whoever has a public key makes. The fingerprint in them binds nobody: the
    /// key of a list with masks of zeros, or nearly so, is any key.
    pub public_key: bool,
}

/// A backend that computes with a server key on the uploads of its devices.
pub struct KeyBackend {
    server: Server,
    max_bootstraps: u64,
    open: OpenKeys,
    signed_over_brokers: bool,
}

/// The reason why a device may not upload what it sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum WrongName {
    #[error("the upload is under the key of {issue} and came in the name of '{uploader}'")]
    OtherDevice {
        issue: DeviceIssue,
        uploader: String,
    },
    #[error(
        "the upload is under the key set's own device key, which '{0}' shares with others, and this server takes \
         such uploads from the key owner only"
    )]
    SharedKey(String),
    #[error(
        "the upload of '{0}' was made with a public key, which everybody may have, and this server takes such \
         uploads from the key owner only"
    )]
    PublicKey(String),
}

impl WrongName {
    fn hint(&self) -> &'static str {
        match self {
            Self::OtherDevice { .. } => {
                "show the certificate that has the name of the key's device; `tfhe-sbc provision` issues both"
            }
            Self::SharedKey(_) => {
                "give the device a key of its own with `tfhe-sbc provision`, or let the server take uploads under the \
                 shared key from every device with --allow-shared-key"
            }
            Self::PublicKey(_) => {
                "give the device a key of its own with `tfhe-sbc provision`, or let the server take uploads with \
                 public keys from every device with --allow-public-key"
            }
        }
    }
}

impl From<WrongName> for BackendError {
    fn from(wrong: WrongName) -> Self {
        Self {
            message: wrong.to_string(),
            hint: wrong.hint().to_owned(),
            kind: BackendErrorKind::WrongName,
        }
    }
}

impl KeyBackend {
    /// Returns a backend that computes with `key`, on uploads that were encrypted under the key
    /// set's own device key or under the keys of `devices`.
    pub fn new(key: ServerKey<u64>, devices: DeviceKeys) -> Self {
        Self {
            server: Server::with_devices(key, devices),
            max_bootstraps: MAX_BOOTSTRAPS,
            open: OpenKeys::default(),
            signed_over_brokers: false,
        }
    }

    /// Sets the uploads that any device may send; by default there are none.
    #[must_use]
    pub fn with_open_keys(self, open: OpenKeys) -> Self {
        Self { open, ..self }
    }

    /// Sets another bound on the bootstraps of one query than [`MAX_BOOTSTRAPS`].
    #[must_use]
    pub fn with_max_bootstraps(self, max_bootstraps: u64) -> Self {
        Self {
            max_bootstraps,
            ..self
        }
    }

    /// Sets whether every upload over a broker has to be signed, also those of boards that have no key for signatures.
    #[must_use]
    pub fn with_signatures_over_brokers(self, signed_over_brokers: bool) -> Self {
        Self {
            signed_over_brokers,
            ..self
        }
    }

    /// Returns the issue of the key that a header names; `None` for the key set's own device key.
    ///
    /// # Errors
    /// If the key is not known here, or is not the current one of its device.
    fn issue_of(&self, header: &Header) -> Result<Option<DeviceIssue>, EvaluateError> {
        match self.server.devices() {
            Some(devices) => {
                let checked = devices.check_upload(header);
                Ok(checked.map_err(device_key_of("readings"))?)
            }
            None => Ok(None),
        }
    }

    fn parse_upload<'a>(
        &self,
        bytes: &'a [u8],
    ) -> Result<(Upload<'a>, KeyFingerprint, Option<DeviceIssue>), EvaluateError> {
        let header = first_header(bytes).map_err(ReadingsError::from)?;
        let issue = self.issue_of(&header)?;
        let upload = Upload::parse(bytes, self.server.parameters(), header.key)?;
        Ok((upload, header.key, issue))
    }

    /// Checks that `uploader` may send an upload under the key of `issue`. A device may use its own key and no other
    /// device's, and those of [`OpenKeys`].
    fn check_name(
        &self,
        upload: &Upload<'_>,
        issue: Option<DeviceIssue>,
        uploader: Uploader<'_>,
    ) -> Result<(), WrongName> {
        let (Uploader::Device(name) | Uploader::Topic(name)) = uploader else {
            return Ok(());
        };
        match issue {
            Some(issue) if issue.device.as_str() != name => Err(WrongName::OtherDevice {
                issue,
                uploader: name.to_owned(),
            }),
            _ if upload.list.is_masked() => match self.open.public_key {
                true => Ok(()),
                false => Err(WrongName::PublicKey(name.to_owned())),
            },
            None if !self.open.shared_key => Err(WrongName::SharedKey(name.to_owned())),
            _ => Ok(()),
        }
    }
}

impl Backend for KeyBackend {
    fn open<'a>(&self, sent: &'a [u8], uploader: Uploader<'_>) -> Result<&'a [u8], BackendError> {
        signers::open(
            self.server.devices(),
            self.signed_over_brokers,
            sent,
            uploader,
        )
    }

    fn check_upload(
        &self,
        bytes: &[u8],
        uploader: Uploader<'_>,
    ) -> Result<UploadSummary, BackendError> {
        let parsed = self.parse_upload(bytes).map_err(|error| refuse(&error));
        let (upload, key, issue) = parsed?;
        self.check_name(&upload, issue, uploader)?;
        Ok(summary(upload, key, issue))
    }

    fn describe(&self, upload: &[u8]) -> Result<Description, BackendError> {
        let header = first_header(upload).map_err(|error| bad_readings(error.into()))?;
        let issue = match self.server.devices() {
            Some(devices) => devices
                .issue_of(&header)
                .map_err(|error| refuse(&device_key_of("readings")(error)))?,
            None => None,
        };
        let upload = Upload::parse(upload, self.server.parameters(), header.key);
        Ok(Description {
            summary: summary(upload.map_err(bad_readings)?, header.key, issue),
            device: issue.map(|issue| issue.device.as_str().to_owned()),
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
            .and_then(|header| self.issue_of(&header).map(drop));
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

    fn moments(&self, upload: &[u8]) -> Result<Vec<Moment>, BackendError> {
        let (message, _) = Message::parse(upload).map_err(|error| bad_readings(error.into()))?;
        let described: ReadingsMetadata =
            metadata::read(message).map_err(|error| bad_readings(error.into()))?;
        Ok(moments_of(&described.rows).flatten().collect())
    }

    fn describe_query(&self, query: &[u8]) -> Result<QueryDescription, BackendError> {
        let header = first_header(query).map_err(RequestError::from);
        let header = header.map_err(|error| refuse(&error.into()))?;
        let known = match self.server.devices() {
            Some(devices) => devices.switch_key(&header).map(drop),
            None => Ok(()),
        };
        known.map_err(|error| refuse(&device_key_of("query")(error)))?;
        let parsed = Request::parse(query, self.server.parameters(), header.key);
        let request = parsed.map_err(|error| refuse(&error.into()))?.request;
        let questions = request.questions.into_iter().map(|(text, _)| text);
        Ok(QueryDescription {
            questions: questions.collect(),
            scope: request.scope,
        })
    }

    fn within(&self, query: &[u8], period: (Moment, Moment)) -> Result<Vec<u8>, BackendError> {
        Request::within(query, period).map_err(|error| refuse(&error.into()))
    }

    fn evaluate(
        &self,
        readings: &[StoredUpload<'_>],
        query: &[u8],
        progress: &Progress,
    ) -> Result<Evaluation, BackendError> {
        let (form, most) = (Form::ForDecryption, self.max_bootstraps);
        let evaluated = evaluate(
            &self.server,
            readings,
            query,
            form,
            most,
            progress,
            fresh_seeds,
        );
        let (result, bootstraps) = evaluated.map_err(|error| match error {
            EvaluateError::OtherColumns(place) => other_columns(readings, place),
            error => refuse(&error),
        })?;
        Ok(Evaluation { result, bootstraps })
    }
}

/// Refuses readings of different columns; `place` counts from 1 and is that of the first whose columns differ from the first ones.
fn other_columns(readings: &[StoredUpload<'_>], place: usize) -> BackendError {
    let device = |upload: Option<&StoredUpload<'_>>| {
        let name = upload.and_then(|upload| upload.device);
        name.unwrap_or("an unknown device").to_owned()
    };
    let refused = refuse(&EvaluateError::OtherColumns(place));
    let other = device(place.checked_sub(1).and_then(|place| readings.get(place)));
    BackendError {
        message: format!(
            "{}: it is of {other}, the first of {}",
            refused.message,
            device(readings.first())
        ),
        ..refused
    }
}

/// Tells what an upload under the key of an issue is.
fn summary(upload: Upload<'_>, key: KeyFingerprint, issue: Option<DeviceIssue>) -> UploadSummary {
    UploadSummary {
        elements: upload.list.element_count() as u64,
        rows: upload.metadata.rows.len() as u64,
        span: Span::of(&upload.metadata.rows),
        key: Some(key.to_string()),
        epoch: issue.map(|issue| issue.epoch.get()),
        columns: upload
            .metadata
            .columns
            .into_iter()
            .map(|column| column.name)
            .collect(),
    }
}

fn bad_readings(error: ReadingsError) -> BackendError {
    refuse(&EvaluateError::Readings(error))
}

/// The advice where a query is about readings of different columns.
pub(crate) const SAME_COLUMNS: &str = "ask about uploads of the same columns together, about others separately: choose with --device, and with \
     --since and --until if a device's definitions have changed";

/// The advice where a query asks about rows that are not there.
const OTHER_ROWS: &str = "`tfhe-sbc readings list` shows the devices and times of what is stored";

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
        (EvaluateError::Request(RequestError::Scope(ScopeError::NoRows { .. })), _) => {
            (BackendErrorKind::NoRows, OTHER_ROWS)
        }
        (EvaluateError::Request(RequestError::Scope(_)), _) => {
            (BackendErrorKind::BadInput, OTHER_ROWS)
        }
        (EvaluateError::Request(_), _) => (
            BackendErrorKind::BadInput,
            "check the question against the columns that `tfhe-sbc inspect` shows of the readings",
        ),
        (EvaluateError::Group { .. }, _) => (
            BackendErrorKind::BadInput,
            "ask about longer periods, or leave the group out with --since and --until",
        ),
        (EvaluateError::OtherColumns(_), _) => (BackendErrorKind::BadInput, SAME_COLUMNS),
        (EvaluateError::TooCostly { .. }, _) => (
            BackendErrorKind::BadInput,
            "ask fewer questions at once or about fewer rows, or let the server take on more with \
             --max-bootstraps; `tfhe-sbc eval --count` tells what questions cost",
        ),
        (EvaluateError::TooLarge(_) | EvaluateError::Results(_), _) => (
            BackendErrorKind::BadInput,
            "ask fewer questions at once, about fewer rows, or in groups with --by",
        ),
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
