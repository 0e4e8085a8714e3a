//! Results: encrypted answers on their way back, and how the key owner reads them.
//!
//! A result is a metadata message ([`Results`]) and an LWE list under the small key. What
//! needs no secret is left to the key owner: quotients, roots, and what follows from an
//! answer's number by a formula.

mod answer;

use serde::{Deserialize, Serialize};
use tfhe_sbc_core::encoding::FixedPointError;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::{Message, WireError, lwe};
use tfhe_sbc_upload::metadata::{self, MetadataError};
use tfhe_sbc_upload::readings::Column;
use thiserror::Error;

pub use answer::{Answer, AnswerValue, Bin, Decrypted, Labelled};

/// The version of the format of results.
const VERSION: u32 = 1;

/// What the ciphertexts of a result mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// The version of the format.
    pub version: u32,
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

/// How the blocks of an answer are read. Where an answer has several numbers, all have as
/// many blocks, unless it is said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Meaning {
    /// The code of a value.
    Reading(Column),
    /// The codes of the smallest value and of the largest, whose difference is asked for.
    Range(Column),
    /// The sum of the codes of so many values, whose sum is asked for.
    Sum(Column, u32),
    /// The sum of the codes of so many values, whose mean is asked for.
    Mean(Column, u32),
    /// The sum of codes, in so many blocks, and then that of their squares.
    Spread {
        /// What the codes mean.
        column: Column,
        /// The number of values.
        rows: u32,
        /// The number of blocks of the sum of codes.
        sum_blocks: u32,
        /// What is asked for.
        measure: Spread,
    },
    /// The code of a value, in so many blocks, and then the place of its row among these.
    Place(Column, u32, Vec<String>),
    /// A number.
    Count,
    /// One truth value a row, with the rows' labels.
    Rows(Vec<String>),
    /// The number of rows in each bin between two edges, of so many rows.
    Histogram {
        /// What the edges are of.
        column: Column,
        /// The edges, which increase.
        edges: Vec<f64>,
        /// The number of all rows.
        rows: u32,
    },
    /// The codes of so many values in a row.
    Readings(Column, u32),
    /// The code of a value for each row, with the rows' labels.
    Scores(Column, Vec<String>),
    /// The same; the logistic function of the values is asked for.
    Logistic(Column, Vec<String>),
    /// The place of a leaf for each row: the rows' labels, and the leaves.
    Leaves(Vec<String>, Vec<String>),
}

/// A measure of how far values are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Of a sample, rather than of all there is: the squares are divided by one less than
    /// the number of values.
    pub sample: bool,
    /// The root is asked for.
    pub root: bool,
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
    /// Another version of the format.
    #[error(
        "the result is of format {0}, this is version {VERSION}: server and key owner must be of \
         one version"
    )]
    Version(u32),
    /// A block that has no place in its answer.
    #[error(
        "the answer to '{0}' decrypts to values that it cannot have: the key is not the one that \
         the readings were encrypted with, or the result was changed"
    )]
    Implausible(String),
}

impl Results {
    /// The answers to so many questions, of this version.
    pub fn new(answers: Vec<EncryptedAnswer>, bootstraps: u64) -> Self {
        Self {
            version: VERSION,
            answers,
            bootstraps,
        }
    }

    /// Reads what is in a metadata message.
    pub fn read(message: Message<'_>) -> Result<Self, ResultsError> {
        #[derive(Deserialize)]
        struct Format {
            #[serde(default)]
            version: u32,
        }
        if let Ok(Format { version }) = metadata::read(message)
            && version > VERSION
        {
            return Err(ResultsError::Version(version));
        }
        let results: Self = metadata::read(message)?;
        match results.version {
            VERSION => Ok(results),
            other => Err(ResultsError::Version(other)),
        }
    }

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

    /// Parses the bytes of a result made under these parameters and this key set: the
    /// ciphertexts are those of the answers' blocks, in their order.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(
        bytes: &[u8],
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<(Self, Vec<LweCiphertext<u32>>), ResultsError> {
        let (first, rest) = Message::parse(bytes)?;
        first.header.check_belongs(parameters.fingerprint(), key)?;
        let results = Self::read(first)?;
        let (second, rest) = Message::parse(rest)?;
        if !rest.is_empty() {
            return Err(WireError::TrailingBytes(rest.len()).into());
        }
        let ciphertexts = lwe::read(second, parameters, key)?;
        let described = results.answers.iter().map(|a| u64::from(a.blocks)).sum();
        let found = ciphertexts.len() as u64;
        match described == found {
            true => Ok((results, ciphertexts)),
            false => Err(ResultsError::BlockCount { described, found }),
        }
    }

    /// Parses the bytes of a result and decrypts its answers.
    pub fn decrypt(bytes: &[u8], secret: &SecretKey) -> Result<(Vec<Answer>, u64), ResultsError> {
        let parameters = secret.parameters();
        let (results, ciphertexts) = Self::parse(bytes, parameters, secret.fingerprint())?;
        let mut ciphertexts = ciphertexts.iter();
        let answers = results
            .answers
            .into_iter()
            .map(|answer| {
                let blocks: Vec<u64> = ciphertexts
                    .by_ref()
                    .take(answer.blocks as usize)
                    .map(|lwe| secret.decrypt_block(lwe))
                    .collect();
                answer.read(parameters, &blocks)
            })
            .collect::<Result<_, _>>()?;
        Ok((answers, results.bootstraps))
    }
}
