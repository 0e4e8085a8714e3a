//! Ciphertexts for Microsoft SEAL.

use tfhe_sbc_adapter::seal;

use super::Arguments;
use crate::commands::ckks::{self, key_file::read_parameters};
use crate::failure::{Explain, Outcome};
use crate::{output, report};

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    output::check(arguments.out.as_deref())?;
    let parameters = read_parameters(&arguments.parms)?;
    let stream = output::read_input(&arguments.input)?;
    let stream = seal::uncompressed(&stream).explain(arguments.input.display())?;
    let converted = seal::convert(&parameters, arguments.scale, &stream).advise(
        arguments.input.display(),
        "give what boards encrypted, and the parameters of their key with --parms; of a raw stream the --scale too",
    )?;
    output::write(arguments.out.as_deref(), &converted.bytes)?;
    output::note(format_args!(
        "{}: {} to {}",
        ckks::ciphertexts(converted.count),
        report::bytes(converted.bytes.len() as u64),
        output::shown(arguments.out.as_ref())
    ));
    Ok(())
}
