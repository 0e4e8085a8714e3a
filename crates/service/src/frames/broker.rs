//! Frames from a broker: as messages, or in the events of ChirpStack.
//!
//! The session goes on when the server was away, so the broker keeps messages of QoS 1 for it meanwhile. A message is
//! acknowledged to the broker once its frame is on the disk or refused for good.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use tfhe_sbc_frames::DeviceId;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::mqtt::answer::Answer;
use tfhe_sbc_transport::mqtt::connection::{Broker, Connection, MqttError};
use tfhe_sbc_transport::mqtt::packet::{Incoming, Outgoing};
use tfhe_sbc_transport::mqtt::topics::{frame_topic, frames_device_of};

use super::chirpstack::uplink;
use super::{FrameRefusal, Frames};
use crate::listening::{self, KEEP_ALIVE, Pauses, Pulse, RETRY_AFTER_SECONDS};

/// The most frames that are being stored at a time. The broker waits meanwhile.
const STORED_AT_A_TIME: usize = 16;

/// A broker with frames.
#[derive(Clone)]
pub struct FrameBroker {
    /// The broker, and what the server shows it.
    pub broker: Broker,
    /// The server's name at the broker, which no other client may have and which stays the same.
    pub client: String,
    /// The form of the messages.
    pub messages: FrameMessages,
}

/// The form of a broker's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameMessages {
    /// Each is a frame, published under `PREFIX/NAME/frame`. A bare frame is of the board `NAME`. The server answers
    /// under `PREFIX/NAME/answer`.
    Frames {
        /// The beginning of the topics.
        prefix: String,
    },
    /// Each is an event of ChirpStack.
    ChirpStack {
        /// The topics of the events, which may have wildcards.
        topic: String,
        /// The port of LoRaWAN that frames come from; without it, all.
        port: Option<u8>,
    },
}

impl std::fmt::Debug for FrameBroker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameBroker")
            .field("client", &self.client)
            .field("messages", &self.messages)
            .finish_non_exhaustive()
    }
}

/// A message that holds a frame.
struct Held {
    /// The board that the network names.
    sender: Option<DeviceId>,
    frame: Vec<u8>,
    /// The name to answer.
    answer: Option<String>,
}

impl FrameMessages {
    fn topic(&self) -> String {
        match self {
            Self::Frames { prefix } => frame_topic(prefix, "+"),
            Self::ChirpStack { topic, .. } => topic.clone(),
        }
    }

    /// The word for the network in the log.
    const fn network(&self) -> &'static str {
        match self {
            Self::Frames { .. } => "mqtt",
            Self::ChirpStack { .. } => "chirpstack",
        }
    }

    /// Returns what a message holds; `None` if there is nothing to do with it.
    fn held(&self, topic: &str, payload: &[u8]) -> Result<Option<Held>, FrameRefusal> {
        match self {
            Self::Frames { prefix } => Ok(frames_device_of(prefix, topic).map(|name| Held {
                // A board behind an agent has another name, and its frames name it.
                sender: name.parse().ok(),
                frame: payload.to_vec(),
                answer: Some(name.to_owned()),
            })),
            Self::ChirpStack { port, .. } => {
                let found = uplink(payload, *port)?;
                Ok(found.map(|(board, frame)| Held {
                    sender: Some(board),
                    frame,
                    answer: None,
                }))
            }
        }
    }
}

/// The outcome of a frame: the number under which the broker wants to hear of it, and the answer.
struct Done {
    id: Option<u16>,
    answer: Option<(String, Answer)>,
    /// The frame was not taken, but may be later.
    is_temporary: bool,
}

/// Takes frames from a broker until it is time to stop.
pub(crate) async fn run(
    broker: FrameBroker,
    frames: Arc<Frames>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut pauses = Pauses::new();
    loop {
        let began = Instant::now();
        tokio::select! {
            ended = session(&broker, &frames) => match ended {
                Ok(()) => tracing::warn!("a frame could not be stored: the broker is asked for it again"),
                Err(error) => tracing::warn!(%error, "no frames from the broker for now"),
            },
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        if !pauses.wait(began, &mut stopping).await {
            return;
        }
    }
}

/// Returns without an error if a frame could not be stored, so that the broker sends it again in the next session.
async fn session(broker: &FrameBroker, frames: &Arc<Frames>) -> Result<(), MqttError> {
    let topic = broker.messages.topic();
    let topics = [topic.as_str()];
    let mut connection =
        Connection::resume(&broker.broker, &broker.client, KEEP_ALIVE, &topics).await?;
    tracing::info!(topic, "listening to the broker for frames");
    let mut storing = JoinSet::new();
    let mut pulse = Pulse::new();
    loop {
        let is_full = storing.len() >= STORED_AT_A_TIME;
        let mut done = None;
        tokio::select! {
            packet = connection.next(), if !is_full => {
                pulse.heard();
                match packet? {
                    Incoming::Publish { topic, payload, id } => {
                        match broker.messages.held(topic, payload) {
                            Ok(Some(held)) => {
                                let frames = Arc::clone(frames);
                                let network = broker.messages.network();
                                storing.spawn_blocking(move || take(&frames, network, held, id));
                            }
                            Ok(None) => done = Some(Done { id, answer: None, is_temporary: false }),
                            Err(refusal) => {
                                frames.refused(broker.messages.network(), &refusal);
                                done = Some(Done { id, answer: None, is_temporary: false });
                            }
                        }
                    }
                    Incoming::SubAck { granted: false } => return Err(connection.no_subscription()),
                    _ => {}
                }
            }
            Some(stored) = storing.join_next() => {
                // The server did not read from the broker while there were enough frames.
                if is_full {
                    pulse.heard();
                }
                match stored {
                    Ok(stored) => done = Some(stored),
                    Err(error) => {
                        tracing::error!(%error, "storing a frame failed; report this as an error");
                        return Ok(());
                    }
                }
            }
            () = pulse.tick() => pulse.beat(&mut connection, !is_full).await?,
        }
        let Some(done) = done else { continue };
        if let Some((name, answer)) = done.answer
            && let FrameMessages::Frames { prefix } = &broker.messages
        {
            listening::publish(&mut connection, prefix, &name, &answer).await?;
        }
        if done.is_temporary {
            return Ok(());
        }
        if let Some(id) = done.id {
            connection.send(Outgoing::PubAck { id }).await?;
        }
    }
}

/// Checks and stores the frame of a message. This waits for the disk.
fn take(frames: &Frames, network: &'static str, held: Held, id: Option<u16>) -> Done {
    let taken = frames.take(held.sender, &held.frame);
    let sent = BlobId::of(&held.frame);
    let (answer, is_temporary) = match &taken {
        Ok(receipt) => {
            let (board, counter) = (&receipt.board, receipt.counter);
            tracing::info!(network, board, counter, created = receipt.created, "frame");
            let status = if receipt.created { 201 } else { 200 };
            let answer = Answer {
                stored: Some(receipt.readings),
                ..Answer::new(sent, status)
            };
            (answer, false)
        }
        Err(refusal) => {
            frames.refused(network, refusal);
            let is_temporary = refusal.is_temporary();
            let answer = Answer {
                error: refusal.to_string(),
                hint: refusal.hint().to_owned(),
                retry_after: is_temporary.then_some(RETRY_AFTER_SECONDS),
                ..Answer::new(sent, refusal.status())
            };
            (answer, is_temporary)
        }
    };
    Done {
        id,
        answer: held.answer.map(|name| (name, answer)),
        is_temporary,
    }
}
