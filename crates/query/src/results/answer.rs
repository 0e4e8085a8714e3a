//! Decrypted answers.

use serde::{Serialize, Serializer};
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::parameters::Parameters;
use thiserror::Error;

use crate::scope::{About, GroupKey};

use super::optional::Gaps;
use super::values::{Blocks, read};
use super::{EncryptedAnswer, Meaning, ResultsError};

/// A decrypted answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The question's text.
    pub name: String,
    /// The group of rows that it is about; `None` if it is about all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupKey>,
    /// The answer.
    #[serde(rename = "answer")]
    pub value: AnswerValue,
    /// The number of rows that have no value, because a reading is missing; `None` if the answer does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
}

/// A decrypted result. One answer that cannot be read does not hide the others.
///
/// Its serialized form has a list of `answers`, each with its `name` and either its `answer` or an `error`, and the
/// number of `bootstraps`.
#[derive(Debug, Serialize)]
pub struct Decryption {
    /// The answers, in the order of the questions.
    #[serde(serialize_with = "each_or_its_error")]
    pub answers: Vec<Result<Answer, Unreadable>>,
    /// The number of bootstraps that they took.
    pub bootstraps: u64,
    /// The rows that the answers are about; `None` if the server does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// log2 of the bits that the noise of the answers tells at most about anything but their values, if the server
    /// has sanitised them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sanitised: Option<f64>,
}

/// The reason why one answer of a result cannot be read.
#[derive(Debug, Error)]
#[error("{reason}")]
pub struct Unreadable {
    /// The question's text.
    pub name: String,
    /// The group of rows that it is about; `None` if it is about all.
    pub group: Option<Box<GroupKey>>,
    /// The reason.
    pub reason: ResultsError,
}

impl Decryption {
    /// Returns all answers.
    ///
    /// # Errors
    /// The reason of the first answer that cannot be read.
    pub fn all(self) -> Result<Vec<Answer>, ResultsError> {
        let answers = self.answers.into_iter();
        let answers = answers.map(|answer| answer.map_err(|unreadable| unreadable.reason));
        answers.collect()
    }
}

/// Serializes answers, and the errors of those that cannot be read.
fn each_or_its_error<S: Serializer>(
    answers: &[Result<Answer, Unreadable>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Entry<'a> {
        Answer(&'a Answer),
        Error {
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            group: Option<&'a GroupKey>,
            error: String,
        },
    }
    serializer.collect_seq(answers.iter().map(|answer| match answer {
        Ok(answer) => Entry::Answer(answer),
        Err(Unreadable {
            name,
            group,
            reason,
        }) => Entry::Error {
            name,
            group: group.as_deref(),
            error: reason.to_string(),
        },
    }))
}

/// The value of an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnswerValue {
    /// A row and its value.
    Row {
        /// The label of the row.
        row: String,
        /// The value.
        value: f64,
        /// Its unit.
        unit: String,
    },
    /// A number and its unit.
    Number {
        /// The number.
        value: f64,
        /// Its unit, empty for counts.
        unit: String,
    },
    /// Nothing, because no row has a value, or the row that is asked for has none.
    Missing {
        /// The label of the row that is asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        row: Option<String>,
        /// No value: `null` in JSON.
        value: (),
        /// The unit that it would have.
        unit: String,
    },
    /// The labels of rows.
    Rows(Vec<String>),
    /// The number of rows in each bin.
    Histogram {
        /// The bins, in order.
        bins: Vec<Bin>,
        /// The number of rows that are in no bin.
        outside: u64,
        /// The unit of the bins' edges.
        unit: String,
    },
    /// Values in order.
    Values {
        /// The values.
        values: Vec<f64>,
        /// Their unit.
        unit: String,
    },
    /// A value for each row, or none where it is missing.
    Scores {
        /// The rows.
        rows: Vec<Labelled<Option<f64>>>,
        /// The values' unit.
        unit: String,
    },
    /// The rows of some values in order.
    Ranked {
        /// The rows.
        rows: Vec<Labelled<f64>>,
        /// The values' unit.
        unit: String,
    },
    /// A leaf for each row.
    Leaves {
        /// The rows.
        rows: Vec<Labelled<String>>,
    },
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The lowest value of the bin.
    pub from: f64,
    /// The upper edge, which is not in the bin.
    pub to: f64,
    /// The number of rows in the bin.
    pub count: u64,
}

