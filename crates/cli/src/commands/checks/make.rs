//! `checks make`: an upload of random readings.

use std::path::PathBuf;

use clap::Args;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_query::checks::CheckUpload;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::failure::Outcome;
use crate::table::Rows;
use crate::{checks, columns, encryptor, output, report};

/// Encrypts random readings with the columns, the number of rows and the labels of a CSV file, so that the upload looks
/// like one of that file. Send it in the name of a board: `tfhe-sbc send --identity NAME`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample > day.csv\n  tfhe-sbc checks make day.csv --key keys/device.tsbc --out check.tsbc"
)]
pub(crate) struct Arguments {
    /// The CSV file whose labels the rows get; its readings are not used
    csv: PathBuf,
    /// The device key of the board in whose name the upload is to be sent
    #[arg(long)]
    key: PathBuf,
    /// Column definitions in TOML [default: those of the bundled weather data]
    #[arg(long)]
    columns: Option<PathBuf>,
    /// The file for the upload
    #[arg(long)]
    out: PathBuf,
    /// The record to add it to, which is yours alone: whoever has it knows the check uploads
    #[arg(long, value_name = "FILE", default_value = "checks.json")]
    record: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    output::check_file(&arguments.out)?;
    output::check_file(&arguments.record)?;
    let mut session = encryptor::open(&arguments.key, MemoryPlan::recommended())?;
    let definitions = columns::load(arguments.columns.as_deref())?;
    let columns = columns::under(&definitions, session.under())?;
    let source = arguments.csv.display().to_string();
    let input = output::open_input(&arguments.csv)?;
    let table = Rows::open(&source, input, &columns)?.next(usize::MAX)?;
    // A file without rows was refused.
    let labels = table.map_or_else(Vec::new, |table| table.labels);
    let values = columns.iter().map(|column| random(column, labels.len()));
    let values: Vec<Vec<f64>> = values.collect::<Outcome<_>>()?;
    let expander = ExpanderKind::ChaCha20;
    let upload = session.encrypt_table(expander, &columns, &labels, &values)?;
    let id = BlobId::of(&upload).to_string();
    let rows = labels.len();
    let readings = ReadingsMetadata {
        columns,
        rows: labels,
        gaps: Default::default(),
    };
    // The record comes first: an upload that is not in it is one of false readings.
    let kept = checks::change(&arguments.record, true, |record| {
        record.add(CheckUpload {
            id: id.clone(),
            readings,
            values,
        });
        Ok(record.upload_count())
    })?;
    output::write_file(&arguments.out, &upload)?;
    output::note(format_args!(
        "encrypted {} of random readings: {} to {}; {} has {} now",
        report::counted(rows as u64, "row", "rows"),
        report::bytes(upload.len() as u64),
        arguments.out.display(),
        arguments.record.display(),
        report::counted(kept as u64, "check upload", "check uploads"),
    ));
    Ok(())
}

/// Returns readings that are evenly spread over a column's range.
fn random(column: &Column, rows: usize) -> Outcome<Vec<f64>> {
    let mask = u64::MAX >> (64 - column.bits.clamp(1, 64));
    let reading = || Ok(column.offset + column.scale * (checks::random()? & mask) as f64);
    (0..rows).map(|_| reading()).collect()
}
