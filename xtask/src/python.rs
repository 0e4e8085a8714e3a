//! `cargo xtask python`: the Python packages, installed as users install them into an environment of
//! their own, and their tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c::{root, target_folder};
use crate::failure::{Failure, succeed};
use crate::test::{PROFILE, step};

/// The most that the wheel of the client alone may have, in KiB.
const MOST_OF_THE_CLIENT: u64 = 700;

pub(crate) fn run() -> Result<(), Failure> {
    let absolute = |path: PathBuf| {
        std::path::absolute(path).map_err(|error| Failure(format!("no work folder: {error}")))
    };
    let work = absolute(target_folder().join("python"))?;
    let program = absolute(target_folder().join(PROFILE).join("tfhe-sbc"))?;
    let environment = Environment {
        sources: root().join("python"),
        programs: work.join("environment").join("bin"),
        work,
    };
    step("the program", || {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root());
        succeed(
            "the program",
            cargo.args(["build", "--profile", PROFILE, "--package", "tfhe-sbc-cli"]),
        )
    })?;
    step("formatting of Rust", || {
        environment.cargo(&["fmt", "--all", "--check"])
    })?;
    step("lints of Rust", || {
        environment.cargo(&[
            "clippy",
            "--profile",
            PROFILE,
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ])
    })?;
    step("the packages", || environment.install())?;
    step("types and lints of Python", || environment.check_sources())?;
    step("tests", || environment.test(&program))?;
    step("the client alone", || environment.test_client())
}

/// Where the packages are installed.
struct Environment {
    /// The folder of the packages' sources.
    sources: PathBuf,
    /// What is built and made.
    work: PathBuf,
    /// The environment's programs.
    programs: PathBuf,
}

impl Environment {
    /// Cargo in the packages' workspace.
    fn cargo(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut cargo = Command::new(env!("CARGO"));
        let cargo = cargo.current_dir(&self.sources).args(arguments);
        succeed(arguments[0], cargo.env("CARGO_TARGET_DIR", &self.work))
    }

    /// A program of the environment, run where no sources are in its way.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command
            .current_dir(&self.work)
            .env("CARGO_TARGET_DIR", &self.work);
        command
    }

    fn install(&self) -> Result<(), Failure> {
        let folder = self.work.join("environment");
        std::fs::create_dir_all(&self.work)
            .map_err(|error| Failure(format!("{}: {error}", self.work.display())))?;
        let mut python = Command::new("python3");
        succeed("venv", python.args(["-m", "venv"]).arg(folder))?;
        let package = format!("{}[test,ray]", self.sources.display());
        let mut pip = self.program("pip");
        pip.args(["install", "--quiet", &package]);
        pip.arg(format!("--config-settings=build-args=--profile {PROFILE}"));
        succeed("pip install", &mut pip)
    }

    fn check_sources(&self) -> Result<(), Failure> {
        let mut ruff = self.program("ruff");
        succeed("ruff", ruff.arg("check").arg(&self.sources))?;
        let mut mypy = self.program("mypy");
        mypy.current_dir(&self.sources);
        succeed("mypy", mypy.args(["--config-file", "pyproject.toml"]))?;
        let mut stubtest = self.program("stubtest");
        succeed("stubtest", stubtest.arg("tfhe_sbc._native"))
    }

    fn test(&self, program: &Path) -> Result<(), Failure> {
        let mut pytest = self.program("pytest");
        pytest.arg("--quiet").arg(self.sources.join("tests"));
        succeed("pytest", pytest.env("TFHE_SBC", program))
    }

    /// Builds the wheel of the client, weighs it and tests it.
    fn test_client(&self) -> Result<(), Failure> {
        let wheels = self.work.join("wheels");
        let _ = std::fs::remove_dir_all(&wheels);
        let mut pip = self.program("pip");
        pip.args(["wheel", "--quiet", "--no-deps", "--wheel-dir"]);
        let sources = self.sources.join("device");
        succeed("pip wheel", pip.arg(&wheels).arg(&sources))?;
        let no_wheel = |error| Failure(format!("{}: {error}", wheels.display()));
        let mut entries = std::fs::read_dir(&wheels).map_err(no_wheel)?.flatten();
        let wheel = entries
            .next()
            .ok_or_else(|| Failure("there is no wheel".to_owned()))?;
        let size = wheel.metadata().map_err(no_wheel)?.len().div_ceil(1024);
        eprintln!("{}: {size} KiB", wheel.file_name().display());
        if size > MOST_OF_THE_CLIENT {
            return Err(Failure(format!(
                "the client's wheel has {size} KiB, more than {MOST_OF_THE_CLIENT}"
            )));
        }
        let mut pip = self.program("pip");
        pip.args(["install", "--quiet", "--force-reinstall", "--no-deps"]);
        succeed("pip install", pip.arg(wheel.path()))?;
        let keys = self.work.join("keys");
        let _ = std::fs::remove_dir_all(&keys);
        let mut python = self.program("python");
        let make = "import sys, tfhe_sbc; tfhe_sbc.keygen().save(sys.argv[1])";
        succeed("keys", python.args(["-c", make]).arg(&keys))?;
        let mut pytest = self.program("pytest");
        pytest.arg("--quiet").arg(sources.join("tests"));
        succeed("pytest", pytest.env("TFHE_SBC_KEYS", keys))
    }
}
