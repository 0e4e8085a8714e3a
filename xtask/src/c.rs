//! The C library: its header, its installation, and its tests on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::arm::cross::cross_cargo;
use crate::failure::{Failure, output, read, succeed, write};
use crate::workspace::{PROFILE, cargo, root, target_folder};

const CRATE: &str = "crates/device-c";
const PACKAGE: &str = "tfhe-sbc-device-c";

const BARE_METAL_FEATURES: &str = "ntt,torus-32,torus-64,ckks,shake256,panic-handler";

/// The messages of `firmware/same-bytes`, whatever the board.
pub(crate) const SAME_BYTES: [&str; 3] = ["helpers.c", "same_bytes.c", "same_bytes_ckks.c"];

/// The system libraries that Rust's standard library needs on Linux.
const SYSTEM_LIBS: &str = "-lgcc_s -lpthread -lm -ldl -lc";

/// Writes the header that the crate's sources make.
pub(crate) fn header() -> Result<(), Failure> {
    write(&header_path(), &made_header()?)
}

/// Checks that the header is the one that the sources make.
fn check_header() -> Result<(), Failure> {
    if read(&header_path())? == made_header()? {
        return Ok(());
    }
    Err(Failure(
        "the header is not that of the sources: run cargo xtask header".to_owned(),
    ))
}

fn header_path() -> PathBuf {
    root().join(CRATE).join("include/tfhe_sbc.h")
}

fn made_header() -> Result<String, Failure> {
    let mut cbindgen = Command::new("cbindgen");
    cbindgen.current_dir(root().join(CRATE)).args([
        "--quiet",
        "--config",
        "cbindgen.toml",
        "src/lib.rs",
    ]);
    output("cbindgen", &mut cbindgen)
}

/// Builds the static library for a target, or for this machine, and puts it with its
/// header and the files of pkg-config and CMake below `prefix`. It has all features that the
/// target can have, or only those of a comma-separated list.
pub(crate) fn install(
    prefix: &Path,
    target: Option<&str>,
    features: Option<&str>,
) -> Result<(), Failure> {
    let (mut cargo, built) = match target {
        Some(triple) => cross_cargo(triple, "rustc", "core")?,
        None => {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.arg("rustc");
            (cargo, target_folder())
        }
    };
    cargo.current_dir(root());
    cargo.args(["--package", PACKAGE, "--lib", "--crate-type", "staticlib"]);
    cargo.args(["--profile", "c"]);
    let bare_metal = target.is_some_and(|triple| triple.contains("-none-"));
    let features = features.or(bare_metal.then_some(BARE_METAL_FEATURES));
    if let Some(features) = features {
        cargo.args(["--no-default-features", "--features", features]);
    }
    succeed("the C library", &mut cargo)?;

    let root = root();
    let folders = ["include", "lib/pkgconfig", "lib/cmake/tfhe_sbc"];
    for folder in folders {
        let folder = prefix.join(folder);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    }
    copy(
        &built.join("c/libtfhe_sbc_c.a"),
        &prefix.join("lib/libtfhe_sbc.a"),
    )?;
    copy(&header_path(), &prefix.join("include/tfhe_sbc.h"))?;
    let cmake = root.join(CRATE).join("cmake");
    copy(
        &cmake.join("tfhe_sbc-config.cmake"),
        &prefix.join("lib/cmake/tfhe_sbc/tfhe_sbc-config.cmake"),
    )?;
    let pc = read(&cmake.join("tfhe_sbc.pc.in"))?
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@SYSTEM_LIBS@", if bare_metal { "" } else { SYSTEM_LIBS });
    write(&prefix.join("lib/pkgconfig/tfhe_sbc.pc"), &pc)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    match std::fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure(format!(
            "{} to {}: {error}",
            from.display(),
            to.display()
        ))),
    }
}

/// Checks the header, an installation, programs built with CMake and with pkg-config, the interface under
/// the sanitizers, and that C makes the same bytes as Rust.
pub(crate) fn test() -> Result<(), Failure> {
    check_header()?;
    let work = work_folder("host")?;
    let prefix = work.join("prefix");
    install(&prefix, None, None)?;

    let program = root().join("firmware/linux-c");
    let by_cmake = work.join("cmake");
    let mut cmake = Command::new("cmake");
    cmake
        .arg("-S")
        .arg(&program)
        .arg("-B")
        .arg(&by_cmake)
        .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()))
        .stdout(Stdio::null());
    succeed("cmake", &mut cmake)?;
    let mut cmake = Command::new("cmake");
    succeed(
        "cmake --build",
        cmake.arg("--build").arg(&by_cmake).stdout(Stdio::null()),
    )?;

    let by_make = work.join("make");
    let mut make = Command::new("make");
    make.args(["--silent", "--always-make", "-C"])
        .arg(&work)
        .arg("-f")
        .arg(program.join("Makefile"))
        .arg("encrypt")
        .env("VPATH", &program)
        .env("MAKEFLAGS", format!("VPATH={}", program.display()))
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    succeed("make", &mut make)?;
    std::fs::rename(work.join("encrypt"), &by_make)
        .map_err(|error| Failure(format!("{}: {error}", by_make.display())))?;

    let keys = keys_in_c(&work)?;
    for program in [by_cmake.join("encrypt"), by_make] {
        encrypts(&program, &work)?;
    }

    for test in ["abi", "ckks"] {
        let source = format!("tests/{test}.c");
        let mut cc = c_compiler("cc", &prefix, &keys);
        cc.args([
            "-g",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover",
        ])
        .arg(root().join(CRATE).join(&source));
        let program = work.join(test);
        link(&mut cc, &prefix, &program)?;
        succeed(&source, &mut Command::new(&program))?;
    }

    let expected = rust_lines(None)?;
    let printed = output("same_bytes", &mut Command::new(same_bytes("cc", &work)?))?;
    compare("C", &printed, &expected)
}

