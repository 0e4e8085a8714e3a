//! `cargo xtask undefined`: undefined behaviour, looked for by Miri and by AddressSanitizer.
//!
//! Miri interprets tests and finds accesses out of bounds, misaligned or to freed memory, references that alias against
//! the rules, and values that their type does not have. It takes seconds for what takes milliseconds otherwise, so it runs
//! [`INTERPRETED`] alone. AddressSanitizer finds accesses to memory that is not the program's, and runs all fast tests of the
//! crates in [`SANITIZED`] with the kernels of this processor. `cargo xtask c` runs the C interface's tests in C under the
//! sanitizers of the C compiler.
//!
//! Both need an unstable compiler.

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, output, succeed};
use crate::fuzz::host;
use crate::workspace::{PROFILE, absolute, root, step, target_folder};

/// rustup's name of the unstable compiler.
const TOOLCHAIN: &str = "nightly";

/// The line that installs all that is needed. AddressSanitizer's library comes with the compiler.
const INSTALL: &str =
    "rustup toolchain install nightly --profile minimal --component miri,rust-src";

/// The package whose tests Miri runs.
const INTERPRETED_PACKAGE: &str = "tfhe-sbc-core";

/// Parts of the names of the tests that Miri runs: those of unsafe code, and of transforms and products that use it.
const INTERPRETED: [&str; 7] = [
    "workspace::",
    "simd::",
    "random::chacha20::",
    "every_instruction_set_gives_the_same_kernel",
    "products_are_the_definition_s",
    "inverse_of_forward_is_half_the_size",
    "unaligned_data_and_twiddles_give_the_same",
];

/// A test of those that would take minutes, and whose small cases others have.
const NOT_INTERPRETED: &str = "all_small_slices_are_where_they_should_be";

/// The instructions of Miri's processor, which so has the kernels for AVX2 beside the portable ones. Miri knows these,
/// and not those for AES and AVX-512.
const INTERPRETED_INSTRUCTIONS: &str = "-Ctarget-feature=+avx2,+bmi2,+fma";

/// The packages whose tests AddressSanitizer watches.
const SANITIZED: [&str; 4] = [
    "tfhe-sbc-core",
    "tfhe-sbc-device",
    "tfhe-sbc-device-c",
    "tfhe-sbc-ckks",
];

/// The ways to look for undefined behaviour.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Miri,
    AddressSanitizer,
}

/// Runs one, or both.
pub(crate) fn run(only: Option<Tool>) -> Result<(), Failure> {
    require_toolchain()?;
    if only != Some(Tool::AddressSanitizer) {
        step("Miri", interpret)?;
    }
    if only != Some(Tool::Miri) {
        for package in SANITIZED {
            step(&format!("AddressSanitizer: {package}"), || {
                sanitize(package)
            })?;
        }
    }
    Ok(())
}

/// Runs tests on Miri.
fn interpret() -> Result<(), Failure> {
    let mut cargo = unstable("cargo");
    cargo.args(["miri", "test", "--quiet"]);
    cargo.args(["--package", INTERPRETED_PACKAGE, "--lib", "--target-dir"]);
    cargo.arg(absolute(&target_folder().join("undefined/miri"))?);
    cargo.arg("--").args(INTERPRETED);
    cargo.args(["--skip", NOT_INTERPRETED]);
    // Tests of properties look for the folder of earlier failures. Results of functions such as `powi`, which may differ
    // in the last bit, would differ from run to run.
    cargo.env(
        "MIRIFLAGS",
        "-Zmiri-disable-isolation -Zmiri-deterministic-floats",
    );
    cargo.env("PROPTEST_CASES", "2");
    cargo.env("RUSTFLAGS", INTERPRETED_INSTRUCTIONS);
    succeed("Miri", &mut cargo)
}

/// Runs the tests of a package with AddressSanitizer.
fn sanitize(package: &str) -> Result<(), Failure> {
    let mut cargo = unstable("cargo");
    cargo.args(["test", "--quiet", "--profile", PROFILE]);
    cargo.args(["--package", package, "--lib", "--tests"]);
    // With a target, build scripts and macros are built without the sanitizer.
    cargo.args(["--target", &host()?, "--target-dir"]);
    cargo.arg(absolute(&target_folder().join("undefined/asan"))?);
    cargo.env("RUSTFLAGS", "-Zsanitizer=address");
    // Leaks of memory are no concern of this check.
    cargo.env(
        "ASAN_OPTIONS",
        "detect_leaks=0:detect_stack_use_after_return=1",
    );
    succeed("AddressSanitizer", &mut cargo)
}

/// A program of the unstable compiler, in the root of the repository.
fn unstable(program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.current_dir(root());
    command.args(["run", TOOLCHAIN, program]);
    // Variables that name parts of the compiler that runs this program.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTC_WRAPPER"] {
        command.env_remove(variable);
    }
    command
}

/// Checks that the unstable compiler has Miri and the source of the standard library.
fn require_toolchain() -> Result<(), Failure> {
    let missing = || {
        Failure(format!(
            "cargo xtask undefined needs Miri, AddressSanitizer and the source of the standard library, which an unstable \
             compiler of rustup's has:\n    {INSTALL}"
        ))
    };
    let has_miri = unstable("cargo").args(["miri", "--version"]).output();
    if !has_miri.is_ok_and(|output| output.status.success()) {
        return Err(missing());
    }
    let sysroot = output("rustc", unstable("rustc").args(["--print", "sysroot"]))?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    if library.join("Cargo.toml").is_file() {
        Ok(())
    } else {
        Err(missing())
    }
}
