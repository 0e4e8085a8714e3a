//! `cargo xtask deny`: cargo-deny checks licences, bans and sources of all dependencies against `deny.toml`.
//!
//! The program is installed below the user's cache once, which takes a minute or two. Advisories
//! are left out, because they change without a change here.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Failure, output, succeed};
use crate::workspace::{cache_folder, cargo, root, step, target_folder};

const VERSION: &str = "0.20.2";

/// The workspaces of the repository, and the findings that do not count there. Two versions of
/// a dependency count in what ships only.
const WORKSPACES: [(&str, &[&str]); 4] = [
    ("Cargo.toml", &["license-exception-not-encountered"]),
    ("fuzz/Cargo.toml", &UNSHIPPED),
    ("gateway/Cargo.toml", &UNSHIPPED),
    ("interop/tfhe-rs/Cargo.toml", &UNSHIPPED),
];

const UNSHIPPED: [&str; 3] = [
    "license-exception-not-encountered",
    "duplicate",
    "unmatched-skip",
];

/// Checks every workspace.
pub(crate) fn run() -> Result<(), Failure> {
    let program = program()?;
    WORKSPACES.iter().try_for_each(|(manifest, allowed)| {
        step(&format!("dependencies of {manifest}"), || {
            let mut deny = Command::new(&program);
            deny.current_dir(root())
                .args(["--log-level", "warn", "--locked"])
                .args(["--manifest-path", manifest, "--config", "deny.toml"])
                .args(["check", "--hide-inclusion-graph"]);
            for finding in *allowed {
                deny.args(["--allow", finding]);
            }
            deny.args(["licenses", "bans", "sources"]);
            succeed("cargo-deny", &mut deny)
        })
    })
}

/// The path of cargo-deny: the installed one if it has the version, otherwise one in the cache.
fn program() -> Result<PathBuf, Failure> {
    let mut installed = Command::new("cargo-deny");
    let version = installed.arg("--version").output();
    let wanted = format!("cargo-deny {VERSION}");
    if version.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).trim() == wanted) {
        return Ok(PathBuf::from("cargo-deny"));
    }
    let caches = cache_folder().unwrap_or_else(target_folder);
    let folder = caches.join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if program.exists() {
        return Ok(program);
    }
    step("installing cargo-deny", || {
        // Not optimised: it checks in seconds what it would take minutes more to compile.
        let mut install = cargo(&["install", "--quiet", "--locked", "--debug"]);
        install
            .args(["--version", VERSION, "cargo-deny", "--root"])
            .arg(&folder)
            .env("CARGO_TARGET_DIR", folder.join("build"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        succeed("cargo install cargo-deny", &mut install)?;
        let _ = std::fs::remove_dir_all(folder.join("build"));
        output("cargo-deny", Command::new(&program).arg("--version")).map(drop)
    })?;
    Ok(program)
}
