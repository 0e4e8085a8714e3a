//! A CSV file that grows: whole lines as they come, through rotations, and on from where it was
//! read to.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use super::rotation::{self, Place};
use super::value::plain;
use super::{RawRow, SourceConfig};
use crate::config::{Config, CsvSettings};
use crate::error::AgentError;
use crate::metrics::Metrics;

/// What is read at once, and the longest line.
const CHUNK: usize = 64 << 10;

/// The file and how far it was read.
pub(crate) struct CsvTail {
    path: PathBuf,
    every: Duration,
    heading: Vec<String>,
    label: Option<String>,
    /// The heading of each column.
    fields: Vec<String>,
    open: Option<Opened>,
    /// Where it was read to, in this life or an earlier one.
    place: Option<Place>,
}

struct Opened {
    file: File,
    /// Behind the last line that was given.
    offset: u64,
    heading_line: Vec<u8>,
    label: Option<usize>,
    places: Vec<usize>,
}

impl CsvTail {
    pub(super) fn open(
        config: &Config,
        settings: &CsvSettings,
        cursor: Option<&[u8]>,
        metrics: &Metrics,
    ) -> Result<Self, AgentError> {
        let path = config.path(&settings.path);
        let directory = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        if path.is_dir() || directory.is_some_and(|directory| !directory.is_dir()) {
            return Err(AgentError::setting(
                "csv.path",
                format_args!("{} cannot be a file", path.display()),
                "name a file in a directory that exists",
            ));
        }
        let fields = config.columns.iter().map(|column| match &column.source {
            SourceConfig::Csv { field: Some(field) } => field.clone(),
            _ => column.name.clone(),
        });
        let mut tail = Self {
            path,
            every: settings.every,
            heading: settings.heading.clone(),
            label: settings.label.clone(),
            fields: fields.collect(),
            open: None,
            place: cursor.and_then(Place::from_bytes),
        };
        tail.find(metrics)?;
        if tail.open.is_none() {
            tracing::warn!(path = %tail.path.display(), "there is no CSV file yet, or no heading in it; it is waited for");
        }
        Ok(tail)
    }

    pub(super) fn every(&self) -> Duration {
        self.every
    }

    pub(super) fn cursor(&self) -> Vec<u8> {
        self.place.map_or_else(Vec::new, Place::to_bytes)
    }

    /// Rows of the whole lines that there are, at most `most`.
    pub(super) fn rows(
        &mut self,
        most: usize,
        metrics: &Metrics,
    ) -> Result<Vec<RawRow>, AgentError> {
        let mut rows = Vec::new();
        if let (Some(open), Some(place)) = (&self.open, &self.place)
            && !place.fits(&open.file)
        {
            tracing::info!(path = %self.path.display(), "the CSV file was truncated");
            self.open = None;
        }
        loop {
            if self.open.is_none() {
                self.find(metrics)?;
            }
            let Some(open) = &mut self.open else {
                return Ok(rows);
            };
            let failed = |error: io::Error| unreadable(&self.path, &error);
            let at_end = open.lines(most, &mut rows, metrics).map_err(failed)?;
            self.place = Some(Place::of(&open.file, open.offset).map_err(failed)?);
            if !at_end || !self.go_on(metrics)? {
                return Ok(rows);
            }
        }
    }

    /// Opens the file where it was read to, or at its beginning.
    fn find(&mut self, metrics: &Metrics) -> Result<(), AgentError> {
        if let Some(place) = self.place {
            if let Some(file) = place.find(&self.path) {
                self.open = self.opened(file, Some(place.offset))?;
                return Ok(());
            }
            let Ok(file) = File::open(&self.path) else {
                return Ok(());
            };
            self.open = self.opened(file, None)?;
            if self.open.is_some() {
                metrics.csv_gap();
                tracing::warn!(path = %self.path.display(), "the CSV file is another than before, and what it was is gone: lines may be missing. Let its rotation keep the last file uncompressed");
            }
        } else if let Ok(file) = File::open(&self.path) {
            self.open = self.opened(file, None)?;
        }
        Ok(())
    }

