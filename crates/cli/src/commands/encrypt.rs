//! `encrypt`: CSV in, an upload out.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_oracle::upload::UploadKind;

use crate::columns::Under;
use crate::encryptor;
use crate::failure::Outcome;
use crate::{columns, output, report, table};

/// Encrypts CSV readings into one upload: column definitions and row labels in the clear,
/// readings packed into GLWE ciphertexts. With a device key their masks are a seed; with a
/// device public key, which decrypts nothing, they are sent along.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample | tfhe-sbc encrypt --key keys/device.tsbc --out day.tsbc\n  tfhe-sbc inspect day.tsbc\n  tfhe-sbc device-key --public --out-device public.tsbc\n  tfhe-sbc sample | tfhe-sbc encrypt --key public.tsbc --out public-day.tsbc"
)]
pub(crate) struct Arguments {
    /// The CSV file, or - for stdin
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
    let parameters = *session.parameters();
    let under = Under {
        parameters: &parameters,
        kind: match session.is_public() {
            true => UploadKind::PublicKey,
            false => UploadKind::Symmetric,
        },
    };
    let columns = columns::load(arguments.columns.as_deref(), Some(under))?;
    let csv = output::read_input(&arguments.csv)?;
    let source = if arguments.csv == Path::new("-") {
        "stdin".to_owned()
    } else {
        arguments.csv.display().to_string()
    };
    let table = table::read(&source, csv.as_slice(), &columns)?;
    let upload =
        session.encrypt_table(arguments.expander, &columns, &table.labels, &table.readings)?;
    output::write(arguments.out.as_deref(), &upload)?;
    output::note(format_args!(
        "encrypted {} rows of {} columns: {} to {}",
        table.labels.len(),
        columns.len(),
        report::bytes(upload.len() as u64),
        output::shown(arguments.out.as_ref())
    ));
    Ok(())
}
