//! Topics of a broker, whose last messages are readings.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::mqtt::connection::{Broker, Connection, MqttError};
use tfhe_sbc_transport::mqtt::packet::{Incoming, Outgoing};
use tokio::time::{interval, sleep};

use super::sensor::Sensor;
use super::value::number;
use crate::config::TopicsSettings;
use crate::error::AgentError;

const KEEP_ALIVE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_secs(5);
/// The time that the first message of a topic has to arrive, before it counts as missing.
const FIRST: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(20);

/// The last message of each topic.
#[derive(Clone)]
pub(super) struct Topics {
    latest: Latest,
    max_age: Duration,
    since: Instant,
}

type Latest = Arc<Mutex<HashMap<String, (String, Instant)>>>;

impl Topics {
    /// Listens to `topics` on a thread of its own, for as long as the process runs. A broker with
    /// TLS is shown `identity`.
    pub(super) fn open(
        settings: &TopicsSettings,
        identity: Option<&Identity>,
        topics: Vec<String>,
    ) -> Result<Self, AgentError> {
        let password = settings
            .password
            .as_ref()
            .map_or("", |secret| secret.text());
        let login = settings
            .user
            .clone()
            .map(|user| (user, password.to_owned()));
        let broker = Broker::new(&settings.broker, identity, login)
            .map_err(|error| AgentError::setting("topics.broker", error, "correct the address"))?;
        if identity.is_none() && settings.password.is_some() {
            tracing::warn!(
                "topics.password goes to the broker in clear: anybody on the way can read it; use mqtts://"
            );
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| AgentError::new(error, "this is a fault of the system"))?;
        let latest = Latest::default();
        let shared = Arc::clone(&latest);
        std::thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    if let Err(error) = listen(&broker, &topics, &shared).await {
                        tracing::warn!(%error, "no messages from topics for now");
                    }
                    sleep(PAUSE).await;
                }
            });
        });
        Ok(Self {
            latest,
            max_age: settings.max_age,
            since: Instant::now(),
        })
    }

    /// Returns the sensor whose values are the messages of `topic`, or that field of them.
    pub(super) fn sensor(&self, topic: String, field: Option<String>) -> TopicField {
        TopicField {
            topics: self.clone(),
            topic,
            field,
        }
    }

    /// Returns the last message of a topic, if it is not too old. Waits a while for the first one.
    fn latest(&self, topic: &str) -> Result<String, String> {
        loop {
            let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            match latest.get(topic) {
                Some((text, at)) if at.elapsed() <= self.max_age => return Ok(text.clone()),
                Some(_) => return Err(format!("the last message of '{topic}' is too old")),
                None if self.since.elapsed() > FIRST => {
                    return Err(format!("there was no message of '{topic}'"));
                }
                None => {}
            }
            drop(latest);
            std::thread::sleep(GLANCE);
        }
    }
}

/// The number in the last message of a topic, or a field of the message's JSON.
pub(super) struct TopicField {
    topics: Topics,
    topic: String,
    field: Option<String>,
}

impl Sensor for TopicField {
    fn read(&mut self, _row: u64) -> Result<f64, String> {
        number(&self.topics.latest(&self.topic)?, self.field.as_deref())
    }
}

async fn listen(broker: &Broker, topics: &[String], latest: &Latest) -> Result<(), MqttError> {
    // No other client may have the name.
    let mut random = [0; 8];
    let _ = getrandom::fill(&mut random);
    let client = format!("tfhe-sbc-{:016x}", u64::from_le_bytes(random));
    let names: Vec<&str> = topics.iter().map(String::as_str).collect();
    let mut connection = Connection::open(broker, &client, KEEP_ALIVE, &names).await?;
    let mut tick = interval(KEEP_ALIVE / 3);
    let mut heard = Instant::now();
    loop {
        let mut acknowledge = None;
        tokio::select! {
            packet = connection.next() => {
                heard = Instant::now();
                if let Incoming::Publish { topic, payload, id } = packet? {
                    acknowledge = id;
                    // A message that is no text is no reading, but it replaces an older message all
                    // the same.
                    let text = String::from_utf8_lossy(payload).into_owned();
                    let mut latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
                    latest.insert(topic.to_owned(), (text, Instant::now()));
                }
            }
            _ = tick.tick() => {
                if heard.elapsed() > KEEP_ALIVE * 3 / 2 {
                    return Err(connection.silent());
                }
                connection.send(Outgoing::Ping).await?;
            }
        }
        if let Some(id) = acknowledge {
            connection.send(Outgoing::PubAck { id }).await?;
        }
    }
}
