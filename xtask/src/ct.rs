//! `cargo xtask ct`: no branch and no address depends on a secret.
//!
//! The program of `crates/constant-time` runs every secret path on Valgrind's memcheck with secrets marked as
//! undefined. It is built as releases are, because what counts is the code that the compiler makes, and
//! several times, so that all kernels that Valgrind knows are run. The encoder of frames in C has a program of its
//! own. What memcheck says of a path is printed if one fails.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, read, succeed};
use crate::workspace::{absolute, cargo, root, step, target_folder};

/// The package of the program.
const PACKAGE: &str = "tfhe-sbc-constant-time";

/// The profile of releases, with lines for memcheck's reports.
const PROFILE: &str = "ct";

/// The largest number of lines of reports that are printed.
const REPORT_LINES: usize = 200;

/// A build of the program.
struct Build {
    name: &'static str,
    /// The features besides the one that asks Valgrind.
    features: &'static str,
    /// Settings of cargo.
    config: &'static [&'static str],
}

/// The setting with which the crate `aes` uses no instructions of the processor.
const BIT_SLICED_AES: &str = "build.rustflags=[\"--cfg\", \"aes_backend=\\\"soft\\\"\"]";

/// The builds of every change. Valgrind knows AVX2 and AES-NI, and not AVX-512: it shows the program a processor
/// without it. Code that is optimised for size has the most branches.
const BUILDS: [Build; 2] = [
    Build {
        name: "kernels for AVX2, AES-NI",
        features: "memcheck,detect",
        config: &[],
    },
    Build {
        name: "portable kernels, bit-sliced AES, optimised for size",
        features: "memcheck",
        config: &[
            BIT_SLICED_AES,
            "profile.ct.opt-level=\"s\"",
            "profile.ct.lto=\"fat\"",
        ],
    },
];

/// The build that nightly adds.
const FURTHER: Build = Build {
    name: "portable kernels, bit-sliced AES",
    features: "memcheck",
    config: &[BIT_SLICED_AES],
};

/// The builds that are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Those of every change.
    Usual,
    /// All.
    All,
}

/// Builds and runs the program.
pub(crate) fn run(depth: Depth) -> Result<(), Failure> {
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|output| output.status.success()) {
        return Err(Failure(
            "valgrind did not start: install it (package valgrind) and try again".to_owned(),
        ));
    }
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure(
            "cargo xtask ct needs x86-64, whose instructions by which a program asks Valgrind it has"
                .to_owned(),
        ));
    }
    let further = (depth == Depth::All).then_some(&FURTHER);
    for build in BUILDS.iter().chain(further) {
        step(&format!("constant time: {}", build.name), || check(build))?;
    }
    step("constant time: frames in C", || {
        ["-O2", "-Os"].into_iter().try_for_each(check_c)
    })
}

/// Compiles the encoder of frames in C with its own program, and runs it.
fn check_c(optimisation: &str) -> Result<(), Failure> {
    let sources = root().join("crates/frames/c");
    let folder = absolute(&target_folder().join("ct"))?;
    let program = folder.join("frames-c");
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=gnu99", optimisation, "-g", "-I"])
        .arg(&sources);
    cc.arg(sources.join("tests/constant_time.c"))
        .arg(sources.join("tfhe_sbc_frames.c"));
    succeed("the C compiler", cc.arg("-o").arg(&program))?;
    memcheck(&program, &folder.join("memcheck-c.log"))
}

fn check(build: &Build) -> Result<(), Failure> {
    // A folder of its own: other flags would make cargo build everything else again.
    let folder = target_folder().join("ct");
    let mut cargo = cargo(&[
        "build",
        "--quiet",
        "--profile",
        PROFILE,
        "--package",
        PACKAGE,
    ]);
    cargo.args(["--features", build.features, "--target-dir"]);
    cargo.arg(absolute(&folder)?);
    for config in build.config {
        cargo.args(["--config", config]);
    }
    succeed("the build", &mut cargo)?;
    let program = absolute(&folder.join(PROFILE).join(PACKAGE))?;
    memcheck(&program, &absolute(&folder.join("memcheck.log"))?)
}

/// Runs a program on memcheck, and prints what that reports if the program fails.
fn memcheck(program: &Path, log: &Path) -> Result<(), Failure> {
    let file = File::create(log).map_err(|error| Failure(format!("{}: {error}", log.display())))?;
    let mut valgrind = Command::new("valgrind");
    // Every report is counted, however many there are, and leaks of memory are no concern of this check.
    valgrind.args(["--quiet", "--error-limit=no", "--leak-check=no"]);
    valgrind.arg("--num-callers=12").arg(program).stderr(file);
    succeed("the check of constant time", &mut valgrind).inspect_err(|_| print_reports(log))
}

/// Prints what memcheck reported of paths, without the planted leaks.
fn print_reports(log: &Path) {
    let Ok(text) = read(log) else { return };
    let sections = text.split_inclusive("\n=== ");
    let found = sections.filter(|section| section.contains("==") && !section.contains("planted:"));
    let lines: Vec<&str> = found.flat_map(str::lines).take(REPORT_LINES).collect();
    eprintln!("{}\nall of it: {}", lines.join("\n"), log.display());
}
