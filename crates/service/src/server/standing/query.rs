//! One standing query: its directory, and what is known of its periods.
//!
//! The directory has the `request`, the `definition`, which is written after it and makes it a standing query, the `ledger`, and in `results` a
//! file for each period that has a result: a line about it, the uploads that it was computed from, and the bytes of the result.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tfhe_sbc_query::scope::Period;
use tfhe_sbc_transport::catalogue::{Filter, Names};
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::protocol::ErrorBody;
use tfhe_sbc_transport::standing::{
    Failure, Period as ShownPeriod, PeriodResult, PeriodState, Standing,
};
use tfhe_sbc_upload::moments::Moment;

use super::definition::{Definition, MOST_RESULTS};
use super::ledger::{Change, Ledger, Times, after};
use crate::headed;
use crate::period_results::{self, ReadResult};
use crate::server::replies::rfc3339;

const DEFINITION: &str = "definition";
const REQUEST: &str = "request";
const LEDGER: &str = "ledger";
const RESULTS: &str = "results";

/// A standing query.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) directory: PathBuf,
    pub(super) definition: Definition,
    pub(super) times: Times,
    pub(super) names: Names,
    pub(super) request: Arc<[u8]>,
    pub(super) ledger: Ledger,
    /// Whether the ledger has changed since its file was written.
    pub(super) is_changed: bool,
    results: BTreeMap<Moment, Entry>,
    /// The bytes of the files of all results.
    bytes: u64,
    /// The periods that failed, which wait for a change of their uploads, a restart, or for being resumed.
    pub(super) parked: BTreeMap<Moment, ErrorBody>,
    /// The period that gave way to queries, and how often.
    pub(super) gave_way: Option<(Moment, u32)>,
}

/// A result in the directory.
#[derive(Debug, Clone, Copy)]
struct Entry {
    result: PeriodResult,
    /// The bytes of the file.
    file_bytes: u64,
}

fn not_json(path: &Path) -> impl FnOnce(serde_json::Error) -> FileError {
    let path = path.to_owned();
    move |error| FileError::io("read", &path)(error.into())
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let text = serde_json::to_vec(value);
    let text = text.map_err(|error| FileError::io("write", path)(error.into()))?;
    files::write_private_with(path, |file| io::Write::write_all(file, &text))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    let text = fs::read(path).map_err(FileError::io("read", path))?;
    serde_json::from_slice(&text).map_err(not_json(path))
}

impl Query {
    /// Makes the directory of a standing query.
    ///
    /// # Errors
    /// A definition whose parts do not go together, and a disk that is full or fails. What was made is removed then.
    pub(super) fn create(
        directory: &Path,
        definition: Definition,
        request: &[u8],
        seen: u64,
    ) -> Result<Self, FileError> {
        let made = Self::try_create(directory, definition, request, seen);
        if made.is_err() {
            let _ = fs::remove_dir_all(directory);
        }
        made
    }

    fn try_create(
        directory: &Path,
        definition: Definition,
        request: &[u8],
        seen: u64,
    ) -> Result<Self, FileError> {
        files::create_private_directory(&directory.join(RESULTS))?;
        files::write_private_with(&directory.join(REQUEST), |file| {
            io::Write::write_all(file, request)
        })?;
        let ledger = Ledger {
            seen,
            closed_until: definition.since,
            changes: BTreeMap::new(),
        };
        write_json(&directory.join(LEDGER), &ledger)?;
        write_json(&directory.join(DEFINITION), &definition)?;
        Self::of(
            directory,
            definition,
            request.into(),
            ledger,
            BTreeMap::new(),
        )
    }

    /// Returns whether a directory has a standing query, and not what a crash left of one.
    pub(super) fn is_whole(directory: &Path) -> bool {
        directory.join(DEFINITION).exists()
    }

    /// Reads the directory of a standing query.
    ///
    /// # Errors
    /// Files that are missing or that this program does not know.
    pub(super) fn open(directory: &Path) -> Result<Self, FileError> {
        let definition: Definition = read_json(&directory.join(DEFINITION))?;
        let path = directory.join(REQUEST);
        let request = fs::read(&path).map_err(FileError::io("read", &path))?;
        let ledger = read_json(&directory.join(LEDGER))?;
        let path = directory.join(RESULTS);
        files::create_private_directory(&path)?;
        for place in [directory, &path] {
            remove_temporary(place)?;
        }
        let mut results = BTreeMap::new();
        let failed = || FileError::io("list", &path);
        for file in fs::read_dir(&path).map_err(failed())? {
            let file = file.map_err(failed())?;
            let name = file.file_name();
            let from = name.to_str().and_then(|name| name.parse().ok());
            let Some(from) = from.map(Moment::from_unix_ms) else {
                continue;
            };
            match Entry::read(&file.path()) {
                Ok(entry) => {
                    results.insert(from, entry);
                }
                Err(error) => {
                    let file = file.path();
                    tracing::error!(%error, file = %file.display(), "a result of a standing query cannot be read");
                }
            }
        }
        Self::of(directory, definition, request.into(), ledger, results)
    }

