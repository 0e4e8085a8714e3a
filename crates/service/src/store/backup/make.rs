//! The making of a backup.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{self, FileError};

use super::{
    BackupError, Done, INDEX, Kind, LAYOUT, LOCK, Named, RESTORING, StandingCopied, UNFINISHED,
    standing,
};
use crate::store::{StoreError, now, private_file, sweep};

/// What a backup has, and what it took to make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackedUp {
    /// The time of which it is.
    pub made_at: SystemTime,
    /// The number of uploads in it.
    pub uploads: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The number of files of pads in it.
    pub pads: u64,
    /// The number of files that were copied; the others were there.
    pub copied: u64,
    /// The bytes of the files that were copied.
    pub copied_bytes: u64,
    /// The number of files that the backup before had, and that the store has no longer.
    pub removed: u64,
    /// The files that are missing or damaged in the store, and were in no backup before. Uploads among them are left out.
    pub damaged: Vec<BlobId>,
    /// The standing queries in it.
    pub standing: StandingCopied,
}

/// Makes a backup of the store in a directory, which a server may be using, or brings it up to date. Files that are in
/// the backup are not copied again. With `reads_all` they are read, and those that are damaged are replaced; without it
/// their lengths count. `progress` is told how far it is.
///
/// # Errors
/// Directories that are no store and no backup, a backup that another process uses, and a disk that fails. The backup
/// that was there before is then whole.
pub fn back_up(
    store: &Path,
    out: &Path,
    reads_all: bool,
    progress: impl Fn(Done),
) -> Result<BackedUp, BackupError> {
    let live = open_store(store)?;
    let _lock = prepare(store, out)?;
    // Before the index, so that it has all uploads that they have looked at.
    let standing = standing::copy(store, out)?;
    let unfinished = out.join(UNFINISHED);
    let made_at = now();
    snapshot(&live, &unfinished)?;
    let index = super::open(&unfinished, out, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut named = super::named(&index)?;

    let mut backup = BackedUp {
        made_at: UNIX_EPOCH + Duration::from_secs(u64::try_from(made_at).unwrap_or(0)),
        uploads: 0,
        bytes: 0,
        pads: 0,
        copied: 0,
        copied_bytes: 0,
        removed: 0,
        damaged: Vec::new(),
        standing,
    };
    let of = named.len() as u64;
    let mut left_out = Vec::new();
    for (files, file) in (0..).zip(&named) {
        progress(Done { files, of });
        if is_there(file, out, reads_all)? {
            continue;
        }
        match find(file, store, &live)? {
            Found::Bytes(bytes) => {
                files::write_private_unflushed(&file.path(out), &bytes)?;
                backup.copied += 1;
                backup.copied_bytes += bytes.len() as u64;
            }
            Found::Removed => left_out.push(*file),
            Found::Damaged => {
                left_out.push(*file);
                backup.damaged.push(file.id);
            }
        }
    }
    progress(Done { files: of, of });

    let transaction = index.unchecked_transaction()?;
    super::leave_out(&transaction, &left_out)?;
    if super::has_table(&transaction, "removed")? {
        transaction.execute("DELETE FROM removed", [])?;
    }
    transaction.execute_batch(LAYOUT)?;
    transaction.execute("INSERT INTO backup (made_at) VALUES (?1)", [made_at])?;
    transaction.commit()?;
    drop(index);

    super::flush(&unfinished)?;
    for kind in Kind::ALL {
        files::flush_directory(&out.join(kind.directory()))?;
    }
    super::rename(&unfinished, &out.join(INDEX))?;
    files::flush_directory(out)?;

    let left_out: HashSet<BlobId> = left_out.iter().map(|file| file.id).collect();
    named.retain(|file| !left_out.contains(&file.id));
    for file in &named {
        match file.kind {
            Kind::Upload => {
                backup.uploads += 1;
                backup.bytes += file.bytes.unwrap_or(0);
            }
            Kind::Pads => backup.pads += 1,
        }
    }
    backup.removed = remove_others(out, &named)?;
    Ok(backup)
}

/// Opens the index of a store, which a server may be using. Nothing is written to it: it is opened for writing so that
/// SQLite can read what a killed server has left in its log.
fn open_store(store: &Path) -> Result<Connection, BackupError> {
    let directory = store.to_owned();
    if store.join(RESTORING).exists() {
        return Err(BackupError::HalfRestored { directory });
    }
    let path = store.join("index.sqlite");
    if !path.is_file() {
        return Err(BackupError::NoStore { directory });
    }
    let index = super::open(&path, store, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // The log is the server's to tidy up.
    index.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(index)
}

/// Makes the directories of a backup and locks them, unless they have something else, and removes what an interrupted
/// backup left.
fn prepare(store: &Path, out: &Path) -> Result<fs::File, BackupError> {
    let existed = out.exists();
    files::create_private_directory(out)?;
    let canonical = |path: &Path| path.canonicalize().map_err(FileError::io("find", path));
    if canonical(out)?.starts_with(canonical(store)?) {
        if !existed {
            // It is empty.
            let _ = fs::remove_dir(out);
        }
        return Err(BackupError::InTheStore {
            directory: out.to_owned(),
        });
    }
    for name in names(out)? {
        let is_ours = name.starts_with(INDEX)
            || name == LOCK
            || name == standing::DIRECTORY
            || Kind::ALL.iter().any(|kind| name == kind.directory());
        if !is_ours {
            return Err(BackupError::OtherFiles {
                directory: out.to_owned(),
                name,
            });
        }
    }
    let path = out.join(LOCK);
    let lock = private_file(&path)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            return Err(BackupError::Busy {
                directory: out.to_owned(),
            });
        }
        Err(fs::TryLockError::Error(error)) => {
            return Err(FileError::io("lock", &path)(error).into());
        }
    }
    for kind in Kind::ALL {
        let directory = out.join(kind.directory());
        files::create_private_directory(&directory)?;
        sweep(&directory)?;
    }
    let unfinished = out.join(UNFINISHED);
    super::remove_if_there(&unfinished)?;
    let mut journal = unfinished.into_os_string();
    journal.push("-journal");
    super::remove_if_there(&PathBuf::from(journal))?;
    Ok(lock)
}