/// Checks that the program makes a message and an upload of readings, and refuses a reading
/// that has no code.
fn encrypts(program: &Path, work: &Path) -> Result<(), Failure> {
    let key = work.join("device.tsbc");
    let run = |readings: &str, column: &[&str]| {
        let file = work.join("readings.csv");
        write(&file, readings)?;
        let file = std::fs::File::open(&file).map_err(|error| Failure(error.to_string()))?;
        Command::new(program)
            .arg(&key)
            .args(["-50", "0.1", "10"])
            .args(column)
            .stdin(file)
            .output()
            .map_err(|error| Failure(format!("{}: {error}", program.display())))
    };
    // Header and checksum, and three times 5 blocks of 12 bits.
    let list_len = 104 + (15 * 12_usize).div_ceil(8);
    for column in [&[][..], &["level", "m"]] {
        let good = run("-10.6, 21.5\n0\n", column)?;
        // An upload has its description before the list, with the column's name in it.
        let list_at = good.stdout.len().saturating_sub(list_len);
        let described = |name: &&str| {
            let mut windows = good.stdout[..list_at].windows(name.len());
            windows.any(|window| window == name.as_bytes())
        };
        let whole = good.stdout[list_at..].starts_with(b"TSBC")
            && good.stdout.starts_with(b"TSBC")
            && (list_at == 0) == column.is_empty()
            && column.iter().all(described);
        if !good.status.success() || !whole {
            return Err(Failure(format!(
                "{} made {} bytes of {column:?}, {list_len} for the list: {}",
                program.display(),
                good.stdout.len(),
                String::from_utf8_lossy(&good.stderr)
            )));
        }
    }
    if run("60\n", &[])?.status.success() {
        return Err(Failure(format!("{} took 60 degrees", program.display())));
    }
    Ok(())
}

/// Makes a folder for the files of the C library's tests.
pub(crate) fn work_folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = std::path::absolute(target_folder().join("c-library").join(name))
        .map_err(|error| Failure(error.to_string()))?;
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    Ok(folder)
}

/// Writes `keys.h` and `device.tsbc`, which hold public test keys, and returns their folder.
pub(crate) fn keys_in_c(work: &Path) -> Result<PathBuf, Failure> {
    rust_lines(Some(work))?;
    Ok(work.to_path_buf())
}

/// The lines that the example `same_bytes` prints on this machine.
pub(crate) fn rust_lines(keys: Option<&Path>) -> Result<String, Failure> {
    // The whole workspace is built, so that the libraries are those that the tests have built.
    let mut cargo = cargo(&["build", "--quiet", "--workspace"]);
    cargo.args(["--profile", PROFILE, "--example", "same_bytes"]);
    succeed("example same_bytes", &mut cargo)?;
    let program = target_folder().join(PROFILE).join("examples/same_bytes");
    output("example same_bytes", Command::new(program).args(keys))
}

/// Compiles `firmware/same-bytes` for Linux, with the library below `work`.
pub(crate) fn same_bytes(compiler: &str, work: &Path) -> Result<PathBuf, Failure> {
    let prefix = work.join("prefix");
    let mut cc = c_compiler(compiler, &prefix, work);
    let sources = root().join("firmware/same-bytes");
    cc.arg("-O2").arg(sources.join("linux.c"));
    cc.args(SAME_BYTES.map(|name| sources.join(name)));
    let program = work.join("same_bytes");
    link(&mut cc, &prefix, &program)?;
    Ok(program)
}

fn c_compiler(compiler: &str, prefix: &Path, keys: &Path) -> Command {
    let mut cc = Command::new(compiler);
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .arg("-I")
        .arg(prefix.join("include"))
        .arg("-I")
        .arg(keys);
    cc
}

fn link(cc: &mut Command, prefix: &Path, program: &Path) -> Result<(), Failure> {
    cc.arg(prefix.join("lib/libtfhe_sbc.a"))
        .args(SYSTEM_LIBS.split(' '))
        .arg("-o")
        .arg(program);
    succeed("C compiler", cc)
}

/// Checks that the lines are those of Rust on this machine. A board without a memory plan
/// prints fewer lines, and none twice.
pub(crate) fn compare(name: &str, printed: &str, expected: &str) -> Result<(), Failure> {
    let lines: Vec<_> = printed.lines().collect();
    let fails = |what: &str| Failure(format!("messages of {name}: {what}"));
    for line in &lines {
        if !expected.lines().any(|known| known == *line) {
            return Err(fails(&format!("not those of Rust on this machine: {line}")));
        }
    }
    let case = |line: &str| {
        let mut words = line.split(' ');
        (
            words.next().map(str::to_owned),
            words.next().map(str::to_owned),
        )
    };
    for known in expected.lines() {
        if !lines.iter().any(|line| case(line) == case(known)) {
            return Err(fails(&format!("none for {known}")));
        }
    }
    eprintln!(
        "messages of {name}: {} the same as from Rust here",
        lines.len()
    );
    Ok(())
}
