//! Builds and runs for other processors.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::places::Places;
use super::target::{AARCH64, ARMV7, Build, Compiler};
use crate::failure::Failure;

/// Cargo with a compiler and flags for a target, and the folder below which it builds. If the target has no
/// standard library, `parts` of it are built first; of Linux targets, all that there is.
pub(crate) fn cross_cargo(
    triple: &str,
    subcommand: &str,
    parts: &str,
) -> Result<(Command, PathBuf), Failure> {
    let places = Places::new();
    let cargo = match [&AARCH64, &ARMV7]
        .into_iter()
        .find(|target| target.triple == triple)
    {
        Some(target) => Build::new(target)?.cargo(&places, subcommand),
        None => {
            let mut cargo = Compiler::for_triple(triple)?.cargo(&places, subcommand, parts);
            cargo.args(["--target", triple]);
            cargo
        }
    };
    Ok((cargo, places.target.join(triple)))
}

/// Has what hands its arguments on to cargo build for a target. `parts` as in [`cross_cargo`].
pub(crate) fn cross_build(builder: &mut Command, triple: &str, parts: &str) -> Result<(), Failure> {
    Compiler::for_triple(triple)?.serve(builder, parts);
    Ok(())
}

/// QEMU for AArch64 with a folder that has the system's libraries.
pub(crate) fn emulator(system: &Path) -> Command {
    let mut qemu = Command::new(AARCH64.qemu);
    qemu.args(["-cpu", AARCH64.cpu, "-L"]).arg(system);
    qemu
}
