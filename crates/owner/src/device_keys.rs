//! The switch keys of boards with keys of their own, as far as the key owner has them.

use std::path::Path;

use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_query::device_keys::{DeviceKeyError, DeviceKeys};

/// The directory in which `provision` puts switch keys unless it is told otherwise.
const DEVICE_KEYS: &str = "device-keys";

/// Returns the directory of the switch keys that a key owner has: the given one, else `device-keys` if there is such a
/// directory here.
pub fn device_keys_directory(given: Option<&Path>) -> Option<&Path> {
    let usual = || Some(Path::new(DEVICE_KEYS)).filter(|usual| usual.is_dir());
    given.or_else(usual)
}

/// Returns the devices of a key set whose switch keys the key owner has, in the [directory](device_keys_directory) of
/// these; `None` without one.
///
/// # Errors
/// If the directory cannot be read.
pub fn device_keys_at_hand(
    parameters: &Parameters,
    key_set: KeyFingerprint,
    given: Option<&Path>,
) -> Result<Option<DeviceKeys>, DeviceKeyError> {
    let directory = device_keys_directory(given);
    let devices =
        directory.map(|directory| DeviceKeys::of_key_set(parameters, key_set, Some(directory)));
    devices.transpose()
}
