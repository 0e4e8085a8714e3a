//! `query`: questions to a server, encrypted results back.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::{ColumnValues, MemoryPlan};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::condition::{Condition, Threshold};
use tfhe_sbc_query::parse::ParseError;
use tfhe_sbc_query::request::{EncryptThresholds, Request};
use tfhe_sbc_transport::client::{Client, ClientError, QueryReply};
use tfhe_sbc_transport::protocol::{ColumnList, Selection};
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::definition::Definition;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use super::send::Server;
use crate::encryptor;
use crate::failure::{Explain, Outcome};
use crate::{columns, output, progress, report};

/// Asks a server about stored readings. The result is encrypted; `decrypt` reads it.
///
/// Questions are functions of a column or of a sum like `a - 2 * b + 3`: min, max, range,
/// argmin, argmax, sum, mean, variance, std, sample_variance, sample_std, median, sort, score
/// and logistic of it, percentile(…, percent), top_k(…, rows), histogram(…, edges);
/// count(condition) and rows(condition), where conditions are like `a > 20 and (b between 1 and
/// encrypted(40) or not c in (1, 2))`; and tree(file), a decision tree in JSON. A threshold in
/// encrypted(…) is encrypted before it leaves this machine.
#[derive(Args)]
#[command(
    after_help = "Example, with readings sent as `tfhe-sbc send --help` shows:\n  tfhe-sbc query --to https://localhost:8443 --tls tls --out result.tsbc 'max(temperature_c)' 'count(illuminance_lx > encrypted(20000))'\n  tfhe-sbc decrypt result.tsbc --key keys/secret.tsbc"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    questions: Questions,
    #[command(flatten)]
    server: Server,
    /// The readings: the id that `send` printed; several ids with commas between; latest:NAME for the last upload
    /// of a device, or latest if one party alone has uploaded; or what a board sent in frames: board:BOARD, or
    /// board:BOARD:FIRST-LAST for those of these counters
    #[arg(long, default_value = "latest")]
    readings: Selection,
    /// The file for the encrypted result [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Questions, and the key that encrypts their thresholds.
#[derive(Args)]
pub(crate) struct Questions {
    /// The questions
    #[arg(required = true, value_name = "QUESTION", value_parser = question)]
    pub(super) questions: Vec<Question>,
    /// A device key or public key of the readings' key set, to seal the question with
    #[arg(long, value_name = "FILE", default_value = "keys/device.tsbc")]
    device_key: PathBuf,
    /// Column definitions in TOML, to be held against those that the readings name
    #[arg(long)]
    columns: Option<PathBuf>,
}

/// Parses the question of a text, and reads the files that it names.
fn question(text: &str) -> Result<Question, ParseError> {
    /// The limit is more than any tree takes.
    const MAX_BYTES: u64 = 1 << 20;
    Question::parse(text, |path| {
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        let read = file.take(MAX_BYTES).read_to_string(&mut text);
        read.map(|_| text).map_err(|error| error.to_string())
    })
}

impl Questions {
    /// Returns the bytes of the request about readings of these columns.
    pub(crate) fn seal(&self, of_readings: &[Column]) -> Outcome<Vec<u8>> {
        if let Some(path) = &self.columns {
            columns::check_same(path, of_readings)?;
        }
        seal(
            &self.questions,
            of_readings,
            &mut encryptor::open(&self.device_key, MemoryPlan::recommended())?,
        )
    }
}

/// Returns the bytes of a request about such columns.
pub(crate) fn seal(
    questions: &[Question],
    columns: &[Column],
    session: &mut DeviceSession,
) -> Outcome<Vec<u8>> {
    let readings = ReadingsMetadata {
        columns: columns.to_vec(),
        rows: Vec::new(),
    };
    let (parameters, fingerprint) = (*session.parameters(), session.fingerprint());
    let conditions = questions.iter().flat_map(Question::conditions);
    let mut comparisons = conditions.flat_map(Condition::comparisons);
    let encrypts = comparisons.any(|(.., threshold)| matches!(threshold, Threshold::ToEncrypt(_)));
    let mut open = if encrypts {
        Some(session.encryptor(ExpanderKind::ChaCha20)?)
    } else {
        None
    };
    let mut encrypt = open
        .as_mut()
        .map(|encryptor| move |values: &[ColumnValues<'_>]| encryptor.encrypt_values(values));
    let encrypt = encrypt
        .as_mut()
        .map(|encrypt| encrypt as &mut EncryptThresholds<'_>);
    Request::seal(questions, &readings, &parameters, fingerprint, encrypt).advise(
        "the question",
        "ask about columns and values of their ranges; `tfhe-sbc inspect` shows an upload's columns",
    )
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    output::check(arguments.out.as_deref())?;
    let client = arguments.server.connect("owner")?;
    let list = match (
        client.columns(&arguments.readings),
        &arguments.questions.columns,
    ) {
        // A server of an older version does not tell them. If it lacks something else, its answer to the
        // query says so.
        (Err(ClientError::Refused { status: 404, .. }), Some(path)) => {
            let definitions = columns::load(Some(path))?;
            let columns = definitions.iter().map(Definition::without_use);
            ColumnList {
                columns: columns.collect(),
                rows: None,
                latest: None,
            }
        }
        (columns, _) => columns.explain("no columns of the readings")?,
    };
    let request = arguments.questions.seal(&list.columns)?;
    let most = largest_result(&arguments.questions.questions, list.rows);
    // The question is sealed for the columns of this upload, so it must not meet a later one.
    let readings = match &list.latest {
        Some(latest) => latest.id.into(),
        None => arguments.readings.clone(),
    };
    let reply = ask(&client, &readings, &request, most)?;
    output::write(arguments.out.as_deref(), &reply.result)?;
    if let Some(latest) = &list.latest {
        output::note(format_args!(
            "about the upload of '{}' that was stored at {}: {} rows",
            latest.uploader,
            latest.created_at,
            report::count(latest.summary.rows),
        ));
    }
    output::note(format_args!(
        "answered with {} bootstraps in {}: {} to {}",
        report::count(reply.bootstraps),
        report::time(Duration::from_secs_f64(reply.seconds)),
        report::bytes(reply.result.len() as u64),
        output::shown(arguments.out.as_ref())
    ));
    Ok(())
}

/// Returns the most bytes of a result that are read: at most 1 GiB, and less if no answers to the questions about so
/// many rows are so long.
pub(crate) fn largest_result(questions: &[Question], rows: Option<u64>) -> u64 {
    const MOST: u64 = 1 << 30;
    let rows = rows.unwrap_or(u64::MAX);
    let answers = questions.iter().map(|q| q.largest_answer(rows));
    answers.fold(0, u64::saturating_add).min(MOST)
}

/// Asks, and shows meanwhile the number of bootstraps that the server has done. A result of more than `most` bytes
/// is refused.
pub(crate) fn ask(
    client: &Client,
    readings: &Selection,
    request: &[u8],
    most: u64,
) -> Outcome<QueryReply> {
    let spinner = progress::spinner("the server computes");
    let show = || {
        if let Ok(Some(query)) = client.running() {
            spinner.reach(query.bootstraps, query.expected);
        }
    };
    progress::meanwhile(Duration::from_millis(500), show, || {
        client.query(readings, request, most).explain("no answer")
    })
}
