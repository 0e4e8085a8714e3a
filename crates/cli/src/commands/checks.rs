//! `checks`: uploads of made-up readings, by which a server that computes wrongly is found out.

mod make;
mod status;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Makes uploads of random readings that look to the server like any others, so that it can be asked questions whose
/// answers you know. `query --checks` asks them, and `decrypt --checks` compares the answers.
///
/// A server that answers 1 question in 10 wrongly passes 44 check questions with a probability of 1 %. This is a spot
/// check and no proof: a server that can tell check uploads from others passes all of them.
#[derive(Args)]
#[command(
    after_help = "Example, for a board 'fen' that does not exist:\n  tfhe-sbc keygen --out keys && tfhe-sbc certs --out tls && tfhe-sbc certs --out tls --add fen\n  mkdir device-keys && tfhe-sbc device-key --device fen --out-device fen.tsbc --out-switch device-keys/fen-1.tsbc\n  tfhe-sbc sample > day.csv && tfhe-sbc checks make day.csv --key fen.tsbc --out fen-day.tsbc\n  tfhe-sbc checks status"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Encrypt random readings with the columns and labels of a CSV file, and remember them
    Make(make::Arguments),
    /// Show how many check questions were answered rightly, and what that says
    Status(status::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.task {
        Task::Make(arguments) => make::run(arguments),
        Task::Status(arguments) => status::run(arguments),
    }
}
