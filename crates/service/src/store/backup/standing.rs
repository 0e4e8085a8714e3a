//! Standing queries in backups: their directories as they are in the store. Their results may be the only answers about readings
//! that are no longer stored.
//!
//! Each standing query is copied by itself: first its ledger is read, then its results are copied, and then the ledger is written. So the
//! copy has every result that its ledger takes as computed, and may have later ones. The definition, without which the directory is no
//! standing query, comes last.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use tfhe_sbc_transport::files::{self, FileError};

use crate::period_results::ReadResult;
use crate::store::StoreError;

/// The directory of standing queries, in stores and in backups.
pub(super) const DIRECTORY: &str = "standing";
const RESULTS: &str = "results";
/// The files of a standing query beside its results, in the order in which they are written.
const FILES: [&str; 3] = ["request", "ledger", "definition"];

/// What was copied of standing queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StandingCopied {
    /// The number of standing queries.
    pub queries: u64,
    /// The number of their results.
    pub results: u64,
    /// The number of files of results that are damaged, and were not copied.
    pub damaged: u64,
}

/// The names in a directory, which need not be there.
fn names(directory: &Path) -> Result<BTreeSet<String>, StoreError> {
    match directory.is_dir() {
        true => Ok(super::make::names(directory)?.into_iter().collect()),
        false => Ok(BTreeSet::new()),
    }
}

/// Reads a file that may have been removed meanwhile.
fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::io("read", path)(error)),
    }
}

/// Writes a file, unless it is there with the same content.
fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    match read(path)? {
        Some(there) if there == bytes => Ok(()),
        _ => files::write_private_unflushed(path, bytes),
    }
}

/// Copies the standing queries of a store, or of a backup, and removes from the copy what is not there. Damaged results are left out; a
/// copy of such a result that is there stays.
pub(super) fn copy(from: &Path, to: &Path) -> Result<StandingCopied, StoreError> {
    let (from, to) = (from.join(DIRECTORY), to.join(DIRECTORY));
    let mut copied = StandingCopied::default();
    let queries = names(&from)?;
    if queries.is_empty() && !to.is_dir() {
        return Ok(copied);
    }
    files::create_private_directory(&to)?;
    let mut there = BTreeSet::new();
    for query in &queries {
        if copy_one(&from.join(query), &to.join(query), &mut copied)? {
            there.insert(query.clone());
            copied.queries += 1;
        }
    }
    for gone in names(&to)?.difference(&there) {
        let path = to.join(gone);
        fs::remove_dir_all(&path).map_err(FileError::io("remove", &path))?;
    }
    files::flush_directory(&to)?;
    Ok(copied)
}

/// Copies a standing query. Returns false if there is none, or it was removed meanwhile.
fn copy_one(from: &Path, to: &Path, copied: &mut StandingCopied) -> Result<bool, StoreError> {
    let mut contents = Vec::new();
    for name in FILES {
        let Some(content) = read(&from.join(name))? else {
            return Ok(false);
        };
        contents.push((name, content));
    }
    let (source, target) = (from.join(RESULTS), to.join(RESULTS));
    files::create_private_directory(&target)?;
    let results = names(&source)?;
    let is_ours = |name: &&String| name.parse::<i64>().is_ok();
    for name in results.iter().filter(is_ours) {
        let path = source.join(name);
        let Some(content) = read(&path)? else {
            continue;
        };
        if ReadResult::read(&path).is_err() && path.exists() {
            tracing::error!(file = %path.display(), "a result of a standing query is damaged");
            copied.damaged += 1;
            continue;
        }
        write(&target.join(name), &content)?;
        copied.results += 1;
    }
    files::flush_directory(&target)?;
    for (name, content) in contents {
        write(&to.join(name), &content)?;
        files::flush_directory(to)?;
    }
    for gone in names(&target)?.difference(&results) {
        super::remove_if_there(&target.join(gone))?;
    }
    Ok(true)
}

/// Counts the standing queries of a backup and the results that are damaged.
pub(super) fn check(backup: &Path) -> Result<StandingCopied, StoreError> {
    let directory = backup.join(DIRECTORY);
    let mut checked = StandingCopied::default();
    for query in names(&directory)? {
        let query = directory.join(query);
        if !FILES.iter().all(|name| query.join(name).is_file()) {
            continue;
        }
        checked.queries += 1;
        let results = query.join(RESULTS);
        for name in names(&results)? {
            match ReadResult::read(&results.join(name)) {
                Ok(_) => checked.results += 1,
                Err(_) => checked.damaged += 1,
            }
        }
    }
    Ok(checked)
}

/// Removes the standing queries of a store that was not restored to its end.
pub(super) fn undo(store: &Path) {
    let _ = fs::remove_dir_all(store.join(DIRECTORY));
}
