//! Answers about values some of which are missing.

use serde::{Deserialize, Serialize};
use tfhe_sbc_columns::{percentile_rank, unmarked};
use tfhe_sbc_upload::readings::Column;
use tfhe_sbc_upload::row_labels;

use super::answer::{AnswerValue, Labelled};
use super::values::{Blocks, decode, decoder, histogram, logistic, placed, read, value};
use super::{Meaning, ResultsError};

/// The way in which an answer tells which values are missing, or how many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    /// The first number, in this many blocks, is the number of values that are there. The number of rows that the
    /// meaning has is that of all.
    Counted(u32),
    /// The first blocks are truth values, one for each value, which tell whether it is there.
    Flagged,
    /// Codes have one bit more, above all others, which is this where the value is there. That of the largest value of a
    /// range is the opposite.
    Marked(bool),
    /// The answer is about the rows that have a value, which the server knows, and this is the number of the others. An answer without blocks is that
    /// about no row, or about a row without a value.
    Known(u32),
    /// The same of values of rows. The other rows have these places among all, in increasing order, and these labels.
    KnownRows {
        /// The places of the rows without a value, counted from 0.
        places: Vec<u32>,
        /// Their labels.
        #[serde(with = "row_labels")]
        labels: Vec<String>,
    },
}

/// A value, and the number of rows without one where that is known.
pub(super) type Read = Option<(AnswerValue, Option<u64>)>;

impl Meaning {
    /// The same of values some of which are missing.
    pub(crate) fn with_gaps(self, gaps: Gaps) -> Self {
        Self::Optional(Box::new(self), gaps)
    }

    /// The meaning that this would be if no value were missing.
    pub(super) fn without_gaps(&self) -> &Self {
        match self {
            Self::Optional(of, _) => of.without_gaps(),
            other => other,
        }
    }
}

impl Gaps {
    /// Returns the value that blocks hold; `None` if they cannot hold one of that meaning.
    ///
    /// # Errors
    /// A column whose encoding is not possible.
    pub(super) fn read(self, of: Meaning, blocks: &mut Blocks<'_>) -> Result<Read, ResultsError> {
        match self {
            Self::Counted(count_blocks) => counted(of, count_blocks, blocks),
            Self::Flagged => flagged(of, blocks),
            Self::Marked(present) => marked(of, present, blocks),
            Self::Known(gaps) => known(of, gaps, blocks),
            Self::KnownRows { places, labels } => known_rows(of, &places, labels, blocks),
        }
    }
}

/// Returns the answer about rows that have a value, and the number of all rows without one.
fn known(of: Meaning, gaps: u32, blocks: &mut Blocks<'_>) -> Result<Read, ResultsError> {
    let gaps = u64::from(gaps);
    if blocks.is_empty() {
        return Ok(nothing(of).map(|value| (value, Some(gaps))));
    }
    let read = read(of, blocks)?;
    Ok(read.map(|(value, more)| (value, Some(more.unwrap_or(0) + gaps))))
}

/// Does the same for values of rows, and puts the rows without one in their places.
fn known_rows(
    of: Meaning,
    places: &[u32],
    labels: Vec<String>,
    blocks: &mut Blocks<'_>,
) -> Result<Read, ResultsError> {
    if places.len() != labels.len() {
        return Ok(None);
    }
    let Some((AnswerValue::Scores { mut rows, unit }, missing)) =
        known(of, places.len() as u32, blocks)?
    else {
        return Ok(None);
    };
    let mut present = std::mem::take(&mut rows).into_iter();
    for (&place, row) in places.iter().zip(labels) {
        let Some(between) = (place as usize).checked_sub(rows.len()) else {
            return Ok(None);
        };
        rows.extend(present.by_ref().take(between));
        if rows.len() != place as usize {
            return Ok(None);
        }
        rows.push(Labelled { row, value: None });
    }
    rows.extend(present);
    Ok(Some((AnswerValue::Scores { rows, unit }, missing)))
}

