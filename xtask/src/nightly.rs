//! `cargo xtask nightly`: every check, with the long tests, the wheels and longer fuzzing, which `.ci/run`
//! leaves out.
//!
//! It takes hours, so a run that was ended can be resumed: the names of checks that pass are noted below `target/`, each
//! with the commit that it passed on.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::failure::{Failure, output, write};
use crate::fuzz::Limit;
use crate::test::Depth;
use crate::workspace::{root, step, target_folder};
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

/// The checks of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All checks.
    All,
    /// Those that have not passed on this commit.
    Rest,
}

/// Runs the checks, also after one that fails, and names those that failed.
pub(crate) fn run(extent: Extent) -> Result<(), Failure> {
    let start = Instant::now();
    let mut notes = Notes::read()?;
    if extent == Extent::Rest && notes.commit.is_none() {
        return Err(Failure(
            "there are changes that are not committed: commit them, or run all checks".to_owned(),
        ));
    }
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        if extent == Extent::Rest && notes.has(name) {
            eprintln!("\n=== cargo xtask {name} has passed on this commit");
            continue;
        }
        match step(&format!("cargo xtask {name}"), check) {
            Ok(()) => notes.add(name)?,
            Err(Failure(message)) => {
                eprintln!("\n=== {message}");
                failed.push(name);
            }
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

/// The notes of which check has passed on which commit.
struct Notes {
    file: PathBuf,
    /// The commit that the working tree is of, without any change.
    commit: Option<String>,
    lines: String,
}

impl Notes {
    fn read() -> Result<Self, Failure> {
        let git = |arguments: &[&str]| {
            output(
                "git",
                Command::new("git").current_dir(root()).args(arguments),
            )
        };
        let is_clean = git(&["status", "--porcelain"])?.is_empty();
        let head = git(&["rev-parse", "HEAD"])?;
        let file = target_folder().join("nightly.txt");
        Ok(Self {
            commit: is_clean.then(|| head.trim().to_owned()),
            lines: std::fs::read_to_string(&file).unwrap_or_default(),
            file,
        })
    }

    fn has(&self, check: &str) -> bool {
        let line = self.line(check);
        line.is_some_and(|line| self.lines.lines().any(|noted| noted == line))
    }

    fn add(&mut self, check: &str) -> Result<(), Failure> {
        if let Some(line) = self.line(check)
            && !self.has(check)
        {
            self.lines.push_str(&line);
            self.lines.push('\n');
            write(&self.file, &self.lines)?;
        }
        Ok(())
    }

    fn line(&self, check: &str) -> Option<String> {
        let commit = self.commit.as_ref()?;
        Some(format!("{commit} {check}"))
    }
}
