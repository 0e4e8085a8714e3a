//! Writing files so that a crash leaves either the whole file or none of it,
//! and keys so that nobody else can read them at any moment.
//!
//! Every write goes to a temporary file in the same directory, is flushed to the
//! disk, gets its name in one step, and the directory is flushed after it. A
//! temporary file that a crash leaves behind has a name that [`is_temporary`]
//! knows.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

const TEMPORARY_PREFIX: &str = ".tfhe-sbc-temporary-";

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file exists already and must not be overwritten.
    #[error("{} exists already and is not overwritten; move it away or choose another name", path.display())]
    Exists {
        /// The file in the way.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl FileError {
    /// Returns a function that turns an I/O error into a [`FileError::Io`] about `path`. `action` is
    /// a verb with its object, such as "open".
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

/// Opens a file for reading and writing that only its owner can read. A file that does not exist is made with mode
/// 0600; one that does keeps its content and its permissions.
///
/// # Errors
/// The operating system refuses.
pub fn private_file(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(FileError::io("open", path))
}

/// A lock on a file, held until it is dropped.
///
/// Dropping it unlocks, and does not only close the file: a child process that another thread is starting has a copy
/// of the descriptor until it runs its program, and the lock would last as long as that copy.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks a file, which is made (mode 0600) if it does not exist. Returns `None` if another holds it.
    ///
    /// # Errors
    /// The file cannot be opened, or its file system has no locks.
    pub fn take(path: &Path) -> Result<Option<Self>, FileError> {
        let file = private_file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(FileError::io("lock", path)(error)),
        }
    }

    /// Locks a file that others may share, which is made (mode 0600) if it does not exist. Waits for one who holds it
    /// alone.
    ///
    /// # Errors
    /// Those of [`FileLock::take`].
    pub fn share(path: &Path) -> Result<Self, FileError> {
        let file = private_file(path)?;
        file.lock_shared().map_err(FileError::io("lock", path))?;
        Ok(Self(file))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            // Closing the file unlocks it too, unless there is such a copy.
            tracing::debug!(%error, "a lock is left to the closing of its file");
        }
    }
}

/// Writes a file durably that only its owner can read (mode 0600 from its first moment), and
/// refuses to overwrite: for keys.
pub fn write_private_new(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_new(path, bytes, 0o600)
}

/// Writes a file durably that everyone may read, and refuses to overwrite: for certificates and
/// public keys.
pub fn write_public_new(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_new(path, bytes, 0o644)
}

/// Writes or replaces a file durably. A reader sees the old content or the new,
/// never a mixture. A replaced file keeps its permissions.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_atomic_with(path, |file| file.write_all(bytes))
}

/// Does what [`write_atomic`] does, for content that `write` makes piece by piece. If `write`
/// fails, the file stays as it is.
pub fn write_atomic_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), FileError> {
    replace(path, write)?;
    flush_directory(parent(path))
}

/// Does what [`write_atomic_with`] does, for a file that only its owner can read (mode 0600), also where it replaces one that
/// others can read.
pub fn write_private_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), FileError> {
    replace_with(path, write, mode(0o600))?;
    flush_directory(parent(path))
}

/// Does what [`write_atomic`] does, except that the file's name may be lost in a power cut until
/// [`flush_directory`] is called.
pub fn write_unflushed(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace(path, |file| file.write_all(bytes))
}

/// Does what [`write_unflushed`] does, for a file that only its owner can read (mode 0600), also where it replaces one
/// that others can read.
pub fn write_private_unflushed(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace_with(path, |file| file.write_all(bytes), mode(0o600))
}

fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), FileError> {
    let permissions = fs::metadata(path)
        .ok()
        .map(|metadata| metadata.permissions());
    replace_with(path, write, permissions.or_else(|| mode(0o644)))
}

fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    permissions: Option<Permissions>,
) -> Result<(), FileError> {
    let file = write_temporary(path, write, permissions)?;
    file.persist(path)
        .map_err(|error| FileError::io("write", path)(error.error))?;
    Ok(())
}

/// Returns whether `file_name` is that of a temporary file of this module, left by a process that
/// died while writing.
pub fn is_temporary(file_name: &str) -> bool {
    file_name.starts_with(TEMPORARY_PREFIX)
}

/// Makes a directory, with its parents, that only its owner can enter (mode 0700). A directory that
/// exists already keeps its permissions.
pub fn create_private_directory(path: &Path) -> Result<(), FileError> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = parent(path);
    create_private_directory(parent)?;
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(FileError::io("create the directory", path))?;
    flush_directory(parent)
}

/// Flushes a directory, so that names made or changed in it survive a power cut.
pub fn flush_directory(path: &Path) -> Result<(), FileError> {
    // Windows has no such call and opens no directory as a file.
    if cfg!(unix) {
        File::open(path)
            .and_then(|directory| directory.sync_all())
            .map_err(FileError::io("flush the directory", path))?;
    }
    Ok(())
}

fn write_new(path: &Path, bytes: &[u8], mode_bits: u32) -> Result<(), FileError> {
    let exists = || FileError::Exists {
        path: path.to_owned(),
    };
    if path.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let file = write_temporary(path, |file| file.write_all(bytes), mode(mode_bits))?;
    // This fails rather than replaces a file that was made since the check above.
    file.persist_noclobber(path)
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(),
            _ => FileError::io("write", path)(error.error),
        })?;
    let flushed = flush_directory(parent(path));
    if flushed.is_err() {
        // A caller that gets an error finds no file of this call.
        let _ = fs::remove_file(path);
    }
    flushed
}

fn write_temporary(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    permissions: Option<Permissions>,
) -> Result<NamedTempFile, FileError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX);
    // The file is made with mode 0600 and gets wider permissions only after its content is in
    // place.
    let mut file = builder
        .tempfile_in(parent(path))
        .map_err(FileError::io("create a file beside", path))?;
    let written = (|| {
        write(file.as_file_mut())?;
        if let Some(permissions) = permissions {
            file.as_file().set_permissions(permissions)?;
        }
        file.as_file().sync_all()
    })();
    written.map_err(FileError::io("write", path))?;
    Ok(file)
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps)]
fn mode(bits: u32) -> Option<Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(bits))
}

#[cfg(not(unix))]
fn mode(_bits: u32) -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_though_a_child_process_still_has_a_copy_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = FileLock::take(&path).unwrap().unwrap();
        assert!(FileLock::take(&path).unwrap().is_none());
        // What fork() makes of the descriptor.
        let _copy = lock.0.try_clone().unwrap();
        drop(lock);
        assert!(FileLock::take(&path).unwrap().is_some());
    }

    #[test]
    fn locks_that_are_shared_leave_none_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let shared = [
            FileLock::share(&path).unwrap(),
            FileLock::share(&path).unwrap(),
        ];
        assert!(FileLock::take(&path).unwrap().is_none());
        drop(shared);
        assert!(FileLock::take(&path).unwrap().is_some());
    }
}
