//! Uploads on disk: packed into segments, with an index in SQLite beside them.
//!
//! What [`Store::put`] has returned is on disk and stays there through `kill -9` and power cuts: the records of uploads are
//! appended to a segment and flushed, once for all uploads that come together. The index follows from the segments and is not
//! flushed. What it lacks after a crash is read from them at the next start, and all of it if it is lost.

mod arrivals;
pub mod backup;
mod catalogue;
mod commits;
mod compaction;
mod definitions;
mod form;
mod index;
mod migration;
mod pads;
mod recovery;
mod retention;
pub mod segments;
mod uploaders;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;

pub use arrivals::Arrivals;
pub use catalogue::{Completed, Description, Listed, UNKNOWN_UPLOADER};
use commits::{Commits, Form, NewEntry, Writing};
use index::{Contexts, Entry, Known};
pub use pads::{ArrivedFrames, ArrivingFrame, PadsNumber, StoredPads};
pub use retention::{Expired, Removed, Retention};
use segments::record::{Record, Upload};
use segments::{Appender, Lookup, Segments};
use tfhe_sbc_transport::files::{self, FileError, FileLock, private_file};
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::metadata::MetadataError;
use tfhe_sbc_upload::pads::PadUsedTwice;
use tfhe_sbc_upload::short::{Definitions, DefinitionsId};
pub use uploaders::Uploader;
use uploaders::Uploaders;

/// The reason why the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nothing is stored under this id.
    #[error("no readings are stored under {id}")]
    NotFound {
        /// The id.
        id: BlobId,
    },
    /// Stored bytes are not what was uploaded.
    #[error("the stored readings {id} are damaged in {}. Check the disk; uploading the same readings again repairs them", path.display())]
    Corrupt {
        /// The id.
        id: BlobId,
        /// The file.
        path: PathBuf,
    },
    /// The index knows the readings but their bytes are gone.
    #[error("the stored readings {id} are missing: the index lists them but {} does not have them. Uploading the same readings again repairs them", path.display())]
    Missing {
        /// The id.
        id: BlobId,
        /// Where they should be.
        path: PathBuf,
    },
    /// There are other pads that were made with the same key.
    #[error("other pads of the same key are stored: a board's key is of one file of pads")]
    PadsOfSameKey,
    /// A file of pads that the index knows is gone or damaged.
    #[error("the file of pads {id} is missing or damaged; sending it again repairs it")]
    NoPads {
        /// The id of the file.
        id: BlobId,
    },
    /// The index cannot hold what is needed of a file of pads.
    #[error("the pads cannot be stored: {0}")]
    PadHead(#[source] MetadataError),
    /// Another frame of the same counter has arrived.
    #[error("{}", PadUsedTwice(*counter))]
    PadUsedTwice {
        /// The counter.
        counter: u32,
    },
    /// Another process uses the store.
    #[error("the store {} is in use by another process; stop that server or choose another directory", directory.display())]
    InUse {
        /// The store's directory.
        directory: PathBuf,
    },
    /// A backup was restored into the directory, but not to its end.
    #[error("restoring a backup into {} was interrupted; remove that directory and run `tfhe-sbc restore` again", directory.display())]
    HalfRestored {
        /// The store's directory.
        directory: PathBuf,
    },
    /// The directory has a backup of a store.
    #[error("{} is a backup and no store; make a store of it with `tfhe-sbc restore`", directory.display())]
    IsBackup {
        /// The directory.
        directory: PathBuf,
    },
    /// The store was made by a newer version.
    #[error("the store {} has layout {found}, this program knows layout {}; use the newer program", directory.display(), index::VERSION)]
    NewerLayout {
        /// The store's directory.
        directory: PathBuf,
        /// The layout found.
        found: i64,
    },
    /// A segment was written by a newer version.
    #[error("the segment {} has version {found}, which this program does not know; use the newer program", path.display())]
    NewerSegment {
        /// The segment.
        path: PathBuf,
        /// The version found.
        found: u16,
    },
    /// There is no segment to append to.
    #[error("the store has no segment that can grow")]
    NoSegment,
    /// The operating system gave no randomness for a new segment.
    #[error("the operating system gives no randomness")]
    NoRandomness,
    /// The index failed.
    #[error("the store's index failed: {0}")]
    Index(#[from] rusqlite::Error),
    /// A file failed.
    #[error(transparent)]
    File(#[from] FileError),
}

impl StoreError {
    /// Returns whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::File(FileError::Io { source, .. }) => {
                matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                )
            }
            Self::Index(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            _ => false,
        }
    }
}

/// The result of [`Store::put`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The content is new and now on disk.
    New,
    /// The same content was on disk already, whole.
    AlreadyStored,
}

/// The name of the directory of segments.
const SEGMENTS: &str = "segments";

/// One line of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReadings {
    /// The id of the content.
    pub id: BlobId,
    /// Its size in bytes.
    pub bytes: u64,
    /// The time at which it was first stored.
    pub created_at: SystemTime,
    /// The name in the certificate of its first uploader.
    pub uploader: String,
    /// Its content.
    pub summary: UploadSummary,
}

