//! Results: encrypted answers on their way back, and how the key owner reads them.
//!
//! A result is a metadata message ([`Results`]) and an LWE list under the small key.

use serde::{Deserialize, Serialize};
use tfhe_sbc_adapter::metadata::{self, MetadataError};
use tfhe_sbc_adapter::readings::Column;
use tfhe_sbc_core::encoding::FixedPointError;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::{Message, WireError, lwe};
use thiserror::Error;

/// What the ciphertexts of a result mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// The answers, in the order of their blocks.
    pub answers: Vec<EncryptedAnswer>,
    /// Bootstraps that they took.
    pub bootstraps: u64,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncryptedAnswer {
    /// The question's text.
    pub name: String,
    /// Number of blocks.
    pub blocks: u32,
    /// What they mean.
    pub meaning: Meaning,
}

/// How the blocks of an answer are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Meaning {
    /// The code of a reading.
    Reading(Column),
    /// The sum of the codes of so many readings, whose sum is asked for.
    Sum(Column, u32),
    /// The sum of the codes of so many readings, whose mean is asked for.
    Mean(Column, u32),
    /// A number.
    Count,
    /// One truth value a row, with the rows' labels.
    Rows(Vec<String>),
}

/// A decrypted answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The question's text.
    pub name: String,
    /// The answer.
    pub value: AnswerValue,
}

/// The value of an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnswerValue {
    /// A number and its unit.
    Number {
        /// The number.
        value: f64,
        /// Its unit, empty for counts.
        unit: String,
    },
    /// The labels of rows.
    Rows(Vec<String>),
}

/// Why a result could not be read.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// Its metadata.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// Its envelope or its ciphertexts.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A column whose encoding cannot be.
    #[error(transparent)]
    Column(#[from] FixedPointError),
    /// Metadata and ciphertexts that do not belong together.
    #[error("the metadata describes {described} blocks, {found} are there")]
    BlockCount {
        /// Blocks that the metadata describes.
        described: u64,
        /// Blocks that are there.
        found: u64,
    },
    /// A block that has no place in its answer.
    #[error(
        "the answer to '{0}' decrypts to values that it cannot have: the key is not the one that \
         the readings were encrypted with, or the result was changed"
    )]
    Implausible(String),
}

impl Results {
    /// The bytes of a result.
    pub fn seal(
        &self,
        parameters: &Parameters,
        key: KeyFingerprint,
        ciphertexts: &[LweCiphertext<u32>],
    ) -> Result<Vec<u8>, MetadataError> {
        let mut bytes = metadata::write(parameters.fingerprint(), key, self)?;
        bytes.extend_from_slice(&lwe::write(parameters, key, ciphertexts));
        Ok(bytes)
    }

    /// Parses the bytes of a result and decrypts its answers.
    pub fn decrypt(bytes: &[u8], secret: &SecretKey) -> Result<(Vec<Answer>, u64), ResultsError> {
        let parameters = secret.parameters();
        let (first, rest) = Message::parse(bytes)?;
        first
            .header
            .check_belongs(parameters.fingerprint(), secret.fingerprint())?;
        let results: Self = metadata::read(first)?;
        let (second, rest) = Message::parse(rest)?;
        if !rest.is_empty() {
            return Err(WireError::TrailingBytes(rest.len()).into());
        }
        let ciphertexts = lwe::read(second, parameters, secret.fingerprint())?;
        let described = results.answers.iter().map(|a| u64::from(a.blocks)).sum();
        let found = ciphertexts.len() as u64;
        if described != found {
            return Err(ResultsError::BlockCount { described, found });
        }
        let mut ciphertexts = ciphertexts.iter();
        let answers = results
            .answers
            .into_iter()
            .map(|answer| {
                let blocks = ciphertexts
                    .by_ref()
                    .take(answer.blocks as usize)
                    .map(|lwe| secret.decrypt_block(lwe))
                    .collect();
                answer.read(parameters, blocks)
            })
            .collect::<Result<_, _>>()?;
        Ok((answers, results.bootstraps))
    }
}

impl EncryptedAnswer {
    fn read(self, parameters: &Parameters, blocks: Vec<u64>) -> Result<Answer, ResultsError> {
        let encoding = parameters.block_encoding();
        let limit = match self.meaning {
            Meaning::Rows(_) => 2,
            _ => encoding.message_modulus(),
        };
        let counts_none = matches!(self.meaning, Meaning::Mean(_, 0) | Meaning::Sum(_, 0));
        if counts_none || blocks.iter().any(|&block| block >= limit) {
            return Err(ResultsError::Implausible(self.name));
        }
        let number = encoding.join(blocks.iter().copied()) as f64;
        let value = match self.meaning {
            Meaning::Reading(column) => AnswerValue::Number {
                value: column.fixed_point()?.decode(number),
                unit: column.unit,
            },
            Meaning::Sum(column, count) => AnswerValue::Number {
                value: number * column.scale + f64::from(count) * column.offset,
                unit: column.unit,
            },
            Meaning::Mean(column, count) => AnswerValue::Number {
                value: column.fixed_point()?.decode(number / f64::from(count)),
                unit: column.unit,
            },
            Meaning::Count => AnswerValue::Number {
                value: number,
                unit: String::new(),
            },
            Meaning::Rows(labels) => {
                if labels.len() != blocks.len() {
                    return Err(ResultsError::BlockCount {
                        described: labels.len() as u64,
                        found: blocks.len() as u64,
                    });
                }
                let chosen = labels.into_iter().zip(blocks);
                AnswerValue::Rows(
                    chosen
                        .filter_map(|(label, block)| (block == 1).then_some(label))
                        .collect(),
                )
            }
        };
        Ok(Answer {
            name: self.name,
            value,
        })
    }
}
