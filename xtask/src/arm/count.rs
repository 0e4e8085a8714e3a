//! Counted programs: built, run under QEMU with the plugin, and read back.
//!
//! A program prints `region ID NAME` for what the plugin counts as that region, `bytes
//! NAME N` for a size, and `digest NAME HEX` for the hash of a message.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::places::Places;
use super::target::{Build, Compiler};
use crate::failure::{Failure, output, output_within, read, succeed};

/// The time limit of a counted program of a board.
const LIMIT: Duration = Duration::from_secs(120);

/// The time limit of the program of a server, which makes two server keys under QEMU.
const SERVER_LIMIT: Duration = Duration::from_secs(1800);

/// The figures and digests of a target.
#[derive(Debug, Default)]
pub(super) struct Measured {
    target: &'static str,
    /// Names without the target, and figures.
    figures: Vec<(String, u64)>,
    digests: Vec<(String, String)>,
}

impl Measured {
    /// Reads what a program printed and, if it was counted, what the plugin wrote.
    pub(super) fn parse(
        target: &'static str,
        printed: &str,
        counts: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut measured = Self {
            target,
            ..Self::default()
        };
        for line in printed.lines() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["region", id, name] => {
                    let Some(counts) = counts else { continue };
                    let count = minimum_of(counts, id).ok_or_else(|| {
                        Failure(format!("{target}: region {id} ({name}) was not counted"))
                    })?;
                    measured.figures.push((format!("{name}_insns"), count));
                }
                ["bytes", name, value] => {
                    let value = value
                        .parse()
                        .map_err(|_| Failure(format!("{target}: no number in {line:?}")))?;
                    measured.figures.push((format!("{name}_bytes"), value));
                }
                // As the firmware says it, for people.
                [name, value, "bytes"] => {
                    if let Ok(value) = value.parse() {
                        let name = format!("{}_bytes", name.to_lowercase());
                        measured.figures.push((name, value));
                    }
                }
                ["digest", name, hex] => measured.digests.push((name.to_owned(), hex.to_owned())),
                _ => {}
            }
        }
        Ok(measured)
    }

    /// The figures, named as in the record: `aarch64_gaussian_insns`.
    pub(super) fn rows(&self) -> impl Iterator<Item = (String, u64)> {
        self.figures
            .iter()
            .map(|(name, value)| (format!("{}_{name}", self.target), *value))
    }
}

/// The minimum of a region in lines `region ID calls N min COUNT max COUNT`.
fn minimum_of(counts: &str, region: &str) -> Option<u64> {
    counts.lines().find_map(
        |line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["region", id, "calls", _, "min", count, "max", _] if id == region => {
                count.parse().ok()
            }
            _ => None,
        },
    )
}

/// Compiles the plugin.
pub(super) fn build_plugin(places: &Places) -> Result<PathBuf, Failure> {
    let plugin = places.target.join("libcount.so");
    let mut cc = Command::new("cc");
    cc.args([
        "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
    ])
    .arg(&plugin)
    .arg(places.root.join("firmware/qemu/count.c"));
    succeed("the counting plugin", &mut cc)?;
    Ok(plugin)
}

/// The digests of this machine, on its fastest instruction set.
pub(super) fn on_host(places: &Places) -> Result<Measured, Failure> {
    let manifest = manifest(places, "count");
    let mut cargo = Compiler::native().cargo(places, "build", "std");
    succeed(
        "firmware/count",
        cargo.args(["--release", "--manifest-path"]).arg(manifest),
    )?;
    let mut program = Command::new(places.target.join("release/tfhe-sbc-count"));
    let printed = output_within(LIMIT, "firmware/count", &mut program)?;
    Measured::parse("host", &printed, None)
}

/// Digests and counts of a Linux target.
pub(super) fn on_linux(places: &Places, build: &Build, plugin: &Path) -> Result<Measured, Failure> {
    run_on_linux(places, build, plugin, "count", LIMIT)
}

/// Counts of bootstraps on a Linux target.
pub(super) fn bootstraps(
    places: &Places,
    build: &Build,
    plugin: &Path,
) -> Result<Measured, Failure> {
    run_on_linux(places, build, plugin, "bootstrap", SERVER_LIMIT)
}

