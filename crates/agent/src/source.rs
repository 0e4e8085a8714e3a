//! Where readings come from.
//!
//! A [`Source`] gives rows: [`polled`] reads every column's sensor once a tick, [`csv_tail`]
//! follows a file that grows. What was taken from a file is a *cursor*, bytes that the spool keeps
//! beside the batch with those rows, so that after a crash exactly the rest is read.

mod command;
mod csv_tail;
mod polled;
mod rotation;
mod sysfs;
mod topics;
mod value;

use std::time::Duration;

use serde::Deserialize;

use crate::config::{Config, duration};
use crate::error::AgentError;
use crate::metrics::Metrics;
use csv_tail::CsvTail;
use polled::Polled;

/// Where a column's readings come from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum SourceConfig {
    /// A channel of Linux's industrial I/O: °C, V, A, % and otherwise the kernel's unit.
    Iio {
        /// The device's name, label or directory.
        device: String,
        /// The channel: `temp`, `voltage0`, `accel_x`.
        channel: String,
    },
    /// A channel of a hardware monitor: °C, V, A, W, J, %, revolutions per minute.
    Hwmon {
        /// The monitor's name or directory.
        device: String,
        /// The channel, `temp1`, or its label.
        channel: String,
    },
    /// A thermal zone, °C.
    Thermal {
        /// Its type or directory.
        zone: String,
    },
    /// What a command prints.
    Command {
        /// The program and its arguments.
        #[serde(default)]
        run: Vec<String>,
        /// A line for the shell instead.
        shell: Option<String>,
        /// The field, if it prints JSON: a name, or a pointer like `/main/temp`.
        field: Option<String>,
        /// How long it may take.
        #[serde(default = "five_seconds", deserialize_with = "duration")]
        timeout: Duration,
    },
    /// A field of the lines of the file in `[csv]`.
    Csv {
        /// Its heading; the column's name if there is none.
        field: Option<String>,
    },
    /// What is published under a topic of the broker in `[topics]`.
    Mqtt {
        /// The topic, without wildcards.
        topic: String,
        /// The field, if it is JSON: a name, or a pointer like `/main/temp`.
        field: Option<String>,
    },
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

impl SourceConfig {
    pub(crate) fn check(&self, column: &str) -> Result<(), AgentError> {
        let wrong = |problem: &str, advice: &str| {
            let key = format!("column '{column}', source");
            Err(AgentError::setting(&key, problem, advice))
        };
        match self {
            Self::Command { run, shell, .. } if run.is_empty() == shell.is_none() => wrong(
                "it names no command, or two",
                "give run = [\"program\", \"argument\"], or shell = \"a line\"",
            ),
            Self::Command { timeout, .. } if timeout.is_zero() => {
                wrong("its timeout is 0", "give a time like \"5s\"")
            }
            Self::Mqtt { topic, .. } if topic.is_empty() || topic.contains(['+', '#']) => {
                wrong("its topic is empty or has wildcards", "name one topic")
            }
            Self::Iio { device: name, .. }
            | Self::Hwmon { device: name, .. }
            | Self::Thermal { zone: name }
                if name.is_empty() =>
            {
                wrong("it names no device", "give the device's name")
            }
            _ => Ok(()),
        }
    }
}

/// A row as its source gave it: a label, and for each column a value or why there is none.
pub(crate) struct RawRow {
    pub(crate) label: Option<String>,
    /// The place behind it, if it is of a file.
    pub(crate) cursor: Option<Vec<u8>>,
    pub(crate) values: Vec<Result<f64, String>>,
}

/// What gives rows.
pub(crate) enum Source {
    Polled(Polled),
    Csv(CsvTail),
}

impl Source {
    /// Opens what the settings name. A file is read on from `cursor`.
    pub(crate) fn open(
        config: &Config,
        cursor: Option<&[u8]>,
        metrics: &Metrics,
    ) -> Result<Self, AgentError> {
        match &config.csv {
            Some(settings) if config.reads_csv() => {
                CsvTail::open(config, settings, cursor, metrics).map(Self::Csv)
            }
            _ => Polled::open(config).map(Self::Polled),
        }
    }

    /// How often there may be rows.
    pub(crate) fn every(&self) -> Duration {
        match self {
            Self::Polled(polled) => polled.every(),
            Self::Csv(tail) => tail.every(),
        }
    }

    /// The rows that there are now, at most `most` (which is not 0).
    pub(crate) fn rows(
        &mut self,
        most: usize,
        metrics: &Metrics,
    ) -> Result<Vec<RawRow>, AgentError> {
        match self {
            Self::Polled(polled) => Ok(vec![polled.row()]),
            Self::Csv(tail) => tail.rows(most, metrics),
        }
    }

    /// The place behind the last row that was given, and the lines that are none.
    pub(crate) fn cursor(&self) -> Vec<u8> {
        match self {
            Self::Polled(_) => Vec::new(),
            Self::Csv(tail) => tail.cursor(),
        }
    }

    /// Whether it may have more rows at once.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Self::Csv(_))
    }
}
