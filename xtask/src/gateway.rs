//! `cargo xtask gateway`: the SQL gateway, a workspace of its own, and its tests with real clients.
//!
//! It is built once and not optimised, because DataFusion and its 400 crates take ten minutes of a processor even so. The build is
//! kept in the user's cache, in a folder named by the lock file and the compiler, where other clones of the repository find it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Failure, output, read, succeed};
use crate::venv;
use crate::workspace::{
    absolute, build_program, built_folder, cache_folder, root, step, target_folder,
};

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Formatting and tests.
    Usual,
    /// These and lints.
    All,
}

/// Builds the gateway and runs its tests against the program of this checkout.
pub(crate) fn run(depth: Depth) -> Result<(), Failure> {
    step("formatting of the gateway", || {
        succeed("formatting", cargo()?.args(["fmt", "--check"]))
    })?;
    build_program(&[])?;
    let cargo = || match depth {
        Depth::Usual => cargo(),
        Depth::All => cargo().map(linted),
    };
    step("the gateway", || {
        let mut build = cargo()?;
        succeed(
            "the gateway",
            build.args(["build", "--locked", "--tests", "--bins"]),
        )
    })?;
    let work = absolute(&target_folder().join("gateway"))?;
    std::fs::create_dir_all(&work)
        .map_err(|error| Failure(format!("{}: {error}", work.display())))?;
    let requirements = root().join("gateway/tests/requirements.txt");
    let python = venv::environment(&work, &requirements)?;
    step("tests of the gateway", || {
        let mut tests = cargo()?;
        tests
            .args(["test", "--locked"])
            .env("TFHE_SBC", built_folder()?.join("tfhe-sbc"))
            .env("GATEWAY_PYTHON", &python);
        succeed("tests", &mut tests)
    })
}

/// Cargo in the gateway's workspace. It does not build incrementally: after a build that was killed, the objects of the kept folder
/// did not fit each other, and linking failed until they were removed.
fn cargo() -> Result<Command, Failure> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(root().join("gateway"))
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TARGET_DIR", cache()?);
    Ok(cargo)
}

/// Has clippy compile the gateway, whose warnings are errors. `cargo clippy` would go over all dependencies again.
fn linted(mut cargo: Command) -> Command {
    cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env(
        "CLIPPY_ARGS",
        "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    );
    cargo
}

/// The build folder for this lock file and this compiler.
fn cache() -> Result<PathBuf, Failure> {
    let Some(caches) = cache_folder() else {
        return absolute(&target_folder().join("gateway/build"));
    };
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = output("rustc", Command::new(rustc).arg("-vV"))?;
    let lock = read(&root().join("gateway/Cargo.lock"))?;
    let mut hasher = DefaultHasher::new();
    (lock, version).hash(&mut hasher);
    Ok(caches.join(format!("gateway-{:016x}", hasher.finish())))
}
