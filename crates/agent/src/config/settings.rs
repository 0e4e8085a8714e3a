//! The sections of the file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tfhe_sbc_transport::scheme::Scheme;
use tfhe_sbc_upload::definition::Definition;

use super::duration::{duration, positive};
use super::keys::Secret;
use super::source::SourceConfig;
use super::text::in_one_line;
use crate::error::AgentError;
use crate::range::OutOfRange;

/// The form in which readings travel to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Uploads of ciphertexts.
    #[default]
    Uploads,
    /// Frames of masked readings, for which the server has pads.
    Frames,
}

/// `[server]`: the server or broker that batches go to.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// `https://HOST:PORT` of the server, or `mqtts://HOST:PORT` of a broker that it listens to, or, for frames,
    /// `udp://HOST:PORT`.
    pub url: String,
    /// The form in which readings travel.
    #[serde(default)]
    pub transport: Transport,
    /// The time that an upload has to be acknowledged.
    #[serde(default = "two_minutes", deserialize_with = "duration")]
    pub timeout: Duration,
}

impl ServerSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        let is_host = |address: &str| !address.is_empty() && !address.contains(['/', '?', ' ']);
        match Scheme::split(&self.url) {
            Some((Scheme::Https | Scheme::Mqtts, address)) if is_host(address) => {
                return positive("server.timeout", self.timeout);
            }
            Some((Scheme::Udp, address)) if is_host(address) && address.contains(':') => {
                if self.transport == Transport::Frames {
                    return positive("server.timeout", self.timeout);
                }
                return Err(AgentError::setting(
                    "server.url",
                    "uploads do not travel over UDP",
                    "set server.transport = \"frames\", with a key of `tfhe-sbc pads make --agent`; or write https://HOST:PORT",
                ));
            }
            _ => {}
        }
        Err(AgentError::setting(
            "server.url",
            format_args!("{:?} is no address of a server", self.url),
            "write https://HOST:PORT of the server, or mqtts://HOST:PORT of a broker, or udp://HOST:PORT for frames, and nothing behind",
        ))
    }

    /// Returns whether batches travel over UDP.
    pub fn is_udp(&self) -> bool {
        matches!(Scheme::split(&self.url), Some((Scheme::Udp, _)))
    }

    /// Returns host and port.
    pub(crate) fn address(&self) -> &str {
        Scheme::split(&self.url).map_or("", |(_, address)| address)
    }

    /// Returns whether a broker is between the agent and the server.
    pub fn is_mqtt(&self) -> bool {
        matches!(Scheme::split(&self.url), Some((Scheme::Mqtts, _)))
    }
}

/// `[sample]`: the schedule of sensors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SampleSettings {
    /// The time between two rows.
    #[serde(deserialize_with = "duration")]
    pub every: Duration,
    /// The directory in which the kernel shows its sensors.
    pub sysfs: PathBuf,
}

impl Default for SampleSettings {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(10),
            sysfs: PathBuf::from("/sys"),
        }
    }
}

impl SampleSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        positive("sample.every", self.every)
    }
}

/// `[batch]`: the size and age of a batch.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BatchSettings {
    /// The number of rows of a full batch.
    pub rows: usize,
    /// The age of the first row at which a batch is encrypted, full or not.
    #[serde(deserialize_with = "duration")]
    pub every: Duration,
}

/// The most rows whose labels still fit the metadata of an upload.
const MAX_ROWS: usize = 15_000;

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            rows: 60,
            every: Duration::from_secs(600),
        }
    }
}

impl BatchSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        if !(1..=MAX_ROWS).contains(&self.rows) {
            return Err(AgentError::setting(
                "batch.rows",
                format_args!("{} is not between 1 and {MAX_ROWS}", self.rows),
                "give the number of rows that are encrypted together",
            ));
        }
        positive("batch.every", self.every)
    }
}

/// The behaviour when the spool is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// The oldest batches are dropped.
    #[default]
    DropOldest,
    /// The new batch is dropped.
    DropNewest,
    /// Nothing is read until there is room.
    Block,
}

/// `[spool]`: the directory in which batches wait, and its bound.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpoolSettings {
    /// The directory.
    pub directory: Option<PathBuf>,
    /// The most bytes of all batches in it.
    pub max_bytes: u64,
    /// The policy for a new batch when the spool has no room.
    pub when_full: WhenFull,
}

impl Default for SpoolSettings {
    fn default() -> Self {
        Self {
            directory: None,
            max_bytes: 256 << 20,
            when_full: WhenFull::default(),
        }
    }
}

impl SpoolSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        if self.max_bytes < 1 << 16 {
            return Err(AgentError::setting(
                "spool.max_bytes",
                format_args!("{} is less than a batch may have", self.max_bytes),
                "give bytes, at least 65536; `tfhe-sbc agent --test` prints the size of a batch",
            ));
        }
        Ok(())
    }
}

/// `[send]`: the pauses between tries to send.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SendSettings {
    /// The pause after the first failure; it doubles with each further one.
    #[serde(deserialize_with = "duration")]
    pub retry_first: Duration,
    /// The longest pause.
    #[serde(deserialize_with = "duration")]
    pub retry_most: Duration,
}

impl Default for SendSettings {
    fn default() -> Self {
        Self {
            retry_first: Duration::from_secs(1),
            retry_most: Duration::from_secs(300),
        }
    }
}

