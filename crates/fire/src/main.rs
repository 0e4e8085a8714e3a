//! The real server under fire: the program `tfhe-sbc serve` as a child process, a thousand
//! simulated boards with certificates of their own, then attacks, one kind after the other.
//!
//! [`site`] makes keys and certificates. [`server`] starts the program and asks the kernel what it
//! costs. [`load`] has boards upload readings that [`readings`] encrypts. [`attacks`] does what a
//! server must refuse, and checks that it was refused, logged and counted. [`chaos`] sends real
//! agents through crashes, bad networks, full disks and wrong clocks, and counts what is lost.
//! [`report`] writes the outcome down.
#![forbid(unsafe_code)]

mod attacks;
mod chaos;
mod counters;
mod link;
mod load;
mod random;
mod readings;
mod report;
mod server;
mod site;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Parser, ValueEnum};

use load::Boards;
use report::Report;
use server::Server;
use site::Site;

/// The reason why a run stopped, for whoever started it.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Puts a server under load and attack, and says how it fared.
#[derive(Parser)]
#[command(after_help = "Example:\n  cargo xtask fire --seconds 20 --boards 50")]
struct Arguments {
    /// Seconds for which the boards upload
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// The number of boards
    #[arg(long, default_value_t = 1000)]
    boards: usize,
    /// The program: `tfhe-sbc`
    #[arg(long)]
    program: PathBuf,
    /// The directory of everything while it runs [default: a temporary directory]
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Write the figures there as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write the report there, in Markdown [default: stdout]
    #[arg(long)]
    report: Option<PathBuf>,
    /// Seconds for which the boards first upload as fast as they can [default: a tenth of
    /// --seconds, at most 30]
    #[arg(long)]
    burst_seconds: Option<u64>,
    /// Seconds between two uploads of a board [default: so that the server is at two thirds of
    /// what it did in the burst]
    #[arg(long)]
    interval: Option<f64>,
    /// The number of times that each attack is tried
    #[arg(long, default_value_t = 10)]
    attempts: u64,
    /// Seconds of mischance [default: --seconds, at most 180]
    #[arg(long)]
    chaos_seconds: Option<u64>,
    /// Agents that go through it
    #[arg(long, default_value_t = 4)]
    agents: usize,
    /// Pass even if something cannot be done here (full disks need an administrator, wrong clocks
    /// libfaketime)
    #[arg(long)]
    may_skip: bool,
    /// The seed of random numbers [default: the time]
    #[arg(long)]
    seed: Option<u64>,
    /// The parts to run
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "load,attacks,chaos"
    )]
    only: Vec<Part>,
}

/// The parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Load,
    Attacks,
    Chaos,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fire: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let temporary;
    let directory = match &arguments.directory {
        Some(directory) => {
            std::fs::create_dir_all(directory)?;
            directory
        }
        None => {
            temporary = tempfile::tempdir()?;
            temporary.path()
        }
    };
    let site = Site::make(&arguments.program, directory)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(fire(arguments, Arc::new(site)))?;
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_string_pretty(&report)?)?;
    }
    let markdown = report.markdown();
    match &arguments.report {
        Some(path) => std::fs::write(path, markdown)?,
        None => println!("{markdown}"),
    }
    Ok(report.passed())
}

async fn fire(arguments: &Arguments, site: Arc<Site>) -> Result<Report, Failure> {
    let any = ([127, 0, 0, 1], 0).into();
    let mut report = Report::new();
    if arguments.only.contains(&Part::Load) {
        let log = site.directory.join("load.log");
        let server = Server::start(&site, any, &site.directory.join("store"), &log, &[])?;
        report.idle = Some(server.figures());
        let boards = Boards::new(&site, arguments.boards)?;
        let burst = arguments
            .burst_seconds
            .unwrap_or((arguments.seconds / 10).clamp(2, 30));
        let burst = Duration::from_secs(burst);
        let burst = boards.run(&site, &server, burst, None).await?;
        let interval = arguments
            .interval
            .unwrap_or_else(|| 1.5 * arguments.boards as f64 / burst.uploads_per_second.max(1e-3));
        report.burst = Some(burst);
        let paced = boards
            .run(
                &site,
                &server,
                Duration::from_secs(arguments.seconds),
                Some(Duration::from_secs_f64(interval)),
            )
            .await?;
        report.paced = Some(paced);
        report.drained_in = Some(server.stop()?.as_secs_f64());
    }
    if arguments.only.contains(&Part::Attacks) {
        report.attacks = Some(attacks::run(Arc::clone(&site), arguments.attempts).await?);
    }
    if arguments.only.contains(&Part::Chaos) {
        let seed = arguments.seed.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.map_or(1, |since| since.as_secs())
        });
        let seconds = arguments.chaos_seconds;
        let duration = Duration::from_secs(seconds.unwrap_or(arguments.seconds.min(180)));
        report.chaos =
            Some(chaos::run(site, seed, duration, arguments.agents, arguments.may_skip).await?);
    }
    Ok(report)
}
