//! Results: encrypted answers on their way back, and their decryption.
//!
//! A result is a metadata message ([`Results`]) and up to three lists, in any order: blocks under the small key,
//! which are packed into the slots of few ciphertexts, cut to the bits that decryption needs, or whole; compact codes
//! of answers that were added up on polynomials; and such answers without their masks, where the seeds of the
//! uploads are shorter. The key owner computes everything that needs no secret after the decryption: quotients,
//! roots, and formulas of an answer's number.

mod answer;
mod ciphertexts;
mod optional;
mod packed;
mod several;
mod short;
mod values;

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use tfhe_sbc_columns::device_keys::{DeviceKeyError, DeviceKeys};
use tfhe_sbc_core::encoding::{BlockEncoding, FixedPointError};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::{Message, WireError};
use tfhe_sbc_upload::masks::MaskMaker;
use tfhe_sbc_upload::metadata::{self, MetadataError};
use tfhe_sbc_upload::readings::Column;
use tfhe_sbc_upload::row_labels;
use thiserror::Error;

use crate::Pair;
use crate::scope::{About, GroupKey};
pub use answer::{Answer, AnswerValue, Bin, Decryption, Labelled, Unreadable};
use ciphertexts::Lists;
pub use ciphertexts::{AnswerParts, Ciphertexts, CompactPart};
pub use optional::Gaps;
pub(crate) use optional::percentile_place;
use packed::Packed;
pub use several::sort_answers;

/// The version of the format of results. Version 2 does not say which rows the answers are about, has no groups, and is never compressed. Version 1 has a list of blocks even if it is empty, no packed blocks, no
/// bodies without masks, and row labels as texts.
const VERSION: u32 = 3;
/// The oldest version that is read.
const OLDEST_VERSION: u32 = 1;

/// The meaning of the ciphertexts of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// The version of the format.
    pub version: u32,
    /// The answers, in the order of their blocks.
    pub answers: Vec<EncryptedAnswer>,
    /// The number of bootstraps that they took.
    pub bootstraps: u64,
    /// The rows that the answers are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// log2 of the bits of information that the noise of all answers together tells at most about anything but their
    /// values, if they are [sanitised](tfhe_sbc_oracle::sanitising): the server's word, rounded up to a tenth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitised: Option<f64>,
}

/// The meaning of one answer's ciphertexts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncryptedAnswer {
    /// The question's text.
    pub name: String,
    /// The group of rows that it is about; `None` if it is about all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupKey>,
    /// The number of blocks.
    pub blocks: u32,
    /// The parts that are compact codes in place of blocks. They count as the blocks that would hold
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compact: Vec<CompactPart>,
    /// Whether as many truth values as a message has bits share a block, value `i` of a block being bit `i` of its
    /// message. Only truth values of rows do so, and only in packed or cut blocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// The meaning of the blocks.
    pub meaning: Meaning,
}

impl EncryptedAnswer {
    /// The number of blocks that are not compact codes.
    pub fn sealed_blocks(&self, encoding: BlockEncoding) -> u64 {
        let compact = self
            .compact
            .iter()
            .map(|part| u64::from(part.codes) * encoding.block_count(part.bits) as u64);
        u64::from(self.blocks).saturating_sub(compact.sum())
    }
}

