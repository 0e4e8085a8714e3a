//! `convert`: uploads as ciphertexts of other libraries. [`crate::foreign`] has a folder for each
//! library; what they share is here.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_core::wire::card::{Card, LibraryNumber};
use tfhe_sbc_foreign::Library;

use crate::failure::{Explain, Outcome, failure};
use crate::foreign::{Conversion, ConversionOptions, conversion_parser};
use crate::keys::read_file;

/// Turns what boards encrypted into ciphertexts of the library that a server runs.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc ckks keygen --out keys\n  tfhe-sbc sample | tfhe-sbc ckks encrypt --column temperature_c --out day.seal\n  tfhe-sbc convert --to seal day.seal --out expanded.seal"
)]
pub(crate) struct Arguments {
    /// The library whose ciphertexts are wanted
    #[arg(long, value_parser = conversion_parser())]
    to: (&'static Library, &'static Conversion),
    /// What boards encrypted, or - for stdin
    #[arg(default_value = "-")]
    pub(crate) input: PathBuf,
    /// The card that `keys import` wrote beside the device key; SEAL needs none [default: keys/card.tsbc]
    #[arg(long, value_name = "FILE")]
    pub(crate) card: Option<PathBuf>,
    /// The file to write [default: stdout]
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    of_libraries: ConversionOptions,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let (library, conversion) = arguments.to;
    refuse_options_of_others(arguments, library)?;
    (conversion.run)(arguments, arguments.of_libraries.matches())
}

/// Refuses options that would change nothing.
fn refuse_options_of_others(arguments: &Arguments, library: &Library) -> Outcome<()> {
    let needs_card = library.number.is_some();
    let card = arguments.card.as_ref().filter(|_| !needs_card);
    let unused = arguments.of_libraries.of_others(library);
    match unused.or(card.map(|_| "--card")) {
        None => Ok(()),
        Some(option) => Err(failure(
            format_args!("{option} does nothing with --to {}", library.name),
            "leave it out; `tfhe-sbc convert --help` shows which options go together",
        )),
    }
}

/// Reads the card, which must be of a key of `library`.
pub(crate) fn read_card(path: Option<&Path>, library: &Library) -> Outcome<Card> {
    let path = path.unwrap_or(Path::new("keys/card.tsbc"));
    let card = Card::from_bytes(&read_file(path)?).explain(path.display())?;
    if library.number == Some(card.library) {
        return Ok(card);
    }
    Err(failure(
        format_args!(
            "{} is of a key of {}, not of {}",
            path.display(),
            title(card.library),
            library.title
        ),
        "convert to the library that the key comes from: uploads are under that key",
    ))
}

/// The name of the library with that number, or what to say of one that is not known.
pub(crate) fn title(number: LibraryNumber) -> String {
    match Library::with_number(number) {
        Some(library) => library.title.to_owned(),
        None => format!("library {}, which this version does not know", number.0),
    }
}
