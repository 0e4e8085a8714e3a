//! The demo: the whole path on a day of weather readings, with three parties in three
//! directories and a server in a process of its own.
//!
//! [`run`] goes through the stages. [`server_process`] starts and stops the server, [`plain`]
//! computes the same answers in the clear, [`outcome`] compares and shows them, and [`picture`]
//! draws them.

mod outcome;
mod picture;
mod plain;
mod server_process;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_owner::largest_result;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::request::Manner;
use tfhe_sbc_query::results::{Answer, Decryption, Results};
use tfhe_sbc_query::scope::Scope;
use tfhe_sbc_service::certificates::{TlsFiles, write_tls_directory};
use tfhe_sbc_transport::client::{Client, Freshness, QueryReply};
use tfhe_sbc_transport::files;
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::protocol::{ColumnList, Selection};
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::definition::Definition;
use tfhe_sbc_upload::readings::Column;

use self::outcome::{Report, Stages};
use self::server_process::ServerProcess;
use crate::commands::keygen::{self, KeyFiles};
use crate::commands::query;
use crate::encryptor;
use crate::failure::{Explain, Outcome};
use crate::table::{self, Table};
use crate::{columns, keys, output, progress};

/// The demo's questions: every extreme and mean, one count with a threshold that the server does
/// not see, and the hours in which two conditions hold together.
const QUESTIONS: [&str; 10] = [
    "min(temperature_c)",
    "max(temperature_c)",
    "mean(temperature_c)",
    "min(humidity_pct)",
    "max(humidity_pct)",
    "mean(humidity_pct)",
    "mean(pressure_hpa)",
    "mean(illuminance_lx)",
    "count(illuminance_lx > encrypted(20000))",
    "rows(temperature_c < 0 and humidity_pct >= 60)",
];

/// Runs the whole path on one day of weather readings: makes keys, encrypts as a board
/// would, uploads over mutual TLS 1.3 to a server process that holds only the server
/// key, has it compute on ciphertexts, decrypts, and checks every answer against the
/// same computation in the clear. Draws the day as an SVG. Exit status 1 if an answer
/// is wrong.
#[derive(Args)]
#[command(after_help = "Example:\n  tfhe-sbc demo --day 37 --picture day.svg")]
pub(crate) struct DemoArguments {
    /// The day of the year, 1 to 365
    #[arg(long, default_value_t = 12)]
    day: usize,
    /// Print one JSON object instead of the tables
    #[arg(long)]
    json: bool,
    /// Where to draw the picture
    #[arg(long, default_value = "tfhe-sbc-demo.svg")]
    picture: PathBuf,
    /// Keep the keys, certificates and uploads of the demo in this new directory
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
}

/// The directories of the three parties.
struct Parties {
    owner: PathBuf,
    board: PathBuf,
    server: PathBuf,
}

