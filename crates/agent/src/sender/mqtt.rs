//! Uploads over a broker, in parts of a size that the broker accepts.

use std::time::Duration;

use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::mqtt::answer::{Answer, CONTINUE};
use tfhe_sbc_transport::mqtt::connection::{Broker, Connection, MqttError};
use tfhe_sbc_transport::mqtt::packet::{Incoming, Outgoing, publish_overhead};
use tfhe_sbc_transport::mqtt::part::{HEADER_BYTES, Part};
use tfhe_sbc_transport::mqtt::topics::{answer_topic, frame_topic, up_topic};
use tfhe_sbc_transport::protocol::DeviceId;
use tokio::runtime::Runtime;
use tokio::time::{Instant, timeout_at};

use super::https::is_final;
use super::{Acknowledged, SendFailure};
use crate::config::Config;
use crate::error::AgentError;

/// The most parts that the broker has not acknowledged.
const WINDOW: usize = 16;
/// The most parts that the server has not told of, for brokers queue few messages.
const AHEAD: u32 = 128;
/// The time that a connection is kept between batches. The broker may close a connection that was
/// silent for longer, and networks forget it.
const KEPT: Duration = Duration::from_secs(30);

/// A broker, and the session there while there is one.
pub(crate) struct Mqtt {
    runtime: Runtime,
    broker: Broker,
    device: String,
    up: String,
    frames: String,
    answers: String,
    part_bytes: usize,
    timeout: Duration,
    /// The session, with the time of its last batch.
    connection: Option<(Connection, Instant)>,
}

