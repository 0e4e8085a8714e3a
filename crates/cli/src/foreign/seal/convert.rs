//! `convert --to seal`.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use tfhe_sbc_foreign::seal;

use crate::commands::ckks::{self, key_file::read_parameters};
use crate::failure::{Explain, Outcome};
use crate::foreign::library::{ConversionRequest, OfOneLibrary, options};
use crate::{output, report};

/// The options that only `--to seal` has.
#[derive(Args)]
#[command(next_help_heading = "For --to seal")]
#[group(id = "for-seal")]
pub(super) struct Options {
    /// SEAL's parameters [default: keys/parms.seal]
    #[arg(long, value_name = "FILE")]
    parms: Option<PathBuf>,
    /// The scale of ciphertexts that do not say theirs, SEAL-Embedded's raw stream
    #[arg(long, value_parser = ckks::scale)]
    scale: Option<f64>,
}

impl OfOneLibrary for Options {
    fn given(&self) -> Option<&'static str> {
        let parms = self.parms.as_ref().map(|_| "--parms");
        parms.or(self.scale.map(|_| "--scale"))
    }
}

pub(super) fn run(request: &ConversionRequest, matches: &ArgMatches) -> Outcome<()> {
    output::check(request.out.as_deref())?;
    let Options { parms, scale } = options(matches)?;
    let parameters = read_parameters(parms.as_deref().unwrap_or(Path::new("keys/parms.seal")))?;
    let stream = output::read_input(&request.input)?;
    let stream = seal::uncompressed(&stream).explain(request.input.display())?;
    let converted = seal::convert(&parameters, scale, &stream).advise(
        request.input.display(),
        "give what boards encrypted, and the parameters of their key with --parms; of a raw stream the --scale too",
    )?;
    output::write(request.out.as_deref(), &converted.bytes)?;
    output::note(format_args!(
        "{}: {} to {}",
        ckks::ciphertexts(converted.count),
        report::bytes(converted.bytes.len() as u64),
        output::shown(request.out.as_ref())
    ));
    Ok(())
}
