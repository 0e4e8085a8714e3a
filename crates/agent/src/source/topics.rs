//! The last message of each topic of a broker.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tfhe_sbc_transport::mqtt::connection::{Broker, Connection, MqttError};
use tfhe_sbc_transport::mqtt::packet::{Incoming, Outgoing};
use tokio::time::{interval, sleep};

use crate::config::{Config, TopicsSettings};
use crate::error::AgentError;

const KEEP_ALIVE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_secs(5);
/// For the first message of a topic, before it counts as missing.
const FIRST: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(20);

/// What arrived, by topic.
pub(super) struct Topics {
    latest: Latest,
    max_age: Duration,
    since: Instant,
}

type Latest = Arc<Mutex<HashMap<String, (String, Instant)>>>;

impl Topics {
    /// Listens on a thread of its own, for as long as the process runs.
    pub(super) fn open(
        config: &Config,
        settings: &TopicsSettings,
        topics: Vec<String>,
    ) -> Result<Self, AgentError> {
        let identity = match settings.broker.starts_with("mqtts://") {
            true => Some(config.identity()?),
            false => None,
        };
        let password = settings
            .password
            .as_ref()
            .map_or("", |secret| secret.text());
        let login = settings
            .user
            .clone()
            .map(|user| (user, password.to_owned()));
        let broker = Broker::new(&settings.broker, identity.as_ref(), login)
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

    /// The last message of a topic, if it is not too old.
    pub(super) fn latest(&self, topic: &str) -> Result<String, String> {
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
                    // What is no text is no reading; it takes the place of an older one all the same.
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
