//! `keys import`: keys for boards, made of a key of another library. [`crate::foreign`] has a folder
//! for each library.

use clap::Args;

use crate::failure::{Outcome, failure};
use crate::foreign::key_source_parser;
use crate::foreign::library::{ImportRequest, KeySource};

/// Makes keys for boards of a key that another library made, so that its owner decrypts, and its
/// server computes on, what boards encrypt. Nothing changes on their side.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The library that made the key
    #[arg(long, value_parser = key_source_parser())]
    from: &'static KeySource,
    #[command(flatten)]
    request: ImportRequest,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if arguments.request.parms.is_some() && !arguments.from.takes_parms {
        return Err(failure(
            "--parms is for keys of SEAL and SEAL-Embedded",
            "leave it out: the key's file has its parameters",
        ));
    }
    (arguments.from.import)(&arguments.request)
}
