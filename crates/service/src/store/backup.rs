//! Backups of a store, also while a server uses it, and the stores that they become again.
//!
//! A backup is a directory like a store: `segments` and `pads`, and an index, which is
//! called `backup.sqlite`. Segments only grow, so a later backup copies what is behind the end of the one before. The index gets
//! its name when everything that it names is on the disk, and only then are
//! files removed that it does not name. So an interrupted backup leaves the one before it whole.
//!
//! Backups of former layouts have `blobs` with a file for each upload. They are checked and restored as they are, and the store that one becomes is
//! brought up to date when it is opened.

mod check;
mod make;
mod restore;
mod standing;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::FileError;

use super::index::{self, COLUMNS, Contexts, Entry, VERSION};
use super::migration::{BLOBS, has_table};
use super::pads::text_id_at;
use super::segments::record::{Head, Record};
use super::segments::{Lookup, Segments};
use super::{SEGMENTS, StoreError};

pub use check::{Checked, check};
pub use make::{BackedUp, back_up};
pub use restore::{Restored, restore};
pub use standing::StandingCopied;

/// The index of a finished backup.
pub(super) const INDEX: &str = "backup.sqlite";
/// The index of a backup that is under way, or was interrupted.
const UNFINISHED: &str = "backup.sqlite.part";
/// The index of a store that is being restored, or whose restoring was interrupted.
pub(super) const RESTORING: &str = "restore.sqlite.part";
/// The lock of a backup's directory.
const LOCK: &str = "lock";

/// The table by which a backup's index differs from a store's.
const LAYOUT: &str = "CREATE TABLE backup (made_at INTEGER NOT NULL) STRICT; -- seconds since 1970";

