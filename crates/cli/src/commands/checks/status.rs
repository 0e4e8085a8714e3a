//! `checks status`: what the answers to check questions say about the server.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::failure::Outcome;
use crate::{checks, output, report};

/// Shows how many check questions were answered rightly, and with which probability a server that answers wrongly would
/// have been found out.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys && tfhe-sbc sample > day.csv\n  tfhe-sbc checks make day.csv --key keys/device.tsbc --out check.tsbc\n  tfhe-sbc checks status"
)]
pub(crate) struct Arguments {
    /// The record that `checks make` made
    #[arg(long, value_name = "FILE", default_value = "checks.json")]
    record: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The shares of wrong answers that are shown.
const SHARES: [f64; 3] = [0.1, 0.01, 0.001];

#[derive(Serialize)]
struct Status {
    uploads: usize,
    not_compared: usize,
    right: u64,
    wrong: u64,
    found_out: Vec<FoundOut>,
}

#[derive(Serialize)]
struct FoundOut {
    share_of_wrong_answers: f64,
    probability: f64,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let record = checks::read(&arguments.record)?;
    let (right, wrong) = record.compared();
    let found_out = SHARES.map(|share| FoundOut {
        share_of_wrong_answers: share,
        probability: record.detection_probability(share),
    });
    let status = Status {
        uploads: record.upload_count(),
        not_compared: record.open_count(),
        right,
        wrong,
        found_out: found_out.into(),
    };
    if arguments.json {
        return output::print_json(&status);
    }
    let mut table = output::text_table();
    table.set_header(["check questions", ""]);
    let count = |number: u64| report::count(number);
    table.add_row([
        "uploads to ask about".to_owned(),
        count(status.uploads as u64),
    ]);
    table.add_row([
        "results not compared yet".to_owned(),
        count(status.not_compared as u64),
    ]);
    table.add_row(["answered rightly".to_owned(), count(right)]);
    table.add_row(["answered wrongly".to_owned(), count(wrong)]);
    for FoundOut {
        share_of_wrong_answers,
        probability,
    } in &status.found_out
    {
        table.add_row([
            format!(
                "a server that answers 1 in {} wrongly would have been found out",
                report::count((1.0 / share_of_wrong_answers).round() as u64)
            ),
            format!("{} %", report::number((probability * 1e4).round() / 100.0)),
        ]);
    }
    output::emit(table)
}
