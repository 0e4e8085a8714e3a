//! The agent's settings: one TOML file, with overrides from the environment.
//!
//! [`Config::load`] reads the file, lays the environment's variables over it and checks all of it.
//! An error names the key that it is about. [`template`] returns the commented file that `tfhe-sbc
//! agent init` writes.

mod duration;
mod embedded;
mod keys;
mod settings;
mod source;
mod template;
mod text;
mod wiped;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::signature::SigningKey;
use tfhe_sbc_upload::definition::{Definition, Under};
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};
use zeroize::Zeroizing;

pub use crate::environment::{CONFIG_VARIABLE, ENVIRONMENT_PREFIX};
use crate::error::AgentError;
pub use embedded::base64_lines;
use keys::Encryption;
pub use keys::{DeviceSettings, Secret, TlsSettings};
pub use settings::{
    BatchSettings, ColumnSettings, CsvSettings, FramesSettings, MetricsSettings, MqttSettings,
    SampleSettings, SendSettings, ServerSettings, SpoolSettings, TopicsSettings, Transport,
    WhenFull,
};
pub use source::SourceConfig;
use wiped::Secrets;

pub use template::{Provision, SYSTEMD_UNIT, template};

/// All settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The device's key and its use.
    pub device: DeviceSettings,
    /// The server or broker that batches go to.
    pub server: ServerSettings,
    /// The agent's certificate and the trusted authority, which UDP needs not.
    #[serde(default)]
    pub tls: TlsSettings,
    /// The schedule of sensors.
    #[serde(default)]
    pub sample: SampleSettings,
    /// The size and age of a batch.
    #[serde(default)]
    pub batch: BatchSettings,
    /// The directory in which batches wait, and its bound.
    #[serde(default)]
    pub spool: SpoolSettings,
    /// The pauses between tries to send.
    #[serde(default)]
    pub send: SendSettings,
    /// The parts of uploads over MQTT.
    #[serde(default)]
    pub mqtt: MqttSettings,
    /// The counter of frames.
    #[serde(default)]
    pub frames: FramesSettings,
    /// The file or address of the metrics.
    #[serde(default)]
    pub metrics: MetricsSettings,
    /// The file that grows by readings.
    pub csv: Option<CsvSettings>,
    /// The broker with readings of other devices.
    pub topics: Option<TopicsSettings>,
    /// The columns of an upload.
    #[serde(rename = "column", default)]
    pub columns: Vec<ColumnSettings>,
    /// The directory that relative paths start from.
    #[serde(skip)]
    base: PathBuf,
    /// The generator and the plan that `device` names.
    #[serde(skip)]
    encryption: Encryption,
}

