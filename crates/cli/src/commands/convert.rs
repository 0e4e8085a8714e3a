//! `convert`: uploads as ciphertexts of other libraries. [`crate::foreign`] has a folder for each
//! library.

use clap::Args;
use tfhe_sbc_foreign::Library;

use crate::failure::{Outcome, failure};
use crate::foreign::library::{Conversion, ConversionRequest};
use crate::foreign::{ConversionOptions, conversion_parser};

/// Turns what boards encrypted into ciphertexts of the library that a server runs.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc ckks keygen --out keys\n  tfhe-sbc sample | tfhe-sbc ckks encrypt --column temperature_c --out day.seal\n  tfhe-sbc convert --to seal day.seal --out expanded.seal"
)]
pub(crate) struct Arguments {
    /// The library whose ciphertexts are wanted
    #[arg(long, value_parser = conversion_parser())]
    to: (&'static Library, &'static Conversion),
    #[command(flatten)]
    request: ConversionRequest,
    #[command(flatten)]
    of_libraries: ConversionOptions,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let (library, conversion) = arguments.to;
    refuse_options_of_others(arguments, library)?;
    (conversion.run)(&arguments.request, arguments.of_libraries.matches())
}

/// Refuses options that would change nothing.
fn refuse_options_of_others(arguments: &Arguments, library: &Library) -> Outcome<()> {
    let needs_card = library.number.is_some();
    let card = arguments.request.card.as_ref().filter(|_| !needs_card);
    let unused = arguments.of_libraries.of_others(library);
    match unused.or(card.map(|_| "--card")) {
        None => Ok(()),
        Some(option) => Err(failure(
            format_args!("{option} does nothing with --to {}", library.name),
            "leave it out; `tfhe-sbc convert --help` shows which options go together",
        )),
    }
}
