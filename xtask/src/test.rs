//! `cargo xtask test`.

use std::process::Command;
use std::time::Instant;

use crate::c;
use crate::failure::{Failure, succeed};

/// What `test` runs: a name, then the arguments of cargo.
const STEPS: [(&str, &[&str]); 7] = [
    ("formatting", &["fmt", "--all", "--check"]),
    (
        "lints",
        &[
            "clippy",
            "--release",
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
            "--release",
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
            "--release",
            "--package",
            "tfhe-sbc-device",
            "--no-default-features",
            "--features",
            "fft",
        ],
    ),
    (
        "documentation",
        &["doc", "--release", "--workspace", "--no-deps"],
    ),
    ("tests", &["test", "--release", "--workspace"]),
    (
        "the demo",
        &[
            "run",
            "--release",
            "--quiet",
            "--",
            "demo",
            "--picture",
            "target/demo.svg",
        ],
    ),
];

pub(crate) fn run() -> Result<(), Failure> {
    let start = Instant::now();
    for (name, arguments) in STEPS {
        eprintln!("\n=== {name}: cargo {}", arguments.join(" "));
        let mut cargo = Command::new(env!("CARGO"));
        succeed(
            name,
            cargo.args(arguments).env("RUSTDOCFLAGS", "--deny warnings"),
        )?;
    }
    eprintln!("\n=== the C library");
    c::test()?;
    eprintln!("\n=== all passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
