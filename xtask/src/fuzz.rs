//! `cargo xtask fuzz`: the targets of `fuzz/` under libFuzzer, on a stable compiler.

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, output, succeed};
use crate::workspace::{root, step, target_folder};

/// The flags with which the compiler counts edges and comparisons for libFuzzer. They are those of
/// `cargo fuzz` without the address sanitizer, which only unstable compilers have.
const RUSTFLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The end of a target's run.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    Seconds(u32),
    /// The number of executions, at least.
    Runs(u64),
}

impl Limit {
    /// The seconds of a run that names no limit.
    pub(crate) const USUAL: Self = Self::Seconds(5);

    /// Parses an option and its value.
    pub(crate) fn parse(option: &str, value: &str) -> Option<Self> {
        match option {
            "--seconds" => value.parse().ok().map(Self::Seconds),
            "--runs" => value.parse().ok().map(Self::Runs),
            _ => None,
        }
    }

    /// libFuzzer's option.
    fn option(self) -> String {
        match self {
            Self::Seconds(seconds) => format!("-max_total_time={seconds}"),
            Self::Runs(runs) => format!("-runs={runs}"),
        }
    }
}

/// Runs the target named `only`, or each of them, up to the limit. A run starts with good inputs, with the
/// inputs that once found something (`fuzz/findings/TARGET/`), and with those that earlier runs kept.
pub(crate) fn run(limit: Limit, only: Option<&str>) -> Result<(), Failure> {
    let binary = build()?;
    let corpora = target_folder().join("fuzz/corpus");
    let listed = output(
        "the fuzz targets' good inputs",
        Command::new(&binary).env("FUZZ_SEEDS", &corpora),
    )?;
    let known = |name: &&str| only.is_none_or(|only| only == *name);
    let targets: Vec<&str> = listed.lines().filter(known).collect();
    if targets.is_empty() {
        return Err(Failure(format!("no such target; there are\n{listed}")));
    }
    targets.iter().try_for_each(|target| {
        step(&format!("fuzz target {target}"), || {
            fuzz(&binary, target, &corpora.join(target), limit)
        })
    })
}

fn build() -> Result<std::path::PathBuf, Failure> {
    // With a target triple, flags are not those of build scripts, which have no libFuzzer.
    let triple = host()?;
    let folder = target_folder().join("fuzz");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(root().join("fuzz"))
        .args(["build", "--release", "--target", &triple])
        .env("CARGO_TARGET_DIR", &folder)
        .env("RUSTFLAGS", RUSTFLAGS);
    step("building the fuzz targets", || {
        succeed("the fuzz targets", &mut cargo)
    })?;
    Ok(folder.join(triple).join("release/all"))
}

/// The triple of this machine.
pub(crate) fn host() -> Result<String, Failure> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = output("rustc", Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure("rustc does not say what it runs on".to_owned()))
}

fn fuzz(binary: &Path, target: &str, corpus: &Path, limit: Limit) -> Result<(), Failure> {
    let findings = root().join("fuzz/findings").join(target);
    for folder in [corpus, &findings] {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    }
    let mut fuzzer = Command::new(binary);
    fuzzer
        .env("FUZZ_TARGET", target)
        .arg(limit.option())
        .args(["-rss_limit_mb=512", "-timeout=10", "-print_final_stats=1"])
        .args(["-verbosity=0", "-use_value_profile=1"])
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .arg(corpus)
        .arg(&findings);
    let run = fuzzer
        .output()
        .map_err(|error| Failure(format!("{target} did not start: {error}")))?;
    let said = String::from_utf8_lossy(&run.stderr);
    if !run.status.success() {
        eprintln!("{said}");
        return Err(Failure(format!(
            "{target}: {}: the input is in {}",
            run.status,
            findings.display()
        )));
    }
    let figures = said.lines().filter_map(|line| line.strip_prefix("stat::"));
    figures.for_each(|line| eprintln!("{line}"));
    // Folders of targets that never found anything are not kept.
    let _ = std::fs::remove_dir(&findings);
    Ok(())
}
