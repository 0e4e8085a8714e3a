//! `keys import --from tfhepp`.

use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_foreign::tfhepp::SecretKey;

use crate::failure::{Explain, Outcome, failure};
use crate::foreign::card::write_keys;
use crate::foreign::library::ImportRequest;
use crate::keys::read_file;
use crate::output;
use tfhe_sbc_foreign::tfhepp::LIBRARY;

const ADVICE: &str = "give a SecretKey of TFHEpp v9 or 2026 with its default 128-bit parameters, \
                      written by a cereal::PortableBinaryOutputArchive";

pub(super) fn run(request: &ImportRequest) -> Outcome<()> {
    let name = request.key.display();
    let theirs = SecretKey::parse(&read_file(&request.key)?).advise(name, ADVICE)?;
    let parameters = theirs.parameters().explain("no parameters")?;
    let key = DeviceKey::import(parameters, theirs.glwe().clone()).ok_or_else(|| {
        let name = request.key.display();
        failure(format_args!("{name}: lvl1 is of another shape"), ADVICE)
    })?;
    write_keys(&key, &LIBRARY, request)?;
    output::note(format_args!(
        "TFHEpp's key is of {:.1} bits of security (set {})",
        parameters.security_bits(),
        parameters.name()
    ));
    Ok(())
}
