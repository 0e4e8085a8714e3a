//! The folders of the repository, cargo as every task runs it, and steps whose time is printed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::failure::{Failure, succeed};

/// The profile of everything that the checks build, except the C library and the page's module, so
/// that nothing is built for two profiles.
pub(crate) const PROFILE: &str = "ci";

/// The package of the program `tfhe-sbc`.
pub(crate) const PROGRAM_PACKAGE: &str = "tfhe-sbc-cli";

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The folder in which cargo builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The folder of the programs that cargo built in [`PROFILE`], as an absolute path.
pub(crate) fn built_folder() -> Result<PathBuf, Failure> {
    absolute(&target_folder().join(PROFILE))
}

/// The user's folder for what several clones of the repository share; `None` if the user has no
/// home.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || variable("HOME").map(|home| Path::new(&home).join(".cache"));
    let caches = variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home)?;
    Some(caches.join("tfhe-sbc"))
}

/// The path from the root of the file system.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure(format!("{}: {error}", path.display())))
}

/// Cargo in the root of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(arguments);
    cargo
}

/// Builds the program `tfhe-sbc` in [`PROFILE`], and the further targets that `options` name.
///
/// The whole workspace and an example are selected, so that cargo gives dependencies the same features
/// as for `cargo test --workspace` and does not compile them again.
pub(crate) fn build_program(options: &[&str]) -> Result<(), Failure> {
    step("the program", || {
        let mut cargo = cargo(&["build", "--profile", PROFILE, "--workspace"]);
        cargo.args(["--bin", "tfhe-sbc", "--example", "same_bytes"]);
        cargo.args(options);
        succeed("the program", &mut cargo)
    })
}

/// Copies a folder with everything in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    let of = |path: &Path, error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    std::fs::create_dir_all(to).map_err(|error| of(to, error))?;
    for entry in std::fs::read_dir(from).map_err(|error| of(from, error))? {
        let entry = entry.map_err(|error| of(from, error))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            std::fs::copy(&from, &to).map_err(|error| of(&from, error))?;
        }
    }
    Ok(())
}

/// Prints the name of a step, runs it, and prints the seconds that it took.
pub(crate) fn step(name: &str, run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let start = Instant::now();
    eprintln!("\n=== {name}");
    run()?;
    eprintln!("--- {name}: {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