/// Runs the demo.
pub(crate) fn run(arguments: &DemoArguments) -> Outcome<ExitCode> {
    output::check_file(&arguments.picture)?;
    let definitions = columns::load(None)?;
    let described: Vec<_> = definitions.iter().map(Definition::without_use).collect();
    let csv = table::weather_day(arguments.day)?;
    let table = table::read("the bundled day", csv.as_bytes(), &described)?;
    let questions = QUESTIONS
        .iter()
        .map(|text| text.parse::<Question>().explain("the demo's questions"))
        .collect::<Outcome<Vec<_>>>()?;

    let temporary;
    let root = match &arguments.keep {
        Some(kept) => kept.as_path(),
        None => {
            temporary = temporary_directory()?;
            temporary.path()
        }
    };
    let parties = Parties {
        owner: root.join("owner"),
        board: root.join("board"),
        server: root.join("server"),
    };

    let mut stages = Stages::default();
    let start = Instant::now();
    let made = make_keys(&parties)?;
    stages.keygen = start.elapsed();

    let start = Instant::now();
    let mut session = encryptor::open(&made.keys.device, MemoryPlan::recommended())?;
    let columns = columns::under(&definitions, session.under())?;
    stages.device_start = start.elapsed();
    let start = Instant::now();
    let upload = session.encrypt_table(
        ExpanderKind::ChaCha20,
        &columns,
        &table.labels,
        &table.readings,
    )?;
    stages.encrypt = start.elapsed();

    let start = Instant::now();
    let server = ServerProcess::start(&made.keys.server, &parties.server)?;
    stages.server_start = start.elapsed();

    let start = Instant::now();
    let id = {
        let _spinner = progress::spinner("the board uploads");
        connect(&server, &made.board)?
            .upload(&upload)
            .explain("the upload")?
            .id
    };
    stages.upload = start.elapsed();

    let start = Instant::now();
    let reply = ask(
        &server,
        &made,
        &questions,
        &columns,
        &mut session,
        id.into(),
    )?;
    stages.query = start.elapsed();
    drop(server);

    let start = Instant::now();
    let secret = keys::read_secret_key(&made.keys.secret)?;
    let decrypted = Results::decrypt(&reply.result, &secret);
    let mut answers = decrypted.and_then(Decryption::all).explain("the result")?;
    name_by_question(&mut answers, &questions);
    stages.decrypt = start.elapsed();

    let report = Report::new(
        &questions, answers, &columns, &table, &upload, &reply, stages,
    )?;
    draw(&arguments.picture, &report, &columns, &table, &questions)?;
    if arguments.json {
        report.print_json(&arguments.picture)?;
    } else {
        report.print(&arguments.picture, arguments.keep.as_deref());
    }
    Ok(if report.ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A private directory that is removed with its value.
fn temporary_directory() -> Outcome<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("tfhe-sbc-demo-")
        .tempdir()
        .advise(
            "no directory for the demo's keys",
            "set TMPDIR to a directory with 100 MiB of room",
        )
}

/// Keys and certificates, each where its party finds it.
struct Made {
    keys: KeyFiles,
    board: Credentials,
    owner: Credentials,
}

/// Returns a client's certificate and the authority that it trusts.
struct Credentials {
    authority: PathBuf,
    own: CertificateFiles,
}

fn make_keys(parties: &Parties) -> Outcome<Made> {
    let advice = "choose an empty directory with --keep";
    let parameters = MESSAGE_2_CARRY_2
        .validate()
        .explain("the default parameters")?;
    let keys = keygen::make(&parameters, &parties.owner)?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let tls = write_tls_directory(&parties.owner.join("tls"), &names, "device", "owner")
        .advise("no certificates", advice)?;

    // The owner hands out what each party may have, and nothing else.
    let give = |to: &Path, file: &Path, name: &str| {
        files::create_private_directory(to).advise("the demo's directories", advice)?;
        std::fs::rename(file, to.join(name)).advise("the demo's directories", advice)
    };
    let share_authority = |to: &Path| {
        files::create_private_directory(to).advise("the demo's directories", advice)?;
        std::fs::copy(&tls.ca.certificate, to.join("ca.pem"))
            .map(drop)
            .advise("the demo's directories", advice)
    };
    let (board_tls, server_tls) = (parties.board.join("tls"), parties.server.join("tls"));
    for (to, pair, name) in [
        (&board_tls, &tls.device, "device"),
        (&server_tls, &tls.server, "server"),
    ] {
        share_authority(to)?;
        give(to, &pair.certificate, &format!("{name}.pem"))?;
        give(to, &pair.key, &format!("{name}.key"))?;
    }
    give(&parties.server, &keys.server, "server.tsbc")?;
    Ok(Made {
        board: Credentials {
            authority: board_tls.join("ca.pem"),
            own: TlsFiles::in_directory(&board_tls).device,
        },
        owner: Credentials {
            authority: tls.ca.certificate,
            own: tls.owner,
        },
        keys: KeyFiles {
            server: parties.server.join("server.tsbc"),
            ..keys
        },
    })
}

fn connect(server: &ServerProcess, credentials: &Credentials) -> Outcome<Client> {
    let identity =
        Identity::load(&credentials.authority, &credentials.own).explain("the certificates")?;
    Client::connect(&server.url(), &identity).explain("the demo's server")
}

fn ask(
    server: &ServerProcess,
    made: &Made,
    questions: &[Question],
    columns: &[Column],
    session: &mut DeviceSession,
    readings: Selection,
) -> Outcome<QueryReply> {
    let request = query::seal(questions, columns, session, Manner::default())?;
    let most = largest_result(questions, &ColumnList::default(), &Scope::default());
    query::ask(
        &connect(server, &made.owner)?,
        Freshness::Kept,
        &readings,
        &request,
        most,
    )
}

fn draw(
    path: &Path,
    report: &Report,
    columns: &[Column],
    table: &Table,
    questions: &[Question],
) -> Outcome<()> {
    let svg = picture::svg(&report.picture(columns, table, questions)).explain("the picture")?;
    output::write_file(path, svg.as_bytes())
}

/// Names answers by their whole questions: the server does not know the thresholds that it got
/// encrypted, so they are not in the names that it gives.
fn name_by_question(answers: &mut [Answer], questions: &[Question]) {
    for (answer, question) in answers.iter_mut().zip(questions) {
        if answer.name == question.public_text() {
            answer.name = question.to_string();
        }
    }
}

/// Returns an answer by the text of its question.
fn answer_to<'a>(answers: &'a [Answer], name: &str) -> Option<&'a Answer> {
    answers.iter().find(|answer| answer.name == name)
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterFingerprint};
    use tfhe_sbc_query::results::AnswerValue;
    use tfhe_sbc_upload::metadata;

    use super::*;

    /// Returns the report on a demo that answers its first question with `value`.
    fn report(value: f64) -> Report {
        let definitions = columns::load(None).unwrap();
        let columns: Vec<_> = definitions.iter().map(Definition::without_use).collect();
        let csv = table::weather_day(12).unwrap();
        let table = table::read("the day", csv.as_bytes(), &columns).unwrap();
        let questions = [QUESTIONS[0].parse().unwrap()];
        let unit = "°C".to_owned();
        let answers = vec![Answer {
            name: QUESTIONS[0].to_owned(),
            group: None,
            value: AnswerValue::Number { value, unit },
            missing: None,
        }];
        let reply = QueryReply {
            result: Vec::new(),
            bootstraps: 1,
            seconds: 1.0,
            kept_for: None,
        };
        let prints = (ParameterFingerprint::default(), KeyFingerprint::default());
        let upload = metadata::write(prints.0, prints.1, &"an upload").unwrap();
        let stages = Stages::default();
        Report::new(
            &questions, answers, &columns, &table, &upload, &reply, stages,
        )
        .unwrap()
    }

    #[test]
    fn a_demo_with_a_wrong_answer_has_not_succeeded() {
        let lowest = -12.8;
        assert!(report(lowest).ok());
        assert!(!report(lowest + 0.1).ok());
        assert!(!report(f64::NAN).ok());
    }

    #[test]
    fn answers_get_the_names_of_their_whole_questions() {
        let question: Question = "count(a > encrypted(5))".parse().unwrap();
        let mut answers = vec![Answer {
            name: question.public_text(),
            group: None,
            value: AnswerValue::Rows(Vec::new()),
            missing: None,
        }];
        name_by_question(&mut answers, std::slice::from_ref(&question));
        assert_eq!(answers[0].name, "count(a > encrypted(5))");
        answers[0].name = "something else".to_owned();
        name_by_question(&mut answers, &[question]);
        assert_eq!(answers[0].name, "something else");
    }
}
