//! Frames over UDP: one named frame in a datagram.
//!
//! A frame that is in the store is answered by an acknowledgement of 20 bytes, which is less than any frame, and which only
//! the board's MAC key makes. Anything else is answered by nothing, so that nobody learns anything by trying, and nobody's
//! network is filled with answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tfhe_sbc_frames::DeviceId;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{CheckedFrame, FrameRefusal, Frames, MAX_FRAME_BYTES};

/// The most frames that are being stored at a time. Further ones are refused: a board sends them again.
const STORED_AT_A_TIME: usize = 64;
/// The frames that one board may send at once, after a silence.
const BURST: f64 = 64.0;
/// The frames of one board that are taken in a second.
const PER_SECOND: f64 = 32.0;
/// The pause after an error of the socket.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes frames until it is time to stop, then finishes those that are being stored.
pub(crate) async fn run(
    socket: UdpSocket,
    frames: Arc<Frames>,
    mut stopping: watch::Receiver<bool>,
) {
    let socket = Arc::new(socket);
    let mut rates = Rates::default();
    let mut storing = JoinSet::new();
    // One byte more, so that a longer datagram is not taken for the frame that it begins with.
    let mut buffer = vec![0; MAX_FRAME_BYTES + 1];
    loop {
        let received = tokio::select! {
            received = socket.recv_from(&mut buffer) => received,
            Some(_) = storing.join_next() => continue,
            _ = stopping.wait_for(|stopping| *stopping) => break,
        };
        let (len, from) = match received {
            Ok(received) => received,
            Err(error) => {
                // Some systems report here that an earlier answer found nobody.
                tracing::debug!(%error, "no datagram");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let datagram = buffer.get(..len).unwrap_or_default();
        let checked = frames.check(None, datagram).and_then(|frame| {
            match storing.len() < STORED_AT_A_TIME && rates.take(frame.board, Instant::now()) {
                true => Ok(frame),
                false => Err(FrameRefusal::Busy),
            }
        });
        let frame = match checked {
            Ok(frame) => frame,
            Err(refusal) => {
                frames.refused("udp", &refusal);
                continue;
            }
        };
        let (socket, frames) = (Arc::clone(&socket), Arc::clone(&frames));
        storing.spawn(async move {
            if let Some(acknowledgement) = store(frames, frame).await {
                // A board that gets no answer sends the frame again.
                let _ = socket.send_to(&acknowledgement, from).await;
            }
        });
    }
    while storing.join_next().await.is_some() {}
}

/// Stores a frame, and returns the bytes that answer it.
async fn store(frames: Arc<Frames>, frame: CheckedFrame) -> Option<Vec<u8>> {
    let work = tokio::task::spawn_blocking(move || match frames.store(&frame) {
        Ok(receipt) => {
            let (board, counter) = (&receipt.board, receipt.counter);
            tracing::info!(board, counter, created = receipt.created, "frame over UDP");
            Some(frame.acknowledgement()?.as_bytes().to_vec())
        }
        Err(refusal) => {
            frames.refused("udp", &refusal);
            None
        }
    });
    work.await.unwrap_or_else(|panic| {
        tracing::error!(%panic, "storing a frame failed; report this as an error");
        None
    })
}

/// The numbers of frames that boards may send at the moment: a bucket for each, filled by the second (the token bucket of RFC
/// 2697, section 3, with one rate). Only boards whose frames had right tags are in it, so their number is bounded.
#[derive(Default)]
struct Rates(HashMap<DeviceId, Bucket>);

struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Rates {
    /// Returns whether the board may send another frame now, and counts it then.
    fn take(&mut self, board: DeviceId, now: Instant) -> bool {
        let bucket = self.0.entry(board).or_insert(Bucket {
            tokens: BURST,
            filled: now,
        });
        let since = now.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.tokens = (bucket.tokens + since * PER_SECOND).min(BURST);
        bucket.filled = now;
        let may = bucket.tokens >= 1.0;
        if may {
            bucket.tokens -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_sends_a_burst_and_then_at_its_rate() {
        let mut rates = Rates::default();
        let start = Instant::now();
        let (one, other) = (DeviceId([1; 8]), DeviceId([2; 8]));
        let taken = |rates: &mut Rates, board, at, tries| {
            (0..tries).filter(|_| rates.take(board, at)).count()
        };
        assert_eq!(taken(&mut rates, one, start, 100), BURST as usize);
        // One board does not take another's turn.
        assert_eq!(taken(&mut rates, other, start, 100), BURST as usize);
        let later = start + Duration::from_millis(500);
        assert_eq!(taken(&mut rates, one, later, 100), PER_SECOND as usize / 2);
        // No more than a burst is saved up.
        let much_later = start + Duration::from_secs(3600);
        assert_eq!(taken(&mut rates, one, much_later, 1000), BURST as usize);
    }
}
