//! The name of stored bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of stored bytes: their BLAKE3 hash, shown as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId(blake3::Hash);

impl BlobId {
    /// Returns the name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    /// The bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Returns the name of bytes with this BLAKE3 hash.
    pub fn from_hash(hash: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(hash))
    }

    /// Returns the first 8 bytes of the hash as a number: enough to tell the uploads of a store apart.
    pub fn short(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = *self.0.as_bytes();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

/// Text that is not a [`BlobId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the id of stored readings is 64 hexadecimal digits")]
pub struct BlobIdError;

impl FromStr for BlobId {
    type Err = BlobIdError;

    fn from_str(text: &str) -> Result<Self, BlobIdError> {
        blake3::Hash::from_hex(text)
            .map(Self)
            .map_err(|_| BlobIdError)
    }
}

impl TryFrom<String> for BlobId {
    type Error = BlobIdError;

    fn try_from(text: String) -> Result<Self, BlobIdError> {
        text.parse()
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.to_string()
    }
}