impl Config {
    /// Reads a file, and the variables `TFHE_SBC_AGENT_SECTION_KEY` of the environment.
    ///
    /// # Errors
    /// If a key is wrong; the error names the key, and what to do about it.
    pub fn load(
        path: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, AgentError> {
        let text = std::fs::read_to_string(path)
            .map(Zeroizing::new)
            .map_err(|error| {
                AgentError::new(
                    format_args!("cannot read the settings {}: {error}", path.display()),
                    "write them with `tfhe-sbc agent init --out FILE`, or name them with --config",
                )
            })?;
        let base = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Self::parse(&text, base, environment).map_err(|error| {
            AgentError::new(format_args!("{}: {error}", path.display()), error.advice())
        })
    }

    /// Does what [`Config::load`] does with a text, whose relative paths start from `base`.
    ///
    /// # Errors
    /// If a key is wrong; the error names the key, and what to do about it.
    pub fn parse(
        text: &str,
        base: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, AgentError> {
        let mut table: toml::Table = toml::from_str(text).map_err(|error| {
            AgentError::new(text::without_content(&error, text), text::SYNTAX_ADVICE)
        })?;
        let overlaid = text::lay_over(&mut table, environment);
        let secrets = Secrets::take(&mut table);
        overlaid?;
        let mut config: Self = table.try_into().map_err(|error: toml::de::Error| {
            AgentError::new(text::in_one_line(&error), text::KEYS_ADVICE)
        })?;
        secrets.put(&mut config);
        config.base = base.to_owned();
        config.encryption = config.device.encryption()?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), AgentError> {
        self.server.check()?;
        if !self.server.is_udp()
            || self
                .topics
                .as_ref()
                .is_some_and(TopicsSettings::is_encrypted)
        {
            self.tls.check()?;
        }
        self.device.check()?;
        self.sample.check()?;
        self.batch.check()?;
        self.spool.check()?;
        self.send.check()?;
        self.mqtt.check()?;
        self.frames.check()?;
        self.metrics.check()?;
        if self.columns.is_empty() {
            return Err(AgentError::setting(
                "column",
                "there is none",
                "say what to read: a [[column]] with name, offset, scale, bits and source; `tfhe-sbc agent init` prints examples",
            ));
        }
        let metadata = ReadingsMetadata {
            columns: self.definitions().map(Definition::without_use).collect(),
            rows: vec![String::new()],
            gaps: Default::default(),
        };
        metadata.check().map_err(|error| {
            AgentError::setting(
                "column",
                error,
                "correct its name, unit, offset, scale, bits or compact form",
            )
        })?;
        self.check_sources()
    }

    fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.columns.iter().map(|column| &column.definition)
    }

    /// Returns the columns under a key, in the forms that their uses need.
    ///
    /// # Errors
    /// If the use of a column cannot be met.
    pub fn columns_under(&self, under: Under<'_>) -> Result<Vec<Column>, AgentError> {
        let columns = self.definitions();
        let columns = columns.map(|definition| {
            definition.column(under).map_err(|error| {
                let advice = error.advice();
                AgentError::setting("column", error, advice)
            })
        });
        columns.collect()
    }

    fn check_sources(&self) -> Result<(), AgentError> {
        let from_file =
            |column: &&ColumnSettings| matches!(column.source, SourceConfig::Csv { .. });
        let some = self.columns.iter().find(from_file);
        match (some, self.columns.iter().find(|column| !from_file(column))) {
            (Some(one), Some(other)) => {
                return Err(AgentError::setting(
                    "column",
                    format_args!(
                        "'{}' comes from the lines of a file, '{}' from a sensor that is read on a schedule",
                        one.name(),
                        other.name()
                    ),
                    "run two agents, each with its own settings and spool.directory",
                ));
            }
            (Some(column), None) if self.csv.is_none() => {
                return Err(AgentError::setting(
                    "csv.path",
                    format_args!(
                        "it is missing, and column '{}' comes from a CSV file",
                        column.name()
                    ),
                    "name the file: [csv] path = \"/var/log/readings.csv\"",
                ));
            }
            _ => {}
        }
        for column in &self.columns {
            column.source.check(column.name())?;
            if matches!(column.source, SourceConfig::Mqtt { .. }) && self.topics.is_none() {
                return Err(AgentError::setting(
                    "topics.broker",
                    format_args!(
                        "it is missing, and column '{}' comes from a topic",
                        column.name()
                    ),
                    "name the broker: [topics] broker = \"mqtt://localhost:1883\"",
                ));
            }
        }
        if let Some(topics) = &self.topics {
            topics.check()?;
        }
        self.csv.as_ref().map_or(Ok(()), CsvSettings::check)
    }

    /// Reads the agent's certificate and key and the trusted authority's certificate.
    pub(crate) fn identity(&self) -> Result<Identity, AgentError> {
        let [ca, certificate, key] = self.tls.pems(&self.base)?;
        let (ca, certificate) = (
            (&*ca.name, &**ca.pem),
            (&*certificate.name, &**certificate.pem),
        );
        Identity::from_pem(ca, certificate, (&key.name, &key.pem)).map_err(|error| {
            AgentError::setting(
                "tls",
                error,
                "give ca, certificate and key as `tfhe-sbc certs` or `tfhe-sbc provision` made them",
            )
        })
    }

    /// Returns whether rows are lines of a file.
    pub(crate) fn reads_csv(&self) -> bool {
        let mut sources = self.columns.iter().map(|column| &column.source);
        sources.any(|source| matches!(source, SourceConfig::Csv { .. }))
    }

    /// Returns a path of the settings; a relative one starts from the directory of the settings.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.base.join(path)
    }

    /// Returns the directory in which batches wait: `spool.directory`, or `spool` in the service's
    /// state directory, or `spool` beside the settings.
    pub fn spool_directory(&self) -> PathBuf {
        match (&self.spool.directory, std::env::var_os("STATE_DIRECTORY")) {
            (Some(directory), _) => self.path(directory),
            (None, Some(state)) => Path::new(&state).join("spool"),
            (None, None) => self.path(Path::new("spool")),
        }
    }

    /// Returns the bytes of the device's key.
    ///
    /// # Errors
    /// If the key's file cannot be read, or the key is no base64.
    pub(crate) fn key_bytes(&self) -> Result<Zeroizing<Vec<u8>>, AgentError> {
        self.device.key_bytes(&self.base)
    }

    /// Returns the key with which uploads are signed, if there is one.
    ///
    /// # Errors
    /// If its file cannot be read, or is no such key.
    pub(crate) fn signing_key(&self) -> Result<Option<SigningKey>, AgentError> {
        self.device.signing_key(&self.base)
    }

    /// Returns the generator of masks and noise.
    pub fn expander(&self) -> ExpanderKind {
        self.encryption.expander
    }

    /// Returns what the encryption keeps in memory.
    pub fn plan(&self) -> MemoryPlan {
        self.encryption.plan
    }
}

#[cfg(test)]
mod tests;
