//! `cargo xtask python`: installs the Python packages into an environment of their own, and runs their tests.
//! `cargo xtask wheels` builds and installs them as users do.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, output, succeed};
use crate::test::Depth;
use crate::venv;
use crate::workspace::{
    PROFILE, absolute, build_program, built_folder, cargo, copy_folder, root, step, target_folder,
};

/// The largest size of the client's wheel, in KiB.
const MOST_OF_THE_CLIENT: u64 = 700;

/// Installs the packages and runs their tests; the long ones with [`Depth::All`] only.
pub(crate) fn run(depth: Depth) -> Result<(), Failure> {
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
    step("tests", || environment.test(&program, depth))?;
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

    /// Installs what the package needs, and the package beside it.
    ///
    /// The extension is built with the rest of the workspace. maturin would build all its dependencies once more, with the features
    /// that it needs alone; `cargo xtask wheels` has it do so.
    fn install(&self) -> Result<(), Failure> {
        let python = venv::create(&self.work)?;
        let needed = output("the packages that are needed", &mut self.needed(&python))?;
        let mut pip = self.program("pip");
        pip.args(["install", "--quiet"]).args(needed.lines());
        succeed("pip install", &mut pip)?;
        let extension = build_extension()?;
        let mut site = Command::new(&python);
        let site = output(
            "the folder of packages",
            site.args([
                "-c",
                "import sysconfig; print(sysconfig.get_path('purelib'))",
            ]),
        )?;
        let package = Path::new(site.trim()).join("tfhe_sbc");
        let _ = std::fs::remove_dir_all(&package);
        copy_folder(&self.sources.join("tfhe_sbc"), &package)?;
        let installed = package.join("_native.abi3.so");
        std::fs::copy(&extension, &installed)
            .map(drop)
            .map_err(|error| Failure(format!("{}: {error}", installed.display())))
    }

    /// The command that prints what the package and its tests need, a line each.
    fn needed(&self, python: &Path) -> Command {
        const PRINT: &str = "import sys, tomllib\n\
            project = tomllib.load(open(sys.argv[1], 'rb'))['project']\n\
            extras = project['optional-dependencies']\n\
            print(*project['dependencies'], *(name for extra in sys.argv[2:] for name in extras[extra]), sep='\\n')";
        let mut command = Command::new(python);
        command
            .args(["-c", PRINT])
            .arg(self.sources.join("pyproject.toml"))
            .args(["test", "ray", "notebooks"]);
        command
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

    fn test(&self, program: &Path, depth: Depth) -> Result<(), Failure> {
        let mut pytest = self.program("pytest");
        pytest.args(["--quiet", "--durations=15"]);
        pytest.arg(self.sources.join("tests"));
        if depth == Depth::All {
            pytest.arg("--long");
        }
        // Ray's workers would wait for whatever else runs.
        pytest
            .env("TFHE_SBC", program)
            .env("RAY_worker_niceness", "0");
        succeed("pytest", &mut pytest)
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

/// Builds the package's extension, and returns its path. The selection is that of [`build_program`] and all libraries but the
/// extension of the boards' package, whose file has the same name.
fn build_extension() -> Result<PathBuf, Failure> {
    let mut cargo = cargo(&["build", "--profile", PROFILE, "--workspace"]);
    cargo
        .args(["--exclude", "tfhe-sbc-device-python", "--lib"])
        .args(["--bin", "tfhe-sbc", "--example", "same_bytes"])
        // As maturin says it to pyo3: Python is there when the extension is loaded.
        .env("PYO3_BUILD_EXTENSION_MODULE", "1");
    succeed("the extension", &mut cargo)?;
    Ok(built_folder()?.join("lib_native.so"))
}
