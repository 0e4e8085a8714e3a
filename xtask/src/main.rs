//! Project tasks: `cargo xtask test` checks everything that can be checked on one
//! machine, in the order in which a mistake is cheapest to find.

use std::process::{Command, ExitCode};
use std::time::Instant;

/// What `test` runs: a name, then the arguments of cargo.
const STEPS: [(&str, &[&str]); 6] = [
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
        "device library without an allocator",
        &[
            "check",
            "--release",
            "--package",
            "tfhe-sbc-device",
            "--no-default-features",
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

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test(),
        _ => {
            eprintln!("usage: cargo xtask test");
            ExitCode::from(2)
        }
    }
}

fn test() -> ExitCode {
    let start = Instant::now();
    for (name, arguments) in STEPS {
        eprintln!("\n=== {name}: cargo {}", arguments.join(" "));
        let status = Command::new(env!("CARGO"))
            .args(arguments)
            .env("RUSTDOCFLAGS", "--deny warnings")
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => {
                eprintln!("\n=== {name} failed: {status}");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("\n=== {name}: cargo did not start: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    eprintln!("\n=== all passed in {:.0} s", start.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}
