//! `cargo xtask nightly`: every check, with the long tests, the wheels and longer fuzzing, which `.ci/run`
//! leaves out.

use std::time::Instant;

use crate::failure::Failure;
use crate::fuzz::Limit;
use crate::test::Depth;
use crate::workspace::step;
use crate::{
    arm, ct, deny, fire, fuzz, gateway, interop, map, python, site, test, undefined, web, wheels,
};

/// The time that each fuzz target runs.
const FUZZ_LIMIT: Limit = Limit::Seconds(30);

type Check = fn() -> Result<(), Failure>;

const CHECKS: [(&str, Check); 14] = [
    ("map", map::run),
    ("ct --all", || ct::run(ct::Depth::All)),
    ("undefined", || undefined::run(None)),
    ("deny", deny::run),
    ("test --all", || test::run(Depth::All)),
    ("site", site::run),
    ("python --all", || python::run(Depth::All)),
    ("web", web::run),
    ("gateway --lints", || gateway::run(gateway::Depth::All)),
    ("interop", || interop::run(None)),
    ("arm", || arm::run(arm::Mode::Check)),
    ("wheels", wheels::run),
    ("fuzz", || fuzz::run(FUZZ_LIMIT, None)),
    ("fire", || fire::run(&["--seconds", "15", "--boards", "50"])),
];

/// Runs all checks, also after one that fails, and names those that failed.
pub(crate) fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        if let Err(Failure(message)) = step(&format!("cargo xtask {name}"), check) {
            eprintln!("\n=== {message}");
            failed.push(name);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    if failed.is_empty() {
        eprintln!("\n=== all of nightly passed in {seconds:.0} s");
        Ok(())
    } else {
        Err(Failure(format!(
            "failed, in {seconds:.0} s: {}",
            failed.join(", ")
        )))
    }
}
