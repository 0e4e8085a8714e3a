//! The folders and packages of the builds for boards.

use std::path::PathBuf;

use crate::workspace::{root, target_folder};

/// The packages that boards run. They are always selected together, so that every build of them has the
/// same features.
pub(super) const PACKAGES: [&str; 8] = [
    "--package",
    "tfhe-sbc-core",
    "--package",
    "tfhe-sbc-ckks",
    "--package",
    "tfhe-sbc-device",
    "--package",
    "tfhe-sbc-device-c",
];

/// The folders of this task.
pub(super) struct Places {
    /// The root of the repository.
    pub(super) root: PathBuf,
    /// Build output of this task, apart from that of other compilers.
    pub(super) target: PathBuf,
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            root: root(),
            target: target_folder().join("arm"),
        }
    }
}
