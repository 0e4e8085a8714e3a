//! The tables of the TFHE-SBC paper, measured here with its figures beside ours.
//!
//! The baselines are reproductions ([`tfhe_sbc_research::paper::configuration`]) and labelled so.
//! The paper's figures ([`tfhe_sbc_research::paper::figures`]) are from its board, ours from this
//! machine, so that rows compare with rows; figures in brackets are the paper's. The results of
//! every row are decrypted and compared.

mod method;
mod ours;
mod sampling;
mod table;
#[cfg(feature = "tfhe-rs")]
mod tfhe_rs;
mod whole;

use std::time::Duration;

use serde::Serialize;
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, fill_binary};
use tfhe_sbc_research::paper::configuration;

use crate::error::BenchError;
use crate::json;
use crate::machine::Machine;
use crate::report::Row;

use self::table::PaperTable;

/// The tables and the machine that they were measured on.
pub(crate) struct PaperReport {
    machine: Machine,
    tables: Vec<PaperTable>,
}

#[derive(Serialize)]
struct Json<'r> {
    machine: &'r Machine,
    rows: Vec<Row>,
}

impl PaperReport {
    /// Measures everything in about `budget`.
    pub(crate) fn measure(machine: Machine, budget: Duration) -> Result<Self, BenchError> {
        let key = key();
        let mut tables = vec![whole::table_1(&key, budget / 2)?];
        tables.extend(sampling::tables(&key, budget / 2)?);
        Ok(Self { machine, tables })
    }

    /// One JSON object.
    pub(crate) fn to_json(&self) -> Result<String, serde_json::Error> {
        json::pretty(&Json {
            machine: &self.machine,
            rows: self.tables.iter().flat_map(PaperTable::to_rows).collect(),
        })
    }

    /// The tables in characters.
    pub(crate) fn to_text(&self) -> String {
        let tables: Vec<String> = self.tables.iter().map(PaperTable::to_text).collect();
        format!(
            "{}\n\nTimes are medians on one thread. In brackets: the paper's figure, on a \
             Raspberry Pi Zero 2 W.\nBaselines are reproductions of ours, not the peers' \
             programs.\n\n{}",
            self.machine.to_table(),
            tables.join("\n")
        )
    }
}

/// The binary key of all baselines, from a fixed seed. No secret is encrypted with it.
fn key() -> Vec<u8> {
    let mut key = vec![0; configuration::SIZE];
    let seed = MaskSeed(*b"tfhe-sbc-bench: not for secrets!");
    fill_binary(&mut ExpanderKind::ChaCha20.mask_stream(&seed, 0), &mut key);
    key
}
