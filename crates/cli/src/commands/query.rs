//! `query`: questions to a server, encrypted results back.

mod count;
mod every;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_owner::{SealError, largest_result};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::checks::CheckUpload;
use tfhe_sbc_query::request::Manner;
use tfhe_sbc_query::scope::Scope;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::client::{Client, ClientError, Freshness, QueryReply};
use tfhe_sbc_transport::protocol::{ColumnList, Selection, UploaderName};
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::definition::Definition;
use tfhe_sbc_upload::readings::Column;

use super::scope::{Rows, Selected, note_about};
use super::send::Server;
use crate::encryptor;
use crate::failure::{Explain, Outcome, failure};
use crate::{checks, columns, keys, output, progress, report};

/// Asks a server about stored readings. The result is encrypted; `decrypt` reads it.
///
/// Questions are functions of a column or of a sum like `a - 2 * b + 3`: min, max, range,
/// argmin, argmax, sum, mean, variance, std, sample_variance, sample_std, median, sort, score
/// and logistic of it; cov, corr and dot of two of them; percentile(…, percent), top_k(…, rows), histogram(…, edges); rolling_mean,
/// rolling_sum, rolling_min and rolling_max(…, rows), cumsum, cummin, cummax, shift and diff, with a value for each row;
/// count(condition) and rows(condition), where conditions are like `a > 20 and (b between 1 and
/// encrypted(40) or not c in (1, 2))`; and tree(file), a decision tree in JSON. A threshold in
/// encrypted(…) is encrypted before it leaves this machine.
///
/// Without a device, a time or --readings, the questions are about the upload that was stored last, if one party alone has
/// uploaded; `last(column)` and `first(column)` are the values of the latest and the earliest row.
#[derive(Args)]
#[command(
    after_help = "Example, with readings sent as `tfhe-sbc send --help` shows:\n  tfhe-sbc query --to https://localhost:8443 --tls tls --out result.tsbc 'max(temperature_c)' 'count(illuminance_lx > encrypted(20000))'\n  tfhe-sbc decrypt result.tsbc --key keys/secret.tsbc\n  tfhe-sbc query --to https://localhost:8443 --device device --since 1988-01-12 --by device,hour --out hours.tsbc 'mean(temperature_c)'\n  tfhe-sbc decrypt hours.tsbc --key keys/secret.tsbc\n  tfhe-sbc query --to https://localhost:8443 --device device --since 1988-01-12 --every 1d 'mean(temperature_c)'"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    questions: Questions,
    #[command(flatten)]
    server: Server,
    /// The readings, instead of those of --device and of the time: the id that `send` printed; several ids with commas between;
    /// stored for all that is stored; latest for the last upload of --device, or of the one party that has uploaded; or what a board
    /// sent in frames: board:BOARD, or board:BOARD:FIRST-LAST for those of these counters
    #[arg(long)]
    readings: Option<Selection>,
    #[command(flatten)]
    selected: Selected,
    #[command(flatten)]
    rows: Rows,
    /// The directory of the switch keys of boards that `decrypt` will have too: sums and means of readings under keys of
    /// boards are far shorter then [default: device-keys, if there is such a directory]
    #[arg(long, value_name = "DIRECTORY")]
    device_keys: Option<PathBuf>,
    #[command(flatten)]
    every: every::Every,
    /// The file for the encrypted result [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Ask nothing: say how many bootstraps the answers would take, how long that is if the server has computed enough to tell, and how
    /// many bytes it would be to fetch the readings and decrypt them here
    #[arg(long, conflicts_with_all = ["out", "detach", "fresh", "checks", "every"])]
    count: bool,
    /// Print what --count says as JSON
    #[arg(long, requires = "count")]
    json: bool,
    /// Do not wait: print the id of a job. The server goes on with it, and `jobs` follows it and gets the result
    #[arg(long, conflicts_with_all = ["out", "checks"])]
    detach: bool,
    /// Have the answer computed, also if the server has kept one to the same question about the same uploads
    #[arg(long, conflicts_with = "detach")]
    fresh: bool,
    /// A record of `checks make`: at the --check-rate, the same questions are also asked about one of its uploads,
    /// before or after, and the answers go to OUT-check for `decrypt --checks`
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with_all = ["since", "until", "last", "newest", "by"])]
    checks: Option<PathBuf>,
    /// The share of queries that come with a check, from 0 to 1
    #[arg(long, value_name = "RATE", value_parser = checks::rate, default_value = "0.1", requires = "checks")]
    check_rate: checks::Rate,
}

