//! `readings`: what a server has stored.

mod decrypted;
mod get;
pub(crate) mod list;
mod remove;
mod show;

use clap::{Args, Subcommand};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::client::Client;

use super::scope::Selected;
use crate::failure::Outcome;
use crate::report;

/// Lists, shows, gets and removes the uploads that a server has stored, by device and by the times of their rows.
#[derive(Args)]
#[command(
    after_help = "Example, with readings sent as `tfhe-sbc send --help` shows:\n  tfhe-sbc readings list --to https://localhost:8443 --tls tls\n  tfhe-sbc readings list --to https://localhost:8443 --device device --limit 1 --json\n  tfhe-sbc readings get --to https://localhost:8443 --device device --out uploads\n  tfhe-sbc readings get --to https://localhost:8443 --device device --decrypt keys/secret.tsbc --out table.csv"
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
    /// Write uploads into files, as the boards sent them, or decrypt them into one table
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
        self.ids.is_empty() && !self.selected.is_given()
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

fn upload_id(text: &str) -> Result<BlobId, String> {
    text.parse().map_err(|_| {
        "an id is 64 hexadecimal digits, as `readings list --json` shows it".to_owned()
    })
}
