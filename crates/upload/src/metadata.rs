//! Metadata messages: CBOR that travels beside ciphertexts, in the same envelope.

use serde::Serialize;
use serde::de::DeserializeOwned;
pub use tfhe_sbc_core::description::MAX_METADATA_BYTES;
use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterFingerprint};
use tfhe_sbc_core::wire::{HEADER_BYTES, Header, Kind, Message, WireError};
use thiserror::Error;

/// The greatest depth of nesting that metadata may have.
const MAX_DEPTH: usize = 64;

/// The reason why metadata was refused.
#[derive(Debug, Error)]
pub enum MetadataError {
    /// A defect of the envelope.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// More bytes than [`MAX_METADATA_BYTES`].
    #[error("the metadata has {0} bytes, more than the {MAX_METADATA_BYTES} that are allowed")]
    TooLarge(usize),
    /// CBOR of another shape than the expected type.
    #[error("the metadata is not what it should be: {0}")]
    Content(String),
}

/// Writes a metadata message that holds `value`, under the fingerprints of parameters and key.
pub fn write<M: Serialize>(
    parameters: ParameterFingerprint,
    key: KeyFingerprint,
    metadata: &M,
) -> Result<Vec<u8>, MetadataError> {
    let mut message = vec![0; HEADER_BYTES];
    to_cbor(metadata, &mut message)?;
    let len = message.len() - HEADER_BYTES;
    if len > MAX_METADATA_BYTES {
        return Err(MetadataError::TooLarge(len));
    }
    Header::new(Kind::Metadata, parameters, key).seal_vec(&mut message)?;
    Ok(message)
}

/// Reads the value that a metadata message holds.
pub fn read<M: DeserializeOwned>(message: Message<'_>) -> Result<M, MetadataError> {
    message.expect(Kind::Metadata)?;
    match message.payload.len() {
        len if len > MAX_METADATA_BYTES => Err(MetadataError::TooLarge(len)),
        _ => of_cbor(message.payload),
    }
}

/// Appends the CBOR of a value.
///
/// # Errors
/// A value that has none.
pub fn to_cbor<M: Serialize>(metadata: &M, bytes: &mut Vec<u8>) -> Result<(), MetadataError> {
    ciborium::into_writer(metadata, bytes)
        .map_err(|error| MetadataError::Content(error.to_string()))
}

/// Reads a value from CBOR, of which nothing may be left.
///
/// # Errors
/// Other CBOR than that of such a value, and bytes behind it.
pub fn of_cbor<M: DeserializeOwned>(mut payload: &[u8]) -> Result<M, MetadataError> {
    let metadata = ciborium::de::from_reader_with_recursion_limit(&mut payload, MAX_DEPTH)
        .map_err(|error| MetadataError::Content(in_words(error)))?;
    if payload.is_empty() {
        Ok(metadata)
    } else {
        Err(MetadataError::Content(format!(
            "{} bytes follow it",
            payload.len()
        )))
    }
}

fn in_words<E>(error: ciborium::de::Error<E>) -> String {
    use ciborium::de::Error;
    match error {
        Error::Io(_) => "it ends too early".to_owned(),
        Error::Syntax(at) => format!("no CBOR at byte {at}"),
        Error::Semantic(_, reason) => reason,
        Error::RecursionLimitExceeded => "it is nested too deeply".to_owned(),
    }
}
