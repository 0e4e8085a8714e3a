//! TFHE-rs, as the crate `tfhe`. It takes minutes to build, so the build is kept in the user's cache, in a
//! folder named by the lock file and the compiler, where other clones of the repository find it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

use super::{Programs, page, work_folder};
use crate::failure::{Failure, output, read, succeed};
use crate::workspace::{cache_folder, root};

/// The programs of `interop/tfhe-rs`.
const PROGRAMS: [&str; 3] = [
    "tfhe-sbc-interop-tfhe-rs",
    "tfhe-rs-owner",
    "tfhe-rs-server",
];

pub(super) fn run(programs: &Programs) -> Result<(), Failure> {
    let folder = work_folder("tfhe-rs")?;
    let target = cache()?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--release", "--locked"])
        .current_dir(root().join("interop/tfhe-rs"))
        .env("CARGO_TARGET_DIR", &target);
    succeed("the programs with TFHE-rs", &mut cargo)?;
    let built = target.join("release");
    let mut test = Command::new(built.join(PROGRAMS[0]));
    succeed("TFHE-rs on what boards encrypt", &mut test)?;

    // The page has all programs on its path.
    let path = folder.join("path");
    let copied = (|| {
        std::fs::create_dir_all(&path)?;
        for program in PROGRAMS {
            std::fs::copy(built.join(program), path.join(program))?;
        }
        std::fs::copy(programs.folder.join("tfhe-sbc"), path.join("tfhe-sbc"))
    })();
    copied.map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    page::run("tfhe-rs", &Programs { folder: path })
}

/// The build folder for this lock file and this compiler. Cargo rebuilds our own crates in it when
/// their sources have changed.
fn cache() -> Result<PathBuf, Failure> {
    let Some(caches) = cache_folder() else {
        return Ok(work_folder("tfhe-rs")?.join("target"));
    };
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = output("rustc", Command::new(rustc).arg("-vV"))?;
    let lock = read(&root().join("interop/tfhe-rs/Cargo.lock"))?;
    let mut hasher = DefaultHasher::new();
    (lock, version).hash(&mut hasher);
    let name = format!("interop-tfhe-rs-{:016x}", hasher.finish());
    Ok(caches.join(name))
}
