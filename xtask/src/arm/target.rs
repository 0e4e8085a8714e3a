//! The ARM targets, and a compiler for each.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::places::Places;
use super::tools;
use crate::failure::{Failure, output};

/// A target whose programs QEMU runs on Linux.
pub(super) struct Target {
    /// The name in the rows of the record, such as `aarch64`.
    pub(super) name: &'static str,
    pub(super) triple: &'static str,
    /// The cross compiler of C, which also links.
    pub(super) linker: &'static str,
    rustflags: &'static str,
    pub(super) qemu: &'static str,
    pub(super) cpu: &'static str,
    /// The program loader where the target's own C library is installed.
    loader: &'static str,
    /// The C library of the cross compiler.
    sysroot: &'static str,
}

/// The processor of the Raspberry Pi Zero 2 W and 3.
pub(super) const AARCH64: Target = Target {
    name: "aarch64",
    triple: "aarch64-unknown-linux-gnu",
    linker: "aarch64-linux-gnu-gcc",
    rustflags: "-Ctarget-cpu=cortex-a53",
    qemu: "qemu-aarch64",
    cpu: "cortex-a53",
    loader: "/lib/ld-linux-aarch64.so.1",
    sysroot: "/usr/aarch64-linux-gnu",
};

/// The processor of the Raspberry Pi 2.
pub(super) const ARMV7: Target = Target {
    name: "armv7",
    triple: "armv7-unknown-linux-gnueabihf",
    linker: "arm-linux-gnueabihf-gcc",
    rustflags: "-Ctarget-cpu=cortex-a7 -Ctarget-feature=+neon",
    qemu: "qemu-arm",
    cpu: "cortex-a7",
    loader: "/lib/ld-linux-armhf.so.3",
    sysroot: "/usr/arm-linux-gnueabihf",
};

/// The parts of a standard library that tests need, where it is built from source.
const STD: &str = "std,panic_abort,panic_unwind,test,proc_macro";

impl Target {
    /// QEMU for this target, with its C library.
    pub(super) fn qemu(&self) -> Vec<&'static str> {
        let mut command = vec![self.qemu, "-cpu", self.cpu];
        // If the target's own C library is installed, a second one beside it hangs.
        if !Path::new(self.loader).exists() {
            command.extend(["-L", self.sysroot]);
        }
        command
    }
}

/// A target with a compiler that can build for it.
pub(super) struct Build {
    pub(super) target: &'static Target,
    compiler: Compiler,
}

impl Build {
    pub(super) fn new(target: &'static Target) -> Result<Self, Failure> {
        let compiler = Compiler::for_triple(target.triple)?;
        Ok(Self { target, compiler })
    }

    pub(super) fn rustc_version(&self) -> Result<String, Failure> {
        tools::rustc_version(&self.compiler.rustc)
    }

    /// A build or test by cargo, for this target.
    pub(super) fn cargo(&self, places: &Places, subcommand: &str) -> Command {
        let Target {
            triple,
            linker,
            rustflags,
            ..
        } = self.target;
        let variable = |name: &str| {
            let triple = triple.to_uppercase().replace('-', "_");
            format!("CARGO_TARGET_{triple}_{name}")
        };
        let mut cargo = self.compiler.cargo(places, subcommand, STD);
        cargo
            .args(["--target", triple])
            .env(variable("LINKER"), linker)
            .env(variable("RUSTFLAGS"), rustflags)
            .env(variable("RUNNER"), self.target.qemu().join(" "));
        cargo
    }
}

/// A Rust compiler.
pub(super) struct Compiler {
    rustc: PathBuf,
    /// Whether the standard library of the target is built from source.
    builds_std: bool,
}

impl Compiler {
    /// The compiler of this machine's own programs.
    pub(super) fn native() -> Self {
        Self {
            rustc: beside_cargo(),
            builds_std: false,
        }
    }

    /// The compiler that cargo came with, or else the distribution's, if it has the
    /// target's standard library, or else its source.
    pub(super) fn for_triple(triple: &str) -> Result<Self, Failure> {
        let candidates: Vec<PathBuf> = [beside_cargo(), PathBuf::from("/usr/bin/rustc")]
            .into_iter()
            .filter(|rustc| rustc.is_file())
            .collect();
        for builds_std in [false, true] {
            for rustc in &candidates {
                let usable = match builds_std {
                    false => has_std(rustc, triple)?,
                    true => has_std_source(rustc)?,
                };
                if usable {
                    return Ok(Self {
                        rustc: rustc.clone(),
                        builds_std,
                    });
                }
            }
        }
        Err(Failure(format!(
            "no standard library for {triple} and no source of one. With rustup:\n    \
             rustup target add {triple}\non Debian 12:\n    \
             apt-get install --no-install-recommends rustc-web rust-web-src"
        )))
    }

    /// A build or test by cargo with this compiler, into the task's own folder.
    /// `parts` of the standard library are built first where the target has none.
    pub(super) fn cargo(&self, places: &Places, subcommand: &str, parts: &str) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .arg(subcommand)
            .env("CARGO_TARGET_DIR", &places.target)
            // One setting for all builds, so that they share what they build of the standard
            // library, and the one that is quickest from nothing.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "0");
        self.serve(&mut cargo, parts);
        cargo
    }

    /// Has cargo, or what hands its arguments on to it, build with this compiler.
    pub(super) fn serve(&self, builder: &mut Command, parts: &str) {
        builder
            .env("RUSTC", &self.rustc)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        if self.builds_std {
            builder
                .arg(format!("-Zbuild-std={parts}"))
                .env("RUSTC_BOOTSTRAP", "1");
        }
    }
}

fn beside_cargo() -> PathBuf {
    Path::new(env!("CARGO")).with_file_name("rustc")
}

fn has_std(rustc: &Path, triple: &str) -> Result<bool, Failure> {
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir", "--target", triple]);
    let folder = output("rustc", &mut command)?;
    let Ok(files) = std::fs::read_dir(folder.trim()) else {
        return Ok(false);
    };
    let mut names = files.flatten().map(|file| file.file_name());
    Ok(names.any(|name| name.to_string_lossy().starts_with("libcore-")))
}

fn has_std_source(rustc: &Path) -> Result<bool, Failure> {
    let mut command = Command::new(rustc);
    let sysroot = output("rustc", command.args(["--print", "sysroot"]))?;
    let source = "lib/rustlib/src/rust/library/std/Cargo.toml";
    Ok(Path::new(sysroot.trim()).join(source).is_file())
}
