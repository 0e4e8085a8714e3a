//! The writer of the agents' files. It writes a row at a time to each, and rotates them as
//! `logrotate` does, by renaming and by copying and truncating.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::Failure;
use crate::readings::readings_of;

/// The time between two rows of a file.
const FEED: Duration = Duration::from_millis(40);

/// The way in which a file is rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rotation {
    Rename,
    CopyAndTruncate,
}

/// A file of readings, and the files that it was before.
struct Log {
    name: String,
    path: PathBuf,
    file: File,
    rotated: usize,
}

impl Log {
    fn create(name: String, path: PathBuf) -> io::Result<Self> {
        let file = Self::open(&path)?;
        let mut log = Self {
            name,
            path,
            file,
            rotated: 0,
        };
        log.head()?;
        Ok(log)
    }

    /// Opens the file to append, as loggers do: after a truncation too they write where the file
    /// ends.
    fn open(path: &Path) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).open(path)
    }

    fn head(&mut self) -> io::Result<()> {
        self.file.write_all(b"label,temperature,humidity\n")
    }

    /// Writes a row whose readings follow from the label, in one write, as a logger does.
    fn row(&mut self, number: u64) -> io::Result<String> {
        let label = format!("{}/{number}", self.name);
        let fields: Vec<String> = readings_of(&label).iter().map(f64::to_string).collect();
        let line = format!("{label},{}\n", fields.join(","));
        self.file.write_all(line.as_bytes())?;
        Ok(label)
    }

    fn old(&self, number: usize) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }

    fn rotate(&mut self, rotation: Rotation) -> io::Result<()> {
        for number in (1..=self.rotated).rev() {
            fs::rename(self.old(number), self.old(number + 1))?;
        }
        match rotation {
            Rotation::Rename => {
                fs::rename(&self.path, self.old(1))?;
                self.file = Self::open(&self.path)?;
            }
            Rotation::CopyAndTruncate => {
                fs::copy(&self.path, self.old(1))?;
                self.file.set_len(0)?;
            }
        }
        self.rotated += 1;
        self.head()
    }
}

/// The values that the writing thread shares with the thread that started it.
#[derive(Default)]
struct Shared {
    over: AtomicBool,
    /// The labels of all rows that were written.
    given: Mutex<Vec<String>>,
    /// Files that are to be rotated.
    rotations: Mutex<Vec<(usize, Rotation)>>,
}

/// The thread; dropped, it ends.
pub(super) struct Feeder {
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<io::Result<()>>>,
}

impl Feeder {
    /// Makes these files, by the names of their agents, and lets them grow.
    pub(super) fn start(files: Vec<(String, PathBuf)>) -> Result<Self, Failure> {
        let logs = files
            .into_iter()
            .map(|(name, path)| Log::create(name, path));
        let logs = logs.collect::<io::Result<Vec<_>>>()?;
        let shared = Arc::new(Shared::default());
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || feed(logs, &shared))
        };
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Has the file of an agent rotated before its next row.
    pub(super) fn rotate(&self, agent: usize, rotation: Rotation) {
        let rotations = self.shared.rotations.lock();
        let mut rotations = rotations.unwrap_or_else(PoisonError::into_inner);
        rotations.push((agent, rotation));
    }

    /// Returns the labels of all rows that there will be. Fails if the files stopped growing
    /// before.
    pub(super) fn stop(&mut self) -> Result<Vec<String>, Failure> {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let fed = thread.join().map_err(|_| "the feeder panicked")?;
            fed.map_err(|error| format!("the agents' files stopped growing: {error}"))?;
        }
        let given = self.shared.given.lock();
        Ok(given.unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

fn feed(mut logs: Vec<Log>, shared: &Shared) -> io::Result<()> {
    for number in 0_u64.. {
        let over = shared.over.load(Ordering::Relaxed);
        let rotations = std::mem::take(
            &mut *shared
                .rotations
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for (agent, rotation) in rotations {
            if let Some(log) = logs.get_mut(agent) {
                log.rotate(rotation)?;
            }
        }
        if over {
            break;
        }
        for log in &mut logs {
            let label = log.row(number)?;
            let given = shared.given.lock();
            given.unwrap_or_else(PoisonError::into_inner).push(label);
        }
        thread::sleep(FEED);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotated_files_have_every_row_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("readings.csv");
        let mut log = Log::create("a".to_owned(), path.clone()).unwrap();
        let rotations = [
            Rotation::Rename,
            Rotation::CopyAndTruncate,
            Rotation::CopyAndTruncate,
            Rotation::Rename,
        ];
        for (number, rotation) in rotations.into_iter().enumerate() {
            log.row(number as u64).unwrap();
            log.rotate(rotation).unwrap();
        }
        log.row(4).unwrap();
        let paths = (1..=4).rev().map(|number| log.old(number)).chain([path]);
        for (number, path) in paths.enumerate() {
            let text = fs::read_to_string(path).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), 2, "{text}");
            assert!(lines[1].starts_with(&format!("a/{number},")), "{text}");
        }
    }

    #[test]
    fn a_feeder_that_died_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("readings.csv");
        let mut feeder = Feeder::start(vec![("a".to_owned(), path.clone())]).unwrap();
        fs::remove_file(&path).unwrap();
        feeder.rotate(0, Rotation::Rename);
        let error = feeder.stop().unwrap_err().to_string();
        assert!(error.contains("stopped growing"), "{error}");
    }
}
