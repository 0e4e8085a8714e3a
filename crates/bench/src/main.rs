//! Benchmarks of tfhe-sbc, beside its peers if those are built in.
//!
//! `cargo run --release -p tfhe-sbc-bench -- NAME [--json]`; add `--features tfhe-rs`
//! for the peer. Every figure is measured in the run that prints it, one contestant
//! after the other in turns ([`timing`]), and what is timed is decrypted and checked:
//! a wrong answer ends the run.

mod adapters;
mod analytics;
mod answers;
mod board;
mod catalogue;
mod ckks;
mod columns;
mod constant_time;
mod device;
mod engine;
mod error;
mod integers;
mod json;
mod keys;
mod machine;
mod paper;
mod recorded;
mod report;
mod text_table;
mod timing;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::engine::EngineReport;
use crate::error::BenchError;
use crate::integers::IntegersReport;
use crate::machine::Machine;
use crate::paper::PaperReport;
use crate::report::Report;

/// Benchmarks of tfhe-sbc: medians and minima, every answer checked.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The table to measure.
    #[arg(value_name = "NAME")]
    table: TableName,
    /// Print one JSON object instead of tables, every figure with its unit.
    #[arg(long)]
    json: bool,
    /// Seconds of timing for the whole table; making keys comes on top.
    #[arg(long, default_value_t = 55.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Draw bootstraps by size of batch and threads into an SVG file; for 'engine'.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Only these rows, separated by commas; for 'integers'.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    rows: Vec<String>,
    /// The uploads of the store; for 'catalogue'.
    #[arg(long, value_name = "NUMBER", default_value_t = catalogue::UPLOADS, value_parser = clap::value_parser!(u64).range(1..))]
    uploads: u64,
    /// Run one bootstrap with the server key in this file, for callgrind, which counts it for 'sets'.
    #[arg(long, value_name = "FILE", hide = true)]
    count_bootstrap: Option<PathBuf>,
}

/// The tables.
#[derive(Clone, Copy, ValueEnum)]
enum TableName {
    /// Encryption on a device: time, bytes sent, memory.
    Device,
    /// Uploads as ciphertexts of other libraries.
    Adapters,
    /// CKKS encryption for Microsoft SEAL: time, memory, precision.
    Ckks,
    /// Test whether the time of an encryption depends on its secrets; fails where it does.
    ConstantTime,
    /// The tables of the TFHE-SBC paper, its figures beside ours.
    Paper,
    /// Bootstrapping: gates, lookups and keys, then batches by size and threads.
    Engine,
    /// The shipped parameter sets beside those that the project began with.
    Sets,
    /// Compact columns: comparisons and digits of whole readings beside radix blocks, bytes, encryption, sums.
    Columns,
    /// Questions about a year of hourly readings: bootstraps, counted.
    Analytics,
    /// Answers: the bytes of results, and the packing of blocks.
    Answers,
    /// The store of a fleet: selections, lists, bytes, uploads a second; filling it takes minutes.
    Catalogue,
    /// Encrypted integers: operators, and questions about many; the peer takes minutes.
    Integers,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number of seconds between 0 and 86400".to_owned()),
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok((text, good)) => {
            println!("{text}");
            if good {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the text to print, and whether the exit status is a success.
fn run(args: &Args) -> Result<(String, bool), BenchError> {
    if args.plot.is_some() && !matches!(args.table, TableName::Engine) {
        return Err(BenchError::NoPicture);
    }
    if !args.rows.is_empty() && !matches!(args.table, TableName::Integers) {
        return Err(BenchError::NoRows);
    }
    if let Some(key) = &args.count_bootstrap {
        engine::instructions::run(key)?;
        return Ok((String::new(), true));
    }
    let machine = Machine::detect();
    let budget = Duration::from_secs_f64(args.seconds);
    let rows = match args.table {
        TableName::Device => device::rows(budget)?,
        TableName::Sets => engine::sets::rows(machine.cores, budget)?,
        TableName::Adapters => adapters::rows(budget)?,
        TableName::Columns => columns::rows(&machine, budget)?,
        TableName::Analytics => analytics::rows()?,
        TableName::Answers => answers::rows(budget)?,
        TableName::Ckks => ckks::rows(budget)?,
        TableName::Catalogue => catalogue::rows(budget, args.uploads)?,
        TableName::ConstantTime => {
            let report = constant_time::report(machine, budget)?;
            let text = if args.json {
                json::pretty(&report)?
            } else {
                report.to_table()
            };
            return Ok((text, report.is_good()));
        }
        TableName::Paper => {
            let report = PaperReport::measure(machine, budget)?;
            let text = if args.json {
                report.to_json()?
            } else {
                report.to_text()
            };
            return Ok((text, true));
        }
        TableName::Engine => {
            let report = EngineReport::measure(machine, budget)?;
            if let Some(path) = &args.plot {
                report.plot(path)?;
            }
            let text = if args.json {
                json::pretty(&report)?
            } else {
                report.to_text()
            };
            return Ok((text, true));
        }
        TableName::Integers => {
            let report = IntegersReport::measure(machine, budget, &args.rows)?;
            let text = if args.json {
                json::pretty(&report)?
            } else {
                report.to_text()
            };
            return Ok((text, true));
        }
    };
    let report = Report { machine, rows };
    let text = if args.json {
        json::pretty(&report)?
    } else {
        report.to_tables()
    };
    Ok((text, true))
}
