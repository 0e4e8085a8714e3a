//! The check of a backup.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tfhe_sbc_transport::BlobId;

use super::{
    BackupError, DIRECTORIES, Done, Kind, StandingCopied, Uploads, heads, is_former, standing,
};
use crate::store::segments;

/// What a check of a backup has found. It can be restored whole if nothing is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The time of which the backup is.
    pub made_at: SystemTime,
    /// The number of uploads that it names.
    pub uploads: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The number of files of pads that it names.
    pub pads: u64,
    /// The uploads and files of pads that are missing, or whose bytes do not hash to their names.
    pub damaged: Vec<BlobId>,
    /// The number of files that it does not name, which an interrupted backup may leave. The next backup removes them.
    pub not_named: u64,
    /// The standing queries in it.
    pub standing: StandingCopied,
}

/// Checks a backup: that its index is sound, and that each upload and each file that it names is there and hashes to its name.
/// `progress` is told how far it is.
///
/// # Errors
/// A directory without a finished backup, a damaged index, and a disk that fails.
pub fn check(directory: &Path, progress: impl Fn(Done)) -> Result<Checked, BackupError> {
    let (_lock, index, made_at) = super::open_backup(directory)?;
    let named = super::named(&index)?;
    let mut checked = Checked {
        made_at: UNIX_EPOCH + Duration::from_secs(u64::try_from(made_at).unwrap_or(0)),
        uploads: 0,
        bytes: 0,
        pads: 0,
        damaged: Vec::new(),
        not_named: 0,
        standing: standing::check(directory)?,
    };
    let mut of = named.len() as u64;
    let mut names: HashSet<String> = named.iter().map(|file| file.id.to_string()).collect();
    let mut files = 0;
    if !is_former(&index)? {
        let uploads = Uploads::new(&index, directory)?;
        of += uploads.count()?;
        for (head, _) in heads(&index)? {
            names.insert(segments::name(head.number));
        }
        uploads.each(|entry| {
            progress(Done { files, of });
            files += 1;
            checked.uploads += 1;
            checked.bytes += entry.bytes;
            if !uploads.has(&entry)? {
                checked.damaged.push(entry.id);
            }
            Ok(())
        })?;
    }
    for file in &named {
        progress(Done { files, of });
        files += 1;
        match file.kind {
            Kind::Upload => {
                checked.uploads += 1;
                checked.bytes += file.bytes.unwrap_or(0);
            }
            Kind::Pads => checked.pads += 1,
        }
        if file.read(directory)?.is_none() {
            checked.damaged.push(file.id);
        }
    }
    progress(Done { files: of, of });
    for name in DIRECTORIES {
        let path = directory.join(name);
        // A copy without empty directories is as good.
        if path.is_dir() {
            let found = super::make::names(&path)?;
            checked.not_named += found.iter().filter(|name| !names.contains(*name)).count() as u64;
        }
    }
    Ok(checked)
}