/// The way to read the blocks of an answer. If an answer has several numbers, all have the same number of
/// blocks unless stated otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Meaning {
    /// The code of a value.
    Reading(Column),
    /// The codes of the smallest value and of the largest, whose difference is the answer.
    Range(Column),
    /// The sum of the codes of the given number of values, whose sum is the answer.
    Sum(Column, u32),
    /// The sum of the codes of the given number of values, whose mean is the answer.
    Mean(Column, u32),
    /// The sum of codes, in `sum_blocks` blocks, followed by the sum of their squares.
    Spread {
        /// The encoding of the codes.
        column: Column,
        /// The number of values.
        rows: u32,
        /// The number of blocks of the sum of codes.
        sum_blocks: u32,
        /// The measure that is the answer.
        measure: Spread,
    },
    /// Sums of the codes of two numbers over the same rows, one after the other: of the codes of each, of the products of codes and, for a
    /// correlation, of the squares of each.
    Pair {
        /// The encodings of the codes.
        columns: Box<[Column; 2]>,
        /// The number of rows.
        rows: u32,
        /// The number of blocks of each sum.
        blocks: Vec<u32>,
        /// The function that is the answer.
        function: Pair,
    },
    /// The code of a value, in the given number of blocks, followed by the place of its row among the
    /// labels.
    Place(Column, u32, #[serde(with = "row_labels")] Vec<String>),
    /// The codes of the given number of values, each in `code_blocks` blocks, followed by the places of their rows among the
    /// labels.
    Places {
        /// The encoding of the codes.
        column: Column,
        /// The number of values.
        count: u32,
        /// The number of blocks of a code.
        code_blocks: u32,
        /// The labels of all rows.
        #[serde(with = "row_labels")]
        labels: Vec<String>,
    },
    /// The code of the value in the row of this label.
    Row(Column, String),
    /// A number.
    Count,
    /// The number of values that are there, of this number of rows.
    Present(u32),
    /// One truth value for each row, with the labels of the rows.
    Rows(#[serde(with = "row_labels")] Vec<String>),
    /// The number of rows in each bin between two edges.
    Histogram {
        /// The encoding of the values and edges.
        column: Column,
        /// The edges, which increase.
        edges: Vec<f64>,
        /// The number of all rows.
        rows: u32,
    },
    /// The codes of the given number of values, one after the other.
    Readings(Column, u32),
    /// The code of a value for each row, with the labels of the rows.
    Scores(Column, #[serde(with = "row_labels")] Vec<String>),
    /// The same, but the answer is the logistic function of each value.
    Logistic(Column, #[serde(with = "row_labels")] Vec<String>),
    /// The place of a leaf for each row, with the labels of the rows and the leaves.
    Leaves(#[serde(with = "row_labels")] Vec<String>, Vec<String>),
    /// The number of values that are there, in `count_blocks` blocks, followed by the codes of the first `values` values in an
    /// order, of which one is the percentile. Each code has a bit above it, as with [`Gaps::Marked`]: 1 where there is a
    /// value if the order is descending, 0 if it is ascending.
    Percentile {
        /// The encoding of the codes.
        column: Column,
        /// The percentage.
        percent: f64,
        /// The number of rows.
        rows: u32,
        /// The number of blocks of the number of values.
        count_blocks: u32,
        /// The number of codes.
        values: u32,
        /// Whether the largest value comes first.
        descending: bool,
    },
    /// The same of values some of which may be missing.
    Optional(Box<Meaning>, Gaps),
}

/// A measure of the spread of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Whether the values are a sample, so that the squares are divided by one less than the number of
    /// values.
    pub sample: bool,
    /// Whether the square root is the answer.
    pub root: bool,
}

/// The reason why a result could not be read.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// A defect of the metadata.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// A defect of the envelope or of the ciphertexts.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A column whose encoding is not possible.
    #[error(transparent)]
    Column(#[from] FixedPointError),
    /// Metadata that describes another number of blocks than there are.
    #[error("the metadata describes {described} blocks, {found} are there")]
    BlockCount {
        /// The number of blocks that the metadata describes.
        described: u64,
        /// The number of blocks that are there.
        found: u64,
    },
    /// A result in another version of the format.
    #[error(
        "the result is of format {0}, this is version {VERSION}: server and key owner must be of \
         one version"
    )]
    Version(u32),
    /// A result that needs the switch key of a device which is not there.
    #[error("the result has parts under the device key {0}, whose switch key is not at hand")]
    DeviceKey(KeyFingerprint),
    /// A switch key that cannot be used.
    #[error(transparent)]
    SwitchKey(#[from] DeviceKeyError),
    /// A block whose value its answer cannot have.
    #[error(
        "the answer to '{0}' decrypts to values that it cannot have: the key is not the one that \
         the readings were encrypted with, or the result was changed"
    )]
    Implausible(String),
}

