//! `pads`: frames of boards that are too small for ciphertexts. [`make`] makes a board's key and the server's
//! pads, [`complete`] turns frames into uploads.

mod complete;
mod header;
mod make;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Makes pads for a board that is too small for ciphertexts, and turns its frames into uploads.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample --columns | sed 's/use = .*/use = \"alarms\"/' > columns.toml\n  tfhe-sbc pads make 70b3d57ed0001234 --rows 8760 --columns columns.toml\n  tfhe-sbc pads complete --help"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make a key for a board, and pads for as many rows as it will send
    Make(make::Arguments),
    /// Turn frames into uploads
    Complete(complete::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.task {
        Task::Make(arguments) => make::run(arguments),
        Task::Complete(arguments) => complete::run(arguments),
    }
}
