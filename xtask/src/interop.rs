//! `cargo xtask interop`: other libraries load and compute on what the program makes. Each is in a
//! folder of `interop/`, out of the workspace, and has a page below `docs/adapters/` whose commands are
//! run as they stand.

mod page;
mod seal;
mod tfhe_rs;
mod tfhepp;

use std::path::PathBuf;
use std::process::Command;

use crate::c::{root, target_folder};
use crate::failure::{Failure, succeed};
use crate::test::{PROFILE, step};

/// What checks one library.
type Check = fn(&Programs) -> Result<(), Failure>;

/// The libraries, by the names of their folders and pages.
const STEPS: [(&str, Check); 3] = [
    ("seal", seal::run),
    ("tfhepp", tfhepp::run),
    ("tfhe-rs", tfhe_rs::run),
];

/// What the steps are given.
struct Programs {
    /// The folder of `tfhe-sbc`.
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
    step("the program", || {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root());
        succeed(
            "the program",
            cargo.args(["build", "--profile", PROFILE, "--package", "tfhe-sbc-cli"]),
        )
    })?;
    let folder = std::path::absolute(target_folder().join(PROFILE))
        .map_err(|error| Failure(error.to_string()))?;
    let programs = Programs { folder };
    steps.try_for_each(|(name, run)| step(name, || run(&programs)))
}

/// A folder of that name for what is built and made.
fn work_folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = std::path::absolute(target_folder().join("interop").join(name))
        .map_err(|error| Failure(error.to_string()))?;
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    Ok(folder)
}
