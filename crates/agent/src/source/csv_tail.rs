//! A CSV file that grows. Its whole lines become rows as they come, through rotations, and reading
//! goes on where an earlier run of the agent stopped.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use super::rotation::{self, Place, TAIL};
use super::row::RawRow;
use super::value::plain;
use crate::config::CsvSettings;
use crate::error::AgentError;
use crate::metrics::Metrics;

/// The number of bytes that are read at once, and the longest line.
const CHUNK: usize = 64 << 10;

/// The file, and how far it was read.
pub(crate) struct CsvTail {
    path: PathBuf,
    every: Duration,
    heading: Vec<String>,
    label: Option<String>,
    /// The heading of each column.
    fields: Vec<String>,
    open: Option<Opened>,
    /// An error that is returned once the rows before it were returned.
    failed: Option<AgentError>,
    /// The place up to which the file was read, by this process or an earlier one.
    place: Option<Place>,
}

struct Opened {
    file: File,
    /// The place behind the last line that was returned.
    place: Place,
    heading_line: Vec<u8>,
    label: Option<usize>,
    places: Vec<usize>,
}

impl CsvTail {
    /// Opens the file at `path` and reads on from `cursor`. The file may come later. `fields` are
    /// the headings of the columns' fields.
    pub(super) fn open(
        path: PathBuf,
        settings: &CsvSettings,
        fields: Vec<String>,
        cursor: Option<&[u8]>,
        metrics: &Metrics,
    ) -> Result<Self, AgentError> {
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
        let mut tail = Self {
            path,
            every: settings.every,
            heading: settings.heading.clone(),
            label: settings.label.clone(),
            fields,
            open: None,
            failed: None,
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

    /// Returns the place behind the last line that was returned, as bytes; none before there is a
    /// file.
    pub(super) fn cursor(&self) -> Vec<u8> {
        let open = self.open.as_ref().map(|open| open.place);
        open.or(self.place).map_or_else(Vec::new, Place::to_bytes)
    }

    /// Opens the file, if it is not open and is there by now. Reads no row.
    pub(super) fn look(&mut self, metrics: &Metrics) -> Result<(), AgentError> {
        match self.open {
            Some(_) => Ok(()),
            None => self.find(metrics),
        }
    }

    /// Returns the rows of the whole lines that there are, at most `most`. An error waits until the
    /// rows before it were returned.
    pub(super) fn rows(
        &mut self,
        most: usize,
        metrics: &Metrics,
    ) -> Result<Vec<RawRow>, AgentError> {
        let mut rows = Vec::new();
        match self
            .failed
            .take()
            .map_or_else(|| self.read(most, &mut rows, metrics), Err)
        {
            Err(error) if rows.is_empty() => return Err(error),
            Err(error) => self.failed = Some(error),
            Ok(()) => {}
        }
        Ok(rows)
    }

    fn read(
        &mut self,
        most: usize,
        rows: &mut Vec<RawRow>,
        metrics: &Metrics,
    ) -> Result<(), AgentError> {
        loop {
            if self.open.is_none() {
                self.find(metrics)?;
            }
            let Some(open) = &mut self.open else {
                return Ok(());
            };
            let end = open.lines(most, rows, metrics);
            self.place = Some(open.place);
            match end.map_err(|error| unreadable(&self.path, &error))? {
                End::Truncated => {
                    tracing::info!(path = %self.path.display(), "the CSV file was truncated");
                    self.open = None;
                }
                End::Enough => return Ok(()),
                End::File if self.go_on(metrics)? => {}
                End::File => return Ok(()),
            }
        }
    }

    /// Opens the file where it was read to, or at its beginning.
    fn find(&mut self, metrics: &Metrics) -> Result<(), AgentError> {
        if let Some(place) = self.place {
            if let Some(file) = place.find(&self.path) {
                self.open = self.opened(file, Some(place))?;
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

    /// Opens the next file at the end of one. Returns whether there is one.
    fn go_on(&mut self, metrics: &Metrics) -> Result<bool, AgentError> {
        let Some(open) = &self.open else {
            return Ok(false);
        };
        if !rotation::is_replaced(&open.file, &self.path) {
            return Ok(false);
        }
        let Some(next) = rotation::next(&open.file, &self.path) else {
            return Ok(false);
        };
        let is_sure = next.is_sure;
        // The writer goes on in the old file until there is something in the next.
        let Some(next) = self.opened(next.file, None)? else {
            return Ok(false);
        };
        let failed = |error: io::Error| unreadable(&self.path, &error);
        if open.end_of_line().map_err(failed)?.is_some() {
            return Ok(true);
        }
        if open.file.metadata().map_err(failed)?.len() > open.place.offset {
            metrics.csv_gap();
            tracing::warn!(path = %self.path.display(), "the CSV file was rotated in the middle of a line, which is left out");
        }
        if !is_sure {
            metrics.csv_gap();
            tracing::warn!(path = %self.path.display(), "the names of rotated CSV files and their times disagree, or one is gone: lines may be missing");
        }
        self.open = Some(next);
        Ok(true)
    }

    /// Reads the heading of `file`. `None` while there is none.
    fn opened(&self, file: File, place: Option<Place>) -> Result<Option<Opened>, AgentError> {
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
        let field = |name: &String| heading.iter().position(|heading| heading == name);
        let field = |name: &String| {
            field(name).ok_or_else(|| {
                AgentError::new(
                    format_args!("{} has no field '{name}'", self.path.display()),
                    format_args!(
                        "its fields are {}; name one in csv.label or in the column's source, or give csv.heading if the file has none",
                        heading.join(", ")
                    ),
                )
            })
        };
        let places = self.fields.iter().map(field).collect::<Result<_, _>>()?;
        let label = self.label.as_ref().map(field).transpose()?;
        let place = match place {
            Some(place) => place.in_file(&file).map_err(failed)?,
            None => Place::beginning(&file)
                .map_err(failed)?
                .moved(heading_line.len() as u64, &heading_line),
        };
        Ok(Some(Opened {
            file,
            place,
            heading_line,
            label,
            places,
        }))
    }
}

/// The reason why no more lines are taken.
enum End {
    /// There are enough rows.
    Enough,
    /// All whole lines were taken.
    File,
    /// The file is not the one that was read up to here.
    Truncated,
}

impl Opened {
    /// Takes whole lines, until there are `most` rows or the end.
    fn lines(&mut self, most: usize, rows: &mut Vec<RawRow>, metrics: &Metrics) -> io::Result<End> {
        let mut chunk = vec![0; CHUNK + TAIL as usize];
        loop {
            // The bytes before the place are read again together with the new ones, so that a
            // truncation in between is noticed.
            let before = self.place.before();
            let start = self.place.offset - before as u64;
            let len = self.file.read_at(&mut chunk[..before + CHUNK], start)?;
            if !self.place.is_behind(&chunk[..before.min(len)]) {
                return Ok(End::Truncated);
            }
            let mut taken = before;
            while rows.len() < most
                && let Some(end) = chunk[taken..len].iter().position(|byte| *byte == b'\n')
            {
                let line = &chunk[taken..=taken + end];
                taken += line.len();
                if line != self.heading_line && !line.trim_ascii().is_empty() {
                    let place = self.place.moved(start + taken as u64, &chunk[..taken]);
                    rows.push(self.row(line, place));
                }
            }
            self.place = self.place.moved(start + taken as u64, &chunk[..taken]);
            if rows.len() >= most {
                return Ok(End::Enough);
            }
            if taken == before {
                if len < before + CHUNK {
                    return Ok(End::File);
                }
                match self.end_of_line()? {
                    None => return Ok(End::File),
                    Some(end) => {
                        metrics.csv_gap();
                        tracing::warn!("a CSV line of more than {CHUNK} bytes is left out");
                        let len = end.min(TAIL);
                        let mut before = vec![0; len as usize];
                        match self.file.read_exact_at(&mut before, end - len) {
                            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                                return Ok(End::Truncated);
                            }
                            read => read?,
                        }
                        self.place = self.place.moved(end, &before);
                    }
                }
            }
        }
    }

    /// Returns the offset behind the line that begins here, if the line is whole.
    fn end_of_line(&self) -> io::Result<Option<u64>> {
        let mut chunk = vec![0; CHUNK];
        let mut offset = self.place.offset;
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

    fn row(&self, line: &[u8], place: Place) -> RawRow {
        let fields = fields_of(line).unwrap_or_default();
        let value = |&place: &usize| {
            let field = fields.get(place).ok_or("its line has too few fields")?;
            Ok(plain(field).ok_or("its field is not a number")?)
        };
        RawRow {
            label: self.label.and_then(|place| fields.get(place)).cloned(),
            cursor: Some(place.to_bytes()),
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
