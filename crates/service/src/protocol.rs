//! What client and server say to each other over HTTP: paths, headers and JSON
//! bodies.
//!
//! | request | who | answer |
//! |---|---|---|
//! | `POST /v1/readings` (binary) | device, owner | 201 or 200, [`UploadReceipt`] |
//! | `GET /v1/readings` | owner | [`ReadingsList`] |
//! | `POST /v1/query/{id}` (binary), `id` a [`BlobId`], several with commas between, or `latest` | owner | the encrypted result, [`BOOTSTRAPS_HEADER`], [`SECONDS_HEADER`] |
//! | `GET /v1/status` | owner | [`Status`] |
//! | `GET /` | owner | the status page, for a browser |
//! | `GET /healthz`, `/readyz` | any certificate | `{"status": "ok"}` |
//! | `GET /metrics` | any certificate | Prometheus text |
//!
//! Every error is an [`ErrorBody`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::backend::UploadSummary;
use crate::store::{BlobId, BlobIdError, StoredReadings};

pub(crate) const READINGS_PATH: &str = "/v1/readings";
pub(crate) const QUERY_PATH: &str = "/v1/query/";
pub(crate) const STATUS_PATH: &str = "/v1/status";
pub(crate) const PAGE_PATH: &str = "/";
pub(crate) const HEALTH_PATH: &str = "/healthz";
pub(crate) const READY_PATH: &str = "/readyz";
pub(crate) const METRICS_PATH: &str = "/metrics";

/// The response header with the number of bootstraps that a query took.
pub const BOOTSTRAPS_HEADER: &str = "x-tfhe-sbc-bootstraps";
/// The response header with the seconds that a query took, waiting excluded.
pub const SECONDS_HEADER: &str = "x-tfhe-sbc-seconds";

/// The request header by which a client may tell its queries from others' in a [`Status`]: up
/// to [`MAX_TAG`] ASCII letters and digits.
pub const TAG_HEADER: &str = "x-tfhe-sbc-tag";
/// Most characters of a tag.
pub const MAX_TAG: usize = 32;

/// Most uploads that one query may be about.
pub const MAX_SELECTED: usize = 64;

/// Which stored readings a query is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Those stored last.
    Latest,
    /// Those of these names, rows of one after rows of the other: 1 to [`MAX_SELECTED`],
    /// each once. Their columns must be the same.
    Ids(Vec<BlobId>),
}

impl From<BlobId> for Selection {
    fn from(id: BlobId) -> Self {
        Self::Ids(vec![id])
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Ids(ids) => ids.iter().enumerate().try_for_each(|(i, id)| {
                let comma = if i == 0 { "" } else { "," };
                write!(f, "{comma}{id}")
            }),
        }
    }
}

/// Text that selects no readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// An id that is none.
    #[error(transparent)]
    Id(#[from] BlobIdError),
    /// An id twice.
    #[error("an id is there twice: its readings would count twice")]
    Repeated,
    /// Too many.
    #[error("a query is about at most {MAX_SELECTED} uploads")]
    Count,
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let mut ids = Vec::new();
        for id in text.split(',') {
            let id = id.parse()?;
            if ids.contains(&id) {
                return Err(SelectionError::Repeated);
            }
            if ids.len() == MAX_SELECTED {
                return Err(SelectionError::Count);
            }
            ids.push(id);
        }
        Ok(Self::Ids(ids))
    }
}

/// The server's word that readings are on its disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadReceipt {
    /// Their name.
    pub id: BlobId,
    /// Their size.
    pub bytes: u64,
    /// Whether this upload brought them, or they were there already.
    pub created: bool,
    /// When they were first stored, as RFC 3339 in UTC.
    pub created_at: String,
    /// What they hold.
    pub summary: UploadSummary,
}

impl UploadReceipt {
    pub(crate) fn new(stored: StoredReadings, created: bool) -> Self {
        let created_at = rfc3339(stored.created_at);
        Self {
            id: stored.id,
            bytes: stored.bytes,
            created,
            created_at,
            summary: stored.summary,
        }
    }
}

/// The newest stored readings, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingsList {
    /// At most a thousand.
    pub readings: Vec<ReadingsEntry>,
}

/// One upload in a [`ReadingsList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingsEntry {
    /// Its name.
    pub id: BlobId,
    /// Its size.
    pub bytes: u64,
    /// When it was first stored, as RFC 3339 in UTC.
    pub created_at: String,
    /// The name in the certificate of who uploaded it first.
    pub uploader: String,
    /// What it holds.
    pub summary: UploadSummary,
}

impl From<StoredReadings> for ReadingsEntry {
    fn from(stored: StoredReadings) -> Self {
        Self {
            id: stored.id,
            bytes: stored.bytes,
            created_at: rfc3339(stored.created_at),
            uploader: stored.uploader,
            summary: stored.summary,
        }
    }
}

/// What the server computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The queries that are being evaluated.
    pub running: Vec<RunningQuery>,
    /// The number of those that wait for their turn.
    pub waiting: u64,
}

/// A query that is being evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunningQuery {
    /// What its client calls it; empty if that gave it no name.
    pub tag: String,
    /// Bootstraps that are done.
    pub bootstraps: u64,
    /// Bootstraps that there will be in all; 0 while that is not known.
    pub expected: u64,
    /// How long it has been running.
    pub seconds: f64,
}

/// Why the server refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// What is wrong.
    pub error: String,
    /// What to do about it.
    pub hint: String,
}

/// A time as people and machines read it, to the second.
pub(crate) fn rfc3339(time: std::time::SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    // Only years past 9999 cannot be written.
    time.replace_nanosecond(0)
        .unwrap_or(time)
        .format(&Rfc3339)
        .unwrap_or_default()
}
