//! `cargo xtask fire`: load on the server, attacks, and failures around it. `crates/fire` drives the real
//! program.

use std::process::Command;

use crate::failure::{Failure, succeed};
use crate::workspace::{
    PROGRAM_PACKAGE, absolute, build_program, built_folder, cargo, root, target_folder,
};

/// Runs the driver. Without `options` it is the whole run of the release build, and its report
/// becomes `docs/under-fire.md`. `options` are the driver's; with them, they are those of the tests.
pub(crate) fn run(options: &[&str]) -> Result<(), Failure> {
    let built = if options.is_empty() {
        let mut cargo = cargo(&["build", "--release", "--bins"]);
        cargo.args(["--package", PROGRAM_PACKAGE, "--package", "tfhe-sbc-fire"]);
        succeed("the programs", &mut cargo)?;
        absolute(&target_folder().join("release"))?
    } else {
        build_program(&["--bin", "tfhe-sbc-fire"])?;
        built_folder()?
    };
    let mut driver = Command::new(built.join("tfhe-sbc-fire"));
    driver
        .current_dir(root())
        .arg("--program")
        .arg(built.join("tfhe-sbc"));
    if options.is_empty() {
        driver.args(["--report", "docs/under-fire.md"]);
    }
    driver.args(options);
    succeed("the server under fire", &mut driver)
}
