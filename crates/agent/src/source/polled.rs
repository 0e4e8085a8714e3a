//! Sensors that are read on a schedule, all of them for a row.

use std::time::Duration;

use super::command::Program;
use super::sysfs::Channel;
use super::value::number;
use super::{RawRow, SourceConfig};
use crate::config::Config;
use crate::error::AgentError;

/// The sensors of all columns.
pub(crate) struct Polled {
    every: Duration,
    sensors: Vec<Sensor>,
    /// Each run once a row, whoever wants a field of what it prints.
    programs: Vec<Program>,
}

enum Sensor {
    Kernel(Channel),
    Program { place: usize, field: Option<String> },
}

impl Polled {
    pub(super) fn open(config: &Config) -> Result<Self, AgentError> {
        let mut programs: Vec<Program> = Vec::new();
        let mut sensors = Vec::new();
        for column in &config.columns {
            let key = || format!("column '{}', source", column.name);
            let sensor = match &column.source {
                source @ (SourceConfig::Iio { .. }
                | SourceConfig::Hwmon { .. }
                | SourceConfig::Thermal { .. }) => {
                    let sysfs = config.path(&config.sample.sysfs);
                    let channel = Channel::open(&sysfs, source)
                        .map_err(|(what, advice)| AgentError::setting(&key(), what, advice))?;
                    Sensor::Kernel(channel)
                }
                SourceConfig::Command {
                    run,
                    shell,
                    field,
                    timeout,
                } => {
                    let program = Program {
                        run: run.clone(),
                        shell: shell.clone(),
                        timeout: *timeout,
                    };
                    let known = programs.iter().position(|other| *other == program);
                    let place = known.unwrap_or_else(|| {
                        programs.push(program);
                        programs.len() - 1
                    });
                    let field = field.clone();
                    Sensor::Program { place, field }
                }
                SourceConfig::Csv { .. } | SourceConfig::Mqtt { .. } => {
                    return Err(AgentError::setting(
                        &key(),
                        "it cannot be read on a schedule",
                        "give it a sensor or a command",
                    ));
                }
            };
            sensors.push(sensor);
        }
        Ok(Self {
            every: config.sample.every,
            sensors,
            programs,
        })
    }

    pub(super) fn every(&self) -> Duration {
        self.every
    }

    pub(super) fn row(&mut self) -> RawRow {
        let printed: Vec<_> = self.programs.iter().map(Program::output).collect();
        let value = |sensor: &mut Sensor| match sensor {
            Sensor::Kernel(channel) => channel.read(),
            Sensor::Program { place, field } => match &printed[*place] {
                Ok(text) => number(text, field.as_deref()),
                Err(problem) => Err(problem.clone()),
            },
        };
        RawRow {
            label: None,
            values: self.sensors.iter_mut().map(value).collect(),
        }
    }
}
