//! The making of a store from a backup.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::OpenFlags;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{self, FileError};

use super::{
    BLOBS, BackupError, DIRECTORIES, Done, INDEX, Kind, RESTORING, StandingCopied, Uploads, heads,
    is_former, standing,
};
use crate::store::recovery::RESTORED;
use crate::store::segments;
use crate::store::segments::record::{HEAD_BYTES, Head};
use crate::store::{SEGMENTS, lock, private_file};

/// What a restored store has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The time of which the backup is.
    pub made_at: SystemTime,
    /// The number of uploads.
    pub uploads: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The number of files of pads.
    pub pads: u64,
    /// The uploads and files of pads that were missing or damaged in the backup, and are left out.
    pub damaged: Vec<BlobId>,
    /// The standing queries, of which damaged results are always left out: they are computed again, if they can be.
    pub standing: StandingCopied,
}

/// Removes what an unsuccessful restoring has made, when it is dropped.
struct Cleanup<'a> {
    store: &'a Path,
    /// True if the directory was made, too.
    made: bool,
    done: bool,
}

impl Drop for Cleanup<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // The directory was empty. What cannot be removed is named by the next attempt.
        for name in DIRECTORIES {
            let _ = fs::remove_dir_all(self.store.join(name));
        }
        standing::undo(self.store);
        for name in ["lock", RESTORING] {
            let _ = fs::remove_file(self.store.join(name));
        }
        if self.made {
            let _ = fs::remove_dir(self.store);
        }
    }
}

/// Makes a store of a backup, in a directory that does not exist or is empty. Each upload and each file is checked against its name.
/// With `leave_out_damaged`, what is missing or damaged in the backup is left out. `progress` is told how far it is.
///
/// # Errors
/// A directory without a finished backup or with damaged files, a directory for the store that is not empty, and a disk
/// that fails. What was made is removed then.
pub fn restore(
    backup: &Path,
    store: &Path,
    leave_out_damaged: bool,
    progress: impl Fn(Done),
) -> Result<Restored, BackupError> {
    let (_backup_lock, index, made_at) = super::open_backup(backup)?;
    let named = super::named(&index)?;
    check_empty(store)?;
    let made = !store.exists();
    files::create_private_directory(store)?;
    let _store_lock = lock(store)?;
    let mut cleanup = Cleanup {
        store,
        made,
        done: false,
    };
    // From here on, no server takes the directory for a store.
    let restoring = store.join(RESTORING);
    copy(&backup.join(INDEX), &restoring)?;
    files::flush_directory(store)?;
    let is_former = is_former(&index)?;
    let uploads_in = if is_former { BLOBS } else { SEGMENTS };
    for name in [uploads_in, Kind::Pads.directory()] {
        files::create_private_directory(&store.join(name))?;
    }

    let mut restored = Restored {
        made_at: UNIX_EPOCH + Duration::from_secs(u64::try_from(made_at).unwrap_or(0)),
        uploads: 0,
        bytes: 0,
        pads: 0,
        damaged: Vec::new(),
        standing: standing::copy(backup, store)?,
    };
    let mut of = named.len() as u64;
    let mut files = 0;
    let (mut left_out, mut uploads_left_out) = (Vec::new(), Vec::new());
    if !is_former {
        let from = Uploads::new(&index, backup)?;
        of += from.count()?;
        for (head, end) in heads(&index)? {
            let name = segments::name(head.number);
            let place = |directory: &Path| directory.join(SEGMENTS).join(&name);
            copy_segment(&place(backup), &place(store), &head, end)?;
        }
        let there = Uploads::new(&index, store)?;
        there.each(|entry| {
            progress(Done { files, of });
            files += 1;
            if there.has(&entry)? {
                restored.uploads += 1;
                restored.bytes += entry.bytes;
            } else {
                restored.damaged.push(entry.id);
                uploads_left_out.push(entry);
            }
            Ok(())
        })?;
    }
    drop(index);
    for file in &named {
        progress(Done { files, of });
        files += 1;
        let Some(bytes) = file.read(backup)? else {
            left_out.push(*file);
            restored.damaged.push(file.id);
            continue;
        };
        files::write_private_unflushed(&file.path(store), &bytes)?;
        match file.kind {
            Kind::Upload => {
                restored.uploads += 1;
                restored.bytes += bytes.len() as u64;
            }
            Kind::Pads => restored.pads += 1,
        }
    }
    progress(Done { files: of, of });
    if let Some(&first) = restored.damaged.first()
        && !leave_out_damaged
    {
        return Err(BackupError::Damaged {
            directory: backup.to_owned(),
            count: restored.damaged.len(),
            of: usize::try_from(of).unwrap_or(usize::MAX),
            first,
        });
    }

    let index = super::open(&restoring, store, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let transaction = index.unchecked_transaction()?;
    super::leave_out(&transaction, &left_out)?;
    super::leave_uploads_out(&transaction, &uploads_left_out)?;
    transaction.execute_batch("DROP TABLE backup")?;
    if !is_former {
        transaction.execute_batch(RESTORED)?;
    }
    transaction.commit()?;
    drop(index);
    super::flush(&restoring)?;
    for name in [uploads_in, Kind::Pads.directory()] {
        files::flush_directory(&store.join(name))?;
    }
    super::rename(&restoring, &store.join("index.sqlite"))?;
    files::flush_directory(store)?;
    cleanup.done = true;
    Ok(restored)
}

/// Fails unless a directory is empty or does not exist.
fn check_empty(store: &Path) -> Result<(), BackupError> {
    let directory: PathBuf = store.to_owned();
    let mut entries = match fs::read_dir(store) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(FileError::io("list", store)(error).into()),
    };
    match entries.next() {
        None => Ok(()),
        Some(_) if store.join(RESTORING).exists() => Err(BackupError::HalfRestored { directory }),
        Some(_) => Err(BackupError::NotEmpty { directory }),
    }
}

/// Copies a segment, as far as the index knows it. Its head is that which the index has. What is missing makes uploads that are
/// damaged.
fn copy_segment(from: &Path, to: &Path, head: &Head, end: u64) -> Result<(), FileError> {
    let mut target = private_file(to)?;
    let mut write = || -> io::Result<()> {
        target.write_all(&head.to_bytes())?;
        let source = match fs::File::open(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            source => Some(source?),
        };
        if let Some(mut source) = source {
            source.seek(SeekFrom::Start(HEAD_BYTES as u64))?;
            let len = end.saturating_sub(HEAD_BYTES as u64);
            io::copy(&mut source.take(len), &mut target)?;
        }
        target.sync_all()
    };
    write().map_err(FileError::io("copy", from))
}

/// Copies a file into one that only its owner can read.
fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut source = fs::File::open(from).map_err(FileError::io("read", from))?;
    let mut target = private_file(to)?;
    io::copy(&mut source, &mut target)
        .and_then(|_| target.sync_all())
        .map_err(FileError::io("write", to))
}