impl Results {
    /// Makes the metadata of answers, which took `bootstraps` bootstraps.
    pub fn new(answers: Vec<EncryptedAnswer>, bootstraps: u64) -> Self {
        Self {
            version: VERSION,
            answers,
            bootstraps,
            about: None,
            sanitised: None,
        }
    }

    /// Says which rows the answers are about.
    #[must_use]
    pub fn about(self, about: About) -> Self {
        Self {
            about: Some(about),
            ..self
        }
    }

    /// Says that the answers are sanitised, and that their noise tells at most `2^log2_bits_told` bits.
    #[must_use]
    pub fn sanitised(self, log2_bits_told: f64) -> Self {
        Self {
            sanitised: Some((10.0 * log2_bits_told).ceil() / 10.0),
            ..self
        }
    }

    /// Reads the result's metadata in a message.
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
        let results: Self = match metadata::read::<Packed>(message) {
            Ok(packed) => packed.unpack()?,
            Err(_) => metadata::read(message)?,
        };
        match results.version {
            OLDEST_VERSION..=VERSION => Ok(results),
            other => Err(ResultsError::Version(other)),
        }
    }

    /// Returns the bytes of a result.
    pub fn seal(
        &self,
        parameters: &Parameters,
        key: KeyFingerprint,
        ciphertexts: &Ciphertexts,
    ) -> Result<Vec<u8>, MetadataError> {
        let mut bytes = match Packed::new(self)? {
            Some(packed) => metadata::write(parameters.fingerprint(), key, &packed)?,
            None => metadata::write(parameters.fingerprint(), key, self)?,
        };
        bytes.extend_from_slice(&ciphertexts.seal(parameters, key));
        Ok(bytes)
    }

    /// Parses the bytes of a result that was made under the given parameters and key. Returns the
    /// ciphertexts of each answer, in their order.
    ///
    /// # Errors
    /// Returns the first defect.
    pub fn parse(
        bytes: &[u8],
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<(Self, Vec<AnswerParts>), ResultsError> {
        Self::parse_with(bytes, parameters, key, None)
    }

    /// Does the same as [`parse`](Self::parse), for a result that may have parts under keys of devices, because the request said
    /// that their switch keys are there: those of `devices`.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse), and keys of devices whose switch keys are not there.
    pub fn parse_with(
        bytes: &[u8],
        parameters: &Parameters,
        key: KeyFingerprint,
        devices: Option<&DeviceKeys>,
    ) -> Result<(Self, Vec<AnswerParts>), ResultsError> {
        let (first, rest) = Message::parse(bytes)?;
        first.header.check_belongs(parameters.fingerprint(), key)?;
        let mut results = Self::read(first)?;
        let mut lists = Lists::read(rest, parameters, key, devices)?;
        let encoding = parameters.block_encoding();
        let described = results
            .answers
            .iter()
            .map(|a| a.sealed_blocks(encoding))
            .sum();
        let found = lists.block_count() as u64;
        let mismatch = || ResultsError::BlockCount { described, found };
        let mut masks = MaskMaker::new(parameters);
        let parts = results.answers.iter().map(|answer| {
            AnswerParts::take(answer, encoding, &mut masks, &mut lists).ok_or_else(mismatch)
        });
        let parts: Vec<AnswerParts> = parts.collect::<Result<_, _>>()?;
        if !lists.is_empty() {
            return Err(mismatch());
        }
        let answers = results.answers.into_iter().zip(parts).collect();
        let (answers, parts) = by_question(answers).into_iter().unzip();
        results.answers = answers;
        Ok((results, parts))
    }

    /// Does the same as [`parse_with`](Self::parse_with) for each of several results that follow one another, such as those of
    /// the periods of a standing query.
    ///
    /// # Errors
    /// Those of [`parse_with`](Self::parse_with).
    pub fn parse_all(
        bytes: &[u8],
        parameters: &Parameters,
        key: KeyFingerprint,
        devices: Option<&DeviceKeys>,
    ) -> Result<Vec<(Self, Vec<AnswerParts>)>, ResultsError> {
        let parts = several::split(bytes)?;
        let parse = |part| Self::parse_with(part, parameters, key, devices);
        match parts.is_empty() {
            true => Ok(vec![parse(bytes)?]),
            false => parts.into_iter().map(parse).collect(),
        }
    }

    /// Parses the bytes of a result and decrypts its answers. Of several results that follow one another, the answers are joined as
    /// [`Decryption::join`] does it.
    ///
    /// An answer that decrypts to values that it cannot have does not hide the others. Which answers those are tells
    /// something about the secret key to whoever can change results and learns of it: do not show such
    /// errors to the server.
    ///
    /// # Errors
    /// A defect of the whole result.
    pub fn decrypt(bytes: &[u8], secret: &SecretKey) -> Result<Decryption, ResultsError> {
        Self::decrypt_with(bytes, secret, None)
    }

    /// Does the same as [`decrypt`](Self::decrypt), with the switch keys of devices as [`parse_with`](Self::parse_with).
    ///
    /// # Errors
    /// Those of [`decrypt`](Self::decrypt), and keys of devices whose switch keys are not there.
    pub fn decrypt_with(
        bytes: &[u8],
        secret: &SecretKey,
        devices: Option<&DeviceKeys>,
    ) -> Result<Decryption, ResultsError> {
        let parts = several::split(bytes)?;
        let each = parts
            .iter()
            .map(|part| Self::decrypt_one(part, secret, devices));
        let joined = Decryption::join(each.collect::<Result<_, _>>()?);
        joined.map_or_else(|| Self::decrypt_one(bytes, secret, devices), Ok)
    }

    fn decrypt_one(
        bytes: &[u8],
        secret: &SecretKey,
        devices: Option<&DeviceKeys>,
    ) -> Result<Decryption, ResultsError> {
        let parameters = secret.parameters();
        let key = secret.fingerprint();
        let (results, parts) = Self::parse_with(bytes, parameters, key, devices)?;
        let answers = results.answers.into_iter().zip(parts);
        let answers = answers.map(|(answer, parts)| {
            let (name, group) = (answer.name.clone(), answer.group.clone().map(Box::new));
            let read = match parts.decrypt(secret) {
                Some(blocks) => answer.read(parameters, &blocks),
                None => Err(ResultsError::Implausible(answer.name)),
            };
            read.map_err(|reason| Unreadable {
                name,
                group,
                reason,
            })
        });
        Ok(Decryption {
            answers: answers.collect(),
            bootstraps: results.bootstraps,
            about: results.about,
            sanitised: results.sanitised,
        })
    }
}

/// Returns answers by their questions, in the order in which these come first. A server answers several questions about some
/// groups before it goes on to other groups. A question that is asked twice has two places.
fn by_question<T>(answers: Vec<(EncryptedAnswer, T)>) -> Vec<(EncryptedAnswer, T)> {
    let mut asked: BTreeMap<(&str, Option<&GroupKey>), usize> = BTreeMap::new();
    let mut order: HashMap<(&str, usize), usize> = HashMap::new();
    let mut places = Vec::with_capacity(answers.len());
    for (answer, _) in &answers {
        let times = asked.entry((&answer.name, answer.group.as_ref()));
        let times = times.or_default();
        let next = order.len();
        places.push(*order.entry((&answer.name, *times)).or_insert(next));
        *times += 1;
    }
    let mut placed: Vec<(usize, (EncryptedAnswer, T))> = places.into_iter().zip(answers).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, answer)| answer).collect()
}
