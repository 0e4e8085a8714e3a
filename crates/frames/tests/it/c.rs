//! The encoder in C against the one in Rust.

use std::path::{Path, PathBuf};
use std::process::Command;

use tfhe_sbc_frames::Form;

use crate::support::{ID, encoder, format, key};

/// A case: width of the build, form, bits and headroom of the columns, rows of a frame.
type Case = (u32, Form, &'static [(u8, u8)], u8);

const CASES: [Case; 8] = [
    (16, Form::Bare, &[(12, 1)], 24),
    (16, Form::Named, &[(12, 1)], 24),
    (16, Form::Bare, &[(1, 0), (16, 0), (7, 2)], 40),
    (16, Form::Bare, &[(8, 0)], 255),
    (16, Form::Named, &[(15, 1); 16], 7),
    (32, Form::Bare, &[(12, 1)], 24),
    (32, Form::Named, &[(17, 3), (1, 0), (32, 0)], 33),
    (32, Form::Bare, &[(16, 1)], 16),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c")
}

/// Compiles the test program with a width, with all warnings as errors and the sanitizers.
fn compile(width: u32, program: &Path) {
    let folder = folder();
    let compiled = Command::new("cc")
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Wconversion",
            "-Werror",
        ])
        .args([
            "-O1",
            "-g",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover",
        ])
        .arg(format!("-DTFHE_SBC_FRAMES_WIDTH={width}"))
        .arg("-I")
        .arg(&folder)
        .arg(folder.join("tfhe_sbc_frames.c"))
        .arg(folder.join("tests/frames.c"))
        .arg("-o")
        .arg(program)
        .status();
    assert!(compiled.unwrap().success(), "the C compiler");
}

/// Codes of all widths, the largest and the least among them.
fn codes(columns: &[(u8, u8)], rows: u8, salt: u64) -> Vec<u64> {
    let bits = columns.iter().cycle().map(|&(bits, _)| bits);
    let count = usize::from(rows) * columns.len();
    let numbers = (0..count as u64).map(|i| match i % 5 {
        0 => 0,
        1 => u64::MAX,
        _ => (i + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7,
    });
    numbers
        .zip(bits)
        .map(|(number, bits)| number & ((1 << bits) - 1))
        .collect()
}

#[test]
fn frames_in_c_are_those_in_rust() {
    let folder = tempfile::tempdir().unwrap();
    for width in [16, 32] {
        let program = folder.path().join(format!("frames-{width}"));
        compile(width, &program);
        // What the C program checks by itself.
        assert!(Command::new(&program).status().unwrap().success());
        for (i, &(_, form, columns, rows)) in
            CASES.iter().enumerate().filter(|(_, case)| case.0 == width)
        {
            for (rows, counter) in [(1, 0), (rows, 999), (rows / 2 + 1, 77)] {
                let codes = codes(columns, rows, i as u64 + u64::from(counter));
                let format = format(form, columns, rows);
                let mut buffer = [0; 8192];
                let mut board = encoder(format, key(i as u8), counter);
                let expected = board.encode(&codes, &mut buffer).unwrap();
                let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();

                let hex = |bytes: &[u8]| {
                    bytes
                        .iter()
                        .map(|byte| format!("{byte:02x}"))
                        .collect::<String>()
                };
                let mut run = Command::new(&program);
                run.arg(hex(key(i as u8).as_bytes())).arg(hex(&ID.0));
                run.arg(u8::from(form == Form::Named).to_string());
                run.arg(rows.to_string()).arg(counter.to_string());
                run.arg(columns.len().to_string());
                for (bits, headroom) in columns {
                    run.arg(bits.to_string()).arg((bits + headroom).to_string());
                }
                run.args(codes.iter().map(u64::to_string));
                let output = run.output().unwrap();
                assert!(
                    output.status.success(),
                    "{}",
                    String::from_utf8_lossy(&output.stderr)
                );
                assert_eq!(
                    String::from_utf8_lossy(&output.stdout).trim(),
                    expected,
                    "case {i}"
                );
            }
        }
    }
}
