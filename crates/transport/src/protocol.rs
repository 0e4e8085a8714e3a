//! The protocol of client and server over HTTP: paths, headers and JSON bodies.
//!
//! | request | who | answer |
//! |---|---|---|
//! | `POST /v1/readings` (binary) | device, owner | 201 or 200, [`UploadReceipt`] |
//! | `GET /v1/readings`, with a [`Filter`] | owner | [`ReadingsList`] |
//! | `GET /v1/readings/{id}` | owner | the upload (binary) |
//! | `DELETE /v1/readings/{id}` | owner | the [`ReadingsEntry`] that there was |
//! | `GET /v1/columns/{id}`, `id` as for a query | owner | [`ColumnList`] |
//! | `POST /v1/query/{id}` (binary), `id` a [`Selection`], such as `stored?device=hill` | owner | the encrypted result, [`BOOTSTRAPS_HEADER`], [`SECONDS_HEADER`], and `Age` if it is a kept one |
//! | `POST /v1/jobs/{id}`, `GET` and `DELETE` of `/v1/jobs` | owner | [jobs](crate::jobs) |
//! | `POST`, `GET` and `DELETE` of `/v1/standing/{name}` | owner | [standing queries](crate::standing) |
//! | `GET /v1/status` | owner | [`Status`] |
//! | `GET /` | owner | the status page, for a browser |
//! | `GET /healthz`, `/readyz` | any certificate | `{"status": "ok"}` |
//! | `GET /metrics` | any certificate | Prometheus text |
//!
//! Every error is an [`ErrorBody`]. An upload may travel in its short form once a receipt says so; the id and the
//! size in a receipt are always those of the whole upload.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tfhe_sbc_upload::moments::Span;
pub use tfhe_sbc_upload::pads::DeviceId;
use tfhe_sbc_upload::readings::Column;

use crate::catalogue::{Filter, FilterError};
use crate::{BlobId, BlobIdError};

/// The path that takes uploads and lists them.
pub const READINGS_PATH: &str = "/v1/readings";
/// The path of the columns of readings; a [`Selection`] follows.
pub const COLUMNS_PATH: &str = "/v1/columns/";
/// The path of a query; a [`Selection`] follows.
pub const QUERY_PATH: &str = "/v1/query/";
/// The path of the [`Status`].
pub const STATUS_PATH: &str = "/v1/status";
/// The path of the status page.
pub const PAGE_PATH: &str = "/";
/// The path that answers as long as the server runs.
pub const HEALTH_PATH: &str = "/healthz";
/// The path that answers as long as the server takes requests.
pub const READY_PATH: &str = "/readyz";
/// The path of the metrics.
pub const METRICS_PATH: &str = "/metrics";

/// The name of the counter of bootstraps in the metrics, which moves while a query runs.
pub const BOOTSTRAPS_METRIC: &str = "tfhe_sbc_bootstraps_total";

/// The response header with the number of bootstraps that a query took.
pub const BOOTSTRAPS_HEADER: &str = "x-tfhe-sbc-bootstraps";
/// The response header with the seconds that a query took, waiting excluded.
pub const SECONDS_HEADER: &str = "x-tfhe-sbc-seconds";

/// The request header with a name of the client's, by which it tells its queries from others' in a
/// [`Status`]: up to [`MAX_TAG`] ASCII letters and digits.
pub const TAG_HEADER: &str = "x-tfhe-sbc-tag";
/// The most characters of a tag.
pub const MAX_TAG: usize = 32;

/// The value of the header `Cache-Control` of a query that is not to be answered with a kept result.
pub const NO_CACHE: &str = "no-cache";

/// The status of the answer to a short upload whose definitions the server does not know: the whole upload is
/// to be sent instead. Nothing else has this status.
pub const UNKNOWN_DEFINITIONS: u16 = 409;

/// The most ids of uploads that one query may name, so that they have room in a path. A query by device and time may be about more
/// uploads.
pub const MAX_SELECTED: usize = 512;