/// Questions, and the key that encrypts their thresholds.
#[derive(Args)]
pub(crate) struct Questions {
    /// The questions
    #[arg(required = true, value_name = "QUESTION", value_parser = question)]
    asked: Vec<Asked>,
    /// A device key or public key of the readings' key set, to seal the question with
    #[arg(long, value_name = "FILE", default_value = "keys/device.tsbc")]
    pub(super) device_key: PathBuf,
    /// Column definitions in TOML, to be held against those that the readings name
    #[arg(long)]
    columns: Option<PathBuf>,
    /// Have the answers sanitised with this public key of the key set, which `device-key --public` makes: their noise
    /// then tells next to nothing about what they were computed from. Takes a bootstrap a block of the answers
    #[arg(long, value_name = "FILE")]
    sanitise: Option<PathBuf>,
}

/// A question and the text that it was parsed from.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    pub(crate) text: String,
}

/// Parses the question of a text, and reads the files that it names.
fn question(text: &str) -> Result<Asked, String> {
    let parsed = Question::parse(text, checks::read_named);
    let question = parsed.map_err(|error| match Path::new(text).is_file() {
        true => format!(
            "'{text}' is a file, where a question is expected, such as mean(column). `eval` takes files of readings with --readings"
        ),
        false => error.to_string(),
    })?;
    Ok(Asked {
        question,
        text: text.to_owned(),
    })
}

impl Questions {
    /// Returns the questions.
    pub(super) fn parsed(&self) -> Vec<Question> {
        let asked = self.asked.iter();
        asked.map(|asked| asked.question.clone()).collect()
    }

    /// Returns the bytes of the request about readings of these columns, and such rows. `device_keys` are the keys of
    /// devices that whoever decrypts has switch keys of.
    pub(crate) fn seal(
        &self,
        of_readings: &[Column],
        scope: Scope,
        device_keys: &[KeyFingerprint],
    ) -> Outcome<Vec<u8>> {
        if let Some(path) = &self.columns {
            columns::check_same(path, of_readings)?;
        }
        let public_key = self.sanitise.as_deref().map(keys::read_public_key);
        seal(
            &self.parsed(),
            of_readings,
            &mut encryptor::open(&self.device_key, MemoryPlan::recommended())?,
            Manner {
                scope,
                public_key: public_key.transpose()?.as_ref(),
                device_keys,
            },
        )
    }

    /// Returns the keys of devices whose switch keys are in a directory, in `device-keys` if none is given.
    fn device_keys(&self, directory: Option<&Path>) -> Outcome<Vec<KeyFingerprint>> {
        let session = encryptor::open(&self.device_key, MemoryPlan::recommended())?;
        let (parameters, key_set) = (session.parameters(), session.fingerprint());
        match keys::devices_at_hand(parameters, key_set, directory)? {
            Some(devices) => devices.known().explain("no device keys"),
            None => Ok(Vec::new()),
        }
    }

    /// Returns whether the answers are to be sanitised.
    pub(super) fn are_sanitised(&self) -> bool {
        self.sanitise.is_some()
    }
}

