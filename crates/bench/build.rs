//! Hands the facts of this build to the program, which prints them beside its figures.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_else(|| "unknown".into());
    // Cargo separates the flags by the ASCII unit separator.
    let flags = variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    for (name, value) in [
        ("BENCH_RUSTC", version.trim()),
        ("BENCH_TARGET", &variable("TARGET")),
        ("BENCH_PROFILE", &variable("PROFILE")),
        ("BENCH_OPT_LEVEL", &variable("OPT_LEVEL")),
        (
            "BENCH_TARGET_FEATURES",
            &variable("CARGO_CFG_TARGET_FEATURE"),
        ),
        ("BENCH_RUSTFLAGS", &flags),
    ] {
        println!("cargo::rustc-env={name}={value}");
    }
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo::rerun-if-env-changed=RUSTFLAGS");
    println!("cargo::rerun-if-changed=build.rs");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
