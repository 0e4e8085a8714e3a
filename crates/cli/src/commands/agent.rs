//! `agent`: reads sensors, encrypts, sends, for as long as the board runs.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use tfhe_sbc_agent::AgentError;
use tfhe_sbc_agent::agent::{self, Agent};
use tfhe_sbc_agent::config::{CONFIG_VARIABLE, Config, SYSTEMD_UNIT, template};
use tfhe_sbc_agent::spool::Survey;
use tfhe_sbc_transport::files;
use tracing_subscriber::EnvFilter;

use crate::failure::{Explain, Failure, Outcome, failure};
use crate::{output, report};

/// The exit status of `--once` if batches wait in the spool, as in sysexits.h.
const EX_TEMPFAIL: u8 = 75;

/// Reads a board's sensors, encrypts them in batches, keeps batches on disk until the
/// server has them, and sends them again and again until then. What is on disk is encrypted.
/// SIGTERM or ctrl-c lets it put on disk what it has read.
///
/// With --once it ends with 0 if all is at the server, 75 if batches wait, 1 if something is
/// wrong.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Example:\n  tfhe-sbc agent init --out agent.toml\n  sed -i 's/kind = \"thermal\".*/kind = \"command\", run = [\"echo\", \"21.5\"] }/' agent.toml\n  tfhe-sbc keygen --out keys && cp keys/device.tsbc . && tfhe-sbc certs --out tls\n  tfhe-sbc agent --config agent.toml --test"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    config: ConfigFile,
    /// Read once, send what there is, and end
    #[arg(long, conflicts_with = "test")]
    once: bool,
    /// Read once and encrypt, print readings and sizes; store and send nothing
    #[arg(long)]
    test: bool,
    /// With --once or --test: print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ConfigFile {
    /// The settings [default: $TFHE_SBC_AGENT_CONFIG, or agent.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Write settings with comments
    Init(Init),
    /// Begin with the pads of a new key: write the counter of frames into the spool, once for each key
    Begin(BeginArguments),
    /// Show what waits in the spool
    Status(StatusArguments),
}

