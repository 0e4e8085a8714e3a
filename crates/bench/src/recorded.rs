//! Figures of boards, from the last recorded run under QEMU.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::BenchError;
use crate::report::{Row, Unit};

/// The file that `cargo xtask arm --record` wrote.
const RECORD: &str = include_str!("../../../firmware/instructions.json");

#[derive(Deserialize)]
struct Record {
    rustc: String,
    qemu: String,
    rows: BTreeMap<String, u64>,
}

/// Every recorded figure.
pub(crate) fn rows() -> Result<Vec<Row>, BenchError> {
    let record: Record = serde_json::from_str(RECORD)?;
    let note = format!(
        "recorded under QEMU {}, rustc {}: instructions, not cycles",
        record.qemu, record.rustc
    );
    let row = |(name, value): (String, u64)| {
        let unit = match name.ends_with("_bytes") {
            true => Unit::Bytes,
            false => Unit::Instructions,
        };
        Row::figures(name, unit, value as f64, None, note.clone())
    };
    Ok(record.rows.into_iter().map(row).collect())
}