/// The reason why a backup was not made, checked or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is no store in the directory.
    #[error("{} has no store: it has no index.sqlite", directory.display())]
    NoStore {
        /// The directory.
        directory: PathBuf,
    },
    /// The store is of a former layout.
    #[error("the store {} is of a former version, with a file for each upload", directory.display())]
    FormerStore {
        /// The directory.
        directory: PathBuf,
    },
    /// There is no backup in the directory.
    #[error("{} has no backup: it has no {INDEX}", directory.display())]
    NoBackup {
        /// The directory.
        directory: PathBuf,
    },
    /// The first backup into the directory was interrupted.
    #[error("the backup in {} was interrupted and cannot be used", directory.display())]
    Unfinished {
        /// The directory.
        directory: PathBuf,
    },
    /// Restoring into the directory was interrupted.
    #[error("restoring into {} was interrupted", directory.display())]
    HalfRestored {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory has files that are no backup's.
    #[error("{} has files that are no backup's, such as {name}", directory.display())]
    OtherFiles {
        /// The directory.
        directory: PathBuf,
        /// One of the files.
        name: String,
    },
    /// The directory for the backup is in the store.
    #[error("{} is in the store itself", directory.display())]
    InTheStore {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory for the store is not empty.
    #[error("{} is not empty", directory.display())]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// Another process uses the backup.
    #[error("another process uses the backup in {}", directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// The path cannot be given to SQLite.
    #[error("the path {} is no UTF-8, which the index needs", path.display())]
    Name {
        /// The path.
        path: PathBuf,
    },
    /// The index of the backup is damaged.
    #[error("the index {} is damaged: {problem}", path.display())]
    DamagedIndex {
        /// The index.
        path: PathBuf,
        /// SQLite's words.
        problem: String,
    },
    /// Uploads or files of pads in the backup are missing or damaged.
    #[error("{count} of the {of} uploads and files of pads in {} are missing or damaged, such as {first}", directory.display())]
    Damaged {
        /// The directory.
        directory: PathBuf,
        /// The number of them.
        count: usize,
        /// The number that the index names.
        of: usize,
        /// One of them.
        first: BlobId,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FileError> for BackupError {
    fn from(error: FileError) -> Self {
        Self::Store(error.into())
    }
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The uploads and files of pads that were looked at so far, and all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Those so far.
    pub files: u64,
    /// All of them.
    pub of: u64,
}

/// What a file of a store or a backup holds, which is named by its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An upload, in former layouts.
    Upload,
    Pads,
}

impl Kind {
    /// The directory of such files, in stores and in backups.
    fn directory(self) -> &'static str {
        match self {
            Self::Upload => BLOBS,
            Self::Pads => "pads",
        }
    }
}

/// The directories of a backup, of today's and of former layouts.
const DIRECTORIES: [&str; 3] = [SEGMENTS, "pads", BLOBS];

/// A file that an index names.
#[derive(Debug, Clone, Copy)]
struct Named {
    kind: Kind,
    id: BlobId,
    /// Its length, which the index has for uploads.
    bytes: Option<u64>,
}

impl Named {
    fn path(&self, directory: &Path) -> PathBuf {
        directory
            .join(self.kind.directory())
            .join(self.id.to_string())
    }

    /// Returns the bytes of the file in a store or a backup; `None` if it is missing or damaged.
    fn read(&self, directory: &Path) -> Result<Option<Vec<u8>>, FileError> {
        let path = self.path(directory);
        match fs::read(&path) {
            Ok(bytes) if BlobId::of(&bytes) == self.id => Ok(Some(bytes)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::io("read", &path)(error)),
        }
    }
}

/// Returns the files that an index names by their hashes: pads and, in former layouts, uploads.
fn named(index: &Connection) -> Result<Vec<Named>, StoreError> {
    let mut all = Vec::new();
    if is_former(index)? {
        let mut statement = index.prepare("SELECT id, bytes FROM readings ORDER BY sequence")?;
        let uploads = statement.query_map([], |row| {
            let bytes: i64 = row.get(1)?;
            Ok(Named {
                kind: Kind::Upload,
                id: text_id_at(row, 0)?,
                bytes: u64::try_from(bytes).ok(),
            })
        })?;
        for upload in uploads {
            all.push(upload?);
        }
    }
    // Programs before frames made no such table.
    if has_table(index, "pads")? {
        let mut statement = index.prepare("SELECT id FROM pads ORDER BY sequence")?;
        let pads = statement.query_map([], |row| text_id_at(row, 0))?;
        for id in pads {
            let (kind, bytes) = (Kind::Pads, None);
            all.push(Named {
                kind,
                id: id?,
                bytes,
            });
        }
    }
    Ok(all)
}

/// Returns whether an index is of a former layout.
fn is_former(index: &Connection) -> rusqlite::Result<bool> {
    let version: i64 = index.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(version < VERSION)
}

/// Takes uploads out of an index of a former layout that is no live store's. Rows of pads stay, because frames refer to them: a used pad
/// must not become usable again.
fn leave_out(index: &Connection, files: &[Named]) -> rusqlite::Result<()> {
    if !is_former(index)? {
        return Ok(());
    }
    let mut delete = index.prepare("DELETE FROM readings WHERE id = ?1")?;
    for file in files.iter().filter(|file| file.kind == Kind::Upload) {
        delete.execute([file.id.to_string()])?;
    }
    Ok(())
}

/// Takes uploads out of an index that is no live store's.
fn leave_uploads_out(index: &Connection, uploads: &[Entry]) -> rusqlite::Result<()> {
    for entry in uploads {
        index::delete(index, entry.sequence)?;
    }
    Ok(())
}

/// The uploads in the segments of a directory, as an index has them.
struct Uploads<'a> {
    index: &'a Connection,
    segments: Segments,
    contexts: Contexts,
}

impl<'a> Uploads<'a> {
    fn new(index: &'a Connection, directory: &Path) -> Result<Self, StoreError> {
        let segments = Segments::of(directory.join(SEGMENTS));
        for (head, _) in heads(index)? {
            segments.know(head);
        }
        Ok(Self {
            index,
            segments,
            contexts: Contexts::default(),
        })
    }

