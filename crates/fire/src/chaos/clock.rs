//! Clocks of single programs, set while they run, by the library `libfaketime`. Only the time of
//! day jumps, as a kernel never lets the monotonic clock jump.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;

/// A clock of programs that are started with [`Clock::rule`].
#[derive(Debug, Clone)]
pub(super) struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// Fails where the library is not installed.
    pub(super) fn new(file: &Path) -> Result<Self, Failure> {
        let library = std::fs::read_dir("/usr/lib")?
            .flatten()
            .map(|directory| directory.path().join("faketime/libfaketimeMT.so.1"))
            .find(|library| library.is_file())
            .ok_or("libfaketime is not installed")?;
        let clock = Self {
            library,
            file: file.to_owned(),
        };
        clock.set(0.0)?;
        Ok(clock)
    }

    /// Sets the clock to `hours` hours after the true time, or before it if negative, from now on.
    pub(super) fn set(&self, hours: f64) -> Result<(), Failure> {
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{:+}\n", (hours * 3600.0) as i64))?;
        std::fs::rename(new, &self.file)?;
        Ok(())
    }

    /// Makes a program use the clock.
    pub(super) fn rule(&self, program: &mut Command) {
        program
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
}
