//! Key files and entropy. [`new_files`] writes files that do not exist yet.

pub(crate) mod new_files;

use std::path::Path;

use tfhe_sbc_core::device_public_key::DevicePublicKey;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters, PlaintextKind};
use tfhe_sbc_core::random::SeedSequence;
use tfhe_sbc_core::wire::key::parameters_of;
use tfhe_sbc_core::wire::{Kind, Message};
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};
use tfhe_sbc_owner::device_keys_at_hand;
use tfhe_sbc_query::device_keys::DeviceKeys;
use zeroize::Zeroizing;

use crate::failure::{Explain, Outcome, failure};
use crate::progress;

/// Returns seeds from the operating system.
pub(crate) fn fresh_seeds() -> Outcome<SeedSequence> {
    tfhe_sbc_upload::fresh_seeds().explain("no randomness")
}

/// Returns the bytes of a file, zeroized on drop because they may be a key.
pub(crate) fn read_file(path: &Path) -> Outcome<Zeroizing<Vec<u8>>> {
    std::fs::read(path).map(Zeroizing::new).advise(
        format_args!("cannot read {}", path.display()),
        "check the path; `tfhe-sbc keygen --help` shows how to make keys",
    )
}

/// Reads the key owner's secret key.
pub(crate) fn read_secret_key(path: &Path) -> Outcome<SecretKey> {
    SecretKey::from_bytes(&read_file(path)?).advise(
        path.display(),
        "give the secret key that `tfhe-sbc keygen` made",
    )
}

/// Reads a public key of a key set.
pub(crate) fn read_public_key(path: &Path) -> Outcome<DevicePublicKey> {
    DevicePublicKey::from_bytes(&read_file(path)?).advise(
        path.display(),
        "give a public key that `tfhe-sbc device-key --public` made",
    )
}

/// Reads a server key for integers, ready to compute.
pub(crate) fn read_server_key(path: &Path) -> Outcome<ServerKey<u64>> {
    let bytes = read_file(path)?;
    let help = "give the server key that `tfhe-sbc keygen` made";
    let (message, _) = Message::parse(&bytes).advise(path.display(), help)?;
    let is_server_key = message.expect(Kind::ServerKey);
    is_server_key.advise(path.display(), help)?;
    let parsed = parameters_of(&message);
    let (parameters, _) = parsed.advise(path.display(), help)?;
    require_integers(path, &parameters)?;
    let seeded = SeededServerKey::from_bytes(&bytes).advise(path.display(), help)?;
    let bar = progress::bar(
        "preparing the server key",
        SeededServerKey::<u64>::step_count(&parameters),
    );
    Ok(seeded.prepare(&|steps| bar.inc(steps)))
}

/// Reads the devices with keys of their own, whose switch keys are in a directory.
pub(crate) fn device_keys(key: &ServerKey<u64>, directory: Option<&Path>) -> Outcome<DeviceKeys> {
    match directory {
        None => Ok(DeviceKeys::none(key)),
        Some(directory) => DeviceKeys::in_directory(key, directory).advise(
            "no device keys",
            "name the directory that holds the switch keys of `tfhe-sbc device-key`",
        ),
    }
}

/// Returns the devices of a key set whose switch keys the key owner has, in the [directory](tfhe_sbc_owner::device_keys_directory) of
/// these; `None` without one.
pub(crate) fn devices_at_hand(
    parameters: &Parameters,
    key_set: KeyFingerprint,
    given: Option<&Path>,
) -> Outcome<Option<DeviceKeys>> {
    device_keys_at_hand(parameters, key_set, given).advise(
        "no device keys",
        "name the directory that holds the switch keys of `tfhe-sbc device-key`",
    )
}

/// Refuses the key of a parameter set that readings cannot be encrypted under.
pub(crate) fn require_integers(path: &Path, parameters: &Parameters) -> Outcome<()> {
    if parameters.plaintext() == PlaintextKind::Radix {
        Ok(())
    } else {
        Err(failure(
            format_args!(
                "{}: the set '{}' is for gates, not for integers",
                path.display(),
                parameters.name()
            ),
            "make keys of an integer set with `tfhe-sbc keygen`",
        ))
    }
}
