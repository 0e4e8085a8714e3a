//! The C library on the boards: the messages of `firmware/same-bytes`, from C and from
//! Rust, and the examples in C for the Cortex-M4.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::places::{PACKAGES, Places};
use super::target::Build;
use crate::c;
use crate::failure::{Failure, output_within, succeed};

const CORTEX_M4: &str = "thumbv7em-none-eabihf";
const LIMIT: Duration = Duration::from_secs(300);

/// Fails if a message differs from that of Rust on this machine.
pub(super) fn same_bytes(places: &Places, builds: &[Build]) -> Result<(), Failure> {
    let expected = c::rust_lines(None)?;
    for build in builds {
        let name = build.target.name;
        let mut cargo = build.cargo(places, "build");
        cargo
            .current_dir(&places.root)
            .arg("--quiet")
            .args(PACKAGES)
            .args(["--example", "same_bytes"]);
        succeed("example same_bytes", &mut cargo)?;
        let folder = places.target.join(build.target.triple);
        let program = folder.join("debug/examples/same_bytes");
        let printed = on_qemu(build, &program)?;
        c::compare(&format!("Rust on {name}"), &printed, &expected)?;

        let work = c::work_folder(name)?;
        c::keys_in_c(&work)?;
        c::install(&work.join("prefix"), Some(build.target.triple), None)?;
        let program = c::same_bytes(build.target.linker, &work)?;
        let printed = on_qemu(build, &program)?;
        c::compare(&format!("C on {name}"), &printed, &expected)?;
    }
    let printed = on_cortex_m4(places)?;
    c::compare("C on cortex_m4", &printed, &expected)
}

fn on_qemu(build: &Build, program: &Path) -> Result<String, Failure> {
    let qemu = build.target.qemu();
    let mut run = Command::new(qemu[0]);
    output_within(LIMIT, build.target.name, run.args(&qemu[1..]).arg(program))
}

fn on_cortex_m4(places: &Places) -> Result<String, Failure> {
    let work = c::work_folder("cortex_m4")?;
    let keys = c::keys_in_c(&work)?;
    c::install(&work.join("prefix"), Some(CORTEX_M4), None)?;
    for (board, printed) in [(&NETDUINO, "message "), (&NRF52840, "ciphertext ")] {
        refuses_or_encrypts(places, board, &work, &keys, printed)?;
    }

    let program = work.join("same_bytes.elf");
    let same_bytes = places.root.join("firmware/same-bytes");
    let mut sources = c::SAME_BYTES.map(|name| same_bytes.join(name)).to_vec();
    sources.push(places.root.join("firmware/cortex-m4-c/same_bytes.c"));
    compile(
        places, &NRF52840, &work, &keys, &sources, "-DSAME", &program,
    )?;
    output_within(LIMIT, "firmware/same-bytes", &mut NRF52840.qemu(&program))
}

/// A machine, and the folder of the example for it.
struct Board {
    machine: &'static str,
    folder: &'static str,
}

const NETDUINO: Board = Board {
    machine: "netduinoplus2",
    folder: "firmware/cortex-m4-c",
};

/// A machine with the same processor, and memory at the same addresses.
const NRF52840: Board = Board {
    machine: "mps2-an386",
    folder: "firmware/cortex-m4-ckks-c",
};

/// Without the board's entropy the example encrypts nothing, with known entropy it prints a hash.
fn refuses_or_encrypts(
    places: &Places,
    board: &Board,
    work: &Path,
    keys: &Path,
    prints: &str,
) -> Result<(), Failure> {
    let Board { folder, .. } = board;
    let encrypt = [places.root.join(folder).join("main.c")];
    for (define, status) in [("-DNO_TEST", 1), ("-DTFHE_SBC_TEST_ENTROPY", 0)] {
        let program = work.join("firmware.elf");
        compile(places, board, work, keys, &encrypt, define, &program)?;
        let mut run = board.qemu(&program);
        let run = run.output().map_err(|error| Failure(error.to_string()))?;
        let printed = String::from_utf8_lossy(&run.stdout);
        if run.status.code() != Some(status) || (status == 0) != printed.starts_with(prints) {
            return Err(Failure(format!(
                "{folder}, {define}: {}, {printed}",
                run.status
            )));
        }
    }
    Ok(())
}

fn compile(
    places: &Places,
    board: &Board,
    work: &Path,
    keys: &Path,
    sources: &[std::path::PathBuf],
    define: &str,
    program: &Path,
) -> Result<(), Failure> {
    let common = places.root.join("firmware/cortex-m4-c");
    let mut cc = Command::new("arm-none-eabi-gcc");
    cc.args(["-O2", "-std=c99", "-Wall", "-Wextra", "-Werror"])
        .args(["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard"])
        .args(["-mfpu=fpv4-sp-d16", "-ffreestanding", "-nostartfiles"])
        .args(["-nostdlib", "-Wl,--gc-sections,-z,noexecstack", define]);
    for folder in [
        &work.join("prefix/include"),
        &common,
        &places.root.join("firmware/same-bytes"),
        keys,
    ] {
        cc.arg("-I").arg(folder);
    }
    cc.arg("-L")
        .arg(&common)
        .arg("-T")
        .arg(places.root.join(board.folder).join("link.ld"))
        .args(sources)
        .arg(common.join("board.c"))
        .arg(common.join("startup.c"))
        .arg(work.join("prefix/lib/libtfhe_sbc.a"))
        .args(["-lc", "-lgcc", "-o"])
        .arg(program);
    succeed("arm-none-eabi-gcc", &mut cc)
}

impl Board {
    fn qemu(&self, program: &Path) -> Command {
        let mut qemu = Command::new("timeout");
        qemu.args(["300", "qemu-system-arm", "-machine", self.machine])
            .args(["-nographic", "-monitor", "none", "-serial", "none"])
            .args(["-semihosting-config", "enable=on,target=native", "-kernel"])
            .arg(program);
        qemu
    }
}
