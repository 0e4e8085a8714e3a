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

/// The recorded figure of a name.
///
/// # Errors
/// If the record is damaged or has no such figure.
pub(crate) fn row(name: &str) -> Result<u64, BenchError> {
    let record: Record = serde_json::from_str(RECORD)?;
    let found = record.rows.get(name).copied();
    found.ok_or_else(|| BenchError::WrongAnswer(format!("the record, which has no {name}")))
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
