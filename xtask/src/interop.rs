//! `cargo xtask interop`: other libraries load and compute on what the program makes. Each is in a
//! folder of `interop/`, out of the workspace, and has a page below `docs/adapters/` whose commands are
//! run as they stand.

mod page;
mod seal;
mod tfhe_rs;
mod tfhepp;

use std::path::PathBuf;

use crate::failure::Failure;
use crate::workspace::{absolute, build_program, built_folder, step, target_folder};

/// The check of one library.
type Check = fn(&Programs) -> Result<(), Failure>;

/// The libraries, by the names of their folders and pages.
const STEPS: [(&str, Check); 3] = [
    ("seal", seal::run),
    ("tfhepp", tfhepp::run),
    ("tfhe-rs", tfhe_rs::run),
];

/// The programs that the checks run.
struct Programs {
    /// The folder that has `tfhe-sbc`.
    folder: PathBuf,
}

/// Runs the step of that name, or all.
pub(crate) fn run(only: Option<&str>) -> Result<(), Failure> {
    let mut steps = STEPS
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| only == *name));
    if only.is_some() && steps.clone().next().is_none() {
        let names: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(Failure(format!("there are: {}", names.join(", "))));
    }
    build_program(&[])?;
    let programs = Programs {
        folder: built_folder()?,
    };
    steps.try_for_each(|(name, run)| step(name, || run(&programs)))
}

/// Makes the folder of that name for what a check builds and writes.
fn work_folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = absolute(&target_folder().join("interop").join(name))?;
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    Ok(folder)
}
