//! The files that a log rotation makes of one file: which is which, and which comes next.
//!
//! A rotation either renames the file and begins another under its name, or copies it and truncates
//! it. So neither name nor inode nor size says how far a file was read: a [`Place`] is an inode, an
//! offset and a hash of the bytes before the offset. The names of the files tell their order (a
//! higher number is older, a later date younger), for the clocks of boards jump.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The number of bytes before the offset that are hashed.
pub(super) const TAIL: u64 = 256;
const PLACE_BYTES: usize = 1 + 8 + 8 + 16;
const PLACE_VERSION: u8 = 1;

/// The place up to which a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    inode: u64,
    pub(super) offset: u64,
    tail: [u8; 16],
}

impl Place {
    /// Returns the beginning of a file.
    pub(super) fn beginning(file: &File) -> io::Result<Self> {
        let inode = file.metadata()?.ino();
        Ok(Self {
            inode,
            offset: 0,
            tail: hash(&[]),
        })
    }

    /// Returns the place at another offset of the same file. `before` ends with the bytes before
    /// that offset, at least [`TAIL`] of them if there are that many.
    pub(super) fn moved(self, offset: u64, before: &[u8]) -> Self {
        let len = before.len().min(TAIL as usize);
        Self {
            offset,
            tail: hash(&before[before.len() - len..]),
            ..self
        }
    }

    /// Returns the place at the same offset of `file`.
    pub(super) fn in_file(self, file: &File) -> io::Result<Self> {
        let inode = file.metadata()?.ino();
        Ok(Self { inode, ..self })
    }

    /// Returns the number of bytes before the place that are hashed.
    pub(super) fn before(&self) -> usize {
        self.offset.min(TAIL) as usize
    }

    /// Returns whether `bytes` are those before the place.
    pub(super) fn is_behind(&self, before: &[u8]) -> bool {
        before.len() == self.before() && hash(before) == self.tail
    }

    /// Returns the place as bytes: a version, then inode, offset and hash, little-endian.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PLACE_BYTES);
        bytes.push(PLACE_VERSION);
        bytes.extend_from_slice(&self.inode.to_le_bytes());
        bytes.extend_from_slice(&self.offset.to_le_bytes());
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// Reads a place; `None` if the bytes are none.
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

    /// Returns whether `file` is the place's file, as far as its content tells.
    fn fits(&self, file: &File) -> bool {
        let mut before = vec![0; self.before()];
        let start = self.offset - before.len() as u64;
        let read = file.read_exact_at(&mut before, start);
        read.is_ok() && self.is_behind(&before)
    }

    /// Returns the file that was read up to this place, among the file at `path` and those that
    /// rotations made of it.
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
            // A copy has another inode. With nothing before the place every file would match.
            None if self.offset > 0 => candidates.pop(),
            None => None,
        }
    }
}

fn hash(bytes: &[u8]) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    hash
}

/// The part that a rotation puts into a name. In order of age: the oldest is the least.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// The digits of a date or a time.
    Date(String),
    /// A number that each rotation counts up.
    Number(Reverse<u32>),
}

/// A number of more digits is a date.
const NUMBER_DIGITS: usize = 5;

impl Mark {
    fn parse(text: &str) -> Option<Self> {
        let is_mark = text.starts_with(['.', '-'])
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b".-_:T".contains(&byte));
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        match (is_mark, digits.len()) {
            (false, _) | (_, 0) => None,
            (_, len) if len <= NUMBER_DIGITS => Some(Self::Number(Reverse(digits.parse().ok()?))),
            _ => Some(Self::Date(digits)),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        matches!(self, Self::Date(_)) == matches!(other, Self::Date(_))
    }
}

/// Returns the files that rotations made of the one at `path`, the oldest first: `NAME.1`,
/// `NAME-20260131`, `STEM-20260131.EXTENSION`. Compressed files are left out.
fn rotated(path: &Path) -> Vec<(Mark, PathBuf)> {
    let (Some(name), Some(directory)) = (path.file_name().and_then(|n| n.to_str()), path.parent())
    else {
        return Vec::new();
    };
    let directory = match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    };
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let mark = |other: &str| {
        let whole = other.strip_prefix(name).and_then(Mark::parse);
        whole.or_else(|| {
            let inner = other.strip_prefix(stem)?.strip_suffix(extension)?;
            Mark::parse(inner.strip_suffix('.')?)
        })
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| Some((mark(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    found.sort();
    found
}

/// Returns whether `path` now names another file than `file`.
pub(super) fn is_replaced(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(old), Ok(new)) => (old.dev(), old.ino()) != (new.dev(), new.ino()),
        _ => false,
    }
}

/// The file that comes after another.
pub(super) struct Next {
    pub(super) file: File,
    /// Returns whether the names and times of the files show that every line is read exactly once.
    pub(super) is_sure: bool,
}

/// Returns the file after `file`, which was read to its end: the next younger of those that
/// rotations made and that are not empty, and at last the one at `path`. `None` while that one is
/// empty.
pub(super) fn next(file: &File, path: &Path) -> Option<Next> {
    let old = file.metadata().ok()?;
    let written = old.modified().ok()?;
    let opened = |path: &Path| {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && metadata.len() > 0).then_some((file, metadata))
    };
    let rotated = rotated(path);
    let is_old = |path: &Path| {
        fs::metadata(path).is_ok_and(|new| (old.dev(), old.ino()) == (new.dev(), new.ino()))
    };
    let place = rotated.iter().position(|(_, path)| is_old(path));
    let younger = match place {
        Some(place) => &rotated[place + 1..],
        // The file is gone, or has a name of another kind.
        None => &rotated[..],
    };
    let found = younger
        .iter()
        .filter(|(mark, _)| place.is_none_or(|place| mark.is_like(&rotated[place].0)))
        .filter_map(|(_, path)| opened(path))
        // Rotations remove the oldest file first, so the files that are left came later, unless
        // another program removed some.
        .find(|(_, new)| place.is_some() || new.modified().is_ok_and(|new| new > written));
    if let Some((file, new)) = found {
        let in_time = new.modified().is_ok_and(|new| new >= written);
        return Some(Next {
            file,
            is_sure: place.is_some() && in_time,
        });
    }
    let (file, _) = opened(path)?;
    Some(Next {
        file,
        is_sure: true,
    })
}
