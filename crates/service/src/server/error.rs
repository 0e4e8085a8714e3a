//! Refusals: each is a status, a message with a hint for the caller, and a reason to count.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::backend::{BackendError, BackendErrorKind};
use crate::frames::FrameRefusal;
use crate::metrics::Rejection;
use crate::store::{StoreError, StoredReadings, Uploader};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::FilterError;
use tfhe_sbc_transport::human::Bytes;
use tfhe_sbc_transport::jobs::{Job, JobId};
use tfhe_sbc_transport::mqtt::answer::Answer;
use tfhe_sbc_transport::protocol::{DeviceId, ErrorBody, UploaderName};
use tfhe_sbc_transport::role::{Action, Subject};
use tfhe_sbc_upload::short::ShortError;

/// The time after which to try again to get memory for a body, in seconds.
const MEMORY_RETRY_AFTER_SECONDS: u32 = 5;
/// The time after which to try a full disk again, in seconds.
const FULL_RETRY_AFTER_SECONDS: u32 = 30;

/// A request turned away.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    reason: Rejection,
    message: String,
    hint: String,
    retry_after_seconds: Option<u32>,
    /// Whether it is about uploads of which no row was asked for.
    is_about_no_rows: bool,
}

impl Refusal {
    pub(super) fn new(
        status: StatusCode,
        reason: Rejection,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            status,
            reason,
            message: message.into(),
            hint: hint.into(),
            retry_after_seconds: None,
            is_about_no_rows: false,
        }
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn is_about_no_rows(&self) -> bool {
        self.is_about_no_rows
    }

    /// Returns what the caller is told.
    pub(super) fn into_body(self) -> ErrorBody {
        ErrorBody {
            error: self.message,
            hint: self.hint,
        }
    }

    pub(super) fn reason(&self) -> Rejection {
        self.reason
    }

    /// Returns the same refusal for a device behind a broker.
    pub(super) fn into_answer(self, id: BlobId) -> Answer {
        Answer {
            error: self.message,
            hint: self.hint,
            retry_after: self.retry_after_seconds,
            ..Answer::new(id, self.status.as_u16())
        }
    }

    pub(super) fn forbidden(peer: &Subject, action: Action) -> Self {
        let (message, hint) = match peer.role {
            Some(role) => (
                format!(
                    "the certificate of {:?} is that of a {role}, which may not {action}",
                    peer.name
                ),
                "use the owner's certificate".to_owned(),
            ),
            None => (
                format!(
                    "the certificate of {:?} names no role, so it may not {action}",
                    peer.name
                ),
                "issue certificates whose organizational unit (OU) is the role".to_owned(),
            ),
        };
        Self::new(StatusCode::FORBIDDEN, Rejection::Forbidden, message, hint)
    }

