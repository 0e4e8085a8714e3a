//! `cargo xtask wheels`: the Python packages as wheels for Linux, as old as manylinux2014, on x86-64 and
//! AArch64.
//!
//! maturin builds them, and zig links them against the old C library. auditwheel checks that the library was
//! old enough, and the sizes are compared with `docs/wheels.md`. Then `python/wheels/check.py` uses
//! the wheels on both processors: it makes keys, encrypts with the client alone, computes and decrypts, on
//! each processor also the files that were made on the other. AArch64 is an emulated Cortex-A53 with the
//! Python of the distribution's packages.

use std::fs::{create_dir_all, read_dir, remove_dir_all};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arm::cross::{cross_build, emulator};
use crate::failure::{Failure, output, read, succeed};
use crate::venv::environment;
use crate::workspace::{root, step, target_folder};

/// A package: where it is, the name of its wheel, and the profile that it is built in.
struct Package {
    folder: &'static str,
    wheel: &'static str,
    profile: &'static str,
}

const WHOLE: Package = Package {
    folder: "python",
    wheel: "tfhe_sbc",
    profile: "release",
};
const CLIENT: Package = Package {
    folder: "python/device",
    wheel: "tfhe_sbc_device",
    profile: "device",
};

/// A processor, as wheels name it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Processor {
    X86_64,
    Aarch64,
}

use Processor::{Aarch64, X86_64};

impl Processor {
    fn name(self) -> &'static str {
        match self {
            X86_64 => "x86_64",
            Aarch64 => "aarch64",
        }
    }

    fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }
}

/// The oldest C library that wheels may need, by the tag that pip knows and by auditwheel's.
const PIP_TAG: &str = "manylinux2014";
const AUDIT_TAG: &str = "manylinux_2_17";

/// The parts of the standard library that a package needs.
const STD: &str = "std,panic_abort,panic_unwind";

/// The emulated Python, and the distribution's packages that it is made of.
const PYTHON: &str = "python3.11";
const PYTHON_PACKAGES: [&str; 10] = [
    "python3.11-minimal",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libexpat1",
    "libffi8",
    "zlib1g",
    "libssl3",
    "libstdc++6",
    "libgcc-s1",
    "libc6",
];

/// The largest relative difference of a wheel's size from the documented one.
const SIZE_TOLERANCE: f64 = 0.1;

pub(crate) fn run() -> Result<(), Failure> {
    let folder = std::path::absolute(target_folder().join("wheels"))
        .map_err(|error| Failure(error.to_string()))?;
    create(&folder)?;
    let python = environment(&folder, &root().join("python/wheels/requirements.txt"))?;
    let wheels = Wheels {
        out: empty(&folder.join("out"))?,
        sites: folder.join("sites"),
        system: folder.join("system-aarch64"),
        python,
        build: folder,
    };
    for processor in [X86_64, Aarch64] {
        for package in [&CLIENT, &WHOLE] {
            let name = format!("{} for {}", package.wheel, processor.name());
            step(&name, || wheels.build(package, processor))?;
        }
    }
    step("sizes", || wheels.check_sizes())?;
    step("installing", || wheels.install())?;
    step("using", || wheels.check())
}

struct Wheels {
    /// Python with the tools.
    python: PathBuf,
    /// The folder in which cargo builds.
    build: PathBuf,
    /// The folder for the wheels.
    out: PathBuf,
    /// Installed packages, in a folder for each processor and package.
    sites: PathBuf,
    /// The libraries and the Python of an AArch64 system.
    system: PathBuf,
}

impl Wheels {
    /// A module of the tools, run as a program.
    fn tool(&self, module: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.args(["-m", module]);
        command
    }

    fn build(&self, package: &Package, processor: Processor) -> Result<(), Failure> {
        let mut maturin = self.tool("maturin");
        maturin
            .current_dir(root().join(package.folder))
            .args(["build", "--locked", "--zig", "--compatibility", PIP_TAG])
            .args(["--profile", package.profile])
            .args(["--target", &processor.triple(), "--out"])
            .arg(&self.out)
            .env("CARGO_TARGET_DIR", &self.build)
            // maturin looks for the zig of the Python that comes first.
            .env("PATH", self.path()?);
        cross_build(&mut maturin, &processor.triple(), STD)?;
        succeed("maturin", &mut maturin)?;

        let wheel = self.wheel(package, processor)?;
        let tag = format!("{AUDIT_TAG}_{}", processor.name());
        let verdict = output(
            "auditwheel",
            self.tool("auditwheel").arg("show").arg(&wheel),
        )?;
        let is_old_enough = verdict
            .split("platform tag:")
            .nth(1)
            .is_some_and(|after| after.trim_start().starts_with(&format!("\"{tag}\"")));
        if is_old_enough {
            Ok(())
        } else {
            Err(Failure(format!("not {tag}:\n{verdict}")))
        }
    }

