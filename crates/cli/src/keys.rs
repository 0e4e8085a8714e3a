//! Key files and entropy.

use std::path::Path;

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};
use tfhe_sbc_core::random::{EntropyError, SeedSequence};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::key::parameters_of;
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};
use zeroize::Zeroizing;

use crate::failure::{Explain, Outcome, failure};
use crate::progress;

/// Seeds from the operating system.
pub(crate) fn fresh_seeds() -> Outcome<SeedSequence> {
    SeedSequence::from_entropy(|bytes| {
        getrandom::fill(bytes).map_err(|_| EntropyError::Source("the operating system"))
    })
    .explain("no randomness")
}

/// The bytes of a file, zeroized on drop because they may be a key.
pub(crate) fn read_file(path: &Path) -> Outcome<Zeroizing<Vec<u8>>> {
    std::fs::read(path).map(Zeroizing::new).advise(
        format_args!("cannot read {}", path.display()),
        "check the path; `tfhe-sbc keygen --help` shows how to make keys",
    )
}

/// The key owner's secret key.
pub(crate) fn read_secret_key(path: &Path) -> Outcome<SecretKey> {
    SecretKey::from_bytes(&read_file(path)?).explain(path.display())
}

/// A server key for integers, ready to compute.
pub(crate) fn read_server_key(path: &Path) -> Outcome<ServerKey<u64>> {
    let bytes = read_file(path)?;
    let parameters = key_parameters(path, &bytes)?;
    if parameters.plaintext != PlaintextKind::Radix {
        return Err(failure(
            format_args!(
                "{}: the set '{}' is for gates, not for integers",
                path.display(),
                parameters.name
            ),
            "make keys of an integer set with `tfhe-sbc keygen`",
        ));
    }
    let seeded = SeededServerKey::from_bytes(&bytes).explain(path.display())?;
    let bar = progress::bar(
        "preparing the server key",
        SeededServerKey::<u64>::step_count(&parameters),
    );
    Ok(seeded.prepare(&|steps| bar.inc(steps)))
}

/// The parameters that a key file carries.
pub(crate) fn key_parameters(path: &Path, bytes: &[u8]) -> Outcome<Parameters> {
    let (message, _) = Message::parse(bytes).explain(path.display())?;
    parameters_of(&message)
        .map(|(parameters, _)| parameters)
        .explain(path.display())
}