/// A property of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Labelled<V> {
    /// The label of the row.
    pub row: String,
    /// The property.
    pub value: V,
}

impl EncryptedAnswer {
    /// Returns the answer that its decrypted blocks hold, the least significant first.
    ///
    /// # Errors
    /// Returns an error for blocks that the answer cannot have.
    pub fn read(self, parameters: &Parameters, blocks: &[u64]) -> Result<Answer, ResultsError> {
        let encoding = parameters.block_encoding();
        let apart = match self.joined {
            true => Some(self.apart(encoding, blocks)?),
            false => None,
        };
        let blocks = apart.as_deref().unwrap_or(blocks);
        let Self {
            name,
            group,
            meaning,
            ..
        } = self;
        let is_optional = matches!(meaning, Meaning::Optional(..) | Meaning::Percentile { .. });
        let limit = match &meaning {
            Meaning::Rows(_) => 2,
            _ => encoding.message_modulus(),
        };
        let per_row = match meaning.without_gaps() {
            Meaning::Rows(labels)
            | Meaning::Scores(_, labels)
            | Meaning::Logistic(_, labels)
            | Meaning::Leaves(labels, _) => Some(labels.len()),
            _ => None,
        };
        let is_nothing = blocks.is_empty()
            && matches!(
                meaning,
                Meaning::Optional(_, Gaps::Known(_) | Gaps::KnownRows { .. })
            );
        if let Some(rows) = per_row
            && !is_nothing
            && (rows == 0 || !blocks.len().is_multiple_of(rows) || blocks.is_empty())
        {
            return Err(ResultsError::BlockCount {
                described: rows as u64,
                found: blocks.len() as u64,
            });
        }
        if blocks.iter().any(|&block| block >= limit) {
            return Err(ResultsError::Implausible(name));
        }
        let mut blocks = Blocks::new(blocks, encoding.message_bits());
        match read(meaning, &mut blocks)? {
            Some((value, missing)) if blocks.is_empty() => Ok(Answer {
                name,
                group,
                value,
                missing: missing.filter(|missing| *missing > 0 || is_optional),
            }),
            _ => Err(ResultsError::Implausible(name)),
        }
    }
}

impl EncryptedAnswer {
    /// Returns the truth values of joined blocks, one block each.
    ///
    /// # Errors
    /// Another number of blocks than the rows fill, a value that no message has, and bits behind the last row.
    fn apart(&self, encoding: BlockEncoding, blocks: &[u64]) -> Result<Vec<u64>, ResultsError> {
        let Meaning::Rows(labels) = &self.meaning else {
            return Err(ResultsError::Implausible(self.name.clone()));
        };
        let together = encoding.message_bits();
        let described = labels.len().div_ceil(together as usize) as u64;
        if described != blocks.len() as u64 {
            return Err(ResultsError::BlockCount {
                described,
                found: blocks.len() as u64,
            });
        }
        let mut bits: Vec<u64> = blocks
            .iter()
            .flat_map(|block| (0..together).map(move |place| block >> place & 1))
            .collect();
        let beyond = bits.split_off(labels.len());
        let is_message = |block: &u64| *block < encoding.message_modulus();
        match blocks.iter().all(is_message) && beyond.iter().all(|bit| *bit == 0) {
            true => Ok(bits),
            false => Err(ResultsError::Implausible(self.name.clone())),
        }
    }
}