    /// Returns the reason in a word.
    pub(super) fn reason_label(&self) -> &'static str {
        self.reason.label()
    }

    pub(super) fn not_local() -> Self {
        let message = "this page is for browsers on the server's own machine";
        let hint = "open it as http://localhost or by its address";
        Self::new(StatusCode::FORBIDDEN, Rejection::Forbidden, message, hint)
    }

    pub(super) fn revoked(peer: &Subject) -> Self {
        let message = format!("the certificate of {:?} was revoked", peer.name);
        let hint = "ask whoever runs the server for another certificate";
        Self::new(StatusCode::FORBIDDEN, Rejection::Revoked, message, hint)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("the body is larger than the {limit} bytes that this server takes");
        let hint = "send fewer readings at a time, or raise the server's limit";
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Rejection::TooLarge,
            message,
            hint,
        )
    }

    pub(super) fn too_much(bytes: u64, limit: u64) -> Self {
        let message = format!(
            "these readings have {} together, more than the {} that this server computes on at once",
            Bytes(bytes),
            Bytes(limit)
        );
        let hint = "ask about fewer devices or a shorter time, or let the server take on more with --max-selected-bytes";
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Rejection::TooLarge,
            message,
            hint,
        )
    }

    pub(super) fn too_slow() -> Self {
        let message = "the body did not arrive in time";
        let hint = "check the connection, or send fewer readings at a time";
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            Rejection::TooSlow,
            message,
            hint,
        )
    }

    pub(super) fn broken_body() -> Self {
        let message = "the body broke off";
        Self::new(
            // Another try may help, which a 400 would deny.
            StatusCode::REQUEST_TIMEOUT,
            Rejection::Invalid,
            message,
            "send it again",
        )
    }

    pub(super) fn bad_id(message: impl ToString) -> Self {
        let hint = "take ids from the receipts of uploads, with commas between several, or say 'latest', latest:NAME for the last upload of a device, stored?device=NAME for what it uploaded, or board:BOARD for a board's frames";
        Self::new(
            StatusCode::BAD_REQUEST,
            Rejection::Invalid,
            message.to_string(),
            hint,
        )
    }

    pub(super) fn bad_filter(error: &FilterError) -> Self {
        let hint = "filter by device=NAME,NAME, since=TIME and until=TIME, and ask for pages of the list with limit=NUMBER and before=NUMBER";
        let status = StatusCode::BAD_REQUEST;
        Self::new(status, Rejection::Invalid, error.to_string(), hint)
    }

    pub(super) fn bad_job_id(message: impl ToString) -> Self {
        let hint = "GET /v1/jobs lists your jobs";
        let status = StatusCode::BAD_REQUEST;
        Self::new(status, Rejection::Invalid, message.to_string(), hint)
    }

    /// Refuses a job that is not there, or another owner's: whether it is there is not said.
    pub(super) fn no_such_job(id: JobId) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            Rejection::NotFound,
            format!("you have no job {id}"),
            "GET /v1/jobs lists your jobs; a server keeps them for some time only",
        )
    }

    pub(super) fn no_result_of(job: &Job) -> Self {
        let (message, hint) = match (&job.error, job.state.is_ended()) {
            (Some(error), _) => (error.error.clone(), error.hint.clone()),
            (None, true) => ("it was called off".to_owned(), "ask again".to_owned()),
            (None, false) => (
                "it is not answered yet".to_owned(),
                format!("GET /v1/jobs/{} says how far it is", job.id),
            ),
        };
        let message = format!("the job {} has no result: {message}", job.id);
        Self::new(StatusCode::NOT_FOUND, Rejection::NotFound, message, hint)
    }

    pub(super) fn result_is_gone(id: JobId) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            Rejection::NotFound,
            format!("the result of the job {id} is not kept any more"),
            "ask again, or let the server keep more with --keep-results and --keep-result-bytes",
        )
    }

    pub(super) fn too_long_to_keep(bytes: u64) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Rejection::TooLarge,
            format!(
                "the result has {}, more than this server keeps",
                Bytes(bytes)
            ),
            "ask in a query, and wait for the answer, or let the server keep more with --keep-result-bytes",
        )
    }

    pub(super) fn no_jobs_here() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            Rejection::NotFound,
            "this server keeps no results, and so takes no jobs",
            "ask in a query, and wait for the answer, or start the server without --keep-result-bytes 0",
        )
    }

    pub(super) fn unknown_definitions() -> Self {
        let message = "the definitions that the short upload refers to are not known here";
        let hint = "send the whole upload; its receipt says whether the next may be short";
        Self::new(
            StatusCode::CONFLICT,
            Rejection::UnknownDefinitions,
            message,
            hint,
        )
    }

    pub(super) fn bad_board(message: impl ToString) -> Self {
        let hint = "name the board by 16 hexadecimal digits, such as its DevEUI";
        Self::new(
            StatusCode::BAD_REQUEST,
            Rejection::Invalid,
            message.to_string(),
            hint,
        )
    }

    pub(super) fn no_frames(board: DeviceId) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            Rejection::NotFound,
            format!("no frames of the board {board} are stored that you ask about"),
            "`tfhe-sbc pads list` shows how many frames of each board have arrived",
        )
    }

    pub(super) fn nothing_stored() -> Self {
        let message = "no readings are stored yet";
        Self::new(
            StatusCode::NOT_FOUND,
            Rejection::NotFound,
            message,
            "upload readings first",
        )
    }

    /// Refuses to choose among the uploads of several parties.
    pub(super) fn whose_latest(uploaders: &[Uploader]) -> Self {
        let message = format!(
            "several have uploaded ({}), and 'latest' does not say whose readings you mean",
            names(uploaders)
        );
        let hint =
            "choose with --device NAME, or say latest:NAME for the last upload of one of them";
        Self::new(StatusCode::BAD_REQUEST, Rejection::Invalid, message, hint)
    }

    /// Refuses a question about readings some of which have other columns than the first.
    pub(super) fn other_columns(first: &StoredReadings, other: &StoredReadings) -> Self {
        let of = |upload: &StoredReadings| {
            let (uploader, columns) = (&upload.uploader, upload.summary.columns.join(", "));
            format!("those of {uploader} have {columns}")
        };
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Rejection::Invalid,
            format!(
                "the readings have different columns: {}, {}",
                of(first),
                of(other)
            ),
            crate::key_backend::SAME_COLUMNS,
        )
    }

    pub(super) fn nothing_of(name: &UploaderName, uploaders: &[Uploader]) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            Rejection::NotFound,
            format!("'{name}' has uploaded nothing that is stored"),
            match uploaders.is_empty() {
                true => "upload readings first".to_owned(),
                false => format!("these have uploaded: {}", names(uploaders)),
            },
        )
    }

    /// Refuses a question about a device that has uploaded nothing.
    pub(super) fn no_such_device(asked: &str, uploaders: &[Uploader]) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            Rejection::NotFound,
            format!("no device '{asked}' has uploaded anything that is stored"),
            format!("these have uploaded: {}", names(uploaders)),
        )
    }

    /// Refuses a question about a time of which nothing is stored, though `latest` is.
    pub(super) fn nothing_then(latest: &StoredReadings) -> Self {
        let message = "no stored readings are of that time";
        let hint = match latest.summary.span {
            Some(span) => format!(
                "the upload that was stored last, of '{}', has rows of {span}; `tfhe-sbc readings list` shows more",
                latest.uploader
            ),
            None => "labels of rows that are no times are of no time: ask without one".to_owned(),
        };
        Self::new(StatusCode::NOT_FOUND, Rejection::NotFound, message, hint)
    }

    pub(super) fn no_such_path() -> Self {
        let message = "there is nothing at this path";
        let hint = "the paths are /, /v1/readings, /v1/query/{id}, /v1/jobs, /v1/standing, /v1/pads, /v1/frames, /v1/status, /healthz, /readyz and /metrics";
        Self::new(StatusCode::NOT_FOUND, Rejection::NotFound, message, hint)
    }

    pub(super) fn wrong_method() -> Self {
        let message = "this path does not take this method";
        let hint = "POST /v1/readings, GET /v1/readings, POST /v1/query/{id}, POST, GET and DELETE /v1/jobs/{id} and /v1/standing/{name}, POST /v1/frames/{board}, POST and GET /v1/pads, DELETE /v1/pads/{board}, GET everything else";
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            Rejection::Invalid,
            message,
            hint,
        )
    }

    pub(super) fn busy(message: &str, retry_after_seconds: u32) -> Self {
        let hint = format!("try again in {retry_after_seconds} seconds");
        let refusal = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Rejection::Busy,
            message,
            hint,
        );
        Self {
            retry_after_seconds: Some(retry_after_seconds),
            ..refusal
        }
    }

    pub(super) fn no_memory() -> Self {
        Self::busy(
            "the server is taking in as many bodies as it has memory for",
            MEMORY_RETRY_AFTER_SECONDS,
        )
    }

    pub(super) fn too_many_connections(most: usize) -> Self {
        let message =
            format!("this certificate has {most} connections open already, as many as it may");
        let refusal = Self::busy(&message, 5);
        Self {
            hint: "close some of them, and give each device a certificate of its own".to_owned(),
            ..refusal
        }
    }

    pub(super) fn internal(message: &str) -> Self {
        let hint = "this is the server's fault: its log says more";
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Rejection::Internal,
            message,
            hint,
        )
    }
}

