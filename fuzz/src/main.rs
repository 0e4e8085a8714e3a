//! Fuzz targets for every reader of bytes from outside, under libFuzzer.
//!
//! A target ([`targets`]) is a function that takes any bytes, with the inputs that a run begins with, most
//! of them good files. All targets are in this one binary, so that only one is built. The variable
//! `FUZZ_TARGET` names the target to run. If `FUZZ_SEEDS` names a folder instead, the program writes the first
//! inputs of every target below it and lists the targets. `cargo xtask fuzz` does both.
//!
//! A finding is a panic, an arithmetic overflow, a broken assertion of a target, more than
//! seconds, or memory out of all proportion ([`memory`]).
#![no_main]

#[path = "../../crates/core/tests/common/mod.rs"]
mod common;
mod memory;
mod messages;
#[path = "../../crates/core/tests/samples/mod.rs"]
mod samples;
mod targets;

use std::path::Path;
use std::process::exit;
use std::sync::OnceLock;

use targets::{TARGETS, Target};

static TARGET: OnceLock<&Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(init: initialize(), |bytes: &[u8]| {
    if let Some(target) = TARGET.get() {
        memory::limited(|| (target.run)(bytes));
    }
});

fn initialize() {
    if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
        write_seeds(Path::new(&folder)).expect("a folder to write to");
        exit(0);
    }
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        eprintln!("FUZZ_TARGET names no target");
        exit(2);
    };
    TARGET.get_or_init(|| target);
}

fn write_seeds(folder: &Path) -> std::io::Result<()> {
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (index, seed) in (target.seeds)().iter().enumerate() {
            // A target that does not take its own good files finds nothing.
            (target.run)(seed);
            std::fs::write(folder.join(format!("seed-{index}")), seed)?;
        }
        println!("{}", target.name);
    }
    Ok(())
}
