//! The values that decrypted blocks hold, by what they mean.

use tfhe_sbc_columns::PairSums;
use tfhe_sbc_columns::decimal::Decoder;
use tfhe_sbc_upload::readings::Column;

use super::answer::{AnswerValue, Bin, Labelled};
use super::optional::{Read, read_percentile};
use super::{Meaning, ResultsError, Spread};
use crate::Pair;

/// The blocks of an answer, read from the front.
pub(super) struct Blocks<'a> {
    left: &'a [u64],
    message_bits: u32,
}

impl<'a> Blocks<'a> {
    /// Returns the blocks of messages of `message_bits` bits.
    pub(super) fn new(blocks: &'a [u64], message_bits: u32) -> Self {
        Self {
            left: blocks,
            message_bits,
        }
    }

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
