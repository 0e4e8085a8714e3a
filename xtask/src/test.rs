//! `cargo xtask test`.

use std::process::Command;
use std::time::Instant;

use crate::failure::{Failure, output, succeed};
use crate::workspace::{PROFILE, absolute, built_folder, cargo, root, step, target_folder};
use crate::{c, unsafe_code};

/// The steps of cargo: a name, then the arguments.
const STEPS: [(&str, &[&str]); 7] = [
    ("formatting", &["fmt", "--all", "--check"]),
    (
        "lints",
        &[
            "clippy",
            "--profile",
            PROFILE,
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ],
    ),
    (
        // The crate is `no_std` by declaration; without default features nothing that
        // it pulls in switches an allocator back on.
        "device library without an allocator, integer transform",
        &[
            "check",
            "--profile",
            PROFILE,
            "--package",
            "tfhe-sbc-device",
            "--no-default-features",
            "--features",
            "ntt",
        ],
    ),
    (
        "device library without an allocator, floating transform",
        &[
            "check",
            "--profile",
            PROFILE,
            "--package",
            "tfhe-sbc-device",
            "--no-default-features",
            "--features",
            "fft",
        ],
    ),
    (
        "CKKS library without an allocator",
        &[
            "check",
            "--profile",
            PROFILE,
            "--package",
            "tfhe-sbc-ckks",
            "--no-default-features",
        ],
    ),
    (
        "documentation",
        &["doc", "--profile", PROFILE, "--workspace", "--no-deps"],
    ),
    (
        // One failure must not hide those of the crates behind it.
        "tests",
        &[
            "test",
            "--profile",
            PROFILE,
            "--workspace",
            "--no-fail-fast",
        ],
    ),
];

/// The tests that run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The tests that are not marked with `#[ignore]`.
    Usual,
    /// These tests and the long ones, which are marked so.
    All,
}

/// Checks that no lock file of the repository is behind the manifests, those of workspaces that only nightly builds included.
fn lock_files() -> Result<(), Failure> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "*Cargo.lock"]);
    for lock in output("git ls-files", &mut git)?.lines() {
        let mut cargo = cargo(&["update", "--workspace", "--locked", "--quiet"]);
        cargo.args(["--manifest-path", &lock.replace("Cargo.lock", "Cargo.toml")]);
        succeed(lock, &mut cargo)?;
    }
    Ok(())
}

/// Runs the steps and the tests of the C library, and with all tests the demo, whose answers one of the usual tests checks.
pub(crate) fn run(depth: Depth) -> Result<(), Failure> {
    let start = Instant::now();
    step("list of unsafe code", unsafe_code::check)?;
    step("lock files", lock_files)?;
    for (name, arguments) in STEPS {
        step(name, || {
            eprintln!("cargo {}", arguments.join(" "));
            let mut cargo = cargo(arguments);
            if depth == Depth::All {
                cargo.env("TFHE_SBC_LONG_TESTS", "1");
            }
            succeed(name, cargo.env("RUSTDOCFLAGS", "--deny warnings"))
        })?;
    }
    if depth == Depth::All {
        step("long tests", || {
            let mut tests = cargo(&["test", "--profile", PROFILE, "--workspace"]);
            tests.args([
                "--no-fail-fast",
                "--lib",
                "--bins",
                "--tests",
                "--",
                "--ignored",
            ]);
            succeed("long tests", &mut tests)
        })?;
        step("tests with the checks in inner loops", || {
            let mut tests = cargo(&["test", "--profile", "checked", "--lib", "--tests"]);
            tests.args(["--package", "tfhe-sbc-core", "--package", "tfhe-sbc-engine"]);
            succeed("tests with the checks in inner loops", &mut tests)
        })?;
        step("the demo", demo)?;
    }
    step("the C library", c::test)?;
    eprintln!("\n=== all passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Runs the demo of the program that the tests built.
fn demo() -> Result<(), Failure> {
    let mut demo = Command::new(built_folder()?.join("tfhe-sbc"));
    demo.current_dir(root()).args(["demo", "--picture"]);
    demo.arg(absolute(&target_folder().join("demo.svg"))?);
    succeed("the demo", &mut demo)
}
