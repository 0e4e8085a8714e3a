//! `encrypt`: CSV in, an upload out.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;

use crate::encryptor;
use crate::failure::Outcome;
use crate::table::Table;
use crate::{columns, output, report, table};

/// Encrypts CSV readings into one upload: column definitions and row labels in the clear,
/// readings packed into GLWE ciphertexts. With a device key their masks are a seed; with a
/// device public key, which decrypts nothing, they are sent along.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample | tfhe-sbc encrypt --key keys/device.tsbc --out day.tsbc\n  tfhe-sbc inspect day.tsbc\n  tfhe-sbc device-key --public --out-device public.tsbc\n  tfhe-sbc sample | tfhe-sbc encrypt --key public.tsbc --out public-day.tsbc"
)]
pub(crate) struct Arguments {
    /// The CSV file, or - for stdin; its column called timestamp, time or label labels the rows
    #[arg(default_value = "-")]
    csv: PathBuf,
    /// The device key, or a device public key
    #[arg(long, default_value = "keys/device.tsbc")]
    key: PathBuf,
    /// Column definitions in TOML [default: those of the bundled weather data]
    #[arg(long)]
    columns: Option<PathBuf>,
    /// The file to write [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write one upload for every ROWS rows, numbered OUT-1, OUT-2 and so on, so that any number of rows is
    /// encrypted in the memory of one upload
    #[arg(long, value_name = "ROWS", requires = "out")]
    split: Option<NonZeroUsize>,
    /// The generator of masks and noise
    #[arg(long, default_value = ExpanderKind::ChaCha20.name(), value_parser = super::expander())]
    expander: ExpanderKind,
    /// The values that are kept in memory; the upload has the same size with each plan
    #[arg(long, default_value_t = MemoryPlan::recommended(), value_parser = super::memory_plan())]
    plan: MemoryPlan,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    output::check(arguments.out.as_deref())?;
    let mut session = encryptor::open(&arguments.key, arguments.plan)?;
    let definitions = columns::load(arguments.columns.as_deref())?;
    let columns = columns::under(&definitions, session.under())?;
    let source = if arguments.csv == Path::new("-") {
        "stdin".to_owned()
    } else {
        arguments.csv.display().to_string()
    };
    let input = output::open_input(&arguments.csv)?;
    let mut rows = table::Rows::open(&source, input, &columns)?;
    let most = arguments.split.map_or(usize::MAX, NonZeroUsize::get);
    let (mut row_count, mut byte_count, mut uploads) = (0, 0, 0);
    while let Some(Table { labels, readings }) = rows.next(most)? {
        uploads += 1;
        let upload = session.encrypt_table(arguments.expander, &columns, &labels, &readings)?;
        let out = match (arguments.split, &arguments.out) {
            (Some(_), Some(out)) => Some(output::marked(out, uploads)),
            (_, out) => out.clone(),
        };
        output::write(out.as_deref(), &upload)?;
        row_count += labels.len();
        byte_count += upload.len() as u64;
    }
    let parts = match arguments.split {
        Some(_) => format!(" in {}", report::counted(uploads, "upload", "uploads")),
        None => String::new(),
    };
    output::note(format_args!(
        "encrypted {} of {}{parts}: {} to {}",
        report::counted(row_count as u64, "row", "rows"),
        report::counted(columns.len() as u64, "column", "columns"),
        report::bytes(byte_count),
        output::shown(arguments.out.as_ref())
    ));
    for line in rows.notes() {
        output::note(line);
    }
    for line in columns::forms(&definitions, &columns, session.parameters()) {
        output::note(line);
    }
    Ok(())
}
