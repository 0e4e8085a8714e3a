//! `eval`: a server's computation, on files; [`count`] tells what it costs.

mod count;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use tfhe_sbc_columns::{Server, joined_metadata};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_query::cost::MAX_BOOTSTRAPS;
use tfhe_sbc_query::evaluate::{Form, evaluate};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_upload::readings::ReadingsMetadata;
use tfhe_sbc_upload::{fresh_seeds, metadata};

use super::query::Questions;
use super::scope::{Rows, Times, note_about};
use crate::failure::{Explain, Outcome, failure};
use crate::{keys, output, progress, report};

/// Answers questions about encrypted readings in a file, as a server would, but without
/// one. The result is encrypted; `decrypt` reads it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample | tfhe-sbc encrypt --key keys/device.tsbc --out day.tsbc\n  tfhe-sbc eval --key keys/server.tsbc --readings day.tsbc --out result.tsbc 'mean(temperature_c)' 'rows(temperature_c < 0 and humidity_pct >= 60)'\n  tfhe-sbc decrypt result.tsbc --key keys/secret.tsbc\n  tfhe-sbc eval --count --readings day.tsbc 'median(temperature_c)' 'histogram(humidity_pct, 0, 25, 50, 75, 101)'"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    questions: Questions,
    /// The server key
    #[arg(long, default_value = "keys/server.tsbc")]
    key: PathBuf,
    /// The directory with the switch keys of devices that have keys of their own
    #[arg(long, value_name = "DIRECTORY")]
    device_keys: Option<PathBuf>,
    /// The upload that `encrypt` made, or - for stdin; given several times, the rows of all of them
    #[arg(long, default_value = "-")]
    readings: Vec<PathBuf>,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    rows: Rows,
    /// The file for the encrypted result [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Leave the answers in ciphertexts that can be computed on again: the result is larger
    #[arg(long, conflicts_with_all = ["count", "sanitise"])]
    unpacked: bool,
    /// Compute nothing: only say how many bootstraps the questions take. Needs no key
    #[arg(long, conflicts_with = "out")]
    count: bool,
    /// Try how fast this machine bootstraps with the server key, and print how long the questions
    /// would take
    #[arg(long, requires = "count")]
    measure: bool,
    /// Print what --count says as JSON
    #[arg(long, requires = "count")]
    json: bool,
    /// The most bootstraps that a computation may take
    #[arg(long, default_value_t = MAX_BOOTSTRAPS)]
    max_bootstraps: u64,
}

/// The uploads that a question is about, with the files that they are from.
struct Given<'p> {
    paths: &'p [PathBuf],
    uploads: Vec<Vec<u8>>,
}

const READINGS_HELP: &str =
    "give uploads that `tfhe-sbc encrypt` made, and ask about their columns";

impl<'p> Given<'p> {
    fn read(paths: &'p [PathBuf]) -> Outcome<Self> {
        let uploads = paths.iter().map(|path| output::read_input(path));
        Ok(Self {
            paths,
            uploads: uploads.collect::<Outcome<_>>()?,
        })
    }

    /// The first message of the first upload, and what follows it.
    fn first(&self) -> Outcome<(Message<'_>, &[u8])> {
        let (Some(path), Some(upload)) = (self.paths.first(), self.uploads.first()) else {
            return Err(failure("there are no readings", READINGS_HELP));
        };
        Message::parse(upload).advise(path.display(), READINGS_HELP)
    }

    /// Returns what the uploads say of their columns and rows. The evaluation checks that their ciphertexts
    /// agree.
    fn described(&self) -> Outcome<Vec<ReadingsMetadata>> {
        let mut all = Vec::with_capacity(self.uploads.len());
        for (path, upload) in self.paths.iter().zip(&self.uploads) {
            let (message, _) = Message::parse(upload).advise(path.display(), READINGS_HELP)?;
            let readings: ReadingsMetadata =
                metadata::read(message).advise("no readings", READINGS_HELP)?;
            readings.check().advise("no readings", READINGS_HELP)?;
            all.push(readings);
        }
        // They have the same columns.
        joined_metadata(all.iter()).advise("no readings", READINGS_HELP)?;
        Ok(all)
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if arguments.count {
        let key = arguments.measure.then_some(arguments.key.as_path());
        let questions = arguments.questions.parsed();
        let form = match arguments.questions.are_sanitised() {
            true => count::Form::Sanitised,
            false => count::Form::Ordinary,
        };
        let scope = arguments.times.scope(&arguments.rows)?;
        let readings = count::Asked {
            files: &arguments.readings,
            scope,
        };
        return count::run(&questions, form, readings, key, arguments.json);
    }
    output::check(arguments.out.as_deref())?;
    let readings = Given::read(&arguments.readings)?;
    let described = readings.described()?;
    let uploads: Vec<&[u8]> = readings.uploads.iter().map(Vec::as_slice).collect();
    let first = described
        .first()
        .ok_or_else(|| failure("there are no readings", READINGS_HELP))?;
    let scope = arguments.times.scope(&arguments.rows)?;
    let request = arguments.questions.seal(&first.columns, scope, &[])?;
    let key = keys::read_server_key(&arguments.key)?;
    let (key, form) = match arguments.unpacked {
        true => (key.without_packing_key(), Form::Whole),
        false => (key, Form::ForDecryption),
    };
    let devices = keys::device_keys(&key, arguments.device_keys.as_deref())?;
    let server = Server::with_devices(key, devices);
    let start = Instant::now();
    let spinner = progress::spinner("computing");
    let counter = Progress::default();
    let show = || spinner.reach(counter.bootstraps(), counter.expected_bootstraps());
    let (result, bootstraps) = progress::meanwhile(Duration::from_millis(200), show, || {
        let most = arguments.max_bootstraps;
        evaluate(&server, &uploads, &request, form, most, &counter, fresh_seeds)
    })
    .advise(
        "no answer",
        format_args!(
            "the readings, the server key {} (--key) and the device key {} (--device-key) must be of one key set, and the question about columns that the readings have",
            arguments.key.display(),
            arguments.questions.device_key.display(),
        ),
    )?;
    drop(spinner);
    output::write(arguments.out.as_deref(), &result)?;
    note_about(&result);
    output::note(format_args!(
        "answered with {} bootstraps in {}: {} to {}",
        report::count(bootstraps),
        report::time(start.elapsed()),
        report::bytes(result.len() as u64),
        output::shown(arguments.out.as_ref())
    ));
    Ok(())
}
