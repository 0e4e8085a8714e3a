//! Blocks of answers in forms that are only decrypted.

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::packing::PackingSecret;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::cut::CutList;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_engine::packing_key::PackingKey;
use tfhe_sbc_oracle::packing::cut_block_bits;

/// Blocks that are only decrypted, and take the less space for that.
#[derive(Clone, Debug)]
pub(super) enum ShortList {
    /// Blocks in the slots of few ciphertexts.
    Packed(PackedList),
    /// Blocks that are cut one by one.
    Cut(CutList),
}

impl ShortList {
    /// Packs blocks, or cuts them if there is no packing key. `None` if there are no blocks, or more than a list
    /// holds, or if the parameter set's blocks cannot be cut.
    pub(super) fn new(
        parameters: &Parameters,
        packing: Option<&PackingKey>,
        blocks: &[LweCiphertext<u32>],
    ) -> Option<Self> {
        if blocks.is_empty() {
            return None;
        }
        match packing {
            Some(key) => key.pack(blocks).map(Self::Packed),
            None => {
                let bits = cut_block_bits(parameters)?;
                CutList::new(parameters, bits, blocks.to_vec()).map(Self::Cut)
            }
        }
    }

    /// Adds the blocks of another list. `None` if they do not fit to those of this one.
    pub(super) fn append(&mut self, other: Self) -> Option<()> {
        match (self, other) {
            (Self::Packed(list), Self::Packed(other)) => list.append(other),
            (Self::Cut(list), Self::Cut(other)) => list.append(other),
            _ => None,
        }
    }

    /// The number of blocks.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Packed(list) => list.len(),
            Self::Cut(list) => list.len(),
        }
    }

    /// Returns the message of the list.
    pub(super) fn write(&self, parameters: &Parameters, key: KeyFingerprint) -> Vec<u8> {
        match self {
            Self::Packed(list) => list.write(parameters, key),
            Self::Cut(list) => list.write(parameters, key),
        }
    }

    /// Decrypts all blocks to their values.
    pub(super) fn decrypt(&self, secret: &SecretKey) -> Vec<u8> {
        match self {
            Self::Packed(list) => PackingSecret::of_list(secret, list).decrypt(list),
            Self::Cut(list) => list.decrypt(secret),
        }
    }
}
