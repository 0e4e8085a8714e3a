//! `tfhe-sbc`: the whole path on the command line.
//!
//! [`commands`] has one module per subcommand, each of which a script can run by itself; [`demo`]
//! runs all of them in a row. They share these modules: [`columns`] and [`table`] read column
//! definitions and CSV, [`keys`] reads and writes key files, [`output`] writes data, [`progress`]
//! shows that something happens, [`report`] spells figures, [`answers`] spells decrypted answers,
//! [`sheet`] is the paper of pictures, those of [`histogram`]s too, and [`failure`] tells what goes
//! wrong. [`foreign`] is the registry of other libraries, whose commands are in a folder each.
#![forbid(unsafe_code)]

mod answers;
mod checks;
mod columns;
mod commands;
mod costs;
mod demo;
mod encryptor;
mod export;
mod failure;
mod foreign;
mod histogram;
mod keys;
mod output;
mod parameters;
mod progress;
mod report;
mod sheet;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

/// Encrypt readings on a small board, compute on them blindly, read the answer.
///
/// Without a command it runs the demo: a day of weather readings, encrypted as a board
/// would, computed on by a server process that never sees them, decrypted and checked.
#[derive(Parser)]
#[command(name = "tfhe-sbc", version, propagate_version = true)]
#[command(disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demo: demo::DemoArguments,
}

fn main() -> ExitCode {
    let Arguments { command, demo } = Arguments::parse();
    let command = command.unwrap_or(Command::Demo(demo));
    match command.run() {
        Ok(code) => code,
        Err(failure) => {
            output::note(format_args!("{:?}", miette::Report::new(*failure)));
            ExitCode::FAILURE
        }
    }
}
