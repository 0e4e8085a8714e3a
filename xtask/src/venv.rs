//! Python with packages of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, read, succeed, write};

/// A Python in `folder` with these packages, kept until they change.
pub(crate) fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf, Failure> {
    let environment = folder.join("environment");
    let python = environment.join("bin/python");
    let installed = folder.join("installed.txt");
    let wanted = read(requirements)?;
    if read(&installed).is_ok_and(|installed| installed == wanted) && python.exists() {
        return Ok(python);
    }
    let _ = std::fs::remove_dir_all(&environment);
    let mut venv = Command::new("python3");
    succeed(
        "python3 -m venv",
        venv.args(["-m", "venv"]).arg(&environment),
    )?;
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary",
        ":all:",
        "--requirement",
    ])
    .arg(requirements)
    .stdin(Stdio::null());
    succeed("pip install", &mut pip)?;
    write(&installed, &wanted)?;
    Ok(python)
}