    fn of(
        directory: &Path,
        definition: Definition,
        request: Arc<[u8]>,
        ledger: Ledger,
        results: BTreeMap<Moment, Entry>,
    ) -> Result<Self, FileError> {
        let other = |what: &str| {
            let error = io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
            FileError::io("use", &directory.join(DEFINITION))(error)
        };
        let period = Period::new(definition.every.0).ok_or_else(|| other("it has no period"))?;
        let names = match definition.devices.as_str() {
            "" => Names::default(),
            names => names.parse().map_err(|_| other("it names no devices"))?,
        };
        Ok(Self {
            times: Times {
                period,
                since: definition.since,
                until: definition.until,
                grace: definition.grace.0,
                keep: definition.keep.map(|keep| keep.0),
            },
            directory: directory.to_owned(),
            definition,
            names,
            request,
            ledger,
            is_changed: false,
            bytes: results.values().map(|entry| entry.file_bytes).sum(),
            results,
            parked: BTreeMap::new(),
            gave_way: None,
        })
    }

    /// Removes the directory. Whatever happens on the way, the next start finds no standing query there.
    pub(super) fn delete(&self) -> Result<(), FileError> {
        let definition = self.directory.join(DEFINITION);
        fs::remove_file(&definition).map_err(FileError::io("remove", &definition))?;
        files::flush_directory(&self.directory)?;
        fs::remove_dir_all(&self.directory).map_err(FileError::io("remove", &self.directory))
    }

    /// Writes the definition with or without a pause.
    pub(super) fn set_paused(&mut self, paused: bool) -> Result<(), FileError> {
        let definition = Definition {
            paused,
            ..self.definition.clone()
        };
        write_json(&self.directory.join(DEFINITION), &definition)?;
        self.definition = definition;
        Ok(())
    }

    /// Writes the ledger, if it has changed.
    pub(super) fn write_ledger(&mut self) -> Result<(), FileError> {
        if self.is_changed {
            write_json(&self.directory.join(LEDGER), &self.ledger)?;
            self.is_changed = false;
        }
        Ok(())
    }

    /// The uploads that have rows of a time, or may have some.
    pub(super) fn filter(&self, since: Moment, until: Moment) -> Filter {
        Filter {
            names: self.names.clone(),
            since: Some(since),
            until: Some(until),
            ..Filter::ALL
        }
    }

    /// Removes what does not count any more at `now`.
    pub(super) fn expire(&mut self, now: Moment) -> Result<(), FileError> {
        let first = self.times.first(now);
        self.is_changed |= self.ledger.forget_before(first);
        self.parked.retain(|from, _| *from >= first);
        let old = self.results.range(..first).map(|(from, _)| *from);
        for from in old.collect::<Vec<_>>() {
            self.remove_result(from)?;
        }
        Ok(())
    }

