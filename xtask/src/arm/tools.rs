//! The programs that the task needs, and how to get them.

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, output};

/// Programs, and the Debian packages that have them.
const PROGRAMS: [(&str, &[&str]); 7] = [
    ("cc", &["gcc", "libc6-dev"]),
    (
        "aarch64-linux-gnu-gcc",
        &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    ),
    (
        "arm-linux-gnueabihf-gcc",
        &["gcc-arm-linux-gnueabihf", "libc6-dev-armhf-cross"],
    ),
    ("arm-none-eabi-ld", &["binutils-arm-none-eabi"]),
    (
        "arm-none-eabi-gcc",
        &["gcc-arm-none-eabi", "libnewlib-arm-none-eabi"],
    ),
    ("qemu-aarch64", &["qemu-user"]),
    ("qemu-system-arm", &["qemu-system-arm"]),
];

/// Names every missing program, and the line that installs them all.
pub(super) fn check() -> Result<(), Failure> {
    let missing: Vec<_> = PROGRAMS
        .iter()
        .filter(|(program, _)| find(program).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let programs: Vec<_> = missing.iter().map(|(program, _)| *program).collect();
    let packages: Vec<_> = missing
        .iter()
        .flat_map(|(_, packages)| *packages)
        .copied()
        .collect();
    Err(Failure(format!(
        "not found: {}. On Debian 12:\n    apt-get install --no-install-recommends {}",
        programs.join(", "),
        packages.join(" ")
    )))
}

/// The path of a program on the search path.
fn find(program: &str) -> Option<std::path::PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// The version of QEMU, such as `7.2.22`.
pub(super) fn qemu_version() -> Result<String, Failure> {
    let text = output("qemu", Command::new("qemu-aarch64").arg("--version"))?;
    Ok(word_after(&text, "version"))
}

/// The version of a Rust compiler, such as `1.96.0`.
pub(super) fn rustc_version(rustc: &Path) -> Result<String, Failure> {
    let text = output("rustc", Command::new(rustc).arg("--version"))?;
    Ok(word_after(&text, "rustc"))
}

fn word_after(text: &str, before: &str) -> String {
    text.split_whitespace()
        .skip_while(|word| *word != before)
        .nth(1)
        .unwrap_or("unknown")
        .to_owned()
}
