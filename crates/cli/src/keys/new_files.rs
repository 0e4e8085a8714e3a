//! Key files that are written all or none, and that overwrite nothing.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use tfhe_sbc_transport::files::{self, FileError};
use zeroize::Zeroizing;

use crate::failure::{Explain, Outcome, failure};
use crate::{output, report};

const NOT_WRITTEN: &str = "no keys were written";
const WRITE_ADVICE: &str = "choose a directory that you can write to and that has room";

/// Files to be written, none of which exists yet.
#[derive(Default)]
pub(crate) struct NewFiles(Vec<NewFile>);

struct NewFile {
    path: PathBuf,
    bytes: Zeroizing<Vec<u8>>,
    secret: bool,
    what: String,
}

impl NewFiles {
    /// Adds a file that only its owner can read.
    pub(crate) fn add_secret(
        &mut self,
        path: &Path,
        bytes: impl Into<Zeroizing<Vec<u8>>>,
        what: impl Display,
    ) {
        self.add(path, bytes.into(), true, what);
    }

    /// Adds a file that everyone may read.
    pub(crate) fn add_public(&mut self, path: &Path, bytes: Vec<u8>, what: impl Display) {
        self.add(path, bytes.into(), false, what);
    }

    fn add(&mut self, path: &Path, bytes: Zeroizing<Vec<u8>>, secret: bool, what: impl Display) {
        self.0.push(NewFile {
            path: path.to_owned(),
            bytes,
            secret,
            what: what.to_string(),
        });
    }

    /// Writes all files or none, with the directories that they are in.
    pub(crate) fn write(&self) -> Outcome<()> {
        refuse_existing(self.0.iter().map(|file| &*file.path))?;
        self.write_or_remove().advise(NOT_WRITTEN, WRITE_ADVICE)
    }

    /// Writes the files in their order. If one cannot be written, those before it are removed, and
    /// nothing else: a file that was made in between is not ours.
    fn write_or_remove(&self) -> Result<(), FileError> {
        for file in &self.0 {
            let parent = file.path.parent();
            if let Some(parent) = parent.filter(|parent| !parent.as_os_str().is_empty()) {
                files::create_private_directory(parent)?;
            }
        }
        for (place, file) in self.0.iter().enumerate() {
            let written = match file.secret {
                true => files::write_private_new(&file.path, &file.bytes),
                false => files::write_public_new(&file.path, &file.bytes),
            };
            if written.is_err() {
                for written in &self.0[..place] {
                    let _ = std::fs::remove_file(&written.path);
                }
                return written;
            }
        }
        Ok(())
    }

    /// Prints what was written, a line each.
    pub(crate) fn say(&self) {
        for file in &self.0 {
            output::note(format_args!(
                "{:<32} {:>10}  {}",
                file.path.display(),
                report::bytes(file.bytes.len() as u64),
                file.what
            ));
        }
    }
}

/// Refuses paths where a file exists: keys are never overwritten.
pub(crate) fn refuse_existing<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Outcome<()> {
    let mut paths = paths.into_iter();
    match paths.find(|path| path.symlink_metadata().is_ok()) {
        None => Ok(()),
        Some(path) => Err(failure(
            format_args!(
                "{} exists already, and keys are never overwritten",
                path.display()
            ),
            "choose another directory or name, or move the old keys away",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_takes_its_own_files_along_and_no_others() {
        let desk = tempfile::tempdir().unwrap();
        let path = |name: &str| desk.path().join("keys").join(name);
        let mut files = NewFiles::default();
        files.add_secret(&path("secret"), vec![1_u8], "");
        files.add_public(&path("public"), vec![2], "");
        files.add_public(&path("late"), vec![3], "");
        // The file is made after the check.
        std::fs::create_dir(desk.path().join("keys")).unwrap();
        std::fs::write(path("late"), b"another's").unwrap();
        assert!(files.write_or_remove().is_err());
        assert_eq!(std::fs::read(path("late")).unwrap(), b"another's");
        assert!(!path("secret").exists() && !path("public").exists());

        std::fs::remove_file(path("late")).unwrap();
        assert!(files.write().is_ok());
        assert_eq!(std::fs::read(path("secret")).unwrap(), [1]);
        // The second time all files exist already.
        assert!(files.write().is_err() && files.write_or_remove().is_err());
        assert!(path("secret").exists() && path("public").exists() && path("late").exists());
    }
}
