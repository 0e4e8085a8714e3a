//! The parts of a session at a broker that uploads and frames share: pauses between sessions, signs of life, answers.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, Interval, interval};

use tfhe_sbc_transport::mqtt::answer::Answer;
use tfhe_sbc_transport::mqtt::connection::{Connection, MqttError};
use tfhe_sbc_transport::mqtt::packet::Outgoing;
use tfhe_sbc_transport::mqtt::topics::answer_topic;

/// The time after which the broker takes a silent server for lost.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// The time after which a device may try again what the server had no room for, in seconds.
pub(crate) const RETRY_AFTER_SECONDS: u32 = 10;
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The pauses between sessions, which grow while sessions end soon.
pub(crate) struct Pauses(Duration);

impl Pauses {
    pub(crate) fn new() -> Self {
        Self(SHORTEST_PAUSE)
    }

    /// Waits after a session that began at `began`. Returns false if it is time to stop.
    pub(crate) async fn wait(
        &mut self,
        began: Instant,
        stopping: &mut watch::Receiver<bool>,
    ) -> bool {
        self.0 = match began.elapsed() > LONGEST_PAUSE {
            true => SHORTEST_PAUSE,
            false => (self.0 * 2).min(LONGEST_PAUSE),
        };
        tokio::select! {
            () = tokio::time::sleep(self.0) => true,
            _ = stopping.wait_for(|stopping| *stopping) => false,
        }
    }
}

/// The signs of life at both ends of a session.
pub(crate) struct Pulse {
    tick: Interval,
    heard: Instant,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self {
            tick: interval(KEEP_ALIVE / 3),
            heard: Instant::now(),
        }
    }

    /// Notes that the broker sent something, or that the server did not listen until now.
    pub(crate) fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// Waits until the server has to send a sign of life.
    pub(crate) async fn tick(&mut self) {
        self.tick.tick().await;
    }

    /// Sends a sign of life.
    ///
    /// # Errors
    /// If that fails, or if the server listens and the broker has been silent for too long.
    pub(crate) async fn beat(
        &self,
        connection: &mut Connection,
        is_listening: bool,
    ) -> Result<(), MqttError> {
        connection.send(Outgoing::Ping).await?;
        match is_listening && self.heard.elapsed() > KEEP_ALIVE * 3 / 2 {
            true => Err(connection.silent()),
            false => Ok(()),
        }
    }
}

/// Publishes an answer to a device.
pub(crate) async fn publish(
    connection: &mut Connection,
    prefix: &str,
    device: &str,
    answer: &Answer,
) -> Result<(), MqttError> {
    let topic = answer_topic(prefix, device);
    let payload = serde_json::to_vec(answer).unwrap_or_default();
    let id = connection.id();
    let (topic, payload) = (topic.as_str(), payload.as_slice());
    let message = Outgoing::Publish {
        topic,
        payload,
        id,
        retain: false,
    };
    connection.send(message).await
}