impl SendSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        positive("send.retry_first", self.retry_first)?;
        if self.retry_most < self.retry_first {
            return Err(AgentError::setting(
                "send.retry_most",
                "it is shorter than send.retry_first",
                "give the longest wait between two tries",
            ));
        }
        positive("send.retry_most", self.retry_most)
    }
}

/// `[mqtt]`: uploads over a broker.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MqttSettings {
    /// The beginning of the topics.
    pub topic: String,
    /// The most bytes of a packet.
    pub max_packet: usize,
}

impl Default for MqttSettings {
    fn default() -> Self {
        Self {
            topic: "tfhe-sbc".to_owned(),
            max_packet: 8192,
        }
    }
}

impl MqttSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        if !(512..=1 << 20).contains(&self.max_packet) {
            return Err(AgentError::setting(
                "mqtt.max_packet",
                format_args!("{} is not between 512 and 1048576", self.max_packet),
                "give bytes below the broker's limit; many brokers take 10240",
            ));
        }
        let topic = &self.topic;
        if topic.is_empty() || topic.len() > 200 || topic.contains(['+', '#', '\0']) {
            return Err(AgentError::setting(
                "mqtt.topic",
                format_args!("{topic:?} cannot begin a topic"),
                "give 1 to 200 characters without + and #",
            ));
        }
        Ok(())
    }
}

/// `[frames]`: the counter of frames.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FramesSettings {
    /// The number of counters that are reserved on the disk at a time. A start skips up to as many.
    pub leap: u32,
}

impl Default for FramesSettings {
    fn default() -> Self {
        Self { leap: 16 }
    }
}

impl FramesSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        match self.leap {
            1..=65_536 => Ok(()),
            leap => Err(AgentError::setting(
                "frames.leap",
                format_args!("{leap} is not between 1 and 65536"),
                "give the number of counters to reserve at a time, such as 16",
            )),
        }
    }
}

/// `[metrics]`: the file or address of the metrics.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsSettings {
    /// A text file, for node_exporter's textfile collector.
    pub file: Option<PathBuf>,
    /// A loopback address for HTTP.
    pub listen: Option<SocketAddr>,
}

impl MetricsSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        match self.listen {
            Some(address) if !address.ip().is_loopback() => Err(AgentError::setting(
                "metrics.listen",
                format_args!("{address} can be reached from outside, and nothing guards it"),
                "listen on 127.0.0.1, or write metrics.file and let node_exporter serve it",
            )),
            _ => Ok(()),
        }
    }
}

/// `[csv]`: the file that grows by readings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CsvSettings {
    /// The file.
    pub path: PathBuf,
    /// The field that labels rows; without it, the time of reading does.
    pub label: Option<String>,
    /// The names of the fields, for a file without a heading.
    #[serde(default)]
    pub heading: Vec<String>,
    /// The time between two looks at the file.
    #[serde(default = "second", deserialize_with = "duration")]
    pub every: Duration,
}

impl CsvSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        positive("csv.every", self.every)
    }
}

/// `[topics]`: the broker with readings of other devices.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicsSettings {
    /// `mqtt://HOST:PORT`, or `mqtts://HOST:PORT` with the certificate of `[tls]`.
    pub broker: String,
    /// The user's name at the broker.
    pub user: Option<String>,
    /// The user's password there.
    pub password: Option<Secret>,
    /// The greatest age of a message that counts as a reading.
    #[serde(default = "two_minutes", deserialize_with = "duration")]
    pub max_age: Duration,
}

impl TopicsSettings {
    /// Returns whether the connection to the broker is encrypted with TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(Scheme::split(&self.broker), Some((Scheme::Mqtts, _)))
    }

    pub(super) fn check(&self) -> Result<(), AgentError> {
        if !matches!(
            Scheme::split(&self.broker),
            Some((Scheme::Mqtt | Scheme::Mqtts, _))
        ) {
            return Err(AgentError::setting(
                "topics.broker",
                format_args!("{:?} is no address of a broker", self.broker),
                "write mqtt://HOST:PORT or mqtts://HOST:PORT",
            ));
        }
        positive("topics.max_age", self.max_age)
    }
}

/// `[[column]]`: a column, its encoding, its use and where its readings come from.
#[derive(Debug, Clone)]
pub struct ColumnSettings {
    /// The column's name, encoding and use.
    pub definition: Definition,
    /// The factor that a source's value is multiplied by.
    pub factor: f64,
    /// The summand that is added then, to make the reading.
    pub add: f64,
    /// The policy for readings that the column cannot encode.
    pub out_of_range: OutOfRange,
    /// The source of the readings.
    pub source: SourceConfig,
}

/// The keys of a column beside its definition, which refuses unknown ones.
#[derive(Deserialize)]
struct Reading {
    #[serde(default = "one")]
    factor: f64,
    #[serde(default)]
    add: f64,
    #[serde(default)]
    out_of_range: OutOfRange,
    source: SourceConfig,
}

impl<'de> Deserialize<'de> for ColumnSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(from)?;
        let defect = |error: toml::de::Error| D::Error::custom(in_one_line(&error));
        let definition = table.clone().try_into().map_err(defect)?;
        let reading: Reading = table.try_into().map_err(defect)?;
        Ok(Self {
            definition,
            factor: reading.factor,
            add: reading.add,
            out_of_range: reading.out_of_range,
            source: reading.source,
        })
    }
}

impl ColumnSettings {
    /// The column's name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

fn one() -> f64 {
    1.0
}

fn second() -> Duration {
    Duration::from_secs(1)
}

fn two_minutes() -> Duration {
    Duration::from_secs(120)
}
