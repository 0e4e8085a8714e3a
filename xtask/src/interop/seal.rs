//! Microsoft SEAL, as the Python package `tenseal` has it.

use std::process::Command;

use super::{Programs, page, work_folder};
use crate::failure::{Failure, succeed};
use crate::venv::environment;
use crate::workspace::root;

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
