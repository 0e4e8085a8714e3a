//! Uploads on disk: each one a file named by the hash of its content, with an
//! index in SQLite beside them.
//!
//! What [`Store::put`] has returned is on disk and stays there through `kill -9` and power cuts:
//! the file is written, flushed and named before the index learns of it, and the index is flushed
//! at every commit, which uploads that come together share. A crash between the two leaves a file
//! whose upload was not acknowledged; the next upload of the same content adopts the file.

mod arrivals;
pub mod backup;
mod catalogue;
mod commits;
mod definitions;
mod pads;
mod retention;
mod uploaders;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Row};
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::{BlobId, BlobIdError};

pub use arrivals::Arrivals;
pub use catalogue::{Completed, Description, Listed, UNKNOWN_UPLOADER};
use commits::{Commits, NewEntry};
pub use pads::{ArrivedFrames, ArrivingFrame, PadsNumber, StoredPads};
pub use retention::{Expired, Removed, Retention};
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::metadata::MetadataError;
use tfhe_sbc_upload::pads::PadUsedTwice;
use tfhe_sbc_upload::short::{Definitions, DefinitionsId};
pub use uploaders::Uploader;
use uploaders::Uploaders;

/// The version of the index's layout, kept in SQLite's `user_version`. Version 1 has none of the columns of
/// [`catalogue::LAYOUT`].
const INDEX_VERSION: i64 = 2;
const INDEX_LAYOUT: &str = "
    CREATE TABLE readings (
        sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT    NOT NULL UNIQUE,
        bytes      INTEGER NOT NULL,
        created_at INTEGER NOT NULL, -- seconds since 1970
        uploader   TEXT    NOT NULL,
        summary    TEXT    NOT NULL  -- JSON
    ) STRICT;
";
const INDEX_COLUMNS: &str = "id, bytes, created_at, uploader, summary";

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
    #[error("the stored readings {id} are damaged: {} no longer hashes to its name. Check the disk; uploading the same readings again repairs them", path.display())]
    Corrupt {
        /// The id.
        id: BlobId,
        /// The damaged file.
        path: PathBuf,
    },
    /// The index knows the readings but their file is gone.
    #[error("the stored readings {id} are missing: the index lists them but {} is gone. Uploading the same readings again repairs them", path.display())]
    Missing {
        /// The id.
        id: BlobId,
        /// The file that should be there.
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
    #[error("the store {} has layout {found}, this program knows layout {INDEX_VERSION}; use the newer program", directory.display())]
    NewerLayout {
        /// The store's directory.
        directory: PathBuf,
        /// The layout found.
        found: i64,
    },
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
    blobs: PathBuf,
    /// The directory of the files of pads.
    pads: PathBuf,
    index: Mutex<Connection>,
    /// The connection that reads while the other one waits for the disk.
    reader: Mutex<Connection>,
    commits: Commits,
    uploaders: Uploaders,
    /// True if the index was made anew, though there may be files of an index that is lost.
    is_new: bool,
    /// Held for writing while a file is removed, and for reading while one is stored.
    removal: RwLock<()>,
    /// The lock, held until the store is dropped.
    _lock: File,
}

impl Store {
    /// Opens the store in a directory, which is made (mode 0700) if it does not exist, and removes
    /// what a crash left half-written.
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
        let blobs = directory.join("blobs");
        files::create_private_directory(&blobs)?;
        let pads = directory.join("pads");
        files::create_private_directory(&pads)?;
        sweep(&blobs)?;
        sweep(&pads)?;
        // SQLite gives its other files the permissions of this one. Nothing but SQLite opens it from here on: to close a
        // file by any descriptor drops all locks that the process has on it, and without them another process, such as
        // a backup, would take itself for the last one and remove SQLite's log.
        drop(private_file(&directory.join("index.sqlite"))?);
        let (index, is_new) = open_index(directory)?;
        catalogue::finish_removals(&index, &blobs)?;
        let (reader, _) = open_index(directory)?;
        let uploaders = Uploaders::read(&reader)?;
        files::flush_directory(directory)?;
        Ok(Self {
            blobs,
            pads,
            index: Mutex::new(index),
            reader: Mutex::new(reader),
            commits: Commits::default(),
            uploaders,
            is_new,
            removal: RwLock::new(()),
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
        self.put_entry(bytes, |id| NewEntry {
            id,
            bytes: bytes.len() as u64,
            uploader: uploader.to_owned(),
            summary: summary.clone(),
            definitions: definitions.cloned(),
            created_at: None,
            frame: None,
        })
    }

    /// Writes the file of an upload, and commits its entry.
    fn put_entry(
        &self,
        bytes: &[u8],
        entry: impl FnOnce(BlobId) -> NewEntry,
    ) -> Result<(StoredReadings, Stored), StoreError> {
        let id = BlobId::of(bytes);
        // Nothing is left undone by a panic of another thread that holds it.
        let _stored = self.removal.read().unwrap_or_else(PoisonError::into_inner);
        match self.get(&id) {
            Ok(_) => {}
            Err(StoreError::NotFound { .. } | StoreError::Missing { .. }) => {
                files::write_unflushed(&self.blob_path(&id), bytes)?;
            }
            Err(StoreError::Corrupt { path, .. }) => {
                tracing::warn!(%id, "replacing damaged readings with a fresh upload of the same content");
                files::write_unflushed(&path, bytes)?;
            }
            Err(error) => return Err(error),
        }
        let new = entry(id);
        // The names of all files of a commit reach the disk together, before the commit.
        let names = || Ok(files::flush_directory(&self.blobs)?);
        let (readings, stored) = self.commits.commit(&self.index, new, names)?;
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
        if self.find(id)?.is_none() {
            return Err(StoreError::NotFound { id: *id });
        }
        let path = self.blob_path(id);
        match fs::read(&path) {
            Ok(bytes) if BlobId::of(&bytes) == *id => Ok(bytes),
            Ok(_) => Err(StoreError::Corrupt { id: *id, path }),
            // It may have been removed since the index was asked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match self.find(id)? {
                Some(_) => Err(StoreError::Missing { id: *id, path }),
                None => Err(StoreError::NotFound { id: *id }),
            },
            Err(error) => Err(FileError::io("read", &path)(error).into()),
        }
    }

