//! `params`: what parameters are worth. [`security`] prices the attacks on a key.

mod security;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Says what parameters are worth: how many bits of security a key has.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc params security --n 630 --q-log2 32 --secret binary --sigma-log2=-13.4\n  tfhe-sbc params security --n 915 --q-log2 32 --secret blocks --block-size 3 --sigma-log2=-20.2 --json"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand)]
enum Question {
    /// Price the attacks on an LWE key
    Security(security::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.question {
        Question::Security(arguments) => security::run(arguments),
    }
}
