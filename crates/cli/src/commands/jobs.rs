//! `jobs`: questions that a server goes on with when nobody waits for the answer.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::jobs::{Job, JobId, JobState};

use super::query;
use super::send::Server;
use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress, report};

/// The largest result that is read.
const LARGEST: u64 = 1 << 30;

/// Lists, shows, awaits, gets and calls off jobs: questions asked with `query --detach`. A certificate's jobs are those that were asked
/// under its name.
#[derive(Args)]
#[command(
    after_help = "Example, with readings sent as `tfhe-sbc send --help` shows:\n  tfhe-sbc query --to https://localhost:8443 --tls tls --detach 'max(temperature_c)' > job\n  tfhe-sbc jobs wait --to https://localhost:8443 --tls tls \"$(cat job)\"\n  tfhe-sbc jobs list --to https://localhost:8443 --tls tls\n  tfhe-sbc jobs get --to https://localhost:8443 --tls tls \"$(cat job)\" --out result.tsbc\n  tfhe-sbc decrypt result.tsbc --key keys/secret.tsbc"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// List your jobs, those that were asked last first
    List(ListArguments),
    /// Show a job
    Show(ShowArguments),
    /// Wait until a job has ended
    Wait(WaitArguments),
    /// Get the encrypted result of a job; `decrypt` reads it
    Get(GetArguments),
    /// Call a job off, or remove one that has ended, with its result
    Cancel(CancelArguments),
}

#[derive(Args)]
struct ListArguments {
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ShowArguments {
    #[command(flatten)]
    of: One,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Waits until a job has ended, and shows meanwhile how far it is. Fails if the job has no result then. The job goes on if this ends
/// before.
#[derive(Args)]
struct WaitArguments {
    #[command(flatten)]
    of: One,
}

#[derive(Args)]
struct GetArguments {
    #[command(flatten)]
    of: One,
    /// The file for the encrypted result [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct CancelArguments {
    #[command(flatten)]
    of: One,
}

/// A job of a server.
#[derive(Args)]
struct One {
    /// The id that `query --detach` printed
    #[arg(value_name = "ID")]
    id: JobId,
    #[command(flatten)]
    server: Server,
}

impl One {
    fn connect(&self) -> Outcome<Client> {
        self.server.connect("owner")
    }

    /// Returns the job.
    fn find(&self, client: &Client) -> Outcome<Job> {
        client.job(self.id).explain("no job")
    }
}

#[derive(Serialize)]
struct Jobs {
    jobs: Vec<Job>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.task {
        Task::List(arguments) => list(arguments),
        Task::Show(ShowArguments { of, json }) => show(of, *json),
        Task::Wait(WaitArguments { of }) => wait(of),
        Task::Get(GetArguments { of, out }) => get(of, out.as_ref()),
        Task::Cancel(CancelArguments { of }) => cancel(of),
    }
}

fn list(arguments: &ListArguments) -> Outcome<()> {
    let client = arguments.server.connect("owner")?;
    let jobs = client.jobs().explain("no list of jobs")?;
    if arguments.json {
        return output::print_json(&Jobs { jobs });
    }
    if jobs.is_empty() {
        output::note("no jobs: `tfhe-sbc query --detach` makes one");
        return Ok(());
    }
    let mut table = output::text_table();
    table.set_header([
        "id",
        "state",
        "asked",
        "about",
        "uploads",
        "bootstraps",
        "result",
    ]);
    for job in &jobs {
        table.add_row([
            job.id.to_string(),
            job.state.to_string(),
            report::plain(&job.asked_at),
            report::plain(&job.selection),
            report::count(job.uploads),
            bootstraps(job),
            result(job),
        ]);
    }
    output::emit(table)
}

/// The bootstraps of a job in words.
fn bootstraps(job: &Job) -> String {
    match (job.state, job.expected) {
        (JobState::Waiting, _) => "-".to_owned(),
        (JobState::Running, expected) if expected > 0 => format!(
            "{} of {}",
            report::count(job.bootstraps),
            report::count(expected)
        ),
        _ => report::count(job.bootstraps),
    }
}

/// The result of a job in words.
fn result(job: &Job) -> String {
    match (job.state, job.result_bytes) {
        (JobState::Answered, Some(bytes)) => report::bytes(bytes),
        (JobState::Answered, None) => "not kept any more".to_owned(),
        _ => "-".to_owned(),
    }
}

fn show(of: &One, json: bool) -> Outcome<()> {
    let job = of.find(&of.connect()?)?;
    if json {
        return output::print_json(&job);
    }
    let mut table = output::text_table();
    let mut say = |what: &str, text: String| {
        table.add_row([what.to_owned(), text]);
    };
    say("id", job.id.to_string());
    say("state", job.state.to_string());
    say("about", report::plain(&job.selection));
    say("uploads", report::count(job.uploads));
    say("asked", report::plain(&job.asked_at));
    if let Some(ended) = &job.ended_at {
        say("ended", report::plain(ended));
    }
    say("bootstraps", bootstraps(&job));
    if job.seconds > 0.0 {
        say("took", seconds(job.seconds));
    }
    if job.was_kept {
        say(
            "answered with",
            "a result that the server had kept".to_owned(),
        );
    }
    say("result", result(&job));
    if let Some(error) = &job.error {
        say("error", report::plain(&error.error));
        say("advice", report::plain(&error.hint));
    }
    output::emit(table)
}

fn seconds(seconds: f64) -> String {
    // A server's word, which need not be a time.
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    report::time(time)
}

fn wait(of: &One) -> Outcome<()> {
    /// The time between two looks, at first and at most.
    const LOOKS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
    let client = of.connect()?;
    let spinner = progress::spinner("the server computes");
    let mut pause = LOOKS.0;
    let job = loop {
        let job = of.find(&client)?;
        if job.state.is_ended() {
            break job;
        }
        spinner.reach(job.bootstraps, job.expected);
        std::thread::sleep(pause);
        pause = (2 * pause).min(LOOKS.1);
    };
    drop(spinner);
    match (job.state, &job.error) {
        (JobState::Answered, _) => {
            output::note(format_args!(
                "answered with {} bootstraps in {}: `tfhe-sbc jobs get {}` gets the result",
                report::count(job.bootstraps),
                seconds(job.seconds),
                job.id
            ));
            Ok(())
        }
        (state, Some(error)) => Err(failure(
            format_args!(
                "the job {} is {state}: {}",
                job.id,
                report::plain(&error.error)
            ),
            report::plain(&error.hint),
        )),
        (state, None) => Err(failure(
            format_args!("the job {} is {state}", job.id),
            "ask again with `tfhe-sbc query`",
        )),
    }
}

fn get(of: &One, out: Option<&PathBuf>) -> Outcome<()> {
    output::check(out.map(PathBuf::as_path))?;
    let client = of.connect()?;
    let reply = client.job_result(of.id, LARGEST).explain("no result")?;
    query::write(&reply, out)
}

fn cancel(of: &One) -> Outcome<()> {
    let client = of.connect()?;
    let before = of.find(&client)?.state;
    let job = client.cancel_job(of.id).explain("no job")?;
    match before.is_ended() {
        false => output::note(format_args!("the job {} is {}", job.id, job.state)),
        true => output::note(format_args!(
            "removed the job {}, which was {before}",
            job.id
        )),
    }
    Ok(())
}