/// Returns the bytes of a request about such columns, for answers of that manner.
pub(crate) fn seal(
    questions: &[Question],
    columns: &[Column],
    session: &mut DeviceSession,
    manner: Manner<'_>,
) -> Outcome<Vec<u8>> {
    match tfhe_sbc_owner::seal(questions, columns, session, manner) {
        Err(SealError::Key(error)) => Err(error.into()),
        sealed => sealed.advise(
            "the question",
            "ask about columns and values of their ranges; `tfhe-sbc inspect` shows an upload's columns",
        ),
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if let Some(period) = arguments.every.period() {
        return every::leave(arguments, period);
    }
    if !arguments.detach {
        output::check(arguments.out.as_deref())?;
    }
    let client = arguments.server.connect("owner")?;
    let (readings, scope) = arguments.readings()?;
    let list = match (client.columns(&readings), &arguments.questions.columns) {
        // A server of an older version does not tell them. If it lacks something else, its answer to the
        // query says so.
        (Err(ClientError::Refused { status: 404, .. }), Some(path)) => {
            let definitions = columns::load(Some(path))?;
            let columns = definitions.iter().map(Definition::without_use);
            ColumnList {
                columns: columns.collect(),
                ..ColumnList::default()
            }
        }
        (columns, _) => columns.explain("no columns of the readings")?,
    };
    // The question is sealed for the columns of this upload, so it must not meet a later one.
    let readings = match &list.latest {
        Some(latest) => latest.id.into(),
        None => readings,
    };
    if arguments.count {
        note_latest(&list);
        return count::run(arguments, &client, &readings, &list.columns, scope);
    }
    if arguments.detach {
        return arguments.detach(&client, &readings, &list, scope);
    }
    let check = arguments.draw_check(&list.columns)?;
    // The server does not learn from the order which of the two is the check.
    let is_check_first = check.is_some() && checks::random()? & 1 == 0;
    if is_check_first {
        arguments.ask_check(&client, check.as_ref())?;
    }
    let freshness = arguments.freshness();
    let reply = arguments.ask(&client, freshness, &readings, &list, scope)?;
    note_latest(&list);
    write(&reply, arguments.out.as_ref())?;
    if !is_check_first {
        arguments.ask_check(&client, check.as_ref())?;
    }
    Ok(())
}

/// Says which upload a question without a selection is about.
fn note_latest(list: &ColumnList) {
    if let Some(latest) = &list.latest {
        output::note(format_args!(
            "about the upload of '{}' that was stored last, at {}, alone: --device and --since choose more",
            latest.uploader, latest.created_at,
        ));
    }
}

/// Writes a result, and says what it is about and what it took.
pub(super) fn write(reply: &QueryReply, out: Option<&PathBuf>) -> Outcome<()> {
    output::write(out.map(PathBuf::as_path), &reply.result)?;
    note_about(&reply.result);
    // A server's word, which need not be a time.
    let took = Duration::try_from_secs_f64(reply.seconds).unwrap_or_default();
    let kept = match reply.kept_for {
        Some(age) => format!(", {} ago", report::age(age)),
        None => String::new(),
    };
    output::note(format_args!(
        "answered with {} bootstraps in {}{kept}: {} to {}",
        report::count(reply.bootstraps),
        report::time(took),
        report::bytes(reply.result.len() as u64),
        output::shown(out)
    ));
    Ok(())
}

impl Arguments {
    /// Asks the questions as a job, and prints its id.
    fn detach(
        &self,
        client: &Client,
        readings: &Selection,
        list: &ColumnList,
        scope: Scope,
    ) -> Outcome<()> {
        let request = self.seal(&list.columns, scope)?;
        let job = client.detach(readings, &request).explain("no job")?;
        note_latest(list);
        output::note(
            "`tfhe-sbc jobs wait ID` follows the job, and `tfhe-sbc jobs get ID` gets its result",
        );
        output::emit(job.id)
    }

    /// Seals the questions for columns.
    fn seal(&self, columns: &[Column], scope: Scope) -> Outcome<Vec<u8>> {
        let device_keys = self.questions.device_keys(self.device_keys.as_deref())?;
        self.questions.seal(columns, scope, &device_keys)
    }

    /// Seals the questions for columns and asks them about readings of these.
    fn ask(
        &self,
        client: &Client,
        freshness: Freshness,
        readings: &Selection,
        list: &ColumnList,
        scope: Scope,
    ) -> Outcome<QueryReply> {
        let request = self.seal(&list.columns, scope)?;
        let most = largest_result(&self.questions.parsed(), list, &scope);
        ask(client, freshness, readings, &request, most)
    }

    /// The answers that are taken. Questions that may come with a check are computed: a kept answer shows nothing about the
    /// server, and the server must not learn from this which question is the check.
    fn freshness(&self) -> Freshness {
        match self.fresh || self.checks.is_some() {
            true => Freshness::Fresh,
            false => Freshness::Kept,
        }
    }

    /// Returns the uploads that the questions are about, and which of their rows.
    fn readings(&self) -> Outcome<(Selection, Scope)> {
        let scope = self.selected.times.scope(&self.rows)?;
        let names = self.selected.device.as_ref();
        let selection = match (&self.readings, names) {
            (None, _) if self.selected.is_given() => Selection::Stored(self.selected.filter()?),
            (Some(Selection::Stored(filter)), None) if *filter == Filter::ALL => {
                Selection::Stored(self.selected.filter()?)
            }
            (None, _) => Selection::Latest,
            (Some(Selection::Latest), Some(names)) => {
                let name = match names.patterns() {
                    [name] => UploaderName::new(name),
                    _ => None,
                };
                let name = name.ok_or_else(|| {
                    failure(
                        "the latest upload is that of one device",
                        "name one with --device, or leave --readings out",
                    )
                })?;
                Selection::LatestOf(name)
            }
            (Some(_), Some(_)) => {
                return Err(failure(
                    "both --readings and --device say which readings",
                    "leave one of them out",
                ));
            }
            (Some(readings), None) => readings.clone(),
        };
        Ok((selection, scope))
    }

    /// Returns the check upload that is asked about too, if this query comes with a check.
    fn draw_check(&self, columns: &[Column]) -> Outcome<Option<CheckUpload>> {
        let Some(path) = &self.checks else {
            return Ok(None);
        };
        let record = checks::read(path)?;
        let random = checks::random()?;
        let chosen = record.choose(columns, random).ok_or_else(|| {
            failure(
                format_args!("{} has no upload of these columns", path.display()),
                "make one with `tfhe-sbc checks make` from the same column definitions, and send it",
            )
        })?;
        Ok(self.check_rate.draw()?.then(|| chosen.clone()))
    }

    /// Asks the questions about a check upload, and remembers that. The record is changed before the result is written,
    /// so that no result is taken for an answer about real readings.
    fn ask_check(&self, client: &Client, check: Option<&CheckUpload>) -> Outcome<()> {
        let (Some(check), Some(path), Some(out)) = (check, &self.checks, &self.out) else {
            return Ok(());
        };
        let id: BlobId = check.id.parse().explain("the record of check uploads")?;
        let list = ColumnList {
            columns: check.readings.columns.clone(),
            rows: Some(check.readings.rows.len() as u64),
            ..ColumnList::default()
        };
        let all = Scope::default();
        let reply = self.ask(client, Freshness::Fresh, &id.into(), &list, all)?;
        let texts = self.questions.asked.iter();
        let texts = texts.map(|asked| asked.text.clone()).collect();
        let name = BlobId::of(&reply.result).to_string();
        checks::change(path, false, |record| {
            record.asked(&check.id, name, texts);
            Ok(())
        })?;
        let file = output::marked(out, "check");
        output::write_file(&file, &reply.result)?;
        output::note(format_args!(
            "asked about a check upload too: `tfhe-sbc decrypt {} --checks {}` compares the answers",
            file.display(),
            path.display()
        ));
        Ok(())
    }
}

/// Asks, and shows meanwhile the number of bootstraps that the server has done. A result of more than `most` bytes
/// is refused.
pub(crate) fn ask(
    client: &Client,
    freshness: Freshness,
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
        let reply = client.query_for(freshness, readings, request, most);
        reply.explain("no answer")
    })
}