    /// At the end of a file: whether there is something to go on with.
    fn go_on(&mut self, metrics: &Metrics) -> Result<bool, AgentError> {
        let Some(open) = &self.open else {
            return Ok(false);
        };
        if !rotation::is_replaced(&open.file, &self.path) {
            return Ok(false);
        }
        let Some(file) = rotation::next(&open.file, &self.path) else {
            return Ok(false);
        };
        // Its writer goes on in the old one until there is something in the next.
        let Some(next) = self.opened(file, None)? else {
            return Ok(false);
        };
        let failed = |error: io::Error| unreadable(&self.path, &error);
        if open.end_of_line().map_err(failed)?.is_some() {
            return Ok(true);
        }
        if open.file.metadata().map_err(failed)?.len() > open.offset {
            metrics.csv_gap();
            tracing::warn!(path = %self.path.display(), "the CSV file was rotated in the middle of a line, which is left out");
        }
        self.open = Some(next);
        Ok(true)
    }

    /// Reads the heading. `None` while there is none.
    fn opened(&self, file: File, offset: Option<u64>) -> Result<Option<Opened>, AgentError> {
        let failed = |error: io::Error| unreadable(&self.path, &error);
        let mut heading_line = Vec::new();
        let mut heading = self.heading.clone();
        if heading.is_empty() {
            let mut chunk = vec![0; CHUNK];
            let len = file.read_at(&mut chunk, 0).map_err(failed)?;
            let Some(end) = chunk[..len].iter().position(|byte| *byte == b'\n') else {
                return Ok(None);
            };
            heading_line = chunk[..=end].to_vec();
            heading = fields_of(&heading_line).unwrap_or_default();
        }
        let place = |name: &String| heading.iter().position(|heading| heading == name);
        let place = |name: &String| {
            place(name).ok_or_else(|| {
                AgentError::new(
                    format_args!("{} has no field '{name}'", self.path.display()),
                    format_args!(
                        "its fields are {}; name one in csv.label or in the column's source, or give csv.heading if the file has none",
                        heading.join(", ")
                    ),
                )
            })
        };
        let places = self.fields.iter().map(place).collect::<Result<_, _>>()?;
        let label = self.label.as_ref().map(place).transpose()?;
        Ok(Some(Opened {
            file,
            offset: offset.unwrap_or(heading_line.len() as u64),
            heading_line,
            label,
            places,
        }))
    }
}

impl Opened {
    /// Takes whole lines, until there are `most` rows or the end; true at the end.
    fn lines(
        &mut self,
        most: usize,
        rows: &mut Vec<RawRow>,
        metrics: &Metrics,
    ) -> io::Result<bool> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let len = self.file.read_at(&mut chunk, self.offset)?;
            let mut taken = 0;
            while rows.len() < most
                && let Some(end) = chunk[taken..len].iter().position(|byte| *byte == b'\n')
            {
                let line = &chunk[taken..=taken + end];
                taken += line.len();
                if line != self.heading_line && !line.trim_ascii().is_empty() {
                    rows.push(self.row(line));
                }
            }
            self.offset += taken as u64;
            if rows.len() >= most {
                return Ok(false);
            }
            if taken == 0 {
                if len < CHUNK {
                    return Ok(true);
                }
                match self.end_of_line()? {
                    None => return Ok(true),
                    Some(end) => {
                        metrics.csv_gap();
                        tracing::warn!("a CSV line of more than {CHUNK} bytes is left out");
                        self.offset = end;
                    }
                }
            }
        }
    }

    /// Behind the line that begins here, if it is whole.
    fn end_of_line(&self) -> io::Result<Option<u64>> {
        let mut chunk = vec![0; CHUNK];
        let mut offset = self.offset;
        loop {
            let len = self.file.read_at(&mut chunk, offset)?;
            if len == 0 {
                return Ok(None);
            }
            if let Some(end) = chunk[..len].iter().position(|byte| *byte == b'\n') {
                return Ok(Some(offset + end as u64 + 1));
            }
            offset += len as u64;
        }
    }

    fn row(&self, line: &[u8]) -> RawRow {
        let fields = fields_of(line).unwrap_or_default();
        let value = |&place: &usize| {
            let field = fields.get(place).ok_or("its line has too few fields")?;
            Ok(plain(field).ok_or("its field is not a number")?)
        };
        RawRow {
            label: self.label.and_then(|place| fields.get(place)).cloned(),
            values: self.places.iter().map(value).collect(),
        }
    }
}

fn fields_of(line: &[u8]) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_reader(line);
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(str::to_owned).collect())
}

fn unreadable(path: &std::path::Path, error: &io::Error) -> AgentError {
    AgentError::setting(
        "csv.path",
        format_args!("cannot read {}: {error}", path.display()),
        "check that the agent's user may read it",
    )
}

#[cfg(test)]
#[path = "csv_tail_tests.rs"]
mod tests;