/// The stored readings that a query is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The upload that was stored last, if one party has uploaded everything that is stored.
    Latest,
    /// The upload that was stored last of those that this party uploaded: `latest:NAME`.
    LatestOf(UploaderName),
    /// The uploads of these names, the rows of one after the rows of the other: 1 to
    /// [`MAX_SELECTED`] names, each once. The uploads must have the same columns.
    Ids(Vec<BlobId>),
    /// What became of the frames of a board, in the order of their counters: `board:BOARD`, or
    /// `board:BOARD:FIRST-LAST` for those of the counters `FIRST` to `LAST`. The board's newest pads of which frames have
    /// arrived count.
    Board(DeviceId, FrameSpan),
    /// All uploads that meet a filter, in the order in which they were stored: `stored`, or `stored?device=…&since=…&until=…`. They
    /// may have other rows too, which a request leaves out by itself.
    Stored(Filter),
}

/// The name of a party whose uploads can be selected: 1 to 64 letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploaderName(String);

impl UploaderName {
    /// Returns the name; `None` if it cannot stand in a selection.
    pub fn new(name: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let fits = (1..=64).contains(&name.len()) && name.bytes().all(is_plain);
        fits.then(|| Self(name.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UploaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The counters of frames from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSpan {
    /// The first counter.
    pub first: u32,
    /// The last counter.
    pub last: u32,
}

impl FrameSpan {
    /// All counters.
    pub const ALL: Self = Self {
        first: 0,
        last: u32::MAX,
    };
}

/// The beginning of a selection of a party's last upload.
const LATEST: &str = "latest:";
/// The beginning of a selection of a board's frames.
const BOARD: &str = "board:";
/// The beginning of a selection by a filter.
const STORED: &str = "stored";

impl From<BlobId> for Selection {
    fn from(id: BlobId) -> Self {
        Self::Ids(vec![id])
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::LatestOf(name) => write!(f, "{LATEST}{name}"),
            Self::Ids(ids) => ids.iter().enumerate().try_for_each(|(i, id)| {
                let comma = if i == 0 { "" } else { "," };
                write!(f, "{comma}{id}")
            }),
            Self::Board(board, FrameSpan::ALL) => write!(f, "{BOARD}{board}"),
            Self::Board(board, FrameSpan { first, last }) => {
                write!(f, "{BOARD}{board}:{first}-{last}")
            }
            Self::Stored(filter) => write!(f, "{STORED}{}", filter.to_query()),
        }
    }
}

/// Text that selects no readings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A name is not an id.
    #[error(transparent)]
    Id(#[from] BlobIdError),
    /// An id is there twice.
    #[error("an id is there twice: its readings would count twice")]
    Repeated,
    /// There are more than [`MAX_SELECTED`] ids.
    #[error(
        "a query names at most {MAX_SELECTED} uploads by their ids; select more of them by device and time"
    )]
    Count,
    /// A party is not named as it should be.
    #[error(
        "a device's last upload is latest:NAME, with the name in its certificate: letters, digits, '-', '_' and '.'"
    )]
    Name,
    /// The board or its frames are not named as they should be.
    #[error(
        "a board's frames are board:BOARD or board:BOARD:FIRST-LAST, with 16 hexadecimal digits and two counters"
    )]
    Board,
    /// A filter is none, or has pages.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// Reads what follows [`BOARD`].