/// Builds the program in this folder of `firmware/`, and runs it under QEMU with the counting plugin.
fn run_on_linux(
    places: &Places,
    build: &Build,
    plugin: &Path,
    folder: &str,
    limit: Duration,
) -> Result<Measured, Failure> {
    let name = build.target.name;
    let mut cargo = build.cargo(places, "build");
    succeed(
        &format!("firmware/{folder} for {name}"),
        cargo
            .args(["--release", "--manifest-path"])
            .arg(manifest(places, folder)),
    )?;
    let program = places
        .target
        .join(build.target.triple)
        .join("release")
        .join(format!("tfhe-sbc-{folder}"));
    let counts = counts_file(places, &format!("{name}-{folder}"));
    let emulator = build.target.qemu();
    let mut qemu = Command::new(emulator[0]);
    qemu.args(&emulator[1..])
        .arg("-plugin")
        .arg(plugin_argument(plugin, &counts))
        .arg(program);
    let printed = output_within(limit, &format!("firmware/{folder} on {name}"), &mut qemu)?;
    Measured::parse(name, &printed, Some(&read(&counts)?))
}

/// Returns whether the firmware for the Cortex-M4 is in the repository.
pub(super) fn has_cortex_m4(places: &Places) -> bool {
    places.root.join("firmware/cortex-m4/Cargo.toml").is_file()
}

/// Counts and memory of the firmware for the Cortex-M4, with the uniform noise and with
/// the Gaussian, and the size of one that prints and compares nothing. The others fail by
/// themselves if their message is not that of the machine that built them.
pub(super) fn on_cortex_m4(places: &Places, plugin: &Path) -> Result<Measured, Failure> {
    let mut measured = cortex_m4_session(places, plugin, "")?;
    let library = build_cortex_m4(places, CORTEX_M4, &["--no-default-features"])?;
    let flash = flash_bytes(&library)?;
    measured
        .figures
        .push(("library_flash_bytes".to_owned(), flash));
    let gaussian = cortex_m4_session(places, plugin, "gaussian")?;
    let instructions = gaussian.figures.into_iter();
    measured.figures.extend(
        instructions
            .filter(|(name, _)| name == "insns")
            .map(|(name, count)| (format!("gaussian_{name}"), count)),
    );
    Ok(measured)
}

fn cortex_m4_session(places: &Places, plugin: &Path, features: &str) -> Result<Measured, Failure> {
    let program = build_cortex_m4(places, CORTEX_M4, &["--features", features])?;
    let counts = counts_file(places, "cortex_m4");
    let mut printed = on_machine("netduinoplus2", plugin, &counts, &program)?;
    let flash = flash_bytes(&program)?;
    // Its regions: the session's start, and the encryption, whose row has no more name.
    printed += &format!("\nregion 0 session\nregion 1 encryption\nbytes flash {flash}\n");
    let mut measured = Measured::parse("cortex_m4", &printed, Some(&read(&counts)?))?;
    for (name, _) in &mut measured.figures {
        if name == "encryption_insns" {
            *name = "insns".to_owned();
        }
    }
    Ok(measured)
}

/// Counts and memory of CKKS on a Cortex-M4, which has more memory than that of the other firmware,
/// and how large programs are that do nothing else, without the key and the values in them.
pub(super) fn ckks_on_cortex_m4(places: &Places, plugin: &Path) -> Result<Measured, Failure> {
    let program = build_cortex_m4(places, CORTEX_M4_CKKS, &[])?;
    let counts = counts_file(places, CORTEX_M4_CKKS);
    let printed = on_machine("mps2-an386", plugin, &counts, &program)?;
    let mut measured = Measured::parse("cortex_m4", &printed, Some(&read(&counts)?))?;
    for (kind, key) in [("secret", "sk_4096.dat"), ("public", "pk.seal")] {
        let options = ["--no-default-features", "--features", kind];
        let program = build_cortex_m4(places, CORTEX_M4_CKKS, &options)?;
        let key = places.root.join("tests/vectors/seal").join(key);
        let key = std::fs::metadata(&key)
            .map_err(|error| Failure(format!("{}: {error}", key.display())))?;
        let data = key.len() + CKKS_VALUES_BYTES;
        let code = flash_bytes(&program)?.saturating_sub(data);
        measured
            .figures
            .push((format!("ckks_{kind}_flash_bytes"), code));
    }
    Ok(measured)
}

const CORTEX_M4: &str = "cortex-m4";
const CORTEX_M4_CKKS: &str = "cortex-m4-ckks";

/// The bytes of the values that `firmware/count/src/ckks.rs` encrypts.
const CKKS_VALUES_BYTES: u64 = 4 * 2048;

