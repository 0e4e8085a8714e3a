//! Rows about frames, and about the demo, which is the whole path with ten questions.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_frames::{BoardKey, Counter, CounterStore, Encoder, Receiver};
use tfhe_sbc_upload::fresh_seeds;
use tfhe_sbc_upload::pads::{FramePlan, make_pads};
use tfhe_sbc_upload::readings::{Column, Compact};

use super::wrong;
use crate::error::BenchError;
use crate::recorded;
use crate::report::{Row, Unit};

/// The counter of a board that is never without power.
struct Memory(Option<u32>);

impl CounterStore for Memory {
    type Error = std::convert::Infallible;

    fn read(&mut self) -> Result<Option<u32>, Self::Error> {
        Ok(self.0)
    }

    fn write(&mut self, limit: u32) -> Result<(), Self::Error> {
        self.0 = Some(limit);
        Ok(())
    }
}

/// Rows about frames of 24 readings of 12 bits, and the pads of a year of hourly readings, which are 365 such
/// frames.
pub(super) fn rows(device: &DeviceKey) -> Result<Vec<Row>, BenchError> {
    let plan = |named| FramePlan {
        device: *b"board-01",
        named,
        columns: vec![Column {
            name: "level".to_owned(),
            unit: String::new(),
            offset: 0.0,
            scale: 1.0,
            bits: 12,
            compact: Some(Compact {
                headroom: 1,
                body_bits: 16,
                feedback: false,
            }),
            derived: Default::default(),
        }],
        rows: 24,
        frames: 365,
    };
    let error = |error: &dyn std::fmt::Display| wrong(error);
    let board = || BoardKey::from_bytes([7; 32]);
    let pads = make_pads(device, &board(), plan(false), &mut fresh_seeds()?);
    let pads = pads.map_err(|e| error(&e))?;
    let pad_bytes = pads.to_bytes().map_err(|e| error(&e))?;

    let format = plan(false).format().map_err(|e| error(&e))?;
    let mut store = Memory(None);
    Counter::provision(&mut store).map_err(|e| error(&e))?;
    let counter = Counter::open(store, 16, &format).map_err(|e| error(&e))?;
    let mut encoder = Encoder::new(format, board(), counter);
    let codes: Vec<u16> = (0..24).map(|row| row * 170).collect();
    let mut buffer = [0; 256];
    let frame = encoder.encode(&codes, &mut buffer);
    let frame = frame.map_err(|e| error(&e))?;
    let receiver = Receiver::new(format, board().mac_key());
    receiver.read(frame).map_err(|e| error(&e))?;

    let bytes = |name: &str, bytes: usize, note: &str| {
        Row::figures(name, Unit::Bytes, bytes as f64, None, note.to_owned())
    };
    let mut rows = vec![
        bytes(
            "frame_bytes_24x12bit",
            frame.len(),
            "24 readings of 12 bits with headroom of 1 bit, counter and tag; the network names the board",
        ),
        bytes(
            "pads_bytes_year_hourly_12bit",
            pad_bytes.len(),
            "The server's pads for 8,760 readings of 12 bits, bodies of 16 bits",
        ),
    ];
    // The C encoder's figure: boards of this size are programmed in C.
    let recorded = recorded::row("cortex_m0_frames_c_insns")?;
    rows.push(Row::figures(
        "cortex_m0_frame_instructions",
        Unit::Instructions,
        recorded as f64,
        None,
        "One frame of 24 readings on a Cortex-M0, in C; recorded by `cargo xtask arm --record`"
            .to_owned(),
    ));
    Ok(rows)
}

/// The figures that the program's demo prints.
#[derive(Deserialize)]
struct Demo {
    ok: bool,
    result_bytes: usize,
    bytes_uploaded: usize,
}

/// Rows about the demo of the program, which is built first if it is not there.
pub(super) fn demo() -> Result<Vec<Row>, BenchError> {
    let failed = |what: &str| wrong(&what);
    let picture = std::env::temp_dir().join(format!("tfhe-sbc-bench-{}.svg", std::process::id()));
    let run = Command::new(program()?)
        .args(["demo", "--json", "--picture"])
        .arg(&picture)
        .output()
        .map_err(|error| wrong(&error))?;
    let _ = std::fs::remove_file(&picture);
    let demo: Demo = serde_json::from_slice(&run.stdout)?;
    if !run.status.success() || !demo.ok {
        return Err(failed("the demo"));
    }
    let bytes = |name: &str, bytes: usize, note: &str| {
        Row::figures(name, Unit::Bytes, bytes as f64, None, note.to_owned())
    };
    Ok(vec![
        bytes(
            "demo_answers_bytes",
            demo.result_bytes,
            "The result with the answers to the demo's ten questions about a day of four columns",
        ),
        bytes(
            "demo_upload_bytes",
            demo.bytes_uploaded,
            "The upload that they are about",
        ),
    ])
}

/// The path of the program, beside this one. Builds it with the profile of this program.
fn program() -> Result<PathBuf, BenchError> {
    let own = std::env::current_exe().map_err(|error| wrong(&error))?;
    let program = own.with_file_name(format!("tfhe-sbc{}", std::env::consts::EXE_SUFFIX));
    let folder = own.parent().and_then(|folder| folder.file_name());
    let profile = match folder.and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--package", "tfhe-sbc-cli", "--profile"])
        .arg(profile)
        .status();
    match built {
        Ok(status) if status.success() && program.exists() => Ok(program),
        _ => Err(wrong(&format!("no {}", program.display()))),
    }
}
