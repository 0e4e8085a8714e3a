//! The table `source` of a column.

use std::time::Duration;

use serde::Deserialize;

use super::duration::duration;
use crate::error::AgentError;

/// The source of a column's readings.
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
    /// The number that a command prints.
    Command {
        /// The program and its arguments.
        #[serde(default)]
        run: Vec<String>,
        /// A line for `/bin/sh`, in place of a program.
        shell: Option<String>,
        /// The field to take if it prints JSON: a name, or a pointer like `/main/temp`.
        field: Option<String>,
        /// The time that it may take.
        #[serde(default = "five_seconds", deserialize_with = "duration")]
        timeout: Duration,
    },
    /// A field of the lines of the file in `[csv]`.
    Csv {
        /// The field's heading; if it is missing, the column's name.
        field: Option<String>,
    },
    /// The number in the last message under a topic of the broker in `[topics]`.
    Mqtt {
        /// The topic, without wildcards.
        topic: String,
        /// The field to take if the message is JSON: a name, or a pointer like `/main/temp`.
        field: Option<String>,
    },
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

impl SourceConfig {
    /// Refuses settings that cannot be read from. `column` is the column's name, for the error.
    pub(super) fn check(&self, column: &str) -> Result<(), AgentError> {
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