/// Returns the names of the first few uploaders.
fn names(uploaders: &[Uploader]) -> String {
    const SHOWN: usize = 8;
    let shown = uploaders.iter().take(SHOWN);
    let mut names: Vec<_> = shown.map(|uploader| uploader.name.as_str()).collect();
    if uploaders.len() > SHOWN {
        names.push("…");
    }
    names.join(", ")
}

impl From<BackendError> for Refusal {
    fn from(error: BackendError) -> Self {
        let (status, reason) = match error.kind {
            BackendErrorKind::BadInput | BackendErrorKind::NoRows => {
                (StatusCode::UNPROCESSABLE_ENTITY, Rejection::Invalid)
            }
            BackendErrorKind::WrongKey => (StatusCode::UNPROCESSABLE_ENTITY, Rejection::WrongKey),
            // The operator can permit it, so a board keeps what it has.
            BackendErrorKind::BadSignature => (StatusCode::FORBIDDEN, Rejection::Signature),
            BackendErrorKind::WrongName => (StatusCode::FORBIDDEN, Rejection::WrongName),
            BackendErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, Rejection::Internal),
            BackendErrorKind::Cancelled => (StatusCode::SERVICE_UNAVAILABLE, Rejection::Cancelled),
        };
        Self {
            is_about_no_rows: error.kind == BackendErrorKind::NoRows,
            ..Self::new(status, reason, error.message, error.hint)
        }
    }
}

