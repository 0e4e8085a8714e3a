//! `keys`: keys that other libraries made.

pub(crate) mod import;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Takes keys of other libraries, so that boards encrypt for servers that run those.
#[derive(Args)]
#[command(after_help = "Example:\n  tfhe-sbc keys import --help")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make keys for boards of a key that another library made
    Import(Box<import::Arguments>),
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.task {
        Task::Import(arguments) => import::run(arguments),
    }
}
