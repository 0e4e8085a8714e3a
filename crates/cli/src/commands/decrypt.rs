//! `decrypt`: a result in the clear. [`crate::foreign`] has the results of other libraries.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_foreign::Library;
use tfhe_sbc_query::results::{self, Answer, Results, ResultsError, Unreadable};
use tfhe_sbc_query::scope::GroupKey;

use super::scope::about_text;
use crate::answers;
use crate::export::Format;
use crate::export::answers::AnswerTable;
use crate::failure::{Explain, Outcome, failure};
use crate::foreign::library::{Decryption, DecryptionRequest};
use crate::foreign::{DecryptionOptions, decryption_parser};
use crate::{checks, histogram, keys, output, report};
use tfhe_sbc_transport::BlobId;

/// Decrypts a result with the secret key and prints it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample | tfhe-sbc encrypt --key keys/device.tsbc --out day.tsbc\n  tfhe-sbc eval --key keys/server.tsbc --readings day.tsbc 'max(temperature_c)' | tfhe-sbc decrypt --key keys/secret.tsbc"
)]
pub(crate) struct Arguments {
    /// The library whose result it is [default: ours]
    #[arg(long, value_parser = decryption_parser())]
    from: Option<(&'static Library, &'static Decryption)>,
    #[command(flatten)]
    request: DecryptionRequest,
    /// The record of `checks make`: if the result answers a check question, compare the answers with the right ones
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    checks: Option<PathBuf>,
    /// The directory of the switch keys that the question was asked with, for results with parts under keys of boards [default:
    /// device-keys, if there is such a directory]
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "from")]
    device_keys: Option<PathBuf>,
    /// Print a table for other programs: a row for each group, and a column for each question
    #[arg(long, conflicts_with_all = ["from", "json", "checks"])]
    format: Option<Format>,
    #[command(flatten)]
    of_libraries: DecryptionOptions,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let library = arguments.from.map(|(library, _)| library);
    if let Some(option) = arguments.of_libraries.of_others(library) {
        return Err(failure(
            format_args!("{option} is for results of another library"),
            "leave it out; `tfhe-sbc decrypt --help` shows which options go together",
        ));
    }
    match arguments.from {
        None => run_ours(arguments),
        Some((_, decryption)) => {
            (decryption.run)(&arguments.request, arguments.of_libraries.matches())
        }
    }
}

fn run_ours(arguments: &Arguments) -> Outcome<()> {
    let Arguments {
        request,
        checks,
        format,
        device_keys,
        ..
    } = arguments;
    if let Some(path) = &request.plot {
        output::check_file(path)?;
    }
    let result = read(&request.result)?;
    let secret = keys::read_secret_key(request.key_or("keys/secret.tsbc"))?;
    let decryption = decrypted(
        &result,
        &request.result.display(),
        &secret,
        device_keys.as_deref(),
    )?;
    if let Some(checks) = checks {
        let name = BlobId::of(&result).to_string();
        return compare(request, checks, &name, &decryption, &secret);
    }
    if let Some(path) = &request.plot {
        let readable = decryption.answers.iter().flatten();
        let readable: Vec<Answer> = readable.cloned().collect();
        let svg = histogram::svg(&readable).advise(
            "no picture",
            "--plot draws the answers to questions like histogram(column, 0, 10, 20)",
        )?;
        output::write_file(path, svg.as_bytes())?;
    }
    let shape = Shape {
        json: request.json,
        format: *format,
        out: None,
    };
    show(&decryption, &shape)
}

/// Decrypts the bytes of a result, with the switch keys of a directory, of the usual one if none is given. `what` names the result
/// in errors.
pub(super) fn decrypted(
    result: &[u8],
    what: &dyn Display,
    secret: &SecretKey,
    device_keys: Option<&Path>,
) -> Outcome<results::Decryption> {
    let (parameters, key_set) = (secret.parameters(), secret.fingerprint());
    let devices = keys::devices_at_hand(parameters, key_set, device_keys)?;
    let decrypted = Results::decrypt_with(result, secret, devices.as_ref());
    decrypted.map_err(|error| {
        let advice = match error {
            ResultsError::DeviceKey(_) => {
                "name the directory of switch keys that the question was asked with, with --device-keys"
            }
            _ => "give a result that `query` or `eval` made, and the secret key of its key set",
        };
        failure(format_args!("{what}: {error}"), advice)
    })
}

/// Reads a result, or the results in the files of a directory, one after the other.
fn read(path: &Path) -> Outcome<Vec<u8>> {
    if !path.is_dir() {
        return output::read_input(path);
    }
    let advice = "name a file, or a directory with files of the extension tsbc";
    let listed = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let listed = listed.advise(format_args!("cannot read {}", path.display()), advice)?;
    let files = listed.into_iter().map(|entry| entry.path());
    let is_ours = |file: &PathBuf| file.extension().is_some_and(|it| it == "tsbc");
    let mut files: Vec<PathBuf> = files.filter(is_ours).collect();
    files.sort();
    if files.is_empty() {
        let message = format_args!("{} has no results", path.display());
        return Err(failure(message, advice));
    }
    let mut results = Vec::new();
    for file in &files {
        results.extend(output::read_input(file)?);
    }
    Ok(results)
}

/// The shape in which answers are shown.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape<'a> {
    /// As JSON.
    pub(super) json: bool,
    /// As a table for other programs, of this format or that of the extension of `out`.
    pub(super) format: Option<Format>,
    /// The file for such a table.
    pub(super) out: Option<&'a Path>,
}

