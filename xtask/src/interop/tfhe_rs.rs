//! TFHE-rs: the crate `tfhe` itself, which takes minutes to build and is kept in the folder of what is
//! built.

use std::process::Command;

use super::{Programs, page, work_folder};
use crate::c::root;
use crate::failure::{Failure, succeed};

/// What is built in `interop/tfhe-rs`.
const PROGRAMS: [&str; 3] = [
    "tfhe-sbc-interop-tfhe-rs",
    "tfhe-rs-owner",
    "tfhe-rs-server",
];

pub(super) fn run(programs: &Programs) -> Result<(), Failure> {
    let folder = work_folder("tfhe-rs")?;
    let target = folder.join("target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--release", "--locked"])
        .current_dir(root().join("interop/tfhe-rs"))
        .env("CARGO_TARGET_DIR", &target);
    succeed("the programs with TFHE-rs", &mut cargo)?;
    let built = target.join("release");
    let mut test = Command::new(built.join(PROGRAMS[0]));
    succeed("TFHE-rs on what boards encrypt", &mut test)?;

    // The page has all programs on its path.
    let path = folder.join("path");
    let copied = (|| {
        std::fs::create_dir_all(&path)?;
        for program in PROGRAMS {
            std::fs::copy(built.join(program), path.join(program))?;
        }
        std::fs::copy(programs.folder.join("tfhe-sbc"), path.join("tfhe-sbc"))
    })();
    copied.map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    page::run("tfhe-rs", &Programs { folder: path })
}
