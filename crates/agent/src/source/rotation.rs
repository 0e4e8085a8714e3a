//! Files that a log rotation makes of one file: which is which, and which comes next.
//!
//! A rotation either renames the file and begins another under its name, or copies it and
//! truncates it. So neither name, inode nor size says where one was: a [`Place`] is an inode, an
//! offset and a hash of the bytes before the offset.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes before the offset that are hashed.
const TAIL: u64 = 256;
const PLACE_BYTES: usize = 1 + 8 + 8 + 16;
const PLACE_VERSION: u8 = 1;

/// Up to where a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    inode: u64,
    pub(super) offset: u64,
    tail: [u8; 16],
}

impl Place {
    /// The place at an offset of a file.
    pub(super) fn of(file: &File, offset: u64) -> io::Result<Self> {
        Ok(Self {
            inode: file.metadata()?.ino(),
            offset,
            tail: tail(file, offset)?,
        })
    }

    /// A version, then inode, offset and hash, little-endian.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PLACE_BYTES);
        bytes.push(PLACE_VERSION);
        bytes.extend_from_slice(&self.inode.to_le_bytes());
        bytes.extend_from_slice(&self.offset.to_le_bytes());
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// `None` if these bytes are no place.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (inode, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (tail, rest) = rest.split_first_chunk()?;
        (*version == PLACE_VERSION && rest.is_empty()).then_some(Self {
            inode: u64::from_le_bytes(*inode),
            offset: u64::from_le_bytes(*offset),
            tail: *tail,
        })
    }

    /// Whether that file is the one, as far as its content says.
    pub(super) fn fits(&self, file: &File) -> bool {
        let long_enough = file
            .metadata()
            .is_ok_and(|metadata| metadata.len() >= self.offset);
        long_enough && tail(file, self.offset).is_ok_and(|tail| tail == self.tail)
    }

    /// The file that was read up to here, among a file and those that were made of it.
    pub(super) fn find(&self, path: &Path) -> Option<File> {
        let mut candidates: Vec<File> = rotated(path)
            .into_iter()
            .map(|(_, path)| path)
            .chain([path.to_owned()])
            .filter_map(|path| File::open(path).ok())
            .filter(|file| self.fits(file))
            .collect();
        let same = candidates.iter().position(|file| {
            file.metadata()
                .is_ok_and(|metadata| metadata.ino() == self.inode)
        });
        match same {
            Some(same) => Some(candidates.swap_remove(same)),
            // A copy. Of an empty beginning every file would be one.
            None if self.offset > 0 => candidates.pop(),
            None => None,
        }
    }
}

fn tail(file: &File, offset: u64) -> io::Result<[u8; 16]> {
    let len = offset.min(TAIL);
    let mut bytes = [0; TAIL as usize];
    let bytes = &mut bytes[..len as usize];
    file.read_exact_at(bytes, offset - len)?;
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    Ok(hash)
}

/// The files that a rotation made of this one, the oldest first: `NAME.1`, `NAME-20260131`,
/// `STEM-20260131.EXTENSION`. Not compressed ones.
fn rotated(path: &Path) -> Vec<(SystemTime, PathBuf)> {
    let (Some(name), Some(directory)) = (path.file_name().and_then(|n| n.to_str()), path.parent())
    else {
        return Vec::new();
    };
    let directory = match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    };
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_mark = |mark: &str| {
        mark.len() > 1
            && mark.starts_with(['.', '-'])
            && mark
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b".-_:T".contains(&byte))
    };
    let is_rotated = |other: &str| {
        let whole = other.strip_prefix(name);
        let inner = other
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_suffix(extension)?.strip_suffix('.'));
        whole.is_some_and(is_mark) || (!extension.is_empty() && inner.is_some_and(is_mark))
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_rotated))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    found.sort();
    found
}

/// Whether the name now stands for another file than this one.
pub(super) fn is_replaced(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(old), Ok(new)) => (old.dev(), old.ino()) != (new.dev(), new.ino()),
        _ => false,
    }
}

/// The file after this one, which was read to its end: the next younger of those that were made
/// of the path, and at last the path itself.
pub(super) fn next(file: &File, path: &Path) -> Option<File> {
    let old = file.metadata().ok()?;
    let written = old.modified().ok()?;
    let younger = rotated(path)
        .into_iter()
        .filter(|(modified, _)| *modified > written)
        .filter_map(|(_, path)| File::open(path).ok())
        .find(|file| {
            file.metadata()
                .is_ok_and(|metadata| metadata.ino() != old.ino())
        });
    younger.or_else(|| File::open(path).ok())
}
