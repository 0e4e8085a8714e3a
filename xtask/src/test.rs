//! `cargo xtask test`.

use std::process::Command;
use std::time::Instant;

use crate::c;
use crate::failure::{Failure, succeed};

/// The profile of everything here but the C library, so that nothing is built for two of them.
pub(crate) const PROFILE: &str = "ci";

/// What `test` runs: a name, then the arguments of cargo.
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
    ("tests", &["test", "--profile", PROFILE, "--workspace"]),
];

pub(crate) fn run() -> Result<(), Failure> {
    let start = Instant::now();
    for (name, arguments) in STEPS {
        step(name, || {
            eprintln!("cargo {}", arguments.join(" "));
            let mut cargo = Command::new(env!("CARGO"));
            succeed(
                name,
                cargo
                    .current_dir(c::root())
                    .args(arguments)
                    .env("RUSTDOCFLAGS", "--deny warnings"),
            )
        })?;
    }
    step("the demo", demo)?;
    step("the C library", c::test)?;
    eprintln!("\n=== all passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Says what runs, and how long it took.
pub(crate) fn step(name: &str, run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let start = Instant::now();
    eprintln!("\n=== {name}");
    run()?;
    eprintln!("--- {name}: {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The demo, by the program that the tests ran.
fn demo() -> Result<(), Failure> {
    let picture = c::target_folder().join("demo.svg");
    let mut demo = Command::new(c::target_folder().join(PROFILE).join("tfhe-sbc"));
    demo.current_dir(c::root()).args(["demo", "--picture"]);
    succeed("the demo", demo.arg(picture))
}
