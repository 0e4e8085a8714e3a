//! `readings`: what a server has stored.

mod get;
mod list;
mod remove;
mod show;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::{Filter, Names};
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::human;
use tfhe_sbc_upload::moments::Moment;

use crate::failure::{Explain, Outcome};
use crate::report;

/// Lists, shows, gets and removes the uploads that a server has stored, by device and by the times of their rows.
#[derive(Args)]
#[command(
    after_help = "Example, with readings sent as `tfhe-sbc send --help` shows:\n  tfhe-sbc readings list --to https://localhost:8443 --tls tls\n  tfhe-sbc readings list --to https://localhost:8443 --device device --limit 1 --json\n  tfhe-sbc readings get --to https://localhost:8443 --device device --out uploads"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// List uploads, those that were stored last first
    List(list::Arguments),
    /// Show what the server knows of one upload, and its columns
    Show(show::Arguments),
    /// Write uploads into files, as the boards sent them
    Get(get::Arguments),
    /// Remove uploads from the server, for good
    Rm(remove::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.task {
        Task::List(arguments) => list::run(arguments),
        Task::Show(arguments) => show::run(arguments),
        Task::Get(arguments) => get::run(arguments),
        Task::Rm(arguments) => remove::run(arguments),
    }
}

/// The uploads that a command is about.
#[derive(Args)]
struct Selected {
    /// Only those of these devices: names with commas between, where * stands for any characters and ? for one
    #[arg(long, value_name = "NAMES")]
    device: Option<Names>,
    /// Only those with a row at this time or later, like 2026-11-23 or 2026-11-23T14:30Z. Times without a zone are UTC
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Only those with a row before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Only those with a row in this time up to now, like 90m, 24h or 7d
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["since", "until"])]
    last: Option<Duration>,
}

/// Uploads that are named, or those that options select.
#[derive(Args)]
struct Chosen {
    /// The ids of uploads
    #[arg(value_name = "ID", value_parser = upload_id, conflicts_with_all = ["device", "since", "until", "last"])]
    ids: Vec<BlobId>,
    #[command(flatten)]
    selected: Selected,
}

/// The uploads that a command goes on with, and how much they are together if the server has listed them.
struct Found {
    ids: Vec<BlobId>,
    /// Their rows and bytes, for people.
    about: String,
}

impl Chosen {
    /// Returns whether neither ids nor options say which uploads.
    fn is_everything(&self) -> bool {
        let Selected {
            device,
            since,
            until,
            last,
        } = &self.selected;
        let any = device.is_some() || since.is_some() || until.is_some() || last.is_some();
        self.ids.is_empty() && !any
    }

    /// Returns the uploads: the ids that were given, or those that the server lists.
    fn find(&self, client: &Client) -> Outcome<Found> {
        if !self.ids.is_empty() {
            return Ok(Found {
                ids: self.ids.clone(),
                about: String::new(),
            });
        }
        let readings = list::pages(client, self.selected.filter()?, None)?.readings;
        let rows = readings.iter().map(|entry| entry.summary.rows).sum();
        let bytes = readings.iter().map(|entry| entry.bytes).sum();
        let rows = report::counted(rows, "row", "rows");
        Ok(Found {
            ids: readings.into_iter().map(|entry| entry.id).collect(),
            about: format!(" with {rows} in {}", report::bytes(bytes)),
        })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    human::parse_duration(text)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "write a number and a unit, like 90m, 24h or 7d".to_owned())
}

impl Selected {
    /// The filter that these options are.
    fn filter(&self) -> Outcome<Filter> {
        let filter = Filter {
            names: self.device.clone().unwrap_or_default(),
            since: match self.last {
                Some(last) => Some(before_now(last)),
                None => self.since,
            },
            until: self.until,
            ..Filter::ALL
        };
        filter
            .check()
            .advise("no readings", "swap --since and --until")?;
        Ok(filter)
    }
}

/// The moment of this time ago.
fn before_now(ago: Duration) -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let now = now.map_or(0, ms);
    Moment::from_unix_ms(now.saturating_sub(ms(ago)))
}

fn upload_id(text: &str) -> Result<BlobId, String> {
    text.parse().map_err(|_| {
        "an id is 64 hexadecimal digits, as `readings list --json` shows it".to_owned()
    })
}
