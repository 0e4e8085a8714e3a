//! Batches on disk until the server has them.
//!
//! A batch is one file ([`record`]). Its name is a number that grows, and its header tells how far
//! the sources were read. It is written under another name, flushed, renamed, and the directory
//! flushed: after a power cut there is the batch with its cursor, or neither. The cursor of the
//! newest batch outlives that batch in the file `position`, which has the beginning of the sources
//! before there is a batch.
//!
//! A batch leaves the spool when the server has acknowledged its content, when the server has
//! refused it for good (it goes to `refused/`), or when there is no room ([`WhenFull`]). A file
//! that cannot be read goes to `damaged/`. Refused and damaged files count towards the bound too,
//! and are the first to be removed.

pub(crate) mod counter;
mod position;
pub mod record;
mod recovery;
mod survey;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{self, FileError, FileLock};

use crate::config::WhenFull;
use crate::error::AgentError;
use crate::metrics::{Dropped, Metrics};
use record::Header;
pub use survey::Survey;

const LOCK: &str = "lock";
const POSITION: &str = "position";
const REFUSED: &str = "refused";
const DAMAGED: &str = "damaged";
const EXTENSION: &str = "batch";

/// The name of a batch's file.
type Write = fn(&Path, &[u8]) -> Result<(), FileError>;

/// The batches of one agent.
pub struct Spool {
    directory: PathBuf,
    max_bytes: u64,
    when_full: WhenFull,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
    write: Write,
    replace: Write,
    _lock: FileLock,
}

#[derive(Default)]
struct State {
    /// The lengths of the files that wait, by number.
    queue: BTreeMap<u64, u64>,
    /// The files that are not sent, the oldest first, and their lengths.
    aside: VecDeque<(PathBuf, u64)>,
    /// The bytes of all those files.
    bytes: u64,
    /// The number of the newest batch that there ever was.
    newest: u64,
    /// The cursor of the newest batch, or that of the beginning before there is a batch.
    cursor: Vec<u8>,
    /// The number of the newest batch whose cursor is on the disk, in the batch's file or in
    /// `position`.
    on_disk: u64,
    /// The reason why `position` could not be read.
    lost: Option<String>,
    in_flight: Option<u64>,
    /// The newest batch on the disk, if it was to be removed but its cursor could not be written
    /// elsewhere. Without the cursor its rows would be read again and sent as other bytes. The file
    /// itself may be sent again after a crash, for the server knows it.
    kept: Option<Kept>,
}

/// A batch that is to be removed or set aside.
struct Kept {
    sequence: u64,
    /// The directory that the batch is to be moved to, and the words for it; otherwise it is
    /// removed.
    aside: Option<(&'static str, String)>,
}

impl State {
    fn is_kept(&self, sequence: u64) -> bool {
        self.kept
            .as_ref()
            .is_some_and(|kept| kept.sequence == sequence)
    }
}

/// A batch as it is sent.
pub struct Waiting {
    /// The batch's number.
    pub sequence: u64,
    /// The batch's name at the server.
    pub id: BlobId,
    /// The upload.
    pub bytes: Vec<u8>,
}

/// The result of [`Spool::push`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The batch is on the disk.
    Stored,
    /// There was no room, and the batch is lost.
    Dropped,
    /// There is no room, and the call may be made again.
    Full,
}

impl Spool {
    /// Opens the spool in a directory, making it (mode 0700) if there is none.
    ///
    /// # Errors
    /// If another agent uses it, or it cannot be read or written.
    pub fn open(
        directory: &Path,
        max_bytes: u64,
        when_full: WhenFull,
        metrics: Arc<Metrics>,
    ) -> Result<Self, AgentError> {
        files::create_private_directory(directory).map_err(failed)?;
        let lock = lock(directory)?;
        for name in [REFUSED, DAMAGED] {
            files::create_private_directory(&directory.join(name)).map_err(failed)?;
        }
        let spool = Self {
            directory: directory.to_owned(),
            max_bytes,
            when_full,
            metrics,
            state: Mutex::default(),
            write: files::write_private_new,
            replace: files::write_atomic,
            _lock: lock,
        };
        let state = spool.recover()?;
        *spool.state() = state;
        spool.show(&spool.state());
        Ok(spool)
    }

