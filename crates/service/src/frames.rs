//! Frames of boards that are too small for ciphertexts: checked, completed with the board's pads, and stored as
//! uploads, in one transaction with their arrival.
//!
//! A frame is authenticated by its tag and by nothing else, so it may come over any network: UDP, a broker
//! ([`broker`]), or HTTPS. Nothing is read from the disk for bytes without a right tag.

pub mod broker;
mod chirpstack;
mod refusal;
pub(crate) mod udp;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use tfhe_sbc_frames::{Acknowledgement, DeviceId, Format, FrameError, Receiver};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::frames::FrameReceipt;
use tfhe_sbc_upload::pads::{PadFile, PadUsedTwice};

use crate::backend::{Backend, Uploader};
use crate::metrics::Metrics;
use crate::store::{ArrivingFrame, PadsNumber, Store, StoreError, Stored, StoredPads};
use broker::FrameBroker;
pub(crate) use refusal::{FrameReason, FrameRefusal};

/// The largest number of bytes that a frame may have.
pub(crate) const MAX_FRAME_BYTES: usize = Format::MAX_FRAME_BYTES;

/// The networks beside HTTPS that frames come over.
#[derive(Debug, Clone, Default)]
pub struct FramesConfig {
    /// The address at which frames arrive over UDP.
    pub udp: Option<SocketAddr>,
    /// The brokers whose messages are or carry frames.
    pub brokers: Vec<FrameBroker>,
}

/// The boards that there are pads for, and the way of their frames into the store.
pub(crate) struct Frames {
    store: Arc<Store>,
    backend: Arc<dyn Backend>,
    metrics: Arc<Metrics>,
    boards: RwLock<HashMap<DeviceId, Vec<BoardPads>>>,
    log: refusal::Log,
}

/// Pads of a board. The newest are the last in a board's list.
#[derive(Clone)]
struct BoardPads {
    number: PadsNumber,
    id: BlobId,
    receiver: Arc<Receiver>,
    has_ended: bool,
}

/// A frame whose tag is right. It may have arrived before.
pub(crate) struct CheckedFrame {
    pub(crate) board: DeviceId,
    pads: BoardPads,
    bytes: Vec<u8>,
    counter: u32,
    tag: u64,
}

impl CheckedFrame {
    /// Returns the answer to the frame for a network that has none. It is for frames that are in the store.
    pub(crate) fn acknowledgement(&self) -> Option<Acknowledgement> {
        self.pads.receiver.acknowledge(&self.bytes)
    }
}

