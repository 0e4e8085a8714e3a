//! `standing get`.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::standing::{
    LARGEST_RESULT, Period, PeriodFilter, PeriodState, StandingName,
};

use super::One;
use crate::commands::decrypt;
use crate::commands::scope::Times;
use crate::export::Format;
use crate::failure::{Explain, Outcome, failure};
use crate::{keys, output, progress, report};

/// Writes the encrypted results of periods into a directory, a file NAME-TIME.tsbc each, or one after the other into one file;
/// `decrypt` shows one table of either. Files that are there already and have not changed are not fetched again.
///
/// With --decrypt, decrypts them on this machine instead, and shows or writes one table of the answers: a row for each device and
/// period.
#[derive(Args)]
#[command(
    after_help = "Example, with a standing query that `tfhe-sbc query --help` leaves:\n  tfhe-sbc standing get hourly --last 7d --out results/\n  tfhe-sbc decrypt results\n  tfhe-sbc standing get hourly --last 7d --decrypt keys/secret.tsbc --out hours.csv"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    of: One,
    #[command(flatten)]
    times: Times,
    /// A directory, which ends with / or is there, or a file; with --decrypt the file for the table [default: stdout]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Decrypt the results with this secret key
    #[arg(long, value_name = "FILE")]
    decrypt: Option<PathBuf>,
    /// The directory of the switch keys of boards, for results with parts under keys of boards [default: device-keys, if there is
    /// such a directory]
    #[arg(long, value_name = "DIRECTORY", requires = "decrypt")]
    device_keys: Option<PathBuf>,
    /// Print the answers as JSON
    #[arg(long, requires = "decrypt", conflicts_with_all = ["out", "format"])]
    json: bool,
    /// The format of the table [default: by the extension of --out; on a terminal for people]
    #[arg(long, requires = "decrypt")]
    format: Option<Format>,
    /// Replace the file of --out if it is there already
    #[arg(long, requires = "decrypt")]
    force: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let out = arguments.out.as_deref();
    let directory = out.filter(|path| is_directory(path));
    let secret = arguments.decrypt.as_deref().map(keys::read_secret_key);
    let secret = secret.transpose()?;
    match (&secret, directory) {
        (Some(_), Some(directory)) => {
            return Err(failure(
                format_args!("{} is a directory", directory.display()),
                "with --decrypt, name a file for the table with --out, or leave it out",
            ));
        }
        (Some(_), None) => output::check_new(out, arguments.force)?,
        (None, None) => output::check(out)?,
        (None, Some(_)) => {}
    }
    let name = &arguments.of.name;
    let client = arguments.of.connect()?;
    let (since, until) = arguments.times.ends();
    let filter = PeriodFilter {
        since,
        until,
        ..PeriodFilter::default()
    };
    let found = client.all_periods(name, filter);
    let found = found.explain("no list of periods")?;
    let mut with_results: Vec<&Period> = found
        .iter()
        .filter(|period| period.result.is_some())
        .collect();
    // The server lists the latest first.
    with_results.reverse();
    note_others(&found, name);
    if with_results.is_empty() {
        let standing = client.standing(name).explain("no standing query")?;
        return Err(failure(
            format_args!("'{name}' has no results of that time"),
            format_args!(
                "it is about periods from {} on and computed until {}; `tfhe-sbc standing show {name}` says more",
                standing.since, standing.computed_until
            ),
        ));
    }
    if let Some(directory) = directory {
        return into_directory(&client, name, &with_results, directory);
    }
    let results = all(&client, name, &with_results)?;
    let Some(secret) = secret else {
        output::write(out, &results)?;
        output::note(format_args!(
            "{} in {}: {}",
            report::counted(with_results.len() as u64, "period", "periods"),
            report::bytes(results.len() as u64),
            output::shown(arguments.out.as_ref())
        ));
        return Ok(());
    };
    let decryption = decrypt::decrypted(
        &results,
        &format_args!("the results of '{name}'"),
        &secret,
        arguments.device_keys.as_deref(),
    )?;
    decrypt::show(
        &decryption,
        &decrypt::Shape {
            json: arguments.json,
            format: arguments.format,
            out,
        },
    )
}

/// Returns whether a path is meant as a directory.
fn is_directory(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

/// Says which periods have no result, or not the last word.
fn note_others(periods: &[Period], name: &StandingName) {
    let count = |state| {
        periods
            .iter()
            .filter(|period| period.state == state)
            .count() as u64
    };
    let mut words = Vec::new();
    for (state, word) in [
        (PeriodState::Waiting, "not yet computed"),
        (PeriodState::Outdated, "to be computed again"),
        (PeriodState::Failed, "failed"),
    ] {
        let number = count(state);
        if number > 0 {
            words.push(format!(
                "{} {word}",
                report::counted(number, "period", "periods")
            ));
        }
    }
    if !words.is_empty() {
        output::note(format_args!(
            "{}: `tfhe-sbc standing show {name}` says more",
            words.join(", ")
        ));
    }
}

/// Fetches the results of periods, one after the other.
fn all(client: &Client, name: &StandingName, periods: &[&Period]) -> Outcome<Vec<u8>> {
    let bar = progress::bar("getting results", periods.len() as u64);
    let mut results = Vec::new();
    for period in periods {
        results.extend(fetch(client, name, period)?);
        bar.inc(1);
    }
    Ok(results)
}

fn fetch(client: &Client, name: &StandingName, period: &Period) -> Outcome<Vec<u8>> {
    let reply = client.period_result(name, period.from, LARGEST_RESULT);
    Ok(reply.explain("no result")?.result)
}

/// Writes the results that are new into files of a directory.
fn into_directory(
    client: &Client,
    name: &StandingName,
    periods: &[&Period],
    directory: &Path,
) -> Outcome<()> {
    std::fs::create_dir_all(directory).advise(
        format_args!("no directory {}", directory.display()),
        "choose another one with --out",
    )?;
    let bar = progress::bar("getting results", periods.len() as u64);
    let (mut new, mut bytes) = (0, 0);
    for period in periods {
        // Some systems have no colons in the names of files.
        let time = period.from.to_string().replace(':', "-");
        let file = directory.join(format!("{name}-{time}.tsbc"));
        let there = std::fs::read(&file)
            .map(|content| BlobId::of(&content))
            .ok();
        if there != period.result.map(|result| result.id) {
            let result = fetch(client, name, period)?;
            output::write_file(&file, &result)?;
            new += 1;
            bytes += result.len() as u64;
        }
        bar.inc(1);
    }
    drop(bar);
    output::note(format_args!(
        "{} in {}, {} of them new with {}: `tfhe-sbc decrypt {}` shows them",
        report::counted(periods.len() as u64, "period", "periods"),
        directory.display(),
        report::count(new),
        report::bytes(bytes),
        directory.display()
    ));
    Ok(())
}