#[derive(Args)]
#[command(after_help = "Example:\n  tfhe-sbc agent begin --config agent.toml")]
struct BeginArguments {
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc agent init --out agent.toml\n  tfhe-sbc agent init --systemd > tfhe-sbc-agent.service"
)]
struct Init {
    /// The file to write [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write a unit for systemd instead
    #[arg(long)]
    systemd: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  tfhe-sbc agent status --config agent.toml")]
struct StatusArguments {
    #[command(flatten)]
    config: ConfigFile,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<ExitCode> {
    match &arguments.command {
        Some(Command::Init(init)) => write_settings(init)?,
        Some(Command::Begin(begin)) => {
            agent::begin(&begin.config.load()?).agent("the counter")?;
            output::note("the counter is on the disk: the agent can start");
        }
        Some(Command::Status(status)) => print_status(status)?,
        None => {
            let run = &arguments.run;
            if run.json && !run.once && !run.test {
                return Err(failure(
                    "--json prints what --once or --test did",
                    "add one of them; `tfhe-sbc agent status --json` tells of a running agent",
                ));
            }
            let config = run.config.load()?;
            if run.test {
                return test(&config, run.json);
            }
            log();
            if run.once {
                return once(config, run.json);
            }
            Agent::open(config)
                .and_then(Agent::run)
                .agent("the agent")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns failures with the agent's advice.
trait OfAgent<T> {
    fn agent(self, doing: &str) -> Result<T, Box<Failure>>;
}

impl<T> OfAgent<T> for Result<T, AgentError> {
    fn agent(self, doing: &str) -> Result<T, Box<Failure>> {
        self.map_err(|error| failure(format_args!("{doing}: {error}"), error.advice()))
    }
}

impl ConfigFile {
    fn load(&self) -> Outcome<Config> {
        let named = std::env::var_os(CONFIG_VARIABLE).map(PathBuf::from);
        let path = self.config.clone().or(named);
        let path = path.unwrap_or_else(|| PathBuf::from("agent.toml"));
        // A variable that is no text is no setting.
        let environment = std::env::vars_os();
        let texts = environment
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        Config::load(&path, texts).agent("the settings")
    }
}

fn log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

fn write_settings(init: &Init) -> Outcome<()> {
    let text = match init.systemd {
        true => SYSTEMD_UNIT.to_owned(),
        false => template(),
    };
    match init.out.as_deref().filter(|path| *path != Path::new("-")) {
        None => output::emit(text.trim_end()),
        Some(path) => {
            output::check_file(path)?;
            files::write_public_new(path, text.as_bytes())
                .advise("nothing was written", "choose another name with --out")?;
            output::note(format_args!("{}", path.display()));
            Ok(())
        }
    }
}

#[derive(Serialize)]
struct OnceReport<'a> {
    rows: usize,
    sent: u64,
    bytes: u64,
    refused: &'a [String],
    waiting: usize,
    failed: Option<&'a str>,
}

fn once(config: Config, json: bool) -> Outcome<ExitCode> {
    let done = agent::once(config).agent("the agent")?;
    if json {
        output::print_json(&OnceReport {
            rows: done.rows,
            sent: done.sent,
            bytes: done.bytes,
            refused: &done.refused,
            waiting: done.waiting,
            failed: done.failed.as_deref(),
        })?;
    } else {
        output::emit(format_args!(
            "{} read, {} at the server ({}), {} waiting",
            report::counted(done.rows as u64, "row", "rows"),
            report::counted(done.sent, "batch", "batches"),
            report::bytes(done.bytes),
            done.waiting
        ))?;
    }
    if let Some(words) = done.refused.first() {
        return match json {
            true => Ok(ExitCode::FAILURE),
            false => Err(failure(
                format_args!(
                    "{} refused: {words}",
                    report::counted(done.refused.len() as u64, "batch was", "batches were")
                ),
                "they are in the spool's directory 'refused'; once the cause is removed, move them back into the spool",
            )),
        };
    }
    if done.waiting > 0 {
        if let (Some(words), false) = (&done.failed, json) {
            output::note(format_args!("not sent: {words}"));
        }
        return Ok(ExitCode::from(EX_TEMPFAIL));
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct TestReport {
    columns: Vec<TestColumn>,
    one_row_bytes: usize,
    batch_rows: usize,
    batch_bytes: usize,
}

#[derive(Serialize)]
struct TestColumn {
    name: String,
    unit: String,
    reading: Option<f64>,
    problem: Option<String>,
}

fn test(config: &Config, json: bool) -> Outcome<ExitCode> {
    let test = agent::test(config).agent("the agent")?;
    let mut bad = Vec::new();
    let mut columns = Vec::new();
    for (column, reading) in test.columns {
        let encoded = reading.and_then(|reading| {
            let fixed_point = column.fixed_point().map_err(|error| error.to_string())?;
            fixed_point
                .encode(reading)
                .map_err(|error| error.to_string())?;
            Ok(reading)
        });
        // A reading may be missing in an optional column.
        if let Err(problem) = &encoded
            && !column.is_optional()
        {
            bad.push(format!("column '{}': {problem}", column.name));
        }
        columns.push(TestColumn {
            name: column.name,
            unit: column.unit,
            reading: encoded.as_ref().ok().copied(),
            problem: encoded.err(),
        });
    }
    let report = TestReport {
        columns,
        one_row_bytes: test.one_row,
        batch_rows: test.batch_rows,
        batch_bytes: test.full_batch,
    };
    if json {
        output::print_json(&report)?;
        return Ok(match bad.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        });
    }
    if !bad.is_empty() {
        return Err(failure(
            bad.join("; "),
            "repair the sensor, or change the column's source, factor, add, offset, scale or bits",
        ));
    }
    for column in &report.columns {
        let (name, unit) = (&column.name, &column.unit);
        match (column.reading, &column.problem) {
            (Some(reading), _) => {
                output::emit(format_args!("{name}: {} {unit}", report::number(reading)))?;
            }
            (None, problem) => {
                let problem = problem.as_deref().unwrap_or("no reading");
                output::emit(format_args!("{name}: missing: {problem}"))?;
            }
        }
    }
    output::emit(format_args!(
        "1 row: {}; {} rows, a full batch: at most {}; nothing was stored or sent",
        report::bytes(report.one_row_bytes as u64),
        report.batch_rows,
        report::bytes(report.batch_bytes as u64)
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn print_status(arguments: &StatusArguments) -> Outcome<()> {
    let config = arguments.config.load()?;
    let survey = Survey::of(&config.spool_directory()).agent("the spool")?;
    if arguments.json {
        return output::print_json(&survey);
    }
    output::emit(format_args!(
        "{}\n{}: {}, {}",
        match survey.running {
            true => "an agent runs",
            false => "no agent runs",
        },
        report::counted(survey.batches, "batch waits", "batches wait"),
        report::counted(survey.rows, "row", "rows"),
        report::bytes(survey.bytes)
    ))?;
    if survey.refused + survey.damaged > 0 {
        output::emit(format_args!(
            "{} refused, {} damaged",
            report::counted(survey.refused, "batch was", "batches were"),
            report::counted(survey.damaged, "file is", "files are"),
        ))?;
    }
    survey
        .refusals
        .iter()
        .try_for_each(|words| output::emit(format_args!("the server: {}", report::plain(words))))
}
