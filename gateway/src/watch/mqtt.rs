//! A broker: the last row of each set of labels is a retained message, and Home Assistant is told what the values are.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::mqtt::connection::{Broker, Connection, MqttError};
use tfhe_sbc_transport::mqtt::packet::{Incoming, Outgoing};
use tokio::time::timeout;

use super::Delivery;
use super::target::secret;
use crate::answers::{Answer, Row};
use crate::error::{GatewayError, Outcome, code};
use crate::options::Watch;

/// The time after which a broker may close a silent session. A session lasts for the messages of one answer.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// The time for a message to be acknowledged.
const PATIENCE: Duration = Duration::from_secs(20);
/// Home Assistant shows a value as unavailable after so many missing answers.
const MISSED: u64 = 3;

/// A broker and a topic.
pub(super) struct Mqtt {
    broker: Broker,
    client: String,
    topic: String,
    name: String,
    /// The seconds after which Home Assistant shows a value as unavailable; `None` without Home Assistant.
    home_assistant: Option<u64>,
}

/// A retained message.
#[derive(Debug, PartialEq)]
struct Message {
    topic: String,
    payload: String,
}

fn failed(error: MqttError) -> GatewayError {
    let code = match error {
        MqttError::Refused { .. } | MqttError::Url { .. } => code::REJECTED,
        _ => code::CONNECTION,
    };
    GatewayError::new(code, error)
}

impl Mqtt {
    /// Returns the topic of a broker.
    ///
    /// # Errors
    /// If the broker's address, the login or the certificates cannot be used.
    pub(super) fn new(broker: &str, topic: &str, arguments: &Watch) -> Outcome<Self> {
        let mut login = None;
        if let Some(line) = secret(arguments.mqtt_login.as_deref())? {
            let pair = line.split_once(':').ok_or_else(|| {
                let error =
                    GatewayError::new(code::CONFIGURATION, "--mqtt-login names no password");
                error.advise("write USER:PASSWORD into the file")
            })?;
            login = Some((pair.0.to_owned(), pair.1.to_owned()));
        }
        let identity = match broker.starts_with("mqtts:") {
            false => None,
            true => Some(match &arguments.mqtt_ca {
                Some(authority) => Identity::without_certificate(authority),
                None => Identity::in_directory(&arguments.shown.tls, &arguments.shown.identity),
            }),
        };
        let identity = identity.transpose().map_err(|error| {
            let message = format_args!("no identity to show the broker: {error}");
            GatewayError::new(code::CONFIGURATION, message)
                .advise("name the certificate of the broker's authority with --mqtt-ca")
        })?;
        let mut random = [0; 6];
        getrandom::fill(&mut random).map_err(GatewayError::internal)?;
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let silence = arguments.every.as_secs().saturating_mul(MISSED);
        Ok(Self {
            broker: Broker::new(broker, identity.as_ref(), login).map_err(failed)?,
            client: format!("tfhe-sbc-watch-{random}"),
            topic: topic.to_owned(),
            name: arguments.name.clone(),
            home_assistant: arguments.home_assistant.then_some(silence),
        })
    }

    /// Publishes an answer, and waits until the broker has it.
    ///
    /// # Errors
    /// If the broker cannot be reached, refuses, or takes too long.
    pub(super) async fn deliver(&self, delivery: &Delivery) -> Outcome<()> {
        let messages = self.messages(delivery)?;
        let connection = Connection::open(&self.broker, &self.client, KEEP_ALIVE, &[]);
        let mut connection = connection.await.map_err(failed)?;
        for Message { topic, payload } in &messages {
            let id = connection.id();
            let message = Outgoing::Publish {
                topic,
                payload: payload.as_bytes(),
                id,
                retain: true,
            };
            connection.send(message).await.map_err(failed)?;
            let acknowledged = async {
                while connection.next().await? != (Incoming::PubAck { id }) {}
                Ok(())
            };
            let acknowledged = timeout(PATIENCE, acknowledged).await;
            acknowledged
                .unwrap_or_else(|_| Err(connection.silent()))
                .map_err(failed)?;
        }
        connection.send(Outgoing::Disconnect).await.map_err(failed)
    }