    /// Returns whether the segments have an upload, whole.
    fn has(&self, entry: &Entry) -> Result<bool, StoreError> {
        let Some(place) = entry.place else {
            return Ok(false);
        };
        let Lookup::Record(Record::Upload(upload)) = self.segments.read(place, entry.len)? else {
            return Ok(false);
        };
        let context = self.contexts.get(self.index, entry.context)?;
        let bytes = context.upload(upload);
        Ok(bytes.is_some_and(|bytes| BlobId::of(&bytes) == entry.id))
    }

    /// Calls a function with each upload of the index, in the order in which segments have them.
    fn each(
        &self,
        mut call: impl FnMut(Entry) -> Result<(), BackupError>,
    ) -> Result<(), BackupError> {
        let select = format!("SELECT {COLUMNS} FROM uploads ORDER BY place");
        let mut statement = self.index.prepare(&select)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            call(Entry::from_row(row)?)?;
        }
        Ok(())
    }

    fn count(&self) -> rusqlite::Result<u64> {
        let count: i64 = self
            .index
            .query_row("SELECT count(*) FROM uploads", [], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}

/// Returns the heads of the segments that an index knows, and how far it knows them.
fn heads(index: &Connection) -> Result<Vec<(Head, u64)>, StoreError> {
    let mut select = index.prepare("SELECT head, applied FROM segments ORDER BY number")?;
    let rows = select.query_map([], |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?))
    })?;
    let mut heads = Vec::new();
    for row in rows {
        let (head, applied) = row?;
        if let Ok(head) = Head::from_bytes(&head) {
            heads.push((head, u64::try_from(applied).unwrap_or(0)));
        }
    }
    Ok(heads)
}

/// Opens an index that is there, and checks that this program knows its layout.
fn open(path: &Path, directory: &Path, flags: OpenFlags) -> Result<Connection, BackupError> {
    let index = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    index.busy_timeout(Duration::from_secs(30))?;
    let version = index.pragma_query_value(None, "user_version", |row| row.get(0));
    match version {
        Ok(1..=VERSION) => Ok(index),
        Ok(found) => Err(StoreError::NewerLayout {
            directory: directory.to_owned(),
            found,
        }
        .into()),
        Err(error) => Err(BackupError::DamagedIndex {
            path: path.to_owned(),
            problem: error.to_string(),
        }),
    }
}

/// Opens a finished backup for reading: the lock that keeps another process from changing it, the index, which is
/// sound, and the time at which it was made, in seconds since 1970.
fn open_backup(directory: &Path) -> Result<(Option<File>, Connection, i64), BackupError> {
    let path = directory.join(INDEX);
    if !path.is_file() {
        let directory = directory.to_owned();
        return Err(match directory.join(UNFINISHED).exists() {
            true => BackupError::Unfinished { directory },
            false => BackupError::NoBackup { directory },
        });
    }
    // A copy may be without the file, or where no file can be opened for writing.
    let lock = File::open(directory.join(LOCK)).ok();
    if let Some(lock) = &lock
        && matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock))
    {
        return Err(BackupError::Busy {
            directory: directory.to_owned(),
        });
    }
    let index = open(&path, directory, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let damaged = |problem: String| BackupError::DamagedIndex {
        path: path.clone(),
        problem,
    };
    let check = index.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
    let sound: String = check.map_err(|error| damaged(error.to_string()))?;
    if sound != "ok" {
        return Err(damaged(sound));
    }
    let made_at = index.query_row("SELECT made_at FROM backup", [], |row| row.get(0));
    let made_at = made_at.map_err(|error| damaged(error.to_string()))?;
    Ok((lock, index, made_at))
}

/// Flushes a file that SQLite has written.
fn flush(path: &Path) -> Result<(), FileError> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(FileError::io("flush", path))
}

fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::rename(from, to).map_err(FileError::io("rename", from))
}

/// Removes a file that may not be there.
fn remove_if_there(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