impl From<FrameRefusal> for Refusal {
    fn from(refused: FrameRefusal) -> Self {
        let status = StatusCode::from_u16(refused.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let reason = match refused {
            FrameRefusal::Store(StoreError::PadsOfSameKey) => {
                return Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    Rejection::Invalid,
                    StoreError::PadsOfSameKey.to_string(),
                    "make new pads with `tfhe-sbc pads make`; each run draws a key of its own",
                );
            }
            FrameRefusal::Store(error) => return error.into(),
            FrameRefusal::Backend(error) => return error.into(),
            FrameRefusal::Pads(error) => {
                tracing::error!(%error, "stored pads cannot be used");
                return Self::internal("the board's pads cannot be used; nothing was stored");
            }
            FrameRefusal::UnknownBoard(_) => Rejection::NotFound,
            FrameRefusal::Busy => {
                return Self::busy(&refused.to_string(), MEMORY_RETRY_AFTER_SECONDS);
            }
            _ => Rejection::Invalid,
        };
        Self::new(status, reason, refused.to_string(), refused.hint())
    }
}

impl From<ShortError> for Refusal {
    fn from(error: ShortError) -> Self {
        let hint = "send the whole upload";
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Rejection::Invalid,
            error.to_string(),
            hint,
        )
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        // Paths on the server's disk are for its log and not for callers.
        let repair = "uploading the same readings again repairs them";
        let internal = |message: String, hint| {
            Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                Rejection::Internal,
                message,
                hint,
            )
        };
        match &error {
            StoreError::NotFound { .. } => {
                let hint = "GET /v1/readings lists what is stored";
                return Self::new(
                    StatusCode::NOT_FOUND,
                    Rejection::NotFound,
                    error.to_string(),
                    hint,
                );
            }
            _ => tracing::error!(%error, "the store failed"),
        }
        match &error {
            StoreError::Corrupt { id, .. } => {
                internal(format!("the stored readings {id} are damaged"), repair)
            }
            StoreError::Missing { id, .. } => {
                internal(format!("the stored readings {id} are missing"), repair)
            }
            error if error.is_full() => Self {
                retry_after_seconds: Some(FULL_RETRY_AFTER_SECONDS),
                ..Self::new(
                    StatusCode::INSUFFICIENT_STORAGE,
                    Rejection::DiskFull,
                    "the server's disk is full; nothing was stored",
                    "keep the readings and send them again once there is room",
                )
            },
            _ => Self::internal("the server's store failed; nothing was stored"),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, reason, retry_after) = (self.status, self.reason, self.retry_after_seconds);
        let mut response = (status, Json(self.into_body())).into_response();
        if let Some(seconds) = retry_after {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // The reason is for the middleware that counts.
        response.extensions_mut().insert(reason);
        response
    }
}
