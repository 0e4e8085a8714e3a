//! TFHEpp's types by its own serialization library, cereal.

use std::path::Path;
use std::process::Command;

use super::{Programs, page, work_folder};
use crate::failure::{Failure, output, succeed, write};
use crate::workspace::root;

const COLUMNS: &str = "[[column]]\nname = \"level\"\noffset = -2.0\nscale = 0.5\nbits = 4\n\
                       [[column]]\nname = \"flow\"\noffset = 0.0\nscale = 1.0\nbits = 6\n";
const READINGS: &str = "timestamp,level,flow\n1,-1.5,60\n2,2.0,3\n3,0.5,17\n4,-2.0,17\n";
/// The codes of [`READINGS`], column after column, each least significant bit first.
const BITS: &str = "1000000110100000001111110000100010100010";

pub(super) fn run(programs: &Programs) -> Result<(), Failure> {
    let folder = work_folder("tfhepp")?;
    let server = folder.join("server");
    let mut compiler = Command::new("c++");
    compiler
        .args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror"])
        .arg(root().join("interop/cereal/server.cpp"))
        .arg("-o")
        .arg(&server);
    succeed(
        "the server, which needs Debian's libcereal-dev,",
        &mut compiler,
    )?;
    let key = root().join("tests/vectors/tfhepp/v9-binary-lvl1/secretkey.bin");
    let checks = folder.join("checks");
    let failed = |error| Failure(format!("{}: {error}", checks.display()));
    if checks.exists() {
        std::fs::remove_dir_all(&checks).map_err(failed)?;
    }
    std::fs::create_dir_all(&checks).map_err(failed)?;
    std::fs::copy(&key, checks.join("secretkey.bin")).map_err(failed)?;
    check_archives(&programs.folder.join("tfhe-sbc"), &server, &checks)?;
    page::run_with("tfhepp", programs, &[&key, &server])
}

/// Checks that the server reads, decrypts and computes on what boards encrypt, and that we read its
/// results, in both archives and both shapes.
fn check_archives(program: &Path, server: &Path, folder: &Path) -> Result<(), Failure> {
    write(&folder.join("columns.toml"), COLUMNS)?;
    write(&folder.join("readings.csv"), READINGS)?;
    let run = |program: &Path, arguments: &str| {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .args(arguments.split_whitespace());
        output(arguments, &mut command)
    };
    let import = "keys import --from tfhepp secretkey.bin --public --out checked";
    run(program, import)?;
    for key in ["device", "public"] {
        let encrypt = format!(
            "encrypt readings.csv --columns columns.toml --key checked/{key}.tsbc --out up.tsbc"
        );
        run(program, &encrypt)?;
        for (archive, option) in [("portable-binary", ""), ("binary", "--binary")] {
            let convert =
                format!("convert up.tsbc --to tfhepp --card checked/card.tsbc --archive {archive}");
            run(program, &format!("{convert} --out in.bin"))?;
            let seen = run(server, &format!("decrypt secretkey.bin in.bin {option}"))?;
            same(&seen, BITS)?;

            run(server, &format!("compute in.bin out.bin {option}"))?;
            let computed = run(program, "decrypt --from tfhepp --key secretkey.bin out.bin")?;
            same(&computed, &computed_bits())?;

            run(program, &format!("{convert} --as trlwe --out one.bin"))?;
            let seen = run(
                server,
                &format!("decrypt-trlwe secretkey.bin one.bin {option}"),
            )?;
            same(&seen[..BITS.len()], BITS)?;
        }
    }
    Ok(())
}

/// NOT of every bit, then NAND of neighbours.
fn computed_bits() -> String {
    let bits: Vec<bool> = BITS.chars().map(|bit| bit == '1').collect();
    let nots = bits.iter().map(|&a| !a);
    let nands = bits.windows(2).map(|pair| !(pair[0] && pair[1]));
    let digit = |bit| if bit { '1' } else { '0' };
    nots.chain(nands).map(digit).collect()
}

fn same(found: &str, expected: &str) -> Result<(), Failure> {
    let found: String = found.split_whitespace().collect();
    if found == expected {
        Ok(())
    } else {
        Err(Failure(format!("bits differ:\n{found}\n{expected}")))
    }
}
