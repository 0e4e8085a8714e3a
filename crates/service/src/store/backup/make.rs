//! The making of a backup.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{self, FileError, FileLock};

use super::{
    BackupError, DIRECTORIES, Done, INDEX, Kind, LAYOUT, LOCK, Named, RESTORING, StandingCopied,
    UNFINISHED, Uploads, heads, is_former, standing,
};
use crate::store::index::Entry;
use crate::store::migration::has_table;
use crate::store::segments::record::{HEAD_BYTES, Head};
use crate::store::segments::{self, Place};
use crate::store::{SEGMENTS, StoreError, compaction, index, now, private_file, sweep};

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
    /// The number of uploads and files of pads that were copied; the others were there.
    pub copied: u64,
    /// The bytes that were copied.
    pub copied_bytes: u64,
    /// The number of uploads that the backup before had, and that the store has no longer.
    pub removed: u64,
    /// The uploads and files of pads that are missing or damaged in the store, and were in no backup before. Uploads among them are left out.
    pub damaged: Vec<BlobId>,
    /// The standing queries in it.
    pub standing: StandingCopied,
}

/// Makes a backup of the store in a directory, which a server may be using, or brings it up to date. What is in
/// the backup is not copied again. With `reads_all` it is read, and what is damaged is replaced. `progress` is told how far it is.
///
/// # Errors
/// Directories that are no store and no backup, a store of a former layout, a backup that another process uses, and a disk that fails. The backup
/// that was there before is then whole.
pub fn back_up(
    store: &Path,
    out: &Path,
    reads_all: bool,
    progress: impl Fn(Done),
) -> Result<BackedUp, BackupError> {
    let live = open_store(store)?;
    let _lock = prepare(store, out)?;
    // The server leaves segments where they are meanwhile.
    let _held = FileLock::share(&store.join(compaction::LOCK))?;
    // Before the index, so that it has all uploads that they have looked at.
    let standing = standing::copy(store, out)?;
    let unfinished = out.join(UNFINISHED);
    let made_at = now();
    snapshot(&live, &unfinished)?;
    let index = super::open(&unfinished, out, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let before = Before::open(out);

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
    let mut grown = HashMap::new();
    for (head, end) in heads(&index)? {
        let from = copy_segment(store, out, &head, end, before.as_ref())?;
        backup.copied_bytes += end.saturating_sub(from);
        grown.insert(head.number, from);
    }
    let named = super::named(&index)?;
    let (there, source) = (Uploads::new(&index, out)?, Uploads::new(&index, store)?);
    let of = there.count()? + named.len() as u64;
    let mut files = 0;
    let mut left_out = Vec::new();
    there.each(|entry| {
        progress(Done { files, of });
        files += 1;
        let is_new = entry.place.is_none_or(|place| {
            let from = grown.get(&place.segment).copied().unwrap_or(0);
            u64::from(place.offset) >= from
        });
        let is_known = !is_new && before.as_ref().is_some_and(|before| before.has(&entry));
        let mut is_whole = (is_known && !reads_all) || there.has(&entry)?;
        backup.copied += u64::from(is_new && is_whole);
        if !is_whole && source.has(&entry)? {
            copy_record(&source, &there, &entry)?;
            backup.copied += 1;
            backup.copied_bytes += entry.len;
            is_whole = there.has(&entry)?;
        }
        match is_whole {
            true => {
                backup.uploads += 1;
                backup.bytes += entry.bytes;
            }
            false => {
                backup.damaged.push(entry.id);
                left_out.push(entry);
            }
        }
        Ok(())
    })?;
    for file in &named {
        progress(Done { files, of });
        files += 1;
        backup.pads += 1;
        if file.read(out)?.is_some() {
            continue;
        }
        match file.read(store)? {
            Some(bytes) => {
                files::write_private_unflushed(&file.path(out), &bytes)?;
                backup.copied += 1;
                backup.copied_bytes += bytes.len() as u64;
            }
            None => {
                backup.pads -= 1;
                backup.damaged.push(file.id);
            }
        }
    }
    progress(Done { files: of, of });
    backup.removed = match &before {
        Some(before) => before.not_in(&index)?,
        None => 0,
    };
    drop((there, source, before));

    let transaction = index.unchecked_transaction()?;
    super::leave_uploads_out(&transaction, &left_out)?;
    transaction.execute_batch(LAYOUT)?;
    transaction.execute("INSERT INTO backup (made_at) VALUES (?1)", [made_at])?;
    transaction.commit()?;
    drop(index);

    super::flush(&unfinished)?;
    for number in grown.keys() {
        super::flush(&out.join(SEGMENTS).join(segments::name(*number)))?;
    }
    for name in [SEGMENTS, Kind::Pads.directory()] {
        files::flush_directory(&out.join(name))?;
    }
    super::rename(&unfinished, &out.join(INDEX))?;
    files::flush_directory(out)?;
    remove_others(out, &grown, &named)?;
    Ok(backup)
}

/// The backup that was there before.
struct Before {
    index: Connection,
    heads: HashMap<u32, (Head, u64)>,
}

impl Before {
    /// Opens it; `None` if there is none of this layout that can be read.
    fn open(out: &Path) -> Option<Self> {
        let path = out.join(INDEX);
        if !path.is_file() {
            return None;
        }
        let index = super::open(&path, out, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
        let is_sound = index.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
        if is_sound != Ok("ok".to_owned()) || is_former(&index).ok()? {
            return None;
        }
        let heads = heads(&index).ok()?.into_iter();
        let heads = heads.map(|(head, end)| (head.number, (head, end)));
        Some(Self {
            heads: heads.collect(),
            index,
        })
    }

    /// Returns whether it has an upload at the same place.
    fn has(&self, entry: &Entry) -> bool {
        let select = "SELECT 1 FROM uploads WHERE sequence = ?1 AND place = ?2 AND id = ?3";
        let place = entry.place.map(Place::to_i64);
        let row = params![entry.sequence, place, entry.id.as_bytes()];
        let found = self
            .index
            .prepare_cached(select)
            .and_then(|mut select| select.exists(row));
        found.unwrap_or(false)
    }

    /// The number of its uploads that another index does not have.
    fn not_in(&self, other: &Connection) -> Result<u64, StoreError> {
        let mut select = self.index.prepare("SELECT id FROM uploads")?;
        let ids = select.query_map([], |row| index::id_at(row, 0))?;
        let mut count = 0;
        for id in ids {
            count += u64::from(index::find(other, &id?)?.is_none());
        }
        Ok(count)
    }
}

/// Brings the copy of a segment up to date, and returns from where on it was copied.
fn copy_segment(
    store: &Path,
    out: &Path,
    head: &Head,
    end: u64,
    before: Option<&Before>,
) -> Result<u64, BackupError> {
    let name = segments::name(head.number);
    let (from_path, to_path) = (
        store.join(SEGMENTS).join(&name),
        out.join(SEGMENTS).join(&name),
    );
    let known = before.and_then(|before| before.heads.get(&head.number));
    let known = known
        .filter(|(known, _)| known == head)
        .map(|known| known.1);
    let copy = || -> io::Result<u64> {
        let mut target = private(&to_path)?;
        let have = target.metadata()?.len().min(end);
        let source = File::open(&from_path);
        // A segment that is gone: its uploads are missing.
        let mut source = match source {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(end),
            source => source?,
        };
        let from = match known {
            Some(known) if known <= have => known,
            // What an interrupted backup copied counts as far as it is the same.
            _ => same(&mut source, &mut target, have)?,
        };
        target.set_len(from)?;
        target.seek(SeekFrom::Start(from))?;
        source.seek(SeekFrom::Start(from))?;
        io::copy(&mut source.take(end - from), &mut target)?;
        Ok(from)
    };
    Ok(copy().map_err(FileError::io("copy", &from_path))?)
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns how many bytes two files have in common from their beginning on, at most `most`.
fn same(one: &mut File, other: &mut File, most: u64) -> io::Result<u64> {
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    let mut len = 0;
    while len < most {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let some = a.len().min(b.len());
        let equal = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        one.consume(equal);
        other.consume(equal);
        len += equal as u64;
        if equal < some || some == 0 {
            break;
        }
    }
    Ok(len.min(most))
}

/// Replaces the record of an upload in a backup by that of the store, and the head of its segment.
fn copy_record(
    source: &Uploads<'_>,
    there: &Uploads<'_>,
    entry: &Entry,
) -> Result<(), BackupError> {
    let Some(place) = entry.place else {
        return Ok(());
    };
    let (from_path, to_path) = (
        source.segments.path(place.segment),
        there.segments.path(place.segment),
    );
    let copy = || -> io::Result<()> {
        let (mut from, mut to) = (File::open(&from_path)?, private(&to_path)?);
        for (at, len) in [(0, HEAD_BYTES as u64), (u64::from(place.offset), entry.len)] {
            from.seek(SeekFrom::Start(at))?;
            to.seek(SeekFrom::Start(at))?;
            io::copy(&mut (&from).take(len), &mut to)?;
        }
        to.flush()
    };
    Ok(copy().map_err(FileError::io("copy", &from_path))?)
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
    if is_former(&index)? || has_table(&index, "former_readings")? {
        return Err(BackupError::FormerStore { directory });
    }
    // The log is the server's to tidy up.
    index.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(index)
}

/// Makes the directories of a backup and locks them, unless they have something else, and removes what an interrupted
/// backup left.
fn prepare(store: &Path, out: &Path) -> Result<FileLock, BackupError> {
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
            || DIRECTORIES.contains(&name.as_str());
        if !is_ours {
            return Err(BackupError::OtherFiles {
                directory: out.to_owned(),
                name,
            });
        }
    }
    let lock = FileLock::take(&out.join(LOCK))?.ok_or_else(|| BackupError::Busy {
        directory: out.to_owned(),
    })?;
    for name in [SEGMENTS, Kind::Pads.directory()] {
        let directory = out.join(name);
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

/// Removes the files of a backup that its index does not name, those of former layouts included.
fn remove_others(
    out: &Path,
    segments: &HashMap<u32, u64>,
    named: &[Named],
) -> Result<(), BackupError> {
    let pads: HashSet<String> = named.iter().map(|file| file.id.to_string()).collect();
    let is_named = |directory: &str, name: &str| match directory {
        SEGMENTS => segments::number_of(name).is_none_or(|number| segments.contains_key(&number)),
        _ => pads.contains(name) || name.parse::<BlobId>().is_err(),
    };
    for name in DIRECTORIES {
        let directory = out.join(name);
        if !directory.is_dir() {
            continue;
        }
        for file in names(&directory)? {
            if !is_named(name, &file) {
                super::remove_if_there(&directory.join(file))?;
            }
        }
        files::flush_directory(&directory)?;
    }
    // Of former layouts, and empty now unless something else is in it.
    let _ = fs::remove_dir(out.join(Kind::Upload.directory()));
    Ok(())
}

/// Returns the names in a directory.
pub(super) fn names(directory: &Path) -> Result<Vec<String>, StoreError> {
    let failed = || FileError::io("list", directory);
    let entries = fs::read_dir(directory).map_err(failed())?;
    let name = |entry: io::Result<fs::DirEntry>| {
        let name = entry.map_err(failed())?.file_name();
        Ok(name.to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}
