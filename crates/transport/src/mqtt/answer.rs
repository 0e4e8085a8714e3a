//! The server's answer to an upload that came over a broker.

use serde::{Deserialize, Serialize};

use crate::BlobId;

/// The status of an answer to an upload whose parts are not all there yet; [`Answer::parts`] of
/// them are.
pub const CONTINUE: u16 = 100;

/// An answer, published as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The id of the upload that is answered: the hash of the bytes that were sent.
    pub id: BlobId,
    /// The status as over HTTP: 200 or 201 if the upload is on the disk, 4xx if it never will be,
    /// 5xx if it may be later; [`CONTINUE`] if parts are missing.
    pub status: u16,
    /// The number of parts that are there.
    #[serde(default)]
    pub parts: u32,
    /// A description of the error.
    #[serde(default)]
    pub error: String,
    /// Advice to the uploader.
    #[serde(default)]
    pub hint: String,
    /// The time after which to send the upload again, in seconds.
    #[serde(default)]
    pub retry_after: Option<u32>,
    /// The id under which the upload is on the disk, if that is another one because the upload was sent in the
    /// short form.
    #[serde(default)]
    pub stored: Option<BlobId>,
    /// Whether the next upload may travel in the short form, as in a
    /// [receipt](crate::protocol::UploadReceipt::definitions_kept).
    #[serde(default)]
    pub definitions_kept: bool,
}

impl Answer {
    /// Returns an answer with this status and nothing else.
    pub fn new(id: BlobId, status: u16) -> Self {
        Self {
            id,
            status,
            parts: 0,
            error: String::new(),
            hint: String::new(),
            retry_after: None,
            stored: None,
            definitions_kept: false,
        }
    }
}
