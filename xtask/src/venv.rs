//! Python environments with packages of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, read, succeed, write};

/// Makes an environment in `folder/environment` unless there is one, and returns the path of its
/// Python.
pub(crate) fn create(folder: &Path) -> Result<PathBuf, Failure> {
    let environment = folder.join("environment");
    let python = environment.join("bin/python");
    if !python.exists() {
        let mut venv = Command::new("python3");
        succeed(
            "python3 -m venv",
            venv.args(["-m", "venv"]).arg(&environment),
        )?;
    }
    Ok(python)
}

/// Makes an environment in `folder/environment` with the packages of the file `requirements`, and
/// returns the path of its Python. An environment with the same requirements is used again.
pub(crate) fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf, Failure> {
    let environment = folder.join("environment");
    let installed = folder.join("installed.txt");
    let wanted = read(requirements)?;
    if read(&installed).is_ok_and(|installed| installed == wanted)
        && environment.join("bin/python").exists()
    {
        return create(folder);
    }
    let _ = std::fs::remove_dir_all(&environment);
    let python = create(folder)?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet"])
        .args(["--only-binary", ":all:", "--requirement"])
        .arg(requirements)
        .stdin(Stdio::null());
    succeed("pip install", &mut pip)?;
    write(&installed, &wanted)?;
    Ok(python)
}
