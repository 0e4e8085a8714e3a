//! The file with which a board that runs an operating system makes frames.

use serde::{Deserialize, Serialize};
use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterFingerprint};
use tfhe_sbc_core::wire::{HEADER_BYTES, Header, Kind, Message};
use tfhe_sbc_frames::{BoardKey, Format};
use zeroize::{Zeroize as _, Zeroizing};

use super::{FramePlan, PadsError};
use crate::metadata::{self, MetadataError};

/// The secret of a board and the plan of its frames: what `tfhe_sbc_frames_board` is to a board in C.
///
/// Whoever has it reads the board's frames and makes others. It is wiped on drop.
pub struct BoardFile {
    plan: FramePlan,
    key: BoardKey,
}

/// The payload of the file, in CBOR.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    plan: FramePlan,
    #[serde(with = "secret")]
    board_key: [u8; 32],
}

impl Drop for Content {
    fn drop(&mut self) {
        self.board_key.zeroize();
    }
}

/// More bytes than a column takes in a file. A longer file grows, which leaves copies in memory.
const COLUMN_BYTES: usize = 1024;

impl BoardFile {
    /// Makes a file of a plan and the key that the pads of the plan are made with.
    pub const fn new(plan: FramePlan, key: BoardKey) -> Self {
        Self { plan, key }
    }

    /// Returns the bytes of the file, under the fingerprints of the pads.
    ///
    /// # Errors
    /// If the plan is too large for metadata.
    pub fn to_bytes(
        &self,
        parameters: ParameterFingerprint,
        key: KeyFingerprint,
    ) -> Result<Zeroizing<Vec<u8>>, PadsError> {
        let room = HEADER_BYTES + 512 + COLUMN_BYTES * self.plan.columns.len();
        let mut message = Zeroizing::new(Vec::with_capacity(room));
        message.resize(HEADER_BYTES, 0);
        let content = Content {
            plan: self.plan.clone(),
            board_key: *self.key.as_bytes(),
        };
        ciborium::into_writer(&content, &mut *message)
            .map_err(|error| MetadataError::Content(error.to_string()))?;
        Header::new(Kind::Metadata, parameters, key).seal_vec(&mut message)?;
        Ok(message)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If the file is damaged, or is another file, or frames of its plan are not possible.
    pub fn read(bytes: &[u8]) -> Result<Self, PadsError> {
        Self::of(Message::parse_only(bytes, Kind::Metadata)?)
    }

    /// Does what [`read`](Self::read) does with the message that the file is.
    ///
    /// # Errors
    /// If the message is another.
    pub fn of(message: Message<'_>) -> Result<Self, PadsError> {
        let mut content: Content = metadata::read(message)?;
        content.plan.format()?;
        let plan = FramePlan {
            columns: std::mem::take(&mut content.plan.columns),
            ..content.plan
        };
        let key = BoardKey::from_bytes(content.board_key);
        Ok(Self { plan, key })
    }

    /// The frames that the board shall make.
    pub const fn plan(&self) -> &FramePlan {
        &self.plan
    }

    /// The board's key.
    pub const fn key(&self) -> &BoardKey {
        &self.key
    }

    /// Returns the format of the frames, and the board's key.
    ///
    /// # Errors
    /// If frames of the plan are not possible, which [`read`](Self::read) has excluded.
    pub fn into_parts(self) -> Result<(Format, FramePlan, BoardKey), PadsError> {
        Ok((self.plan.format()?, self.plan, self.key))
    }
}

/// A key as a byte string, read without a copy on the heap.
mod secret {
    use std::fmt;

    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(key: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(key)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
        struct Key;

        impl Visitor<'_> for Key {
            type Value = [u8; 32];

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("32 bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<[u8; 32], E> {
                let wrong = |_| E::invalid_length(bytes.len(), &self);
                bytes.try_into().map_err(wrong)
            }
        }

        from.deserialize_bytes(Key)
    }
}