/// The answer about no rows; `None` if there is none of that meaning.
fn nothing(of: Meaning) -> Option<AnswerValue> {
    let none = |column: Column| missing(None, column.unit);
    Some(match of {
        Meaning::Reading(column) | Meaning::Sum(column, _) | Meaning::Mean(column, _) => {
            none(column)
        }
        Meaning::Spread {
            column, measure, ..
        } => missing(None, measure.unit(&column.unit)),
        Meaning::Pair {
            columns, function, ..
        } => missing(None, function.unit(&columns[0].unit, &columns[1].unit)),
        Meaning::Row(column, label) => missing(Some(label), column.unit),
        Meaning::Present(_) => AnswerValue::Number {
            value: 0.0,
            unit: String::new(),
        },
        Meaning::Histogram { column, edges, .. } => {
            let counts = vec![0; edges.len().saturating_sub(1)];
            return histogram(column.unit, &edges, &counts, 0);
        }
        Meaning::Readings(column, _) => AnswerValue::Values {
            values: Vec::new(),
            unit: column.unit,
        },
        Meaning::Places { column, .. } => AnswerValue::Ranked {
            rows: Vec::new(),
            unit: column.unit,
        },
        Meaning::Scores(column, _) => AnswerValue::Scores {
            rows: Vec::new(),
            unit: column.unit,
        },
        Meaning::Logistic(..) => AnswerValue::Scores {
            rows: Vec::new(),
            unit: String::new(),
        },
        _ => return None,
    })
}

/// Nothing of a column.
fn missing(row: Option<String>, unit: String) -> AnswerValue {
    AnswerValue::Missing {
        row,
        value: (),
        unit,
    }
}

fn counted(of: Meaning, count_blocks: u32, blocks: &mut Blocks<'_>) -> Result<Read, ResultsError> {
    let Some(count) = blocks.number(count_blocks as usize) else {
        return Ok(None);
    };
    let Ok(present) = u32::try_from(count) else {
        return Ok(None);
    };
    // A sample has a variance if it has two values, everything else if it has one.
    let (rows, least) = match &of {
        Meaning::Sum(_, rows) | Meaning::Mean(_, rows) => (*rows, 1),
        Meaning::Spread { rows, measure, .. } => (*rows, 1 + u32::from(measure.sample)),
        Meaning::Histogram { rows, .. } | Meaning::Pair { rows, .. } => (*rows, 0),
        _ => return Ok(None),
    };
    let Some(gaps) = rows.checked_sub(present) else {
        return Ok(None);
    };
    let present_of = match of {
        Meaning::Sum(column, _) | Meaning::Mean(column, _) if present < least => {
            let nothing = missing(None, column.unit);
            return Ok(blocks
                .rest()
                .filter(|sum| *sum == 0)
                .map(|_| (nothing, Some(gaps.into()))));
        }
        Meaning::Spread {
            column,
            measure,
            sum_blocks,
            ..
        } if present < least => {
            let unit = measure.unit(&column.unit);
            let sum = blocks.number(sum_blocks as usize);
            let is_read = sum.zip(blocks.rest()).is_some();
            return Ok(is_read.then(|| (missing(None, unit), Some(gaps.into()))));
        }
        Meaning::Sum(column, _) => Meaning::Sum(column, present),
        Meaning::Mean(column, _) => Meaning::Mean(column, present),
        Meaning::Spread {
            column,
            sum_blocks,
            measure,
            ..
        } => Meaning::Spread {
            column,
            rows: present,
            sum_blocks,
            measure,
        },
        Meaning::Histogram { column, edges, .. } => Meaning::Histogram {
            column,
            edges,
            rows: present,
        },
        Meaning::Pair {
            columns,
            blocks,
            function,
            ..
        } => Meaning::Pair {
            columns,
            rows: present,
            blocks,
            function,
        },
        _ => return Ok(None),
    };
    Ok(value(present_of, blocks)?.map(|value| (value, Some(gaps.into()))))
}

fn flagged(of: Meaning, blocks: &mut Blocks<'_>) -> Result<Read, ResultsError> {
    let (column, labels, is_logistic) = match of {
        Meaning::Row(column, label) => {
            let (Some(flag @ 0..=1), decode) = (blocks.number(1), decode(&column)?) else {
                return Ok(None);
            };
            let code = blocks.rest();
            return Ok(code.map(|code| match flag {
                0 => (missing(Some(label), column.unit), Some(1)),
                _ => {
                    let value = AnswerValue::Row {
                        row: label,
                        value: decode(code),
                        unit: column.unit,
                    };
                    (value, Some(0))
                }
            }));
        }
        Meaning::Scores(column, labels) => (column, labels, false),
        Meaning::Logistic(column, labels) => (column, labels, true),
        _ => return Ok(None),
    };
    let flags = (0..labels.len()).map(|_| blocks.number(1).filter(|flag| *flag <= 1));
    let flags: Option<Vec<u128>> = flags.collect();
    let codes = blocks.numbers(labels.len());
    let (Some(flags), Some(codes), decode) = (flags, codes, decode(&column)?) else {
        return Ok(None);
    };
    let value = |code| match is_logistic {
        true => logistic(decode(code)),
        false => decode(code),
    };
    let gaps = flags.iter().filter(|flag| **flag == 0).count() as u64;
    let rows = labels.into_iter().zip(flags).zip(codes);
    let rows = rows.map(|((row, flag), code)| Labelled {
        row,
        value: (flag == 1).then(|| value(code)),
    });
    let scores = AnswerValue::Scores {
        rows: rows.collect(),
        unit: match is_logistic {
            true => String::new(),
            false => column.unit,
        },
    };
    Ok(Some((scores, Some(gaps))))
}

