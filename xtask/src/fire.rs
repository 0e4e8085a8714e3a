//! The server under load, attack and mischance: the driver of `crates/fire` with the real
//! program.

use std::process::Command;

use crate::c::{root, target_folder};
use crate::failure::{Failure, succeed};

/// Without options the whole run, of the product as it is shipped, whose report is
/// `docs/under-fire.md`. With options, which are the driver's, a run of what tests are built of.
pub(crate) fn run(options: &[&str]) -> Result<(), Failure> {
    let (profile, folder) = if options.is_empty() {
        ("release", "release")
    } else {
        ("ci", "ci")
    };
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root()).args([
        "build",
        "--profile",
        profile,
        "--package",
        "tfhe-sbc-cli",
        "--package",
        "tfhe-sbc-fire",
        "--bins",
    ]);
    succeed("the programs", &mut cargo)?;
    let built = target_folder().join(folder);
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
