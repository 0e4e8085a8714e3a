//! The judgement of a path by what memcheck reports of it.

use std::error::Error;
use std::process::ExitCode;

use tfhe_sbc_core::memcheck;

/// The success of a path, or its error.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// All paths so far.
#[derive(Default)]
pub(crate) struct Check {
    paths: usize,
    controls: usize,
    bytes: usize,
    failures: Vec<String>,
}

/// The course of a path as memcheck saw it.
struct Seen {
    outcome: Outcome,
    reports: usize,
    /// The number of bytes of results that depended on secrets.
    bytes: usize,
}

impl Check {
    /// Runs a path, which marks secrets, computes with them, and discloses its results if the library has not
    /// done so.
    pub(crate) fn path(&mut self, name: &str, run: impl FnOnce() -> Outcome) {
        let seen = watch(name, run);
        self.paths += 1;
        self.bytes += seen.bytes;
        match seen {
            Seen {
                outcome: Err(error),
                ..
            } => self.failures.push(format!("{name}: {error}")),
            Seen { reports: 1.., .. } => self.failures.push(format!(
                "{name}: {} branches or addresses depended on a secret",
                seen.reports
            )),
            Seen { bytes: 0, .. } => self.failures.push(format!(
                "{name}: no result depended on what was marked as secret, so nothing was checked"
            )),
            _ => {}
        }
    }

    /// Runs a path with a planted leak, which memcheck must report.
    pub(crate) fn control(&mut self, name: &str, run: impl FnOnce() -> Outcome) {
        let seen = watch(&format!("planted: {name}"), run);
        self.controls += 1;
        if let Err(error) = seen.outcome {
            self.failures.push(format!("planted: {name}: {error}"));
        }
        if seen.reports == 0 {
            self.failures.push(format!(
                "planted: {name}: the leak was not found, so the check is blind"
            ));
        }
    }

    /// Prints the result, and returns the exit status.
    pub(crate) fn conclude(self) -> ExitCode {
        for failure in &self.failures {
            println!("FAILED {failure}");
        }
        println!(
            "{} paths, {} failed; {} bytes of results depended on secrets; {} planted leaks",
            self.paths,
            self.failures.len(),
            self.bytes,
            self.controls
        );
        match self.failures.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

fn watch(name: &str, run: impl FnOnce() -> Outcome) -> Seen {
    // Memcheck's reports go to the same stream, so that they follow the path's name.
    eprintln!("=== {name}");
    let (reports, bytes) = (memcheck::reports(), memcheck::disclosed_bytes());
    let outcome = run();
    Seen {
        outcome,
        reports: memcheck::reports() - reports,
        bytes: memcheck::disclosed_bytes() - bytes,
    }
}
