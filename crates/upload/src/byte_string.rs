//! Bytes as one byte string, which CBOR does not make of vectors and arrays by itself: for `#[serde(with = …)]`.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;

/// Writes bytes as one byte string.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<B: AsRef<[u8]>, S: Serializer>(bytes: &B, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes.as_ref())
}

/// Reads a vector, or an array if the length is right.
///
/// # Errors
/// Anything else than a byte string, and one of another length.
pub fn deserialize<'de, B: TryFrom<Vec<u8>>, D: Deserializer<'de>>(from: D) -> Result<B, D::Error> {
    struct Bytes;

    impl Visitor<'_> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a byte string")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
            Ok(bytes)
        }
    }

    let bytes = from.deserialize_byte_buf(Bytes)?;
    let len = bytes.len();
    B::try_from(bytes).map_err(|_| D::Error::invalid_length(len, &"another number of bytes"))
}