/// The place of a percentile of `count` values, of which there is at least one, in an order.
pub(crate) fn percentile_place(percent: f64, count: usize, descending: bool) -> usize {
    let rank = percentile_rank(percent, count);
    match descending {
        true => count - 1 - rank,
        false => rank,
    }
}

/// Returns the percentile that blocks hold; `None` if they cannot hold one.
///
/// # Errors
/// A column whose encoding is not possible.
pub(super) fn read_percentile(
    meaning: Meaning,
    blocks: &mut Blocks<'_>,
) -> Result<Read, ResultsError> {
    let Meaning::Percentile {
        column,
        percent,
        rows,
        count_blocks,
        values,
        descending,
    } = meaning
    else {
        return Ok(None);
    };
    let decode = decode(&column)?;
    let count = blocks.number(count_blocks as usize);
    let count = count.filter(|count| *count <= u128::from(rows));
    let codes = blocks.numbers(values as usize);
    let (Some(count), Some(codes), 0.0..=100.0) = (count, codes, percent) else {
        return Ok(None);
    };
    let gaps = Some(u64::from(rows) - count as u64);
    if count == 0 {
        return Ok(Some((missing(None, column.unit), gaps)));
    }
    let code = codes.get(percentile_place(percent, count as usize, descending));
    let code = code.and_then(|code| unmarked(column.bits, descending, *code)?);
    Ok(code.map(|code| {
        let value = AnswerValue::Number {
            value: decode(code),
            unit: column.unit,
        };
        (value, gaps)
    }))
}

fn marked(of: Meaning, present: bool, blocks: &mut Blocks<'_>) -> Result<Read, ResultsError> {
    Ok(match of {
        Meaning::Reading(column) => {
            let decode = decode(&column)?;
            let code = blocks
                .rest()
                .and_then(|code| unmarked(column.bits, present, code));
            code.map(|code| match code {
                None => (missing(None, column.unit), None),
                Some(code) => {
                    let value = AnswerValue::Number {
                        value: decode(code),
                        unit: column.unit,
                    };
                    (value, None)
                }
            })
        }
        Meaning::Range(column) => {
            let Some(ends) = blocks.numbers(2) else {
                return Ok(None);
            };
            let low = unmarked(column.bits, present, ends[0]);
            match low.zip(unmarked(column.bits, !present, ends[1])) {
                Some((Some(low), Some(high))) => high.checked_sub(low).map(|range| {
                    let value = AnswerValue::Number {
                        value: decoder(&column).difference(range),
                        unit: column.unit,
                    };
                    (value, None)
                }),
                Some((None, None)) => Some((missing(None, column.unit), None)),
                _ => None,
            }
        }
        Meaning::Place(column, code_blocks, labels) => {
            let decode = decode(&column)?;
            let code = blocks.number(code_blocks as usize);
            let code = code.and_then(|code| unmarked(column.bits, present, code));
            code.zip(blocks.rest()).and_then(|(code, place)| {
                let row = labels.into_iter().nth(usize::try_from(place).ok()?)?;
                Some(match code {
                    None => (missing(None, column.unit), None),
                    Some(code) => {
                        let value = AnswerValue::Row {
                            row,
                            value: decode(code),
                            unit: column.unit,
                        };
                        (value, None)
                    }
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
            let rows = found.and_then(|found| {
                let rows = found.into_iter().map(|(row, code)| {
                    let code = unmarked(column.bits, present, code)?;
                    Some(code.map(|code| Labelled {
                        row,
                        value: decode(code),
                    }))
                });
                rows.collect::<Option<Vec<Option<_>>>>()
            });
            rows.map(|rows| {
                let value = AnswerValue::Ranked {
                    rows: rows.into_iter().flatten().collect(),
                    unit: column.unit,
                };
                (value, None)
            })
        }
        Meaning::Readings(column, count) => {
            let decode = decode(&column)?;
            let codes = blocks.numbers(count as usize);
            let codes = codes.and_then(|codes| {
                let codes = codes.into_iter();
                let codes = codes.map(|code| unmarked(column.bits, present, code));
                codes.collect::<Option<Vec<Option<u128>>>>()
            });
            codes.map(|codes| {
                let value = AnswerValue::Values {
                    values: codes.into_iter().flatten().map(decode).collect(),
                    unit: column.unit,
                };
                (value, None)
            })
        }
        _ => None,
    })
}