/// A directory of uploads, open to one process at a time and to any number of
/// its threads.
pub struct Store {
    directory: PathBuf,
    /// The directory of the files of pads.
    pads: PathBuf,
    segments: Arc<Segments>,
    contexts: Arc<Contexts>,
    writing: Mutex<Writing>,
    /// The connection that reads single uploads while the other one waits for the disk.
    reader: Mutex<Connection>,
    /// The connection for lists and selections, which may take long.
    lister: Mutex<Connection>,
    commits: Commits,
    compaction: Mutex<compaction::Compaction>,
    uploaders: Uploaders,
    /// True if the index was made anew, though there may be files of a former layout whose index is lost.
    is_new: bool,
    /// The lock, held until the store is dropped.
    _lock: FileLock,
}

impl Store {
    /// Opens the store in a directory, which is made (mode 0700) if it does not exist. Removes what a crash left half-written, adds
    /// to the index what it lacks of the segments, and packs the uploads of a store of a former layout into segments.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        files::create_private_directory(directory)?;
        if directory.join(backup::INDEX).exists() {
            return Err(StoreError::IsBackup {
                directory: directory.to_owned(),
            });
        }
        let lock = lock(directory)?;
        if directory.join(backup::RESTORING).exists() {
            return Err(StoreError::HalfRestored {
                directory: directory.to_owned(),
            });
        }
        let pads = directory.join("pads");
        files::create_private_directory(&pads)?;
        sweep(&pads)?;
        // Whoever holds it has segments stay where they are.
        drop(private_file(&directory.join(compaction::LOCK))?);
        // SQLite gives its other files the permissions of this one. Nothing but SQLite opens it from here on: to close a
        // file by any descriptor drops all locks that the process has on it, and without them another process, such as
        // a backup, would take itself for the last one and remove SQLite's log.
        drop(private_file(&directory.join(index::FILE))?);
        let (index, is_new) = index::open(directory)?;
        let segments = Arc::new(Segments::open(directory.join(SEGMENTS))?);
        let mut writing = Writing {
            index,
            appender: Appender::new(1),
            next_sequence: 1,
            segments: Arc::clone(&segments),
            contexts: Arc::default(),
        };
        recovery::recover(&mut writing, is_new.then_some(&*pads))?;
        migration::run(&mut writing, directory)?;
        let reader = index::connect(directory)?;
        let uploaders = Uploaders::read(&reader)?;
        files::flush_directory(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            pads,
            segments,
            contexts: Arc::clone(&writing.contexts),
            writing: Mutex::new(writing),
            reader: Mutex::new(reader),
            lister: Mutex::new(index::connect(directory)?),
            commits: Commits::default(),
            compaction: Mutex::default(),
            uploaders,
            is_new,
            _lock: lock,
        })
    }

    /// Stores bytes. When this returns they are on disk. The same content is stored once and keeps
    /// its first uploader and time. A damaged copy is replaced. `definitions` are kept for the uploader, with
    /// the upload.
    pub fn put(
        &self,
        bytes: &[u8],
        uploader: &str,
        summary: &UploadSummary,
        definitions: Option<&Definitions>,
    ) -> Result<(StoredReadings, Stored), StoreError> {
        self.put_entry(bytes, uploader, summary, definitions, None)
    }

    fn put_entry(
        &self,
        bytes: &[u8],
        uploader: &str,
        summary: &UploadSummary,
        definitions: Option<&Definitions>,
        frame: Option<(ArrivingFrame, BlobId)>,
    ) -> Result<(StoredReadings, Stored), StoreError> {
        let id = BlobId::of(bytes);
        let repairs = match self.get(&id) {
            Ok(_) | Err(StoreError::NotFound { .. }) => false,
            Err(StoreError::Missing { .. } | StoreError::Corrupt { .. }) => {
                tracing::warn!(%id, "replacing damaged readings with a fresh upload of the same content");
                true
            }
            Err(error) => return Err(error),
        };
        let new = NewEntry {
            id,
            bytes: bytes.len() as u64,
            form: Form::of(bytes),
            uploader: uploader.to_owned(),
            summary: summary.clone(),
            definitions: definitions.cloned(),
            created_at: None,
            sequence: None,
            is_undescribed: false,
            frame,
            repairs,
        };
        let (readings, stored) = self.commits.commit(&self.writing, new)?;
        if stored == Stored::New {
            self.uploaders.add(&readings);
        }
        Ok((readings, stored))
    }

    /// Returns the definitions of this id that the uploader's uploads had; `None` if there are none, or not any
    /// more: of each uploader the newest few are kept.
    pub fn definitions(
        &self,
        uploader: &str,
        id: DefinitionsId,
    ) -> Result<Option<Definitions>, StoreError> {
        Ok(definitions::find(&self.reader(), uploader, id)?)
    }

    /// Returns the stored bytes, checked against their name.
    pub fn get(&self, id: &BlobId) -> Result<Vec<u8>, StoreError> {
        let mut gone = None;
        loop {
            let found = index::find(&self.reader(), id)?;
            let entry = found.ok_or(StoreError::NotFound { id: *id })?;
            let missing = |path| Err(StoreError::Missing { id: *id, path });
            let Some(place) = entry.place else {
                return missing(self.segments.directory().to_owned());
            };
            let path = self.segments.path(place.segment);
            if gone == Some(place) {
                return missing(path);
            }
            let record = match self.segments.read(place, entry.len)? {
                Lookup::Record(record) => record,
                Lookup::Damaged => return Err(StoreError::Corrupt { id: *id, path }),
                // It may have been moved, with its segment, since the index was asked.
                Lookup::Gone => {
                    gone = Some(place);
                    continue;
                }
            };
            let context = self.contexts.get(&self.reader(), entry.context)?;
            let upload = match record {
                Record::Upload(upload) => context.upload(upload),
                _ => None,
            };
            return match upload {
                Some(bytes) if BlobId::of(&bytes) == *id => Ok(bytes),
                _ => Err(StoreError::Corrupt { id: *id, path }),
            };
        }
    }

    /// Returns what the index knows about these readings.
    pub fn find(&self, id: &BlobId) -> Result<Option<StoredReadings>, StoreError> {
        let index = self.reader();
        let found = index::find(&index, id)?;
        found.map(|entry| self.readings(&index, &entry)).transpose()
    }

    /// Returns the file that has these readings, and where their record is in it, in bytes, if the index knows.
    pub fn place(&self, id: &BlobId) -> Result<Option<(PathBuf, Range<u64>)>, StoreError> {
        let found = index::find(&self.reader(), id)?;
        Ok(found.and_then(|entry| {
            let place = entry.place?;
            let begin = u64::from(place.offset);
            Some((self.segments.path(place.segment), begin..begin + entry.len))
        }))
    }

    /// Returns the uploaders, those that stored something last first.
    pub fn uploaders(&self) -> Vec<Uploader> {
        self.uploaders.list()
    }

    /// Returns the content that this uploader was the first to store, the last of it.
    pub fn latest_of(&self, uploader: &str) -> Result<Option<StoredReadings>, StoreError> {
        let index = self.reader();
        let mut statement = index.prepare_cached(&format!(
            "SELECT {} FROM uploads WHERE sequence =
             (SELECT max(sequence) FROM uploads WHERE context IN (SELECT number FROM contexts WHERE uploader = ?1))",
            index::COLUMNS
        ))?;
        let found = statement
            .query_row([uploader], Entry::from_row)
            .optional()?;
        drop(statement);
        found.map(|entry| self.readings(&index, &entry)).transpose()
    }

    /// Returns the content that was stored last. An upload of old content does not make it the
    /// latest.
    pub fn latest(&self) -> Result<Option<StoredReadings>, StoreError> {
        let one = Filter {
            limit: Some(1),
            ..Filter::default()
        };
        Ok(self.list(&one)?.readings.into_iter().next())
    }

    /// Fails if the store cannot be used.
    pub fn check(&self) -> Result<(), StoreError> {
        self.reader().query_row(
            "SELECT count(*) FROM (SELECT 1 FROM uploads LIMIT 1)",
            [],
            |_| Ok(()),
        )?;
        let segments = self.segments.directory();
        fs::metadata(segments).map_err(FileError::io("find", segments))?;
        Ok(())
    }

    fn readings(&self, index: &Connection, entry: &Entry) -> Result<StoredReadings, StoreError> {
        Ok(entry.readings(&*self.contexts.get(index, entry.context)?))
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        // Each use is one statement: a panic in between leaves nothing undone.
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lister(&self) -> MutexGuard<'_, Connection> {
        commits::lock(&self.lister)
    }
}

/// Locks the store: two processes would remove each other's temporary files.
fn lock(directory: &Path) -> Result<FileLock, StoreError> {
    FileLock::take(&directory.join("lock"))?.ok_or_else(|| StoreError::InUse {
        directory: directory.to_owned(),
    })
}

fn sweep(directory: &Path) -> Result<(), StoreError> {
    let failed = || FileError::io("list", directory);
    for file in fs::read_dir(directory).map_err(failed())? {
        let file = file.map_err(failed())?;
        if file.file_name().to_str().is_some_and(files::is_temporary) {
            fs::remove_file(file.path()).map_err(FileError::io("remove", &file.path()))?;
            tracing::info!(file = %file.path().display(), "removed a file that a crash had interrupted");
        }
    }
    Ok(())
}

fn as_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn now() -> i64 {
    as_i64(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_secs()),
    )
}

impl Known {
    /// Returns the upload that a record of this context has; `None` if it is damaged.
    fn upload(&self, upload: Upload) -> Option<Vec<u8>> {
        match upload.is_short {
            false => Some(upload.payload),
            true => form::upload_of(self.definitions.as_ref()?, &self.model, &upload.payload),
        }
    }
}
