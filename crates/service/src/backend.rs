//! What the server needs from the cryptographic side, and nothing more: a check
//! of uploaded bytes and an evaluation of a query. The server treats both as
//! opaque.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// The cryptographic half of the service. Its methods block and may take their
/// time: the server calls them away from its network threads.
pub trait Backend: Send + Sync + 'static {
    /// Checks an upload before it is stored: kind, parameter and key
    /// fingerprints, checksum, sizes.
    fn check_upload(&self, bytes: &[u8]) -> Result<UploadSummary, BackendError>;

    /// Evaluates an encrypted query on stored readings, of several uploads one after the
    /// other as if they were one. Reports bootstraps to
    /// `progress` as they are done, and may stop with
    /// [`BackendErrorKind::Cancelled`] once [`Progress::is_cancelled`].
    fn evaluate(
        &self,
        readings: &[&[u8]],
        query: &[u8],
        progress: &Progress,
    ) -> Result<Evaluation, BackendError>;
}

/// What an upload holds, as far as it shows without the secret key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadSummary {
    /// Encrypted values in all.
    pub elements: u64,
    /// Readings, each with one value per column.
    pub rows: u64,
    /// The names of the columns.
    pub columns: Vec<String>,
}

/// An encrypted answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The answer, for the owner to decrypt.
    pub result: Vec<u8>,
    /// How many bootstraps it took.
    pub bootstraps: u64,
}

/// Why the cryptographic side refused, in words for the caller.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    /// What is wrong.
    pub message: String,
    /// What the caller can do about it.
    pub hint: String,
    /// Whose fault it is.
    pub kind: BackendErrorKind,
}

/// The kinds of [`BackendError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// The bytes are not what they should be.
    BadInput,
    /// The bytes are fine but were made under other keys or parameters.
    WrongKey,
    /// The server failed.
    Internal,
    /// The evaluation stopped because nobody waits for it any more.
    Cancelled,
}

/// Shared between a running evaluation, which counts, and the server, which
/// shows the count and may call the evaluation off.
#[derive(Debug, Default)]
pub struct Progress {
    bootstraps: AtomicU64,
    expected: AtomicU64,
    cancelled: AtomicBool,
    server_total: Option<Arc<AtomicU64>>,
}

impl Progress {
    /// Also adds to a total that outlives this evaluation.
    pub(crate) fn counting_into(server_total: Arc<AtomicU64>) -> Self {
        Self {
            server_total: Some(server_total),
            ..Self::default()
        }
    }

    /// Reports bootstraps done since the last report.
    pub fn add_bootstraps(&self, count: u64) {
        self.bootstraps.fetch_add(count, Ordering::Relaxed);
        if let Some(total) = &self.server_total {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// The bootstraps reported so far.
    pub fn bootstraps(&self) -> u64 {
        self.bootstraps.load(Ordering::Relaxed)
    }

    /// Reports how many bootstraps there will be in all.
    pub fn expect_bootstraps(&self, total: u64) {
        self.expected.store(total, Ordering::Relaxed);
    }

    /// How many bootstraps there will be in all; 0 if that is not known yet.
    pub fn expected_bootstraps(&self) -> u64 {
        self.expected.load(Ordering::Relaxed)
    }

    /// Asks the evaluation to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
