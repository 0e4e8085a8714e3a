//! What the server says to an upload that came over a broker.

use serde::{Deserialize, Serialize};

use crate::BlobId;

/// Parts are on their way: [`Answer::parts`] of them are there.
pub const CONTINUE: u16 = 100;

/// An answer, published as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// To which upload.
    pub id: BlobId,
    /// As over HTTP: 200 and 201 if it is on the disk, 4xx if it never will be, 5xx if it may be
    /// later; [`CONTINUE`] if parts are missing.
    pub status: u16,
    /// How many parts are there.
    #[serde(default)]
    pub parts: u32,
    /// What is wrong.
    #[serde(default)]
    pub error: String,
    /// What to do about it.
    #[serde(default)]
    pub hint: String,
    /// When to come back, in seconds.
    #[serde(default)]
    pub retry_after: Option<u32>,
}

impl Answer {
    /// An answer with nothing else to say.
    pub fn new(id: BlobId, status: u16) -> Self {
        Self {
            id,
            status,
            parts: 0,
            error: String::new(),
            hint: String::new(),
            retry_after: None,
        }
    }
}
