//! `cargo xtask quick`: formatting, and lints and fast tests of the crates that changed.
//!
//! A crate has changed if a file in its folder differs from the commit where the branch left `main`, or
//! is new. Crates that depend on it are left to `cargo xtask test`, as are tests of documentation and
//! the tests of `slow_tests.txt`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::crates::{Package, packages};
use crate::failure::{Failure, output, succeed};
use crate::unsafe_code;
use crate::workspace::{PROFILE, cargo, root, step};

/// The tests that are left out, one on a line: the folder's name of a crate, and a part of their names.
const SLOW: &str = include_str!("slow_tests.txt");

/// Checks what differs from `main`.
pub(crate) fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let files = changed_files()?;
    let packages = packages()?;
    let changed: Vec<&Package> = packages
        .iter()
        .filter(|package| {
            files
                .iter()
                .any(|file| owner(&packages, file) == Some(*package))
        })
        .collect();
    let others = files.iter().filter(|file| owner(&packages, file).is_none());
    let others: Vec<&str> = others.map(String::as_str).collect();
    if !others.is_empty() {
        eprintln!("left to cargo xtask test: {}", others.join(" "));
    }
    step("formatting", || {
        succeed("formatting", &mut cargo(&["fmt", "--all", "--check"]))
    })?;
    step("list of unsafe code", unsafe_code::check)?;
    // One package at a time, so that each has the same features, and its dependencies are the same builds,
    // whatever else has changed.
    for package in &changed {
        let name = package.name.as_str();
        step(&format!("lints of {name}"), || {
            let mut clippy = cargo(&["clippy", "--quiet", "--profile", PROFILE]);
            clippy.args([
                "--package",
                name,
                "--all-targets",
                "--",
                "--deny",
                "warnings",
            ]);
            succeed("lints", &mut clippy)
        })?;
    }
    for package in &changed {
        let name = package.name.as_str();
        let Some(options) = package.test_options() else {
            continue;
        };
        step(&format!("fast tests of {name}"), || {
            let mut tests = cargo(&["test", "--quiet", "--profile", PROFILE, "--package", name]);
            tests.args(options).arg("--");
            let folder = package.folder().file_name().unwrap_or_default();
            for (_, test) in slow_tests().filter(|(slow, _)| folder == *slow) {
                tests.args(["--skip", test]);
            }
            succeed("tests", &mut tests)
        })?;
    }
    let names: Vec<&str> = changed
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let what = match names.is_empty() {
        true => "no crate differs from main".to_owned(),
        false => names.join(" "),
    };
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("\n=== passed in {seconds:.0} s: {what}");
    Ok(())
}

/// The entries of [`SLOW`]: a crate's folder and a test.
fn slow_tests() -> impl Iterator<Item = (&'static str, &'static str)> {
    let entries = SLOW.lines().filter(|line| !line.starts_with('#'));
    entries.filter_map(|line| line.split_once(' '))
}

/// The files that differ from the commit where this branch left `main`, committed or not, and those that
/// git neither tracks nor ignores. Without a branch `main` they are compared with the last commit.
fn changed_files() -> Result<BTreeSet<String>, Failure> {
    let mut base = git(&["merge-base", "HEAD", "main"]);
    let base = base.stderr(Stdio::null()).output();
    let base = match base {
        Ok(base) if base.status.success() => String::from_utf8_lossy(&base.stdout).into_owned(),
        _ => "HEAD".to_owned(),
    };
    let differ = output("git diff", &mut git(&["diff", "--name-only", base.trim()]))?;
    let mut new = git(&["ls-files", "--others", "--exclude-standard"]);
    let new = output("git ls-files", &mut new)?;
    Ok(differ
        .lines()
        .chain(new.lines())
        .map(str::to_owned)
        .collect())
}

fn git(arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.current_dir(root()).args(arguments);
    git
}

/// The package that has the file, relative to the root, in its folder; of nested ones, the innermost.
fn owner<'a>(packages: &'a [Package], file: &str) -> Option<&'a Package> {
    let has = |package: &&Package| Path::new(file).starts_with(package.folder());
    let depth = |package: &&Package| package.folder().components().count();
    packages.iter().filter(has).max_by_key(depth)
}

#[cfg(test)]
mod tests {
    use super::{git, slow_tests};

    #[test]
    fn every_slow_test_is_in_its_crate() {
        assert!(slow_tests().count() > 20);
        for (folder, test) in slow_tests() {
            let folders = [format!("crates/{folder}"), folder.to_owned()];
            let mut grep = git(&["grep", "--quiet", &format!("fn {test}"), "--"]);
            assert!(grep.args(folders).status().unwrap().success(), "{test}");
        }
    }
}
