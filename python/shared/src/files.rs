//! Key files.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyFileExistsError;
use pyo3::prelude::*;
use zeroize::Zeroizing;

/// Writes a file that is not there yet; with `private`, one that only its owner can read from its
/// first moment. A file that cannot be written whole is removed.
#[pyfunction]
pub fn write_new(path: PathBuf, bytes: &[u8], private: bool) -> PyResult<()> {
    write(&path, bytes, private)
}

/// The bytes of a secret's file, which are wiped after use.
///
/// # Errors
/// `OSError` with the path.
pub fn read_secret(path: &Path) -> PyResult<Zeroizing<Vec<u8>>> {
    // One allocation of the file's size, so that no part is left behind in a smaller one.
    let bytes = fs::read(path).map(Zeroizing::new);
    bytes.map_err(|error| {
        let told = format!("{}: {error}", path.display());
        PyErr::from(std::io::Error::new(error.kind(), told))
    })
}

/// Does the same as [`write_new`].
///
/// # Errors
/// `FileExistsError`, or another `OSError`.
pub fn write(path: &Path, bytes: &[u8], private: bool) -> PyResult<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if private { 0o600 } else { 0o644 });
    #[cfg(not(unix))]
    let _ = private;
    let mut file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => PyFileExistsError::new_err(format!(
            "{} exists already, and keys are never overwritten: choose another name, or move the \
             old file away",
            path.display()
        )),
        _ => PyErr::from(error),
    })?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    Ok(written?)
}
