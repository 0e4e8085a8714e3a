//! Microsoft SEAL, as the Python package `tenseal` has it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Programs, page, work_folder};
use crate::c::root;
use crate::failure::{Failure, read, succeed, write};

pub(super) fn run(programs: &Programs) -> Result<(), Failure> {
    let folder = work_folder("seal")?;
    let sources = root().join("interop/seal");
    let python = environment(&folder, &sources.join("requirements.txt"))?;
    let mut check = Command::new(python);
    check
        .arg(sources.join("check.py"))
        .arg(programs.folder.join("tfhe-sbc"))
        .arg(folder.join("files"));
    succeed("interop/seal/check.py", &mut check)?;
    page::run("seal", programs)
}

/// A Python with these packages, kept until they change.
fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf, Failure> {
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
