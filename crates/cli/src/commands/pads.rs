//! `pads`: frames of boards that are too small for ciphertexts. [`make`] makes a board's key and the server's
//! pads, which [`send`] brings there, [`list`] shows and [`end`] ends. [`complete`] turns frames into uploads without
//! a server.

mod complete;
mod end;
mod header;
mod list;
mod make;
mod send;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Makes pads for boards that are too small for ciphertexts, with which a server turns their frames into
/// readings.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample --columns | sed 's/use = .*/use = \"alarms\"/' > columns.toml\n  tfhe-sbc pads make 70b3d57ed0001234 --rows 8760 --columns columns.toml\n  tfhe-sbc pads send --help"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make a key for a board, and pads for as many rows as it will send
    Make(make::Arguments),
    /// Give a server the pads of a board, whose frames it takes then
    Send(send::Arguments),
    /// Show the pads that a server has, and how many frames have arrived
    List(list::Arguments),
    /// Have a server take no more frames of a board
    End(end::Arguments),
    /// Turn frames into uploads, without a server
    Complete(complete::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.task {
        Task::Make(arguments) => make::run(arguments),
        Task::Send(arguments) => send::run(arguments),
        Task::List(arguments) => list::run(arguments),
        Task::End(arguments) => end::run(arguments),
        Task::Complete(arguments) => complete::run(arguments),
    }
}