    /// Returns what the index knows about these readings.
    pub fn find(&self, id: &BlobId) -> Result<Option<StoredReadings>, StoreError> {
        entry(&self.reader(), id)
    }

    /// Returns the uploaders, those that stored something last first.
    pub fn uploaders(&self) -> Vec<Uploader> {
        self.uploaders.list()
    }

    /// Returns the content that this uploader was the first to store, the last of it.
    pub fn latest_of(&self, uploader: &str) -> Result<Option<StoredReadings>, StoreError> {
        let index = self.reader();
        let mut statement = index.prepare_cached(&format!(
            "SELECT {INDEX_COLUMNS} FROM readings WHERE uploader = ?1 ORDER BY sequence DESC LIMIT 1"
        ))?;
        Ok(statement.query_row([uploader], from_row).optional()?)
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
            "SELECT count(*) FROM (SELECT 1 FROM readings LIMIT 1)",
            [],
            |_| Ok(()),
        )?;
        fs::metadata(&self.blobs).map_err(FileError::io("find", &self.blobs))?;
        Ok(())
    }

    /// Returns the file of these readings, whether it exists or not.
    pub fn blob_path(&self, id: &BlobId) -> PathBuf {
        self.blobs.join(id.to_string())
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        // Each use is one statement: a panic in between leaves nothing undone.
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks the store: two processes would remove each other's temporary files.
fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join("lock");
    let file = private_file(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
            directory: directory.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(FileError::io("lock", &path)(error).into()),
    }
}

fn sweep(blobs: &Path) -> Result<(), StoreError> {
    let failed = || FileError::io("list", blobs);
    for file in fs::read_dir(blobs).map_err(failed())? {
        let file = file.map_err(failed())?;
        if file.file_name().to_str().is_some_and(files::is_temporary) {
            fs::remove_file(file.path()).map_err(FileError::io("remove", &file.path()))?;
            tracing::info!(file = %file.path().display(), "removed an upload that a crash had interrupted");
        }
    }
    Ok(())
}

/// Opens the index, and tells whether it was made anew.
fn open_index(directory: &Path) -> Result<(Connection, bool), StoreError> {
    let mut index = Connection::open(directory.join("index.sqlite"))?;
    index.busy_timeout(Duration::from_secs(5))?;
    index.pragma_update(None, "journal_mode", "WAL")?;
    index.pragma_update(None, "synchronous", "FULL")?;
    let version = index.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        0 | 1 => {
            let transaction = index.transaction()?;
            if version == 0 {
                transaction.execute_batch(INDEX_LAYOUT)?;
            }
            transaction.execute_batch(catalogue::LAYOUT)?;
            transaction.commit()?;
        }
        INDEX_VERSION => {}
        found => {
            return Err(StoreError::NewerLayout {
                directory: directory.to_owned(),
                found,
            });
        }
    }
    index.execute_batch(definitions::LAYOUT)?;
    index.execute_batch(pads::LAYOUT)?;
    retention::create_index(&index)?;
    Ok((index, version == 0))
}

fn private_file(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(FileError::io("open", path))
}

fn entry(index: &Connection, id: &BlobId) -> Result<Option<StoredReadings>, StoreError> {
    let mut statement = index.prepare_cached(&format!(
        "SELECT {INDEX_COLUMNS} FROM readings WHERE id = ?1"
    ))?;
    Ok(statement.query_row([id.to_string()], from_row).optional()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredReadings> {
    use rusqlite::types::Type;
    let conversion = |column, kind, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, kind, error)
    };
    let id = id_at(row, 0)?;
    let bytes: i64 = row.get(1)?;
    let created_at: i64 = row.get(2)?;
    let summary = serde_json::from_str(row.get_ref(4)?.as_str()?)
        .map_err(|error| conversion(4, Type::Text, error.into()))?;
    Ok(StoredReadings {
        id,
        bytes: u64::try_from(bytes).map_err(|error| conversion(1, Type::Integer, error.into()))?,
        created_at: UNIX_EPOCH + Duration::from_secs(u64::try_from(created_at).unwrap_or(0)),
        uploader: row.get(3)?,
        summary,
    })
}

/// Returns the id in a column of a row.
fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<BlobId> {
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error: BlobIdError| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, kind, error.into())
    })
}

fn to_json(summary: &UploadSummary) -> rusqlite::Result<String> {
    serde_json::to_string(summary)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
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
