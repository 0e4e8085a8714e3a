//! `keys import --from tfhepp`.

use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_foreign::tfhepp::SecretKey;

use super::LIBRARY;
use crate::commands::keys::import::{Arguments, write};
use crate::failure::{Explain, Outcome, failure};
use crate::keys::read_file;
use crate::output;

const ADVICE: &str = "give a SecretKey of TFHEpp v9 or 2026 with its default 128-bit parameters, \
                      written by a cereal::PortableBinaryOutputArchive";

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let name = arguments.key.display();
    let theirs = SecretKey::parse(&read_file(&arguments.key)?).advise(name, ADVICE)?;
    let parameters = theirs.parameters().explain("no parameters")?;
    let key = DeviceKey::import(parameters, theirs.glwe().clone()).ok_or_else(|| {
        let name = arguments.key.display();
        failure(format_args!("{name}: lvl1 is of another shape"), ADVICE)
    })?;
    write(&key, &LIBRARY, arguments)?;
    output::note(format_args!(
        "TFHEpp's key is of {:.1} bits of security (set {})",
        parameters.security_bits(),
        parameters.name()
    ));
    Ok(())
}
