//! Decrypted answers.

use serde::{Serialize, Serializer};
use tfhe_sbc_columns::PairSums;
use tfhe_sbc_columns::decimal::Decoder;
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_upload::readings::Column;
use thiserror::Error;

use crate::Pair;
use crate::scope::{About, GroupKey};

use super::optional::{Gaps, Read, read_percentile};
use super::{EncryptedAnswer, Meaning, ResultsError, Spread};

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

/// The blocks of an answer, read from the front.
pub(super) struct Blocks<'a> {
    left: &'a [u64],
    message_bits: u32,
}

impl Blocks<'_> {
    /// Takes the next blocks as a number below 2^128. Returns `None` if there are fewer blocks or if the
    /// number is larger.
    pub(super) fn number(&mut self, blocks: usize) -> Option<u128> {
        let (digits, left) = self.left.split_at_checked(blocks)?;
        self.left = left;
        digits.iter().rev().try_fold(0u128, |number, &digit| {
            let room = number.leading_zeros() >= self.message_bits;
            room.then_some(number << self.message_bits | u128::from(digit))
        })
    }

    /// Takes all remaining blocks as the given number of numbers.
    pub(super) fn numbers(&mut self, count: usize) -> Option<Vec<u128>> {
        let each = self.left.len().checked_div(count)?;
        if each == 0 || each * count != self.left.len() {
            return None;
        }
        (0..count).map(|_| self.number(each)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub(super) fn rest(&mut self) -> Option<u128> {
        self.number(self.left.len())
    }
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
        let mut blocks = Blocks {
            left: blocks,
            message_bits: encoding.message_bits(),
        };
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

/// Returns the value that blocks hold, and the number of rows without one where that is known. `None` if they cannot hold a value of
/// that meaning.
///
/// # Errors
/// A column whose encoding is not possible.
pub(super) fn read(meaning: Meaning, blocks: &mut Blocks<'_>) -> Result<Read, ResultsError> {
    match meaning {
        Meaning::Optional(of, gaps) => gaps.read(*of, blocks),
        percentile @ Meaning::Percentile { .. } => read_percentile(percentile, blocks),
        Meaning::Present(rows) => {
            let present = blocks.rest().filter(|present| *present <= u128::from(rows));
            Ok(present.map(|present| {
                let value = AnswerValue::Number {
                    value: present as f64,
                    unit: String::new(),
                };
                (value, Some(u64::from(rows) - present as u64))
            }))
        }
        meaning => Ok(value(meaning, blocks)?.map(|value| (value, None))),
    }
}

/// Returns the value that blocks hold, or `None` if they cannot hold one of that meaning.
pub(super) fn value(
    meaning: Meaning,
    blocks: &mut Blocks<'_>,
) -> Result<Option<AnswerValue>, ResultsError> {
    Ok(match meaning {
        Meaning::Reading(column) => {
            let decode = decode(&column)?;
            blocks.rest().map(|code| AnswerValue::Number {
                value: decode(code),
                unit: column.unit,
            })
        }
        Meaning::Row(column, row) => {
            let decode = decode(&column)?;
            blocks.rest().map(|code| AnswerValue::Row {
                row,
                value: decode(code),
                unit: column.unit,
            })
        }
        Meaning::Range(column) => blocks.numbers(2).and_then(|ends| {
            let range = ends[1].checked_sub(ends[0])?;
            Some(AnswerValue::Number {
                value: decoder(&column).difference(range),
                unit: column.unit,
            })
        }),
        Meaning::Sum(_, 0) | Meaning::Mean(_, 0) => None,
        // They are read before, and are in no others.
        Meaning::Optional(..) | Meaning::Present(_) | Meaning::Percentile { .. } => None,
        Meaning::Sum(column, rows) => blocks.rest().map(|sum| AnswerValue::Number {
            value: decoder(&column).sum(sum, rows),
            unit: column.unit,
        }),
        Meaning::Mean(column, rows) => {
            column.fixed_point()?;
            blocks.rest().map(|sum| AnswerValue::Number {
                value: decoder(&column).mean(sum, rows),
                unit: column.unit,
            })
        }
        Meaning::Spread {
            column,
            rows,
            sum_blocks,
            measure,
        } => {
            let sum = blocks.number(sum_blocks as usize);
            let squares = blocks.rest();
            sum.zip(squares)
                .and_then(|(sum, squares)| spread(&column, rows, (sum, squares), measure))
        }
        Meaning::Pair {
            columns,
            rows,
            blocks: of_each,
            function,
        } => {
            let sums = of_each.iter().map(|count| blocks.number(*count as usize));
            let sums = sums.collect::<Option<Vec<u128>>>();
            sums.and_then(|sums| pair(&columns, rows, &sums, function))
        }
        Meaning::Place(column, code_blocks, labels) => {
            let decode = decode(&column)?;
            let code = blocks.number(code_blocks as usize);
            let place = blocks.rest();
            code.zip(place).and_then(|(code, place)| {
                let row = labels.into_iter().nth(usize::try_from(place).ok()?)?;
                Some(AnswerValue::Row {
                    row,
                    value: decode(code),
                    unit: column.unit,
                })
            })
        }
        Meaning::Places {
            column,
            count,
            code_blocks,
            labels,
        } => {
            let decode = decode(&column)?;
            let found = placed(blocks, count, code_blocks, &labels);
            found.map(|found| AnswerValue::Ranked {
                rows: found
                    .into_iter()
                    .map(|(row, code)| Labelled {
                        row,
                        value: decode(code),
                    })
                    .collect(),
                unit: column.unit,
            })
        }
        Meaning::Count => blocks.rest().map(|count| AnswerValue::Number {
            value: count as f64,
            unit: String::new(),
        }),
        Meaning::Rows(labels) => blocks.numbers(labels.len()).map(|met| {
            let chosen = labels.into_iter().zip(met);
            let chosen = chosen.filter_map(|(label, met)| (met == 1).then_some(label));
            AnswerValue::Rows(chosen.collect())
        }),
        Meaning::Histogram {
            column,
            edges,
            rows,
        } => (blocks.numbers(edges.len().saturating_sub(1)))
            .and_then(|counts| histogram(column.unit, &edges, &counts, rows)),
        Meaning::Readings(column, count) => {
            let decode = decode(&column)?;
            blocks
                .numbers(count as usize)
                .map(|codes| AnswerValue::Values {
                    values: codes.into_iter().map(decode).collect(),
                    unit: column.unit,
                })
        }
        Meaning::Scores(column, labels) => {
            let decode = decode(&column)?;
            scores(blocks, labels, column.unit, decode)
        }
        Meaning::Logistic(column, labels) => {
            let decode = decode(&column)?;
            scores(blocks, labels, String::new(), |code| logistic(decode(code)))
        }
        Meaning::Leaves(labels, leaves) => blocks.numbers(labels.len()).and_then(|places| {
            let rows = labels.into_iter().zip(places).map(|(row, place)| {
                let value = leaves.get(usize::try_from(place).ok()?)?.clone();
                Some(Labelled { row, value })
            });
            Some(AnswerValue::Leaves {
                rows: rows.collect::<Option<_>>()?,
            })
        }),
    })
}

/// Returns the decimal values of codes of a column.
pub(super) fn decoder(column: &Column) -> Decoder {
    Decoder::new(column.offset, column.scale)
}

/// Returns the function from codes of a column to their values.
pub(super) fn decode(column: &Column) -> Result<impl Fn(u128) -> f64 + use<>, ResultsError> {
    column.fixed_point()?;
    let decoder = decoder(column);
    Ok(move |code| decoder.value(code))
}

/// The logistic function.
pub(super) fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

/// Reads codes and, behind them, the places of their rows among labels. Returns the label and the code of each row; `None` if blocks
/// cannot hold them.
pub(super) fn placed(
    blocks: &mut Blocks<'_>,
    count: u32,
    code_blocks: u32,
    labels: &[String],
) -> Option<Vec<(String, u128)>> {
    // A row has one place, and a code takes blocks: a count that is neither would have the loop run on.
    if count as usize > labels.len() || code_blocks == 0 {
        return None;
    }
    let codes = (0..count).map(|_| blocks.number(code_blocks as usize));
    let codes: Vec<u128> = codes.collect::<Option<_>>()?;
    let places = blocks.numbers(count as usize)?;
    let rows = places.into_iter().zip(codes).map(|(place, code)| {
        let label = labels.get(usize::try_from(place).ok()?)?;
        Some((label.clone(), code))
    });
    rows.collect()
}

fn scores(
    blocks: &mut Blocks<'_>,
    labels: Vec<String>,
    unit: String,
    value: impl Fn(u128) -> f64,
) -> Option<AnswerValue> {
    let codes = blocks.numbers(labels.len())?;
    let rows = labels.into_iter().zip(codes).map(|(row, code)| Labelled {
        row,
        value: Some(value(code)),
    });
    Some(AnswerValue::Scores {
        rows: rows.collect(),
        unit,
    })
}

pub(super) fn histogram(
    unit: String,
    edges: &[f64],
    counts: &[u128],
    rows: u32,
) -> Option<AnswerValue> {
    let bins = edges.windows(2).zip(counts).map(|(edges, &count)| Bin {
        from: edges[0],
        to: edges[1],
        count: count as u64,
    });
    let counted = counts
        .iter()
        .try_fold(0, |sum: u128, &count| sum.checked_add(count))?;
    let outside = u128::from(rows).checked_sub(counted)?;
    Some(AnswerValue::Histogram {
        bins: bins.collect(),
        outside: outside as u64,
        unit,
    })
}

/// Returns the measure of `rows` values, from the sum of their codes and that of the squares.
fn spread(
    column: &Column,
    rows: u32,
    (sum, squares): (u128, u128),
    measure: Spread,
) -> Option<AnswerValue> {
    let Spread { sample, root } = measure;
    let spread = tfhe_sbc_columns::Spread { sample, root };
    Some(AnswerValue::Number {
        value: spread.of_sums(&decoder(column), rows, sum, squares)?,
        unit: measure.unit(&column.unit),
    })
}

/// Returns a function of the values of two columns in `rows` rows, from sums of their codes.
fn pair(columns: &[Column; 2], rows: u32, sums: &[u128], function: Pair) -> Option<AnswerValue> {
    let [a, b] = columns;
    let unit = function.unit(&a.unit, &b.unit);
    let sums = PairSums::read(rows, sums)?;
    let value = (function.measure()).of_sums([&decoder(a), &decoder(b)], &sums)?;
    Some(match value {
        Some(value) => AnswerValue::Number { value, unit },
        None => AnswerValue::Missing {
            row: None,
            value: (),
            unit,
        },
    })
}

impl Spread {
    /// The unit of the measure of values of a unit.
    pub(super) fn unit(self, of: &str) -> String {
        match of {
            "" => String::new(),
            unit if self.root => unit.to_owned(),
            unit => format!("({unit})²"),
        }
    }
}
