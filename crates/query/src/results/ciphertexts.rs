//! The ciphertexts of answers: blocks under the small key, and compact codes under the big one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tfhe_sbc_columns::{CompactValues, Exported, Piece};
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::{lwe, values};

use super::{EncryptedAnswer, Meaning};

/// A part of an answer that is compact codes in place of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactPart {
    /// The place of its first block among the answer's, as if the codes were in blocks.
    pub first_block: u32,
    /// The number of codes.
    pub codes: u32,
    /// The number of bits of a code.
    pub bits: u32,
    /// The number of bits of a code and of the headroom above it: a code has the phase
    /// `code / 2^plaintext_bits`.
    pub plaintext_bits: u32,
    /// The number of ciphertexts that the codes are in.
    pub ciphertexts: u32,
    /// log2 of the variance of the codes' noise, torus-normalised, for whoever computes on them.
    pub noise: f64,
}

/// The ciphertexts of a result while it is made.
#[derive(Default)]
pub struct Ciphertexts {
    blocks: Vec<LweCiphertext<u32>>,
    compact: Vec<Arc<CompactValues>>,
}

impl From<Vec<LweCiphertext<u32>>> for Ciphertexts {
    /// Blocks of answers without compact parts.
    fn from(blocks: Vec<LweCiphertext<u32>>) -> Self {
        Self {
            blocks,
            compact: Vec::new(),
        }
    }
}

impl Ciphertexts {
    /// Takes the ciphertexts of the parts of an answer and returns its description. `None` for codes of
    /// a rehearsal.
    pub fn add(
        &mut self,
        encoding: BlockEncoding,
        name: String,
        parts: impl IntoIterator<Item = Exported>,
        meaning: Meaning,
    ) -> Option<EncryptedAnswer> {
        let (mut blocks, mut compact) = (0, Vec::new());
        for part in parts {
            blocks += match part {
                Exported::Sealed(sealed) => {
                    let count = sealed.len() as u32;
                    self.blocks.extend(sealed);
                    count
                }
                Exported::Compact(values) => {
                    let codes = values.count() as u32;
                    compact.push(CompactPart {
                        first_block: blocks,
                        codes,
                        bits: values.bits,
                        plaintext_bits: values.plaintext_bits,
                        ciphertexts: values.pieces.len() as u32,
                        noise: values.noise_log2(),
                    });
                    let each = encoding.block_count(values.bits) as u32;
                    self.compact.push(values);
                    codes * each
                }
                Exported::Clear(_) => return None,
            };
        }
        Some(EncryptedAnswer {
            name,
            blocks,
            compact,
            meaning,
        })
    }

    /// Returns the messages behind the metadata: the list of blocks and, if there are any, that of
    /// compact codes.
    pub(super) fn seal(&self, parameters: &Parameters, key: KeyFingerprint) -> Vec<u8> {
        let mut bytes = lwe::write(parameters, key, &self.blocks);
        let most = self
            .compact
            .iter()
            .map(|values| values.plaintext_bits)
            .max();
        if let Some(most) = most {
            let pieces = self.compact.iter().flat_map(|values| &values.pieces);
            let pieces = pieces.map(|piece| (piece.count, &piece.ciphertext));
            let pieces: Vec<_> = pieces.collect();
            let bits = values::coefficient_bits(most);
            bytes.extend_from_slice(&values::write(parameters, key, bits, &pieces));
        }
        bytes
    }
}

/// The ciphertexts of an answer that was read, part by part.
#[derive(Clone, Debug)]
pub struct AnswerParts(Vec<Exported>);

impl AnswerParts {
    /// Takes the ciphertexts of an answer from the front. Returns `None` if there are fewer, or if the
    /// description is not one that [`Ciphertexts::add`] makes.
    pub(super) fn take(
        answer: &EncryptedAnswer,
        encoding: BlockEncoding,
        blocks: &mut impl Iterator<Item = LweCiphertext<u32>>,
        compact: &mut impl Iterator<Item = (usize, GlweCiphertext<u64>)>,
    ) -> Option<Self> {
        let mut parts = Vec::new();
        let mut at = 0;
        let mut sealed = |count: u32| {
            let sealed: Vec<_> = blocks.by_ref().take(count as usize).collect();
            (sealed.len() == count as usize).then_some(Exported::Sealed(sealed))
        };
        for part in &answer.compact {
            let before = part.first_block.checked_sub(at)?;
            if before > 0 {
                parts.push(sealed(before)?);
            }
            let pieces = compact.by_ref().take(part.ciphertexts as usize);
            let pieces = pieces.map(|(count, ciphertext)| Piece { count, ciphertext });
            let values = CompactValues::received(
                part.plaintext_bits,
                part.bits,
                pieces.collect(),
                part.noise,
            )?;
            if values.count() != part.codes as usize
                || values.pieces.len() != part.ciphertexts as usize
            {
                return None;
            }
            let each = encoding.block_count(part.bits) as u32;
            at = part
                .first_block
                .checked_add(part.codes.checked_mul(each)?)?;
            parts.push(Exported::Compact(Arc::new(values)));
        }
        let behind = answer.blocks.checked_sub(at)?;
        if behind > 0 {
            parts.push(sealed(behind)?);
        }
        Some(Self(parts))
    }

    /// Decrypts the parts as if all were in blocks. Returns `None` for codes that are larger than they
    /// can be.
    pub fn decrypt(&self, secret: &SecretKey) -> Option<Vec<u64>> {
        let encoding = secret.parameters().block_encoding();
        let mut blocks = Vec::new();
        for part in &self.0 {
            match part {
                Exported::Sealed(sealed) => {
                    blocks.extend(sealed.iter().map(|lwe| secret.decrypt_block(lwe)));
                }
                Exported::Compact(values) => {
                    let each = encoding.block_count(values.bits);
                    for code in values.decrypt(secret)? {
                        let digits = (0..each as u32).map(|digit| {
                            let rest = code.checked_shr(digit * encoding.message_bits());
                            rest.unwrap_or(0) & (encoding.message_modulus() - 1)
                        });
                        blocks.extend(digits);
                    }
                }
                Exported::Clear(_) => {}
            }
        }
        Some(blocks)
    }

    /// Returns the only part, to compute on. `None` if there are several or none.
    pub fn into_one(self) -> Option<Exported> {
        let mut parts = self.0.into_iter();
        let only = parts.next()?;
        parts.next().is_none().then_some(only)
    }
}