/// Shows the answers of a result.
pub(super) fn show(decryption: &results::Decryption, shape: &Shape<'_>) -> Outcome<()> {
    match shape {
        Shape { json: true, .. } => output::print_json(&decryption)?,
        Shape {
            format: None,
            out: None,
            ..
        } => print(decryption)?,
        Shape { format, out, .. } => {
            let format = format.unwrap_or_else(|| Format::of(*out));
            if format == Format::Parquet {
                return Err(failure(
                    "answers are not written as Parquet, because not all are numbers",
                    "write CSV or JSON lines; `tfhe-sbc readings get --decrypt` writes readings as Parquet",
                ));
            }
            let table = AnswerTable::new(decryption);
            let write =
                |to: &mut (dyn std::io::Write + Send)| table.write(format, to).explain("the table");
            output::write_private_text_with(*out, write)?;
        }
    }
    if let Some(log2_bits) = decryption.sanitised {
        output::note(format_args!(
            "the server says that it has sanitised them: their noise tells at most 2^{log2_bits} bits about anything \
             but these answers"
        ));
    }
    let all = decryption.answers.len();
    match decryption.answers.iter().filter(|it| it.is_err()).count() {
        0 => Ok(()),
        some => Err(failure(
            format_args!("{some} of {all} answers cannot be read"),
            "ask again; do not tell the server which answers failed, because that tells something about the key",
        )),
    }
}

/// Compares the answers to check questions with the right ones, and prints what came out.
fn compare(
    request: &DecryptionRequest,
    checks: &Path,
    result: &str,
    decryption: &results::Decryption,
    secret: &SecretKey,
) -> Outcome<()> {
    let verdicts = checks::change(checks, false, |record| {
        let parameters = secret.parameters();
        let compared = record.compare(parameters, result, &decryption.answers, checks::read_named);
        compared.advise(
            request.result.display(),
            "give the file OUT-check that `query --checks` wrote, once, and that record; without --checks a result is only decrypted",
        )
    })?;
    match request.json {
        true => output::print_json(&verdicts)?,
        false => {
            let mut table = output::text_table();
            table.set_header(["check question", "right answer", "given"]);
            for verdict in &verdicts {
                let given = if verdict.is_right {
                    "the same"
                } else {
                    "another"
                };
                table.add_row([
                    report::plain(&verdict.question),
                    answers::text(&verdict.expected),
                    given.to_owned(),
                ]);
            }
            output::emit(table)?;
        }
    }
    match verdicts.iter().filter(|verdict| !verdict.is_right).count() {
        0 => Ok(()),
        some => Err(checks::wrong(some, verdicts.len())),
    }
}

/// The columns of a table that tell the groups of answers.
#[derive(Clone, Copy, Default)]
struct GroupColumns {
    devices: bool,
    periods: bool,
}

impl GroupColumns {
    fn of<'a>(groups: impl Iterator<Item = &'a GroupKey>) -> Self {
        groups.fold(Self::default(), |columns, group| Self {
            devices: columns.devices || group.device.is_some(),
            periods: columns.periods || group.from.is_some(),
        })
    }

    /// The headings, or the cells of a group.
    fn cells(self, device: String, from: String, rows: String) -> Vec<String> {
        let any = self.devices || self.periods;
        let cells = [
            self.devices.then_some(device),
            self.periods.then_some(from),
            any.then_some(rows),
        ];
        cells.into_iter().flatten().collect()
    }

    fn headings(self) -> Vec<String> {
        let texts = ["device", "from", "rows"].map(str::to_owned);
        let [device, from, rows] = texts;
        self.cells(device, from, rows)
    }

    fn of_group(self, group: Option<&GroupKey>) -> Vec<String> {
        let device = group.and_then(|group| group.device.as_deref());
        let from = group.and_then(|group| group.from);
        self.cells(
            device.map(report::plain).unwrap_or_default(),
            from.map(|from| from.to_string()).unwrap_or_default(),
            group
                .map(|group| report::count(group.rows.into()))
                .unwrap_or_default(),
        )
    }
}

/// Prints a table of the answers, with the reason in place of those that cannot be read.
fn print(decryption: &results::Decryption) -> Outcome<()> {
    let mut table = output::text_table();
    let group = |answer: &'_ Result<Answer, Unreadable>| match answer {
        Ok(answer) => answer.group.clone(),
        Err(unreadable) => unreadable.group.as_deref().cloned(),
    };
    let groups: Vec<Option<GroupKey>> = decryption.answers.iter().map(group).collect();
    let columns = GroupColumns::of(groups.iter().flatten());
    let mut headings = vec!["question".to_owned()];
    headings.extend(columns.headings());
    headings.push("answer".to_owned());
    table.set_header(headings);
    for (answer, group) in decryption.answers.iter().zip(&groups) {
        let (name, text) = match answer {
            Ok(answer) => (&answer.name, answers::with_gaps(answer)),
            Err(unreadable) => {
                let text = report::plain(&format!("cannot be read: {unreadable}"));
                (&unreadable.name, text)
            }
        };
        let mut row = vec![report::plain(name)];
        row.extend(columns.of_group(group.as_ref()));
        row.push(text);
        table.add_row(row);
    }
    match &decryption.about {
        Some(about) => output::emit(format_args!("{table}\nabout {}", about_text(about))),
        None => output::emit(table),
    }
}
