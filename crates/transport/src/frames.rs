//! The protocol of frames and pads over HTTP, and their bodies.
//!
//! | request | who | answer |
//! |---|---|---|
//! | `POST /v1/pads` (binary: a file of pads) | owner | 201 or 200, [`PadsEntry`] |
//! | `GET /v1/pads` | owner | [`PadsList`] |
//! | `DELETE /v1/pads/{board}` | owner | [`PadsList`] of the board |
//! | `POST /v1/frames` (binary: a named frame) | device, owner | 201 or 200, [`FrameReceipt`] |
//! | `POST /v1/frames/{board}` (binary: a frame) | device, owner | 201 or 200, [`FrameReceipt`] |
//!
//! A board is 16 hexadecimal digits.

use serde::{Deserialize, Serialize};

use crate::BlobId;

/// The path that takes pads and lists them; a board follows where its pads are ended.
pub const PADS_PATH: &str = "/v1/pads";
/// The path that takes frames; the board follows unless the frame names it.
pub const FRAMES_PATH: &str = "/v1/frames";

/// Pads that the server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PadsEntry {
    /// The board, in hexadecimal digits.
    pub board: String,
    /// The id of the file of pads.
    pub id: BlobId,
    /// The time at which the file was stored, as RFC 3339 in UTC.
    pub created_at: String,
    /// The names of the columns of a row.
    pub columns: Vec<String>,
    /// The number of rows of a frame.
    pub rows: u8,
    /// The number of bytes of a frame.
    pub frame_bytes: u64,
    /// Whether frames name the board.
    pub named: bool,
    /// The number of frames that there are pads for.
    pub frames: u32,
    /// The number of frames that have arrived.
    pub arrived: u32,
    /// The number of frames up to the newest that have not arrived: lost, under way, or leapt over by the board.
    pub missing: u32,
    /// The number of frames behind the newest that there are pads for.
    pub left: u32,
    /// The time from which no frame of these pads is taken any more, as RFC 3339 in UTC.
    pub ended_at: Option<String>,
}

/// Pads that the server has, the newest of a board first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PadsList {
    /// The pads.
    pub pads: Vec<PadsEntry>,
}

/// The server's word that a frame is on its disk, as readings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameReceipt {
    /// The board, in hexadecimal digits.
    pub board: String,
    /// The counter of the frame.
    pub counter: u32,
    /// Whether this frame brought the readings; otherwise they were there already.
    pub created: bool,
    /// The id of the readings that the frame became.
    pub readings: BlobId,
}