impl Mqtt {
    pub(super) fn new(config: &Config, identity: &Identity) -> Result<Self, AgentError> {
        let peer = identity.subject().ok_or_else(|| {
            AgentError::setting(
                "tls.certificate",
                "it names nobody",
                "make one with `tfhe-sbc certs --add NAME`",
            )
        })?;
        let broker = Broker::new(&config.server.url, Some(identity), None)
            .map_err(|error| AgentError::setting("server.url", error, "correct the address"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| AgentError::new(error, "this is a fault of the system"))?;
        let device = peer.name.to_string();
        let up = up_topic(&config.mqtt.topic, &device);
        Ok(Self {
            runtime,
            broker,
            part_bytes: part_bytes(config.mqtt.max_packet, &up)?,
            answers: answer_topic(&config.mqtt.topic, &device),
            frames: frame_topic(&config.mqtt.topic, &device),
            up,
            device,
            timeout: config.server.timeout,
            connection: None,
        })
    }

    /// Sends an upload, whole or short.
    pub(super) fn send(&mut self, upload: &[u8]) -> Result<Acknowledged, SendFailure> {
        let size = self.part_bytes;
        let parts = || Part::cut(upload, size).map(|part| part.to_bytes());
        self.publish(Way::Uploads, BlobId::of(upload), parts)
    }

    /// Sends a frame.
    pub(super) fn send_frame(&mut self, frame: &[u8]) -> Result<(), SendFailure> {
        let message = || std::iter::once(frame.to_vec());
        let answered = self.publish(Way::Frames, BlobId::of(frame), message);
        answered.map(drop)
    }

    /// Returns whether the broker knows this agent under the name of a board.
    pub(super) fn is_named(&self, board: DeviceId) -> bool {
        self.device == board.to_string()
    }

    /// Publishes what is named `sent`, and waits for the server's answer.
    fn publish<M: Iterator<Item = Vec<u8>>>(
        &mut self,
        way: Way,
        sent: BlobId,
        messages: impl Fn() -> M,
    ) -> Result<Acknowledged, SendFailure> {
        let kept = self.connection.take();
        let kept = kept.filter(|(_, used)| used.elapsed() < KEPT);
        let kept = kept.map(|(connection, _)| connection);
        let was_kept = kept.is_some();
        let topic = match way {
            Way::Uploads => self.up.as_str(),
            Way::Frames => self.frames.as_str(),
        };
        let transfer = |kept| {
            self.runtime
                .block_on(self.transfer(kept, topic, sent, messages()))
        };
        let done = match transfer(kept) {
            // The broker closed the connection in the meantime.
            Err(MqttError::Io { .. }) if was_kept => transfer(None),
            other => other,
        };
        let (connection, outcome) = done.map_err(|error| match error {
            MqttError::Refused { .. } => SendFailure::unwelcome(error),
            error => SendFailure::later(error),
        })?;
        self.connection = connection.map(|connection| (connection, Instant::now()));
        outcome
    }

    /// Publishes messages, and waits for the server's answer.
    async fn transfer(
        &self,
        kept: Option<Connection>,
        topic: &str,
        sent: BlobId,
        mut messages: impl Iterator<Item = Vec<u8>>,
    ) -> Result<(Option<Connection>, Result<Acknowledged, SendFailure>), MqttError> {
        let mut connection = match kept {
            Some(connection) => connection,
            None => {
                let topics = [self.answers.as_str()];
                // The agent is silent while the server stores, and the broker must not close the
                // session then.
                let keep_alive = KEPT.max(self.timeout) * 2;
                Connection::open(&self.broker, &self.device, keep_alive, &topics).await?
            }
        };
        let (mut published, mut known, mut unacknowledged) = (0, 0_u32, 0);
        let mut deadline = Instant::now() + self.timeout;
        loop {
            while unacknowledged < WINDOW
                && published < known.saturating_add(AHEAD)
                && let Some(payload) = messages.next()
            {
                let id = connection.id();
                let payload = payload.as_slice();
                let message = Outgoing::Publish {
                    topic,
                    payload,
                    id,
                    retain: false,
                };
                connection.send(message).await?;
                published += 1;
                unacknowledged += 1;
            }
            let Ok(packet) = timeout_at(deadline, connection.next()).await else {
                let words = format!(
                    "the server behind the broker did not answer within {:?}. Does it run, with --mqtt (and --mqtt-frames for frames) and the same topic?",
                    self.timeout
                );
                return Ok((None, Err(SendFailure::later(words))));
            };
            let (acknowledge, answer) = match packet? {
                Incoming::PubAck { .. } => {
                    unacknowledged = unacknowledged.saturating_sub(1);
                    continue;
                }
                Incoming::Publish { payload, id, .. } => {
                    (id, serde_json::from_slice::<Answer>(payload).ok())
                }
                _ => continue,
            };
            if let Some(id) = acknowledge {
                connection.send(Outgoing::PubAck { id }).await?;
            }
            match answer {
                Some(answer) if answer.id == sent => {
                    if answer.status == CONTINUE {
                        known = answer.parts;
                        deadline = Instant::now() + self.timeout;
                    } else {
                        return Ok((Some(connection), outcome(&answer)));
                    }
                }
                // The answer is to an upload that was given up.
                _ => {}
            }
        }
    }
}

/// Returns the bytes of an upload that a packet of at most `max_packet` bytes has room for.
///
/// # Errors
/// If the topic leaves no room worth a packet, 64 bytes.
fn part_bytes(max_packet: usize, topic: &str) -> Result<usize, AgentError> {
    const LEAST: usize = 64;
    let taken = publish_overhead(topic) + HEADER_BYTES;
    match max_packet.checked_sub(taken) {
        Some(room) if room >= LEAST => Ok(room),
        _ => Err(AgentError::setting(
            "mqtt.max_packet",
            format_args!("the topic and the header of a part take {taken} of {max_packet} bytes"),
            "set a larger one, or a shorter mqtt.topic",
        )),
    }
}

/// The content of the messages.
#[derive(Clone, Copy)]
enum Way {
    Uploads,
    Frames,
}

fn outcome(answer: &Answer) -> Result<Acknowledged, SendFailure> {
    let Answer {
        status,
        error,
        hint,
        ..
    } = answer;
    let words = || format!("the server refused ({status}): {error}. {hint}");
    match *status {
        200 | 201 => Ok(Acknowledged {
            id: answer.stored.unwrap_or(answer.id),
            definitions_kept: answer.definitions_kept,
        }),
        403 => Err(SendFailure::unwelcome(words())),
        status if is_final(status) => Err(SendFailure::refused(status, words())),
        _ => Err(SendFailure::Later {
            words: words(),
            after: answer
                .retry_after
                .map(|seconds| Duration::from_secs(seconds.into())),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_fills_its_packets_is_refused() {
        let topic = |bytes| "t".repeat(bytes);
        let room = part_bytes(512, &topic(100)).unwrap();
        assert_eq!(room, 512 - publish_overhead(&topic(100)) - HEADER_BYTES);
        assert!(part_bytes(512, &topic(400)).is_err());
        let refused = part_bytes(512, &topic(600)).unwrap_err();
        assert!(refused.to_string().contains("mqtt.max_packet"), "{refused}");
        assert!(refused.advice().contains("mqtt.topic"));
    }
}