    fn path(&self) -> Result<std::ffi::OsString, Failure> {
        let own = self.python.parent().map(Path::to_path_buf);
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path)))
            .map_err(|error| Failure(error.to_string()))
    }

    /// The wheel of a package for a processor.
    fn wheel(&self, package: &Package, processor: Processor) -> Result<PathBuf, Failure> {
        let start = format!("{}-", package.wheel);
        let end = format!("_{}.whl", processor.name());
        let names = entries(&self.out)?.into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&start) && name.ends_with(&end)
        });
        match names.collect::<Vec<_>>().as_slice() {
            [wheel] => Ok(wheel.clone()),
            others => Err(Failure(format!(
                "{} wheels {start}…{end} are in {}",
                others.len(),
                self.out.display()
            ))),
        }
    }

    /// Compares the wheels' sizes with the table of `docs/wheels.md`.
    fn check_sizes(&self) -> Result<(), Failure> {
        let page = read(&root().join("docs/wheels.md"))?;
        let mut wrong = Vec::new();
        for package in [&CLIENT, &WHOLE] {
            for processor in [X86_64, Aarch64] {
                let wheel = self.wheel(package, processor)?;
                let bytes = std::fs::metadata(&wheel)
                    .map_err(|error| Failure(format!("{}: {error}", wheel.display())))?
                    .len();
                let row = format!("| `{}` | {} |", package.wheel, processor.name());
                eprintln!("{row} {} KiB |", bytes.div_ceil(1024));
                let stated = page.lines().find_map(|line| {
                    let size = line.strip_prefix(&row)?.trim().strip_suffix("KiB |")?;
                    size.trim().parse::<f64>().ok()
                });
                let is_stated = stated
                    .is_some_and(|kib| (bytes as f64 / 1024.0 / kib - 1.0).abs() < SIZE_TOLERANCE);
                if !is_stated {
                    wrong.push(wheel);
                }
            }
        }
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(Failure(
                "docs/wheels.md states other sizes: give it the lines above".to_owned(),
            ))
        }
    }

    /// Has pip choose and install each wheel, and what it needs, for its processor.
    fn install(&self) -> Result<(), Failure> {
        for processor in [X86_64, Aarch64] {
            for package in [&CLIENT, &WHOLE] {
                let site = empty(&self.site(package, processor))?;
                let mut pip = self.tool("pip");
                pip.args(["install", "--quiet", "--disable-pip-version-check"])
                    .args(["--only-binary", ":all:", "--target"])
                    .arg(site)
                    .arg(self.wheel(package, processor)?);
                if processor == Aarch64 {
                    let platform = format!("{PIP_TAG}_{}", processor.name());
                    let version = PYTHON.trim_start_matches("python");
                    pip.args(["--platform", &platform, "--python-version", version]);
                }
                succeed("pip install", &mut pip)?;
            }
        }
        self.make_system()
    }

    fn site(&self, package: &Package, processor: Processor) -> PathBuf {
        self.sites.join(processor.name()).join(package.wheel)
    }

    /// Unpacks an AArch64 Python, once.
    fn make_system(&self) -> Result<(), Failure> {
        let ready = self.system.join("ready");
        if ready.exists() {
            return Ok(());
        }
        let packages = empty(&self.system.join("packages"))?;
        let mut apt = Command::new("apt-get");
        apt.current_dir(&packages)
            .args(["--quiet", "--quiet", "download"])
            .args(PYTHON_PACKAGES.map(|package| format!("{package}:arm64")));
        succeed("apt-get download", &mut apt).map_err(|Failure(message)| {
            Failure(format!(
                "{message}. The Python of Debian 12 for AArch64 is needed. As root:\n    \
                 dpkg --add-architecture arm64 && apt-get update"
            ))
        })?;
        for package in entries(&packages)? {
            let mut dpkg = Command::new("dpkg");
            dpkg.arg("--extract").arg(package).arg(&self.system);
            succeed("dpkg --extract", &mut dpkg)?;
        }
        create(&ready)
    }

    /// Uses the wheels.
    fn check(&self) -> Result<(), Failure> {
        let files = empty(&self.build.join("files"))?;
        for (name, package, processor) in [
            ("keys", &WHOLE, X86_64),
            ("board", &CLIENT, X86_64),
            ("board", &CLIENT, Aarch64),
            ("server", &WHOLE, X86_64),
            ("server", &WHOLE, Aarch64),
            ("owner", &WHOLE, X86_64),
            ("owner", &WHOLE, Aarch64),
        ] {
            let mut python = match processor {
                X86_64 => Command::new(&self.python),
                Aarch64 => {
                    let mut qemu = emulator(&self.system);
                    let usr = self.system.join("usr");
                    qemu.arg(usr.join("bin").join(PYTHON));
                    qemu.env("PYTHONHOME", usr);
                    qemu
                }
            };
            python
                .arg("-B")
                .arg(root().join("python/wheels/check.py"))
                .arg(name)
                .arg(&files)
                .env("PYTHONPATH", self.site(package, processor));
            succeed(&format!("{name} on {}", processor.name()), &mut python)?;
        }
        Ok(())
    }
}

fn create(folder: &Path) -> Result<(), Failure> {
    create_dir_all(folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))
}

/// Empties the folder, or makes it.
fn empty(folder: &Path) -> Result<PathBuf, Failure> {
    let _ = remove_dir_all(folder);
    create(folder)?;
    Ok(folder.to_path_buf())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect::<std::io::Result<Vec<_>>>()
    });
    listed.map_err(|error| Failure(format!("{}: {error}", folder.display())))
}