/// Writes the index of one moment into a file. The server goes on meanwhile.
fn snapshot(live: &Connection, path: &Path) -> Result<(), BackupError> {
    // SQLite fills an empty file, whose permissions stay.
    drop(private_file(path)?);
    let Some(text) = path.to_str() else {
        return Err(BackupError::Name {
            path: path.to_owned(),
        });
    };
    live.execute("VACUUM INTO ?1", [text])?;
    Ok(())
}

/// Returns whether a backup has a file.
fn is_there(file: &Named, out: &Path, reads_all: bool) -> Result<bool, BackupError> {
    match file.bytes {
        Some(bytes) if !reads_all => {
            Ok(fs::metadata(file.path(out)).is_ok_and(|found| found.len() == bytes))
        }
        _ => Ok(file.read(out)?.is_some()),
    }
}

/// What a store has for a file that its index named a moment ago.
enum Found {
    Bytes(Vec<u8>),
    /// It was removed since.
    Removed,
    Damaged,
}

fn find(file: &Named, store: &Path, live: &Connection) -> Result<Found, BackupError> {
    // The second look is for what was removed and stored again between a look at the file and one at the index.
    for _ in 0..2 {
        if let Some(bytes) = file.read(store)? {
            return Ok(Found::Bytes(bytes));
        }
        let select = "SELECT 1 FROM readings WHERE id = ?1";
        let listed = live.query_row(select, [file.id.to_string()], |_| Ok(()));
        if file.kind == Kind::Upload && listed.optional()?.is_none() {
            return Ok(Found::Removed);
        }
    }
    Ok(Found::Damaged)
}

/// Removes the files of a backup that its index does not name, and returns their number.
fn remove_others(out: &Path, named: &[Named]) -> Result<u64, BackupError> {
    let mut removed = 0;
    for kind in Kind::ALL {
        let named = named.iter().filter(|file| file.kind == kind);
        let named: HashSet<BlobId> = named.map(|file| file.id).collect();
        let directory = out.join(kind.directory());
        for name in names(&directory)? {
            if name.parse().is_ok_and(|id| !named.contains(&id)) {
                super::remove_if_there(&directory.join(name))?;
                removed += 1;
            }
        }
        files::flush_directory(&directory)?;
    }
    Ok(removed)
}

/// Returns the names in a directory.
pub(super) fn names(directory: &Path) -> Result<Vec<String>, StoreError> {
    let failed = || FileError::io("list", directory);
    let entries = fs::read_dir(directory).map_err(failed())?;
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let name = entry.map_err(failed())?.file_name();
        Ok(name.to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}
