//! Requests: questions in words, sealed for the columns of readings.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use tfhe_sbc_columns::device_keys::DeviceKeys;
use tfhe_sbc_core::device_public_key::DevicePublicKey;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_python_shared::device::Session;
use tfhe_sbc_python_shared::errors::{self, TfheSbcError};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::parse::ParseError;
use tfhe_sbc_query::request::{EncryptThresholds, Manner, Request};
use tfhe_sbc_query::scope::{Grouping, NoGrouping, Scope};
use tfhe_sbc_upload::readings::ReadingsMetadata;

/// The keys that questions are asked with, as Python gives them: the session that encrypts thresholds, the bytes of the public key
/// for sanitised answers, and the directory of the switch keys that whoever decrypts has.
pub(crate) type KeysTuple = (Option<Py<Session>>, Option<Vec<u8>>, Option<PathBuf>);

/// Returns the questions of texts.
pub(crate) fn questions(texts: &[String]) -> PyResult<Vec<Question>> {
    let parse = |text: &String| {
        text.parse()
            .map_err(|error: ParseError| TfheSbcError::new_err(error.to_string()))
    };
    texts.iter().map(parse).collect()
}

/// Returns the groups of a text; none without one.
pub(crate) fn groups(by: Option<&str>) -> PyResult<Grouping> {
    let by = by.map(str::parse).transpose();
    let by = by.map_err(|error: NoGrouping| errors::refused("no groups", error.to_string()))?;
    Ok(by.unwrap_or_default())
}

/// Returns the devices of a key set whose switch keys are in a directory; `None` without one.
pub(crate) fn devices_at_hand(
    parameters: &Parameters,
    key_set: KeyFingerprint,
    directory: Option<&Path>,
) -> PyResult<Option<DeviceKeys>> {
    let devices =
        directory.map(|directory| DeviceKeys::of_key_set(parameters, key_set, Some(directory)));
    let devices = devices.transpose();
    devices.map_err(|error| TfheSbcError::new_err(error.to_string()))
}

/// Returns the bytes of a request about the rows of `scope` of readings of such columns, under a key: that of the session, if there
/// is one, else `key_set`.
pub(crate) fn seal(
    questions: &[Question],
    readings: &ReadingsMetadata,
    scope: Scope,
    (parameters, key_set): (&Parameters, KeyFingerprint),
    (session, sanitise, directory): &KeysTuple,
) -> PyResult<Vec<u8>> {
    let public_key = sanitise.as_deref().map(DevicePublicKey::from_bytes);
    let public_key = public_key.transpose().map_err(errors::wire)?;
    let device_keys = match devices_at_hand(parameters, key_set, directory.as_deref())? {
        Some(devices) => devices
            .known()
            .map_err(|error| TfheSbcError::new_err(error.to_string()))?,
        None => Vec::new(),
    };
    let manner = Manner {
        scope,
        public_key: public_key.as_ref(),
        device_keys: &device_keys,
    };
    let seal = |key, encrypt: Option<&mut EncryptThresholds<'_>>| {
        Request::seal_in(manner, questions, readings, (parameters, key), encrypt)
    };
    let request = match session {
        None => seal(key_set, None),
        Some(session) => {
            let session = session.get();
            let key = session.key();
            session.with_encryptor(|encryptor| {
                seal(key, Some(&mut |values| encryptor.encrypt_values(values)))
            })?
        }
    };
    request.map_err(|error| TfheSbcError::new_err(error.to_string()))
}