    pub(super) fn remove_result(&mut self, from: Moment) -> Result<(), FileError> {
        let path = self.result_file(from);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FileError::io("remove", &path)(error));
            }
            _ => {}
        }
        self.bytes -= self.size_of(from);
        self.results.remove(&from);
        Ok(())
    }

    /// Keeps the result of a period, in place of a former one.
    pub(super) fn keep(
        &mut self,
        from: Moment,
        result: PeriodResult,
        uploads: &BTreeSet<u64>,
        bytes: &[u8],
    ) -> Result<(), FileError> {
        let path = self.result_file(from);
        let content = period_results::content(&result, uploads, bytes);
        let content = content.map_err(FileError::io("write", &path))?;
        files::write_private_with(&path, |file| io::Write::write_all(file, &content))?;
        let entry = Entry {
            result,
            file_bytes: content.len() as u64,
        };
        self.bytes += entry.file_bytes;
        self.bytes -= self.size_of(from);
        self.results.insert(from, entry);
        Ok(())
    }

    /// Returns the result of a period with the uploads that it was computed from and its bytes, if there is one.
    pub(super) fn result(&self, from: Moment) -> Option<ReadResult> {
        self.results.get(&from)?;
        let path = self.result_file(from);
        match ReadResult::read(&path) {
            Ok(result) => Some(result),
            Err(error) => {
                tracing::error!(%error, file = %path.display(), "a result of a standing query cannot be read");
                None
            }
        }
    }

    pub(super) fn result_file(&self, from: Moment) -> PathBuf {
        let name = from.unix_ms().to_string();
        self.directory.join(RESULTS).join(name)
    }

    /// The number of results, and the bytes of their files.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.results.len() as u64, self.bytes)
    }

    /// The bytes of the file of a result; 0 if there is none.
    pub(super) fn size_of(&self, from: Moment) -> u64 {
        self.results.get(&from).map_or(0, |entry| entry.file_bytes)
    }

    pub(super) fn is_full(&self) -> bool {
        self.results.len() >= MOST_RESULTS
    }

    /// The number of periods that are closed at `now` and to be computed.
    pub(super) fn waiting(&self, now: Moment) -> u64 {
        self.waiting_periods(now).count() as u64
    }

    fn waiting_periods(&self, now: Moment) -> impl Iterator<Item = Moment> {
        let closed = self.times.closed(now);
        let changes = self.ledger.changes.keys().copied();
        changes
            .filter(move |from| self.times.end(*from) <= closed && !self.parked.contains_key(from))
    }

    /// Returns what is known of it at `now`.
    pub(super) fn shown(&self, now: Moment, problem: Option<ErrorBody>) -> Standing {
        let Definition {
            name,
            created,
            questions,
            every,
            by,
            devices,
            since,
            until,
            grace,
            keep,
            paused,
            ..
        } = self.definition.clone();
        let (results, bytes) = self.size();
        let closed_until = self.ledger.closed_until;
        let first = self
            .waiting_periods(now)
            .find(|from| !self.results.contains_key(from));
        let is_over = until.is_some_and(|until| closed_until >= until);
        let next = after(self.times.end(closed_until), grace.0);
        let last_failure = self.parked.last_key_value();
        Standing {
            name,
            questions,
            every,
            by: by.to_string(),
            devices,
            since,
            until,
            grace,
            keep,
            created_at: rfc3339(system_time(created)),
            paused,
            computed_until: first.unwrap_or(closed_until),
            next_at: (!is_over && !paused).then(|| rfc3339(system_time(next))),
            waiting: self.waiting(now),
            failed: self.parked.len() as u64,
            last_failure: last_failure.map(|(from, reason)| Failure {
                from: *from,
                reason: reason.clone(),
            }),
            problem,
            results,
            bytes,
            late: self.results.values().map(|entry| entry.result.late).sum(),
        }
    }

    /// Returns the periods that begin before a moment and end after another one, the latest first.
    pub(super) fn periods(
        &self,
        since: Option<Moment>,
        before: Option<Moment>,
        now: Moment,
    ) -> Vec<ShownPeriod> {
        let closed = self.times.closed(now);
        let mut all: BTreeSet<Moment> = self.results.keys().copied().collect();
        all.extend(self.ledger.changes.keys().copied());
        all.extend(self.parked.keys().copied());
        let is_asked = |from: &Moment| {
            before.is_none_or(|before| *from < before)
                && since.is_none_or(|since| self.times.end(*from) > since)
        };
        let shown = all.into_iter().rev().filter(is_asked).map(|from| {
            let until = self.times.end(from);
            let result = self.results.get(&from).map(|entry| entry.result);
            let error = self.parked.get(&from).cloned();
            let is_new = self.ledger.changes.contains_key(&from) && until <= closed;
            let state = match (&error, is_new, &result) {
                (Some(_), _, _) => PeriodState::Failed,
                (None, true, Some(_)) => PeriodState::Outdated,
                (None, _, Some(_)) => PeriodState::Computed,
                (None, _, None) => PeriodState::Waiting,
            };
            ShownPeriod {
                from,
                until,
                state,
                result,
                error,
            }
        });
        shown.collect()
    }

    /// Returns the reason of a change of a period.
    pub(super) fn change(&self, from: Moment) -> Option<Change> {
        self.ledger.changes.get(&from).cloned()
    }
}

impl Entry {
    fn read(path: &Path) -> io::Result<Self> {
        let (result, _) = headed::head(path)?;
        Ok(Self {
            result,
            file_bytes: fs::metadata(path)?.len(),
        })
    }
}

/// Removes what a crash has left half written.
fn remove_temporary(directory: &Path) -> Result<(), FileError> {
    let failed = || FileError::io("list", directory);
    for file in fs::read_dir(directory).map_err(failed())? {
        let file = file.map_err(failed())?;
        if file.file_name().to_str().is_some_and(files::is_temporary) {
            fs::remove_file(file.path()).map_err(FileError::io("remove", &file.path()))?;
        }
    }
    Ok(())
}

fn system_time(moment: Moment) -> SystemTime {
    let ms = moment.unix_ms();
    let length = Duration::from_millis(ms.unsigned_abs());
    let time = match ms >= 0 {
        true => UNIX_EPOCH.checked_add(length),
        false => UNIX_EPOCH.checked_sub(length),
    };
    time.unwrap_or(UNIX_EPOCH)
}