    /// The messages of an answer: first what Home Assistant has to know, then the values.
    fn messages(&self, delivery: &Delivery) -> Outcome<Vec<Message>> {
        let answer = &delivery.answer;
        let rows = answer.last_of_each().map_err(GatewayError::internal)?;
        let mut messages = Vec::new();
        if let Some(silence) = self.home_assistant {
            for row in &rows {
                for (column, _) in &row.values {
                    messages.push(self.announcement(answer, row, column, silence));
                }
            }
        }
        for row in &rows {
            let mut payload: Map<String, Value> = Map::new();
            payload.insert("asked".to_owned(), answer.asked.to_string().into());
            let labels = row.labels.iter();
            payload.extend(labels.map(|(name, text)| (name.clone(), text.as_str().into())));
            let values = row.values.iter();
            payload.extend(values.map(|(name, value)| (name.clone(), (*value).into())));
            messages.push(Message {
                topic: self.topic_of(row),
                payload: Value::Object(payload).to_string(),
            });
        }
        if let Some(is_alert) = delivery.is_alert {
            if let Some(silence) = self.home_assistant {
                messages.push(self.alert_announcement(silence));
            }
            messages.push(Message {
                topic: format!("{}/alert", self.topic),
                payload: if is_alert { "ON" } else { "OFF" }.to_owned(),
            });
        }
        Ok(messages)
    }

    /// The topic of a row: that of the answers, and below it a level for each label.
    fn topic_of(&self, row: &Row) -> String {
        let mut topic = self.topic.clone();
        for (_, text) in &row.labels {
            topic.push('/');
            let text = if text.is_empty() { "none" } else { text };
            topic.extend(text.chars().map(|letter| match letter {
                '/' | '+' | '#' | '\0' => '_',
                letter => letter,
            }));
        }
        topic
    }

    /// What Home Assistant has to know of a value: a sensor of a device for each set of labels.
    /// Source: Home Assistant's documentation of MQTT discovery.
    fn announcement(&self, answer: &Answer, row: &Row, column: &str, silence: u64) -> Message {
        let labels: Vec<&str> = row.labels.iter().map(|(_, text)| text.as_str()).collect();
        let device = format!("{} {}", self.name, labels.join(" "));
        let device = device.trim();
        let id = identifier(&format!("tfhe_sbc {device} {column}"));
        let mut sensor = json!({
            "name": column,
            "unique_id": id,
            "state_topic": self.topic_of(row),
            "value_template": format!("{{{{ value_json['{column}'] }}}}"),
            "state_class": "measurement",
            "expire_after": silence,
            "device": {"identifiers": [identifier(&format!("tfhe_sbc {device}"))], "name": device, "manufacturer": "tfhe-sbc"},
        });
        if let (Some(unit), Some(sensor)) = (answer.unit(column), sensor.as_object_mut()) {
            sensor.insert("unit_of_measurement".to_owned(), unit.into());
        }
        Message {
            topic: format!("homeassistant/sensor/{id}/config"),
            payload: sensor.to_string(),
        }
    }

    /// What Home Assistant has to know of the condition.
    fn alert_announcement(&self, silence: u64) -> Message {
        let id = identifier(&format!("tfhe_sbc {} alert", self.name));
        let sensor = json!({
            "name": "alert",
            "unique_id": id,
            "state_topic": format!("{}/alert", self.topic),
            "device_class": "problem",
            "expire_after": silence,
            "device": {"identifiers": [identifier(&format!("tfhe_sbc {}", self.name))], "name": self.name, "manufacturer": "tfhe-sbc"},
        });
        Message {
            topic: format!("homeassistant/binary_sensor/{id}/config"),
            payload: sensor.to_string(),
        }
    }
}

/// Returns a text with underscores for what an identifier cannot have.
fn identifier(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '_',
    });
    letters.collect()
}
