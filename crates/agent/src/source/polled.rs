//! Sensors that are read on a schedule, all of them for a row.

use std::path::Path;
use std::time::Duration;

use super::command::{Field, Programs};
use super::row::RawRow;
use super::sensor::Sensor;
use super::sysfs::{Awaited, Channel, Place};
use super::topics::Topics;
use crate::config::{ColumnSettings, SourceConfig};
use crate::error::AgentError;

/// The sensors of all columns.
pub(crate) struct Polled {
    every: Duration,
    sensors: Vec<Box<dyn Sensor>>,
    /// The number of rows read.
    rows: u64,
}

impl Polled {
    /// Opens the sensors of `columns`, which are read every `every`. The kernel's sensors are
    /// looked for below `sysfs`.
    pub(super) fn open(
        columns: &[ColumnSettings],
        sysfs: &Path,
        every: Duration,
        topics: Option<&Topics>,
    ) -> Result<Self, AgentError> {
        let mut programs = Programs::default();
        let sensors = columns.iter().map(|column| {
            let optional = column.definition.derived.optional.is_allowed();
            open(&column.source, optional, sysfs, &mut programs, topics).map_err(
                |(problem, advice)| {
                    AgentError::setting(
                        &format!("column '{}', source", column.name()),
                        problem,
                        advice,
                    )
                },
            )
        });
        Ok(Self {
            every,
            sensors: sensors.collect::<Result<_, _>>()?,
            rows: 0,
        })
    }

    pub(super) fn every(&self) -> Duration {
        self.every
    }

    pub(super) fn row(&mut self) -> RawRow {
        self.rows += 1;
        let sensors = self.sensors.iter_mut();
        RawRow {
            cursor: None,
            label: None,
            values: sensors.map(|sensor| sensor.read(self.rows)).collect(),
        }
    }
}

/// Opens the sensor of a column; an error is the problem and what to do about it. One of the kernel's sensors may be absent if
/// its column is `optional`.
fn open(
    source: &SourceConfig,
    optional: bool,
    sysfs: &Path,
    programs: &mut Programs,
    topics: Option<&Topics>,
) -> Result<Box<dyn Sensor>, (String, String)> {
    let channel = |place| -> Result<Box<dyn Sensor>, _> {
        Ok(match optional {
            true => Box::new(Awaited::new(sysfs, place)),
            false => Box::new(Channel::open(sysfs, place)?),
        })
    };
    match source.clone() {
        SourceConfig::Iio {
            device,
            channel: name,
        } => channel(Place::Iio {
            device,
            channel: name,
        }),
        SourceConfig::Hwmon {
            device,
            channel: name,
        } => channel(Place::Hwmon {
            device,
            channel: name,
        }),
        SourceConfig::Thermal { zone } => channel(Place::Thermal { zone }),
        SourceConfig::Command {
            run,
            shell,
            field,
            timeout,
        } => Ok(Box::new(Field::new(
            programs.program(run, shell, timeout),
            field,
        ))),
        SourceConfig::Mqtt { topic, field } => match topics {
            Some(topics) => Ok(Box::new(topics.sensor(topic, field))),
            None => Err((
                "there is no broker".to_owned(),
                "name the broker: [topics] broker = \"mqtt://localhost:1883\"".to_owned(),
            )),
        },
        SourceConfig::Csv { .. } => Err((
            "it cannot be read on a schedule".to_owned(),
            "give it a sensor, a command or a topic".to_owned(),
        )),
    }
}
