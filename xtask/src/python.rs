//! `cargo xtask python`: installs the Python packages as users do, into an environment of their own, and
//! runs their tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, succeed};
use crate::venv;
use crate::workspace::{PROFILE, absolute, build_program, built_folder, root, step, target_folder};

/// The largest size of the client's wheel, in KiB.
const MOST_OF_THE_CLIENT: u64 = 700;

pub(crate) fn run() -> Result<(), Failure> {
    let work = absolute(&target_folder().join("python"))?;
    let program = built_folder()?.join("tfhe-sbc");
    let environment = Environment {
        sources: root().join("python"),
        programs: work.join("environment").join("bin"),
        work,
        target: absolute(&target_folder())?,
    };
    build_program(&[])?;
    step("the packages", || environment.install())?;
    step("types and lints of Python", || environment.check_sources())?;
    step("tests", || environment.test(&program))?;
    step("the client alone", || environment.test_client())
}

/// The folders of a Python with the packages.
struct Environment {
    /// The packages' sources.
    sources: PathBuf,
    /// The folder for what is built and made.
    work: PathBuf,
    /// The environment's programs.
    programs: PathBuf,
    /// The folder in which cargo builds, for the packages as for the rest of the workspace.
    target: PathBuf,
}

impl Environment {
    /// A program of the environment, run in a folder without the packages' sources, which Python would
    /// import in place of the installed packages.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command
            .current_dir(&self.work)
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }

    fn install(&self) -> Result<(), Failure> {
        venv::create(&self.work)?;
        let package = format!("{}[test,ray,notebooks]", self.sources.display());
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

    /// Builds the client's wheel, checks its size and tests it.
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