    /// Puts a batch on the disk. When this returns [`Pushed::Stored`], the batch is there.
    ///
    /// # Errors
    /// If the disk fails for another reason than being full.
    pub fn push(&self, upload: &[u8], rows: u32, cursor: &[u8]) -> Result<Pushed, AgentError> {
        let mut state = self.state();
        let sequence = state.newest + 1;
        let mut file = Header {
            sequence,
            rows,
            created: seconds_now(),
            len: upload.len() as u64,
            hash: *blake3::hash(upload).as_bytes(),
            cursor: cursor.to_vec(),
        }
        .to_bytes();
        file.extend_from_slice(upload);
        let len = file.len() as u64;
        while len > self.max_bytes.saturating_sub(state.bytes) {
            if !self.make_room(&mut state)? {
                return self.no_room(&mut state, cursor);
            }
        }
        loop {
            match (self.write)(&self.batch_path(sequence), &file) {
                Ok(()) => break,
                Err(error) if is_full(&error) => {
                    if !self.make_room(&mut state)? {
                        tracing::error!(%error, "the disk is full");
                        return self.no_room(&mut state, cursor);
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
        state.queue.insert(sequence, len);
        state.bytes += len;
        state.newest = sequence;
        state.on_disk = sequence;
        state.cursor = cursor.to_vec();
        if let Some(kept) = state.kept.take() {
            self.finish(&mut state, kept);
        }
        self.metrics.batch(upload.len() as u64);
        self.show(&state);
        Ok(Pushed::Stored)
    }

    /// Returns the oldest batch that waits, and holds it until it is acknowledged, refused or
    /// released.
    pub fn take(&self) -> Option<Waiting> {
        loop {
            let sequence = {
                let mut state = self.state();
                self.let_go_of_kept(&mut state);
                let mut sequences = state.queue.keys().copied();
                let sequence = sequences.find(|&sequence| !state.is_kept(sequence))?;
                state.in_flight = Some(sequence);
                sequence
            };
            match self.read(sequence) {
                Ok((id, bytes)) => {
                    return Some(Waiting {
                        sequence,
                        id,
                        bytes,
                    });
                }
                Err(words) => {
                    tracing::error!(
                        sequence,
                        ?words,
                        "a batch of the spool is damaged and set aside"
                    );
                    self.metrics.dropped(Dropped::Damaged);
                    self.set_aside(sequence, DAMAGED, &words);
                }
            }
        }
    }

    /// Lets the batch that was taken wait again.
    pub fn release(&self) {
        self.state().in_flight = None;
    }

    /// Removes a batch that the server has acknowledged.
    pub fn acknowledge(&self, sequence: u64) {
        let mut state = self.state();
        state.in_flight = None;
        self.remove(&mut state, sequence);
        self.show(&state);
    }

    /// Sets aside a batch that the server refused for good, with the server's words.
    pub fn refuse(&self, sequence: u64, words: &str) {
        self.metrics.refused();
        self.set_aside(sequence, REFUSED, words);
    }

    /// Returns the number of batches that wait, and the bytes of all files.
    pub fn depth(&self) -> (usize, u64) {
        let state = self.state();
        let kept = usize::from(state.kept.is_some());
        (state.queue.len() - kept, state.bytes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, state: &State) {
        self.metrics.depth(state.queue.len() as u64, state.bytes);
    }

    fn batch_path(&self, sequence: u64) -> PathBuf {
        self.directory.join(file_name(sequence))
    }

    /// Makes some room, if the settings allow it and there is something to remove.
    fn make_room(&self, state: &mut State) -> Result<bool, AgentError> {
        if let Some((path, len)) = state.aside.pop_front() {
            remove_file(&words_of(&path));
            if remove_file(&path) {
                state.bytes -= len;
                // A damaged file was counted when it was found.
                if path.parent().is_some_and(|place| place.ends_with(REFUSED)) {
                    self.metrics.dropped(Dropped::Refused);
                }
            }
            return Ok(true);
        }
        if self.when_full != WhenFull::DropOldest {
            return Ok(false);
        }
        let mut sequences = state.queue.keys().copied();
        let oldest = sequences.find(|&key| state.in_flight != Some(key) && !state.is_kept(key));
        let Some(sequence) = oldest else {
            return Ok(false);
        };
        tracing::warn!(sequence, "the spool is full: its oldest batch is dropped");
        self.metrics.dropped(Dropped::Oldest);
        self.remove(state, sequence);
        Ok(true)
    }

    fn no_room(&self, state: &mut State, cursor: &[u8]) -> Result<Pushed, AgentError> {
        self.show(state);
        if self.when_full == WhenFull::Block {
            return Ok(Pushed::Full);
        }
        tracing::warn!("the spool is full: the newest batch is dropped");
        self.metrics.dropped(Dropped::Newest);
        state.newest += 1;
        state.cursor = cursor.to_vec();
        self.write_position(state);
        Ok(Pushed::Dropped)
    }

    /// Removes a batch, once its cursor is not needed.
    fn remove(&self, state: &mut State, sequence: u64) {
        let aside = None;
        self.let_go(state, Kept { sequence, aside });
    }

    fn let_go(&self, state: &mut State, kept: Kept) {
        if kept.sequence != state.on_disk || self.write_position(state) {
            self.finish(state, kept);
        } else {
            state.kept = Some(kept);
        }
    }

    fn let_go_of_kept(&self, state: &mut State) {
        if let Some(kept) = state.kept.take() {
            self.let_go(state, kept);
        }
    }

    /// Removes a file of the queue, or sets it aside.
    fn finish(&self, state: &mut State, Kept { sequence, aside }: Kept) {
        let Some(len) = state.queue.remove(&sequence) else {
            return;
        };
        let from = self.batch_path(sequence);
        let Some((place, words)) = aside else {
            if remove_file(&from) {
                state.bytes -= len;
            }
            return;
        };
        let path = self.directory.join(place).join(file_name(sequence));
        if let Err(error) = fs::rename(from, &path) {
            tracing::error!(%error, sequence, "a batch was not set aside");
            return;
        }
        let words = shortened(&words);
        let told = fs::write(words_of(&path), words).map_or(0, |()| words.len() as u64);
        state.bytes += told;
        state.aside.push_back((path, len + told));
    }

    fn set_aside(&self, sequence: u64, place: &'static str, words: &str) {
        let mut state = self.state();
        state.in_flight = None;
        let aside = Some((place, words.to_owned()));
        self.let_go(&mut state, Kept { sequence, aside });
        self.show(&state);
    }

    fn read(&self, sequence: u64) -> Result<(BlobId, Vec<u8>), String> {
        let mut bytes = fs::read(self.batch_path(sequence)).map_err(|error| error.to_string())?;
        let (header, start) = Header::parse(&bytes).map_err(|error| error.to_string())?;
        bytes.drain(..start);
        if bytes.len() as u64 != header.len || *blake3::hash(&bytes).as_bytes() != header.hash {
            return Err("its upload is damaged".to_owned());
        }
        Ok((BlobId::of(&bytes), bytes))
    }
}

fn file_name(sequence: u64) -> String {
    format!("{sequence:020}.{EXTENSION}")
}

fn listed(directory: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = |source| FileError::Io {
        action: "list",
        path: directory.to_owned(),
        source,
    };
    let entries = fs::read_dir(directory).map_err(failed)?;
    let paths: Result<Vec<_>, _> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect();
    let mut paths = paths.map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// Returns whether the file is gone.
fn remove_file(path: &Path) -> bool {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::error!(file = %path.display(), %error, "a file of the spool was not removed");
            false
        }
        _ => true,
    }
}

/// Returns the file with the words that a batch was refused with.
fn words_of(batch: &Path) -> PathBuf {
    batch.with_extension("txt")
}

/// The most bytes of a server's words that are kept.
const MAX_WORDS: usize = 1024;

fn shortened(words: &str) -> &str {
    &words[..words.floor_char_boundary(MAX_WORDS)]
}

/// Locks the spool: two agents would send and remove each other's batches.
fn lock(directory: &Path) -> Result<FileLock, AgentError> {
    let path = directory.join(LOCK);
    // `agent status` holds the lock for a moment.
    for _ in 0..10 {
        match FileLock::take(&path).map_err(failed)? {
            Some(lock) => return Ok(lock),
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    Err(AgentError::new(
        format_args!("another agent uses the spool {}", directory.display()),
        "stop that agent (systemctl stop tfhe-sbc-agent), or give this one its own spool.directory",
    ))
}

fn is_full(error: &FileError) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error, FileError::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
}

fn failed(error: FileError) -> AgentError {
    AgentError::setting(
        "spool.directory",
        error,
        "name a directory that the agent's user can write to",
    )
}

fn seconds_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

#[cfg(test)]
#[path = "spool/tests.rs"]
mod tests;