impl Frames {
    /// Reads from the store which boards there are pads for.
    pub(crate) fn new(
        store: Arc<Store>,
        backend: Arc<dyn Backend>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, StoreError> {
        let mut boards: HashMap<_, Vec<_>> = HashMap::new();
        for pads in store.pads()? {
            match BoardPads::new(&pads) {
                Some((board, pads)) => boards.entry(board).or_default().push(pads),
                None => {
                    tracing::error!(id = %pads.id, "stored pads are of no possible format and are left out");
                }
            }
        }
        Ok(Self {
            store,
            backend,
            metrics,
            boards: RwLock::new(boards),
            log: refusal::Log::default(),
        })
    }

    /// Stores a file of pads, after which the board's frames are taken.
    pub(crate) fn put_pads(&self, file: &[u8]) -> Result<(StoredPads, Stored), FrameRefusal> {
        let head = self.backend.check_pads(file)?.head();
        let (pads, stored) = self.store.put_pads(file, &head)?;
        if let (Stored::New, Some((board, pads))) = (stored, BoardPads::new(&pads)) {
            let mut boards = self.boards.write().unwrap_or_else(PoisonError::into_inner);
            boards.entry(board).or_default().push(pads);
        }
        Ok((pads, stored))
    }

    /// Has a board's pads take no more frames, and returns them.
    pub(crate) fn end_pads(&self, board: DeviceId) -> Result<Vec<StoredPads>, FrameRefusal> {
        self.store.end_pads(board)?;
        self.mark_ended(board, |_| true);
        let mut pads = self.store.pads()?;
        pads.retain(|pads| pads.head.plan.device == board.0);
        match pads.is_empty() {
            true => Err(FrameRefusal::UnknownBoard(board)),
            false => Ok(pads),
        }
    }

    fn mark_ended(&self, board: DeviceId, which: impl Fn(&BoardPads) -> bool) {
        let mut boards = self.boards.write().unwrap_or_else(PoisonError::into_inner);
        let pads = boards.get_mut(&board).into_iter().flatten();
        for pads in pads.filter(|pads| which(pads)) {
            pads.has_ended = true;
        }
    }

    /// Checks a frame without the disk. `sender` is the board that the network names; without it the frame
    /// has to name its board.
    pub(crate) fn check(
        &self,
        sender: Option<DeviceId>,
        frame: &[u8],
    ) -> Result<CheckedFrame, FrameRefusal> {
        let board = sender.or_else(|| Receiver::device_id(frame));
        let board = board.ok_or(FrameRefusal::NoBoard)?;
        let boards = self.boards.read().unwrap_or_else(PoisonError::into_inner);
        let mut refused = FrameRefusal::UnknownBoard(board);
        // Frames of the old pads may be under way when there are new ones.
        for pads in boards.get(&board).into_iter().flatten().rev() {
            match pads.receiver.read(frame) {
                Ok(read) => {
                    return Ok(CheckedFrame {
                        board,
                        pads: pads.clone(),
                        bytes: frame.to_vec(),
                        counter: read.counter(),
                        tag: read.tag(),
                    });
                }
                // The reason of the newest pads counts, unless the frame is not even as long as theirs.
                Err(error) => match &refused {
                    FrameRefusal::UnknownBoard(_)
                    | FrameRefusal::Frame(FrameError::Length { .. }) => {
                        refused = error.into();
                    }
                    _ => {}
                },
            }
        }
        Err(refused)
    }

    /// Stores a checked frame as readings, unless it has arrived before. This waits for the disk.
    pub(crate) fn store(&self, frame: &CheckedFrame) -> Result<FrameReceipt, FrameRefusal> {
        let CheckedFrame {
            board,
            pads,
            bytes,
            counter,
            tag,
        } = frame;
        let receipt = |created, readings| FrameReceipt {
            board: board.to_string(),
            counter: *counter,
            created,
            readings,
        };
        match self.store.arrival(pads.number, *counter)? {
            Some((known, readings)) if known == *tag => {
                self.metrics.count_frame(false);
                return Ok(receipt(false, readings));
            }
            Some(_) => return Err(PadUsedTwice(*counter).into()),
            None if pads.has_ended => return Err(FrameRefusal::Ended(*board)),
            None => {}
        }
        let file = PadFile::read(&self.store.pads_file(&pads.id)?)?;
        let completed = file.complete(bytes)?;
        // The key may have been superseded since the pads were stored.
        let summary = self
            .backend
            .check_upload(&completed.upload, Uploader::Owner)?;
        let arriving = ArrivingFrame {
            pads: pads.number,
            counter: *counter,
            tag: *tag,
        };
        let stored = self
            .store
            .put_frame(&completed.upload, *board, &summary, arriving);
        let (readings, stored) = stored?;
        self.mark_ended(*board, |older| older.number < pads.number);
        self.metrics.count_frame(stored == Stored::New);
        Ok(receipt(stored == Stored::New, readings.id))
    }

    /// Checks and stores a frame. This waits for the disk.
    pub(crate) fn take(
        &self,
        sender: Option<DeviceId>,
        frame: &[u8],
    ) -> Result<FrameReceipt, FrameRefusal> {
        self.store(&self.check(sender, frame)?)
    }

    /// Counts a refusal, and logs it unless one for the same reason was logged a moment ago. `network` says where
    /// the frame came from.
    pub(crate) fn refused(&self, network: &str, refusal: &FrameRefusal) {
        self.count_refused(refusal.reason());
        self.log.say(network, refusal);
    }

    /// Counts a refusal that is logged elsewhere.
    pub(crate) fn count_refused(&self, reason: FrameReason) {
        self.metrics.count_refused_frame(reason);
    }
}

impl BoardPads {
    /// Returns the pads with their board. `None` if no frame of the plan is possible, which was checked
    /// before the pads were stored.
    fn new(pads: &StoredPads) -> Option<(DeviceId, Self)> {
        let receiver = pads.head.receiver().ok()?;
        let board = receiver.format().id();
        let pads = Self {
            number: pads.number,
            id: pads.id,
            receiver: Arc::new(receiver),
            has_ended: pads
                .ended_at
                .is_some_and(|ended| ended <= SystemTime::now()),
        };
        Some((board, pads))
    }
}
