//! Frames that are refused: why, in words and as a label of the metrics.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tfhe_sbc_frames::{DeviceId, FrameError};
use tfhe_sbc_upload::pads::{PadUsedTwice, PadsError};

use crate::backend::{BackendError, BackendErrorKind};
use crate::store::StoreError;

/// The time between two lines of the log for one reason.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// The reason why a frame, or a file of pads, is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameRefusal {
    #[error("the frame is too short to name its board")]
    NoBoard,
    #[error("there are no pads for the board {0}")]
    UnknownBoard(DeviceId),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("the pads of the board {0} have ended")]
    Ended(DeviceId),
    #[error(transparent)]
    PadUsedTwice(#[from] PadUsedTwice),
    /// The server or its disk has too much to do.
    #[error("more frames come than the server takes in")]
    Busy,
    #[error("a message is no event of ChirpStack: {0}")]
    Event(&'static str),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error("the stored pads cannot be used: {0}")]
    Pads(#[from] PadsError),
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for FrameRefusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::PadUsedTwice { counter } => Self::PadUsedTwice(PadUsedTwice(counter)),
            error => Self::Store(error),
        }
    }
}

/// A reason as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameReason {
    UnknownBoard,
    Malformed,
    Tag,
    Counter,
    PadUsedTwice,
    Ended,
    WrongKey,
    Busy,
    DiskFull,
    Internal,
}

impl FrameReason {
    pub(crate) const ALL: [Self; 10] = [
        Self::UnknownBoard,
        Self::Malformed,
        Self::Tag,
        Self::Counter,
        Self::PadUsedTwice,
        Self::Ended,
        Self::WrongKey,
        Self::Busy,
        Self::DiskFull,
        Self::Internal,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::UnknownBoard => "unknown_board",
            Self::Malformed => "malformed",
            Self::Tag => "tag",
            Self::Counter => "counter",
            Self::PadUsedTwice => "pad_used_twice",
            Self::Ended => "ended",
            Self::WrongKey => "wrong_key",
            Self::Busy => "busy",
            Self::DiskFull => "disk_full",
            Self::Internal => "internal",
        }
    }
}

impl FrameRefusal {
    pub(crate) fn reason(&self) -> FrameReason {
        match self {
            Self::UnknownBoard(_) => FrameReason::UnknownBoard,
            Self::NoBoard | Self::Event(_) => FrameReason::Malformed,
            Self::Frame(error) => match error {
                FrameError::Length { .. } | FrameError::Device(_) | FrameError::Padding => {
                    FrameReason::Malformed
                }
                FrameError::Tag => FrameReason::Tag,
                FrameError::Counter(_) => FrameReason::Counter,
            },
            Self::Ended(_) => FrameReason::Ended,
            Self::PadUsedTwice(_) => FrameReason::PadUsedTwice,
            Self::Busy => FrameReason::Busy,
            Self::Backend(error) if error.kind == BackendErrorKind::WrongKey => {
                FrameReason::WrongKey
            }
            Self::Store(error) if error.is_full() => FrameReason::DiskFull,
            Self::Backend(_) | Self::Pads(_) | Self::Store(_) => FrameReason::Internal,
        }
    }

    /// Returns whether the same frame may be taken later, because the fault is the server's.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(
            self.reason(),
            FrameReason::Busy | FrameReason::DiskFull | FrameReason::Internal
        )
    }

    /// Returns the status of an answer, as over HTTP. A board whose pads the server does not have keeps its
    /// frames after a 403 and sends them again.
    pub(crate) fn status(&self) -> u16 {
        match self.reason() {
            FrameReason::UnknownBoard => 403,
            FrameReason::Busy => 503,
            FrameReason::DiskFull => 507,
            FrameReason::Internal => 500,
            _ => 422,
        }
    }

    /// Returns advice to whoever sends the frame.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::UnknownBoard(_) => {
                "send the board's pads with `tfhe-sbc pads send`; `tfhe-sbc pads list` shows what the server has"
            }
            Self::Ended(_) => {
                "make new pads for the board with `tfhe-sbc pads make` and send them: newer pads have taken the place of these, or the owner has ended them"
            }
            Self::PadUsedTwice(_) => {
                "make new pads with `tfhe-sbc pads make`, and give the board its new key"
            }
            Self::Frame(FrameError::Counter(_)) => {
                "make new pads with `tfhe-sbc pads make`: the board has more frames than there are pads for"
            }
            Self::Frame(FrameError::Tag) => {
                "compare the pads that the server has (`tfhe-sbc pads list`) with those that the board's key was made with"
            }
            Self::Frame(_) | Self::NoBoard | Self::Event(_) => {
                "send the bytes that the board made, each frame by itself; docs/frames.md describes them"
            }
            _ => "this is the server's fault: its log says more",
        }
    }
}

/// The log of refusals, which grows slowly however many frames are refused.
#[derive(Default)]
pub(super) struct Log(Mutex<[Said; FrameReason::ALL.len()]>);

#[derive(Default)]
struct Said {
    last: Option<Instant>,
    since: u64,
}

impl Log {
    /// Logs a refusal, unless the last line for its reason is less than [`LOG_EVERY`] old.
    pub(super) fn say(&self, network: &str, refusal: &FrameRefusal) {
        let reason = refusal.reason();
        let unsaid = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let said = &mut all[reason as usize];
            let is_new = said.last.is_none_or(|last| last.elapsed() >= LOG_EVERY);
            if is_new {
                said.last = Some(Instant::now());
                Some(std::mem::take(&mut said.since))
            } else {
                said.since += 1;
                None
            }
        };
        if let Some(others) = unsaid {
            let reason = reason.label();
            tracing::warn!(network, reason, others, error = %refusal, "refused a frame");
        }
    }
}