fn frames_of_board(text: &str) -> Option<(DeviceId, FrameSpan)> {
    let Some((board, counters)) = text.split_once(':') else {
        return Some((text.parse().ok()?, FrameSpan::ALL));
    };
    let (first, last) = counters.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((board.parse().ok()?, FrameSpan { first, last }))
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if let Some(name) = text.strip_prefix(LATEST) {
            let name = UploaderName::new(name).ok_or(SelectionError::Name)?;
            return Ok(Self::LatestOf(name));
        }
        if let Some(board) = text.strip_prefix(BOARD) {
            let (board, span) = frames_of_board(board).ok_or(SelectionError::Board)?;
            return Ok(Self::Board(board, span));
        }
        if let Some(query) = text.strip_prefix(STORED) {
            let filter = Filter::from_query(query.strip_prefix('?').unwrap_or(query))?;
            return match (filter.before, filter.limit) {
                (None, None) => Ok(Self::Stored(filter)),
                _ => Err(FilterError::Page.into()),
            };
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

/// The content of an upload, as far as it shows without the secret key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadSummary {
    /// The number of encrypted values in all.
    pub elements: u64,
    /// The number of rows, each with one value per column.
    pub rows: u64,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The span of time of the rows, if all their labels are times. Receipts leave out this and what follows, and
    /// servers of older versions do not tell them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The fingerprint of the key that the values are encrypted under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The number of that key among its device's; absent for a key that devices share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u32>,
}

/// The server's word that readings are on its disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadReceipt {
    /// The id of the readings.
    pub id: BlobId,
    /// The size of the readings in bytes.
    pub bytes: u64,
    /// Whether this upload brought the readings; otherwise they were there already.
    pub created: bool,
    /// The time at which they were first stored, as RFC 3339 in UTC.
    pub created_at: String,
    /// The content of the readings.
    pub summary: UploadSummary,
    /// Whether the server keeps the definitions of the upload for its uploader, so that the next upload with
    /// the same definitions may travel in the short form. Absent in answers of servers without it.
    #[serde(default)]
    pub definitions_kept: bool,
}

/// A page of the stored readings, those that were stored last first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingsList {
    /// The uploads, at most [`MAX_PAGE`](crate::catalogue::MAX_PAGE).
    pub readings: Vec<ReadingsEntry>,
    /// The number that the next page is asked for with, as its `before`; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The columns that stored readings have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnList {
    /// The columns, with their encodings, in the order of the upload.
    pub columns: Vec<Column>,
    /// The number of rows of all the readings together. Absent in answers of servers of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The number of the uploads. This and what follows is absent in answers of servers of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploads: Option<u64>,
    /// The number of devices that they are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<u64>,
    /// The span of time of their rows, if all labels are times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The upload that [`Selection::Latest`] or [`Selection::LatestOf`] stands for now, so that a question can be
    /// about it and no later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<ReadingsEntry>,
}

/// One upload in a [`ReadingsList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingsEntry {
    /// The id of the upload.
    pub id: BlobId,
    /// The size of the upload in bytes.
    pub bytes: u64,
    /// The time at which it was first stored, as RFC 3339 in UTC.
    pub created_at: String,
    /// The name in the certificate of the first uploader.
    pub uploader: String,
    /// The content of the upload.
    pub summary: UploadSummary,
}

/// The queries of the server.
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
    /// The tag that the client gave the query; empty if it gave none.
    pub tag: String,
    /// The number of bootstraps that are done.
    pub bootstraps: u64,
    /// The number of bootstraps that there will be in all; 0 while it is not known.
    pub expected: u64,
    /// The seconds since the evaluation began.
    pub seconds: f64,
}

/// The reason why the server refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// A description of the error.
    pub error: String,
    /// Advice to the client.
    pub hint: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_go_through_text() {
        let id = BlobId::of(b"a");
        let other = BlobId::of(b"b");
        let board = "0123456789abcdef";
        for text in [
            "latest".to_owned(),
            "latest:hill".to_owned(),
            "latest:a.b_c-1".to_owned(),
            id.to_string(),
            format!("{id},{other}"),
            format!("board:{board}"),
            format!("board:{board}:3-7"),
            "stored".to_owned(),
            "stored?device=hill,lake-*&since=2026-11-23T00:00:00Z".to_owned(),
        ] {
            let selection: Selection = text.parse().unwrap();
            assert_eq!(selection.to_string(), text);
        }
        for (text, error) in [
            ("latest:", SelectionError::Name),
            ("latest:a/b", SelectionError::Name),
            ("latest:a b", SelectionError::Name),
            ("board:1", SelectionError::Board),
            ("stored?limit=5", FilterError::Page.into()),
            ("stored?device=", FilterError::Names.into()),
            ("storedx", FilterError::Unknown("x".to_owned()).into()),
        ] {
            assert_eq!(text.parse::<Selection>(), Err(error), "{text}");
        }
        assert!("latestest".parse::<Selection>().is_err());
        let twice = format!("{id},{id}");
        assert_eq!(twice.parse::<Selection>(), Err(SelectionError::Repeated));
    }
}
