//! Sensors that are read on a schedule, all of them for a row.

use std::time::Duration;

use super::command::Program;
use super::sysfs::Channel;
use super::topics::Topics;
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
    topics: Option<Topics>,
}

enum Sensor {
    Kernel(Channel),
    Topic {
        topic: String,
        field: Option<String>,
    },
    Program {
        place: usize,
        field: Option<String>,
    },
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
                SourceConfig::Mqtt { topic, field } => {
                    let (topic, field) = (topic.clone(), field.clone());
                    Sensor::Topic { topic, field }
                }
                SourceConfig::Csv { .. } => {
                    return Err(AgentError::setting(
                        &key(),
                        "it cannot be read on a schedule",
                        "give it a sensor, a command or a topic",
                    ));
                }
            };
            sensors.push(sensor);
        }
        let names = sensors.iter().filter_map(|sensor| match sensor {
            Sensor::Topic { topic, .. } => Some(topic.clone()),
            _ => None,
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        let topics = match &config.topics {
            Some(settings) if !names.is_empty() => Some(Topics::open(config, settings, names)?),
            _ => None,
        };
        Ok(Self {
            topics,
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
            Sensor::Topic { topic, field } => match &self.topics {
                Some(topics) => number(&topics.latest(topic)?, field.as_deref()),
                None => Err("there is no broker".to_owned()),
            },
        };
        RawRow {
            cursor: None,
            label: None,
            values: self.sensors.iter_mut().map(value).collect(),
        }
    }
}
