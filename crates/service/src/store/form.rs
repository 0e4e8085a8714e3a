//! The form in which segments have uploads: without what their context says, where they come back exactly.

use tfhe_sbc_core::wire::{CHECKSUM_BYTES, HEADER_BYTES, Header};
use tfhe_sbc_upload::short::{self, Definitions, ShortUpload};

use super::segments::record::{Model, put_against, take_against};

/// The bytes of a short upload before its row labels: magic, version, length of the labels, id of the definitions, checksum.
const BEFORE_LABELS: usize = 28;
/// Where the length of the labels is.
const LABELS_LEN: std::ops::Range<usize> = 6..8;

/// The bytes of a list that its number of elements takes, and those of the seed behind it.
const COUNT: usize = 4;
const SEED: usize = 32;
/// The most bytes of a model's list: as many as 30 columns have before their random bytes.
const MODEL_LIST: usize = 256;

/// An upload without its definitions.
pub(super) struct Short {
    pub(super) definitions: Definitions,
    /// The row labels.
    labels: Vec<u8>,
    seed: [u8; SEED],
    /// The list without seed and checksum.
    list: Vec<u8>,
}

impl Short {
    /// Takes an upload apart. `None` if it would not come back exactly, or is too long to gain anything.
    pub(super) fn of(upload: &[u8]) -> Option<Self> {
        let definitions = Definitions::of(upload)?;
        let shortened = short::shorten(upload)?.bytes;
        let len: [u8; 2] = shortened.get(LABELS_LEN)?.try_into().ok()?;
        let behind = shortened.get(BEFORE_LABELS..)?;
        let (labels, list) = behind.split_at_checked(usize::from(u16::from_le_bytes(len)))?;
        let list = list.get(..list.len().checked_sub(CHECKSUM_BYTES)?)?;
        let (count, behind) = list.split_at_checked(COUNT)?;
        let (seed, rest) = behind.split_first_chunk::<SEED>()?;
        let short = Self {
            definitions,
            labels: labels.to_vec(),
            seed: *seed,
            list: [count, rest].concat(),
        };
        let restored = short.restore()?;
        (restored == upload).then_some(short)
    }

    /// What later uploads are compared with.
    pub(super) fn model(&self) -> Model {
        Model {
            labels: self.labels.clone(),
            list: self.list.iter().take(MODEL_LIST).copied().collect(),
        }
    }

    /// The bytes for the segment, in a context with this model.
    pub(super) fn payload(&self, model: &Model) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.list.len() + SEED + self.labels.len() + 8);
        put_against(&model.labels, &self.labels, &mut payload);
        payload.extend_from_slice(&self.seed);
        let (front, rest) = self.list.split_at(self.list.len().min(MODEL_LIST));
        put_against(&model.list, front, &mut payload);
        payload.extend_from_slice(rest);
        payload
    }

    /// Returns the whole upload.
    fn restore(&self) -> Option<Vec<u8>> {
        let len = u16::try_from(self.labels.len()).ok()?;
        let none = [0; CHECKSUM_BYTES];
        let (count, list) = self.list.split_at_checked(COUNT)?;
        let bytes = [
            &b"TSBU\x01\x00"[..],
            &len.to_le_bytes(),
            &self.definitions.id().0,
            &none,
            &self.labels,
            count,
            &self.seed,
            list,
            &none,
        ]
        .concat();
        let short = ShortUpload::parse(&bytes).ok()?;
        let mut upload = short.restore(&self.definitions).ok()?;
        // The checksums of the metadata and of the list.
        let (_, payload_len) = Header::parse(&upload).ok()?;
        let metadata = HEADER_BYTES + usize::try_from(payload_len).ok()? + CHECKSUM_BYTES;
        let (metadata, list) = upload.split_at_mut_checked(metadata)?;
        for message in [metadata, list] {
            let (covered, checksum) = message.split_last_chunk_mut::<CHECKSUM_BYTES>()?;
            *checksum = crc32fast::hash(covered).to_le_bytes();
        }
        Some(upload)
    }
}

/// Returns the upload of which [`Short::payload`] is. Damaged bytes make another upload, or none.
pub(super) fn upload_of(
    definitions: &Definitions,
    model: &Model,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let (labels, behind) = take_against(&model.labels, payload)?;
    let (seed, behind) = behind.split_first_chunk::<SEED>()?;
    let (mut list, rest) = take_against(&model.list, behind)?;
    list.extend_from_slice(rest);
    let short = Short {
        definitions: definitions.clone(),
        labels,
        seed: *seed,
        list,
    };
    short.restore()
}
