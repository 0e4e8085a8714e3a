//! The encoders of frames, in C and in Rust, on a Cortex-M0 and a Cortex-M4: `firmware/frames`.
//!
//! The program checks its frame itself. It is built with each encoder and without one; the difference is the
//! encoder's flash.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::count::{Measured, counts_file, flash_bytes, on_machine};
use super::places::Places;
use super::target::Compiler;
use crate::failure::{Failure, read, succeed};

/// An emulated board.
struct Board {
    /// As rows are named.
    name: &'static str,
    machine: &'static str,
    triple: &'static str,
    flags: &'static [&'static str],
    link: &'static str,
}

const BOARDS: [Board; 2] = [
    Board {
        name: "cortex_m0",
        machine: "microbit",
        triple: "thumbv6m-none-eabi",
        flags: &["-mcpu=cortex-m0plus"],
        link: "firmware/frames/link-microbit.ld",
    },
    Board {
        name: "cortex_m4",
        machine: "netduinoplus2",
        triple: "thumbv7em-none-eabihf",
        flags: &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
        link: "firmware/cortex-m4-c/link.ld",
    },
];

/// Counts and memory of both encoders on both boards.
pub(super) fn measure(places: &Places, plugin: &Path) -> Result<Vec<Measured>, Failure> {
    let mut measured = Vec::new();
    for board in &BOARDS {
        let folder = places.target.join("frames").join(board.name);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
        let none = board.link(places, &folder, "none", &[PathBuf::from("none.c")])?;
        let rest = flash_bytes(&none)?;
        let in_c = ["encoder.c", "../../crates/frames/c/tfhe_sbc_frames.c"].map(PathBuf::from);
        let in_rust = [board.rust_library(places)?];
        for (encoder, sources) in [("c", &in_c[..]), ("rust", &in_rust)] {
            let program = board.link(places, &folder, encoder, sources)?;
            let flash = flash_bytes(&program)?.saturating_sub(rest);
            let counts = counts_file(places, &format!("frames-{encoder}-{}", board.name));
            let printed = on_machine(board.machine, plugin, &counts, &program)?
                + &format!("bytes frames_{encoder}_flash {flash}\n");
            measured.push(Measured::parse(
                board.name,
                &printed,
                Some(&read(&counts)?),
            )?);
        }
    }
    Ok(measured)
}

impl Board {
    /// Links the program with an encoder, whose sources and libraries are named from `firmware/frames`.
    fn link(
        &self,
        places: &Places,
        folder: &Path,
        encoder: &str,
        sources: &[PathBuf],
    ) -> Result<PathBuf, Failure> {
        let program = folder.join(encoder).with_extension("elf");
        let frames = places.root.join("firmware/frames");
        let common = places.root.join("firmware/cortex-m4-c");
        let mut cc = Command::new("arm-none-eabi-gcc");
        cc.args(["-Os", "-std=c99", "-Wall", "-Wextra", "-Werror", "-mthumb"])
            .args(self.flags)
            .args(["-ffreestanding", "-ffunction-sections", "-fdata-sections"])
            .args(["-nostartfiles", "-nostdlib"])
            .arg("-Wl,--gc-sections,-z,noexecstack")
            .arg(format!("-DENCODER=\"{encoder}\""))
            .arg("-L")
            .arg(&common)
            .arg("-T")
            .arg(places.root.join(self.link))
            .arg(frames.join("main.c"))
            .args(sources.iter().map(|source| frames.join(source)))
            .arg(common.join("board.c"))
            .arg(common.join("startup.c"))
            .args(["-lc", "-lgcc", "-o"])
            .arg(&program);
        succeed("arm-none-eabi-gcc", &mut cc)?;
        Ok(program)
    }

    /// Builds the encoder in Rust, and returns the library's path.
    fn rust_library(&self, places: &Places) -> Result<PathBuf, Failure> {
        let folder = "firmware/frames/rust";
        let mut cargo = Compiler::for_triple(self.triple)?.cargo(places, "build", "core");
        cargo
            .current_dir(places.root.join(folder))
            .args(["--release", "--target", self.triple]);
        succeed(folder, &mut cargo)?;
        let built = places.target.join(self.triple).join("release");
        Ok(built.join("libtfhe_sbc_frames_firmware.a"))
    }
}
