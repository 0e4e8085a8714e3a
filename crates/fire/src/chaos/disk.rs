//! A small disk that can be full: a file system in memory, which only an administrator may make.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;

/// A mounted disk; dropped, it is unmounted.
pub(super) struct Disk {
    pub(super) directory: PathBuf,
}

impl Disk {
    /// Mounts a disk on a directory, which is made. The size is as `mount` takes it.
    pub(super) fn small(directory: &Path, size: &str) -> Result<Self, Failure> {
        fs::create_dir_all(directory)?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", size, "tmpfs"])
            .arg(directory)
            .output()?;
        if mounted.status.success() {
            Ok(Self {
                directory: directory.to_owned(),
            })
        } else {
            let said = String::from_utf8_lossy(&mounted.stderr);
            Err(format!("no disk of its own can be mounted: {}", said.trim()).into())
        }
    }

    /// Fills the disk to its last byte.
    pub(super) fn fill(&self) -> Result<(), Failure> {
        let mut ballast = File::create(self.directory.join("ballast"))?;
        for size in [1 << 20, 4096, 1] {
            let piece = vec![0; size];
            while ballast.write_all(&piece).is_ok() {}
        }
        Ok(())
    }

    pub(super) fn free(&self) -> Result<(), Failure> {
        Ok(fs::remove_file(self.directory.join("ballast"))?)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("-l")
            .arg(&self.directory)
            .status();
    }
}
