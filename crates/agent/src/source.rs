//! Sources of rows.
//!
//! A [`Source`] gives rows: [`polled`] reads every column's sensor once per row, [`csv_tail`]
//! follows a file that grows. The *cursor*, bytes that the spool keeps
//! beside the batch with those rows, tells how far a file was read, so that after a crash exactly the
//! rest is read.
//!
//! A new kind of sensor is a variant of [`SourceConfig`], a file here that implements
//! [`Sensor`](sensor::Sensor), and the line in [`polled`] that opens it.

mod command;
mod csv_tail;
mod polled;
mod rotation;
mod row;
mod sensor;
mod sysfs;
mod topics;
mod value;

use std::time::Duration;

use crate::config::{Config, SourceConfig};
use crate::error::AgentError;
use crate::metrics::Metrics;
use csv_tail::CsvTail;
use polled::Polled;
pub(crate) use row::RawRow;
use topics::Topics;

/// The sensors of all columns, or a CSV file.
pub(crate) enum Source {
    Polled(Polled),
    Csv(Box<CsvTail>),
}

impl Source {
    /// Opens what the settings name. A file is read on from `cursor`, or from its beginning.
    pub(crate) fn open(
        config: &Config,
        cursor: Option<&[u8]>,
        metrics: &Metrics,
    ) -> Result<Self, AgentError> {
        if let Some(settings) = &config.csv
            && config.reads_csv()
        {
            let fields = config.columns.iter().map(|column| match &column.source {
                SourceConfig::Csv { field: Some(field) } => field.clone(),
                _ => column.name().to_owned(),
            });
            let path = config.path(&settings.path);
            let tail = CsvTail::open(path, settings, fields.collect(), cursor, metrics);
            return tail.map(|tail| Self::Csv(Box::new(tail)));
        }
        let topics = topics(config)?;
        let sysfs = config.path(&config.sample.sysfs);
        Polled::open(
            &config.columns,
            &sysfs,
            config.sample.every,
            topics.as_ref(),
        )
        .map(Self::Polled)
    }

    /// Returns the time between two rows, or between two looks at the file.
    pub(crate) fn every(&self) -> Duration {
        match self {
            Self::Polled(polled) => polled.every(),
            Self::Csv(tail) => tail.every(),
        }
    }

    /// Returns the rows that there are now, at most `most` (which is not 0).
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

    /// Returns the cursor behind the last row that was given and the lines after it that are no
    /// rows; empty for sensors.
    pub(crate) fn cursor(&self) -> Vec<u8> {
        match self {
            Self::Polled(_) => Vec::new(),
            Self::Csv(tail) => tail.cursor(),
        }
    }

    /// Opens the file, if it was not there before, so that it has a [`cursor`](Self::cursor) before
    /// its first row is read. Does nothing for sensors.
    pub(crate) fn look(&mut self, metrics: &Metrics) -> Result<(), AgentError> {
        match self {
            Self::Polled(_) => Ok(()),
            Self::Csv(tail) => tail.look(metrics),
        }
    }

    /// Returns whether rows come from a file, so that there may be more of them at once.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Self::Csv(_))
    }
}

/// Listens to the topics that columns name; `None` if no column names one.
fn topics(config: &Config) -> Result<Option<Topics>, AgentError> {
    let names = config
        .columns
        .iter()
        .filter_map(|column| match &column.source {
            SourceConfig::Mqtt { topic, .. } => Some(topic.clone()),
            _ => None,
        });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    let Some(settings) = &config.topics else {
        return Ok(None);
    };
    if names.is_empty() {
        return Ok(None);
    }
    let identity = match settings.is_encrypted() {
        true => Some(config.identity()?),
        false => None,
    };
    Topics::open(settings, identity.as_ref(), names).map(Some)
}