/// Runs a program on a Cortex-M4 with the plugin, and reads its figures.
pub(super) fn on_machine(
    machine: &str,
    plugin: &Path,
    counts: &Path,
    program: &Path,
) -> Result<String, Failure> {
    let mut qemu = Command::new("qemu-system-arm");
    qemu.args(["-machine", machine, "-nographic"])
        .args(["-monitor", "none", "-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native"])
        .arg("-plugin")
        .arg(plugin_argument(plugin, counts))
        .arg("-kernel")
        .arg(program);
    output_within(LIMIT, machine, &mut qemu)
}

/// Builds a firmware in Rust and returns the path of the program.
fn build_cortex_m4(places: &Places, name: &str, options: &[&str]) -> Result<PathBuf, Failure> {
    const TRIPLE: &str = "thumbv7em-none-eabihf";
    let folder = format!("firmware/{name}");
    let mut cargo = Compiler::for_triple(TRIPLE)?.cargo(places, "build", "core");
    // The folder's own configuration has the flags.
    cargo
        .current_dir(places.root.join(&folder))
        .args(["--release", "--target", TRIPLE])
        .args(options)
        .env(
            "CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER",
            "arm-none-eabi-ld",
        );
    succeed(&folder, &mut cargo)?;
    let programs = places.target.join(TRIPLE).join("release");
    Ok(programs.join(format!("tfhe-sbc-{name}")))
}

/// Code, constants and the initial values of variables: the first two columns of `size`.
pub(super) fn flash_bytes(program: &Path) -> Result<u64, Failure> {
    let mut size = Command::new("arm-none-eabi-size");
    let text = output("arm-none-eabi-size", size.arg(program))?;
    let figures = text.lines().nth(1).map(|line| {
        let words = line.split_whitespace().take(2);
        words.map_while(|word| word.parse::<u64>().ok()).sum()
    });
    figures.ok_or_else(|| Failure(format!("no sizes in {text:?}")))
}

/// Checks that messages of one name have the same digest on every target.
pub(super) fn same_bytes(measured: &[Measured]) -> Result<(), Failure> {
    let mut known: Vec<(&str, &str, &str)> = Vec::new();
    for one in measured {
        for (name, hex) in &one.digests {
            match known.iter().find(|(known, ..)| known == name) {
                Some((_, expected, first)) if expected != hex => {
                    return Err(Failure(format!(
                        "the message {name:?} has other bytes on {} than on {first}",
                        one.target
                    )));
                }
                Some(_) => {}
                None => known.push((name, hex, one.target)),
            }
        }
    }
    for (name, ..) in &known {
        let targets: Vec<_> = measured
            .iter()
            .filter(|one| one.digests.iter().any(|(other, _)| other == name))
            .map(|one| one.target)
            .collect();
        eprintln!("message {name}: the same bytes on {}", targets.join(", "));
    }
    Ok(())
}

fn manifest(places: &Places, folder: &str) -> PathBuf {
    places.root.join("firmware").join(folder).join("Cargo.toml")
}

pub(super) fn counts_file(places: &Places, name: &str) -> PathBuf {
    places.target.join(format!("{name}-counts.txt"))
}

fn plugin_argument(plugin: &Path, counts: &Path) -> String {
    format!("{},out={}", plugin.display(), counts.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: &str = "region 0 calls 3 min 100 max 103\nregion 1 calls 3 min 20 max 20\n";

    #[test]
    fn a_row_is_the_minimum_of_its_region() {
        let printed = "region 1 pack\nbytes message 1256\ndigest a 00ff\nRAM  900 bytes\n";
        let measured = Measured::parse("aarch64", printed, Some(COUNTS)).unwrap();
        let rows: Vec<_> = measured.rows().collect();
        assert_eq!(
            rows,
            [
                ("aarch64_pack_insns".to_owned(), 20),
                ("aarch64_message_bytes".to_owned(), 1256),
                ("aarch64_ram_bytes".to_owned(), 900)
            ]
        );
    }

    #[test]
    fn a_region_without_a_count_is_an_error() {
        let error = Measured::parse("armv7", "region 2 mask\n", Some(COUNTS)).unwrap_err();
        assert!(error.0.contains("region 2"), "{}", error.0);
    }

    #[test]
    fn other_bytes_are_an_error_that_names_both_targets() {
        let on = |target, hex: &str| {
            Measured::parse(target, &format!("digest a {hex}\n"), None).unwrap()
        };
        assert!(same_bytes(&[on("host", "00"), on("armv7", "00")]).is_ok());
        let error = same_bytes(&[on("host", "00"), on("armv7", "01")]).unwrap_err();
        assert!(error.0.contains("armv7") && error.0.contains("host"));
    }
}
