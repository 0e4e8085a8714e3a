//! `keys import --from tfhe-rs`.

use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_foreign::tfhe_rs::client_key::read_client_key;
use tfhe_sbc_oracle::adopted::adopt;

use crate::failure::{Explain, Outcome, failure};
use crate::foreign::card::write_keys;
use crate::foreign::library::ImportRequest;
use crate::{keys, output};
use tfhe_sbc_foreign::tfhe_rs::LIBRARY;

pub(super) fn run(request: &ImportRequest) -> Outcome<()> {
    let name = request.key.display();
    let bytes = keys::read_file(&request.key)?;
    let imported = read_client_key(&bytes).explain(&name)?;
    let parameters = adopt(&imported.parameters).explain(&name)?;
    let key = DeviceKey::import(parameters, imported.glwe).ok_or_else(|| {
        failure(
            format_args!("{name}: the key is not of the shape that its parameters state"),
            "save it again with TFHE-rs",
        )
    })?;
    write_keys(&key, &LIBRARY, request)?;
    output::note(format_args!(
        "{}: {:.0}-bit security, an upload keeps {} bits and fails with probability 2^{:.1}",
        parameters.name(),
        parameters.security_bits(),
        parameters.body_bits(),
        parameters.log2_p_fail()
    ));
    Ok(())
}
