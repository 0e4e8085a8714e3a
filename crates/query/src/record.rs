//! Questions written down as circuits: on ciphertexts, to be evaluated, or on stand-ins for
//! them, to be counted.

mod sums;
mod tree;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::analytics::rows;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{FheBool, FheUint, Unsigned, Width};
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::condition::{
    CodeCondition, Condition, Relation, Threshold, code_condition, first_code_from, threshold_code,
};
use crate::evaluate::EvaluateError;
use crate::expression::{Expression, Linear};
use crate::request::{RequestError, encoding_of};
use crate::results::{Meaning, Spread};
use crate::{Aggregate, Question};

pub(super) use sums::Loading;
pub use sums::{begun_sums, stand_in_sums};

/// One upload, under the evaluation key.
pub(super) struct Table {
    /// Its number of rows.
    pub(super) rows: usize,
    pub(super) ciphertexts: ExpandedGlweList<u64>,
}

/// What a circuit's inputs are.
pub(super) enum Inputs {
    Ciphertexts {
        tables: Vec<Table>,
        thresholds: Option<ExpandedGlweList<u64>>,
    },
    /// Stand-ins for readings of these codes, column by column, or of none in particular.
    StandIns(Option<Vec<Vec<u64>>>),
}

/// Writes questions down.
pub(super) struct Recorder<'a> {
    pub(super) circuit: &'a Circuit,
    /// The columns, and the rows of all uploads.
    pub(super) readings: &'a ReadingsMetadata,
    pub(super) inputs: &'a Inputs,
    loading: &'a Loading,
    loaded: RefCell<HashMap<usize, Codes>>,
    sums: RefCell<HashMap<usize, FheUint>>,
}

/// An answer to be computed.
pub(super) struct Recorded {
    pub(super) blocks: Vec<Block>,
    pub(super) meaning: Meaning,
}

impl Recorded {
    fn new<'b>(numbers: impl IntoIterator<Item = &'b FheUint>, meaning: Meaning) -> Self {
        let numbers = numbers.into_iter();
        Self {
            blocks: numbers.flat_map(|n| n.blocks()).cloned().collect(),
            meaning,
        }
    }
}

/// The codes of a column or an expression, row by row.
type Codes = Rc<Vec<FheUint>>;

/// What a threshold is for codes.
enum Limit {
    Always(bool),
    Code(Relation, FheUint),
}

/// The values of an expression, row by row, and what they mean.
struct Values {
    codes: Codes,
    column: Column,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        circuit: &'a Circuit,
        readings: &'a ReadingsMetadata,
        inputs: &'a Inputs,
        loading: &'a Loading,
    ) -> Self {
        Self {
            circuit,
            readings,
            inputs,
            loading,
            loaded: RefCell::default(),
            sums: RefCell::default(),
        }
    }

    /// Writes down what answers a question.
    pub(super) fn record(&self, question: &Question) -> Result<Recorded, EvaluateError> {
        match question {
            Question::Aggregate(aggregate, of) => self.aggregate(*aggregate, of),
            Question::Count(condition) => {
                let count = self.circuit.count(&self.met(condition)?)?;
                let count = self.circuit.propagate(&count)?;
                Ok(Recorded::new([&count], Meaning::Count))
            }
            Question::Rows(condition) => {
                let met = self.met(condition)?;
                Ok(Recorded {
                    blocks: met.iter().map(|bit| self.circuit.bit(bit)).collect(),
                    meaning: Meaning::Rows(self.readings.rows.clone()),
                })
            }
            Question::Percentile(of, percent) => self.percentile(of, *percent),
            Question::Histogram(of, edges) => self.histogram(of, edges),
            Question::Sort(of) => self.sorted(Order::Ascending, of, self.readings.rows.len()),
            Question::TopK(of, count) => self.sorted(Order::Descending, of, *count as usize),
            Question::Score(of) => {
                let Values { codes, column } = self.values(of)?;
                let meaning = Meaning::Scores(column, self.readings.rows.clone());
                Ok(Recorded::new(&*codes, meaning))
            }
            Question::Logistic(of) => {
                let Values { codes, column } = self.values(of)?;
                let meaning = Meaning::Logistic(column, self.readings.rows.clone());
                Ok(Recorded::new(&*codes, meaning))
            }
            Question::Tree(tree) => self.tree(tree),
        }
    }

    fn row_count(&self) -> u32 {
        self.readings.rows.len() as u32
    }

    fn aggregate(&self, aggregate: Aggregate, of: &Expression) -> Result<Recorded, EvaluateError> {
        let circuit = self.circuit;
        let rows = self.row_count();
        Ok(match aggregate {
            Aggregate::Min | Aggregate::Max | Aggregate::Range => {
                let Values { codes, column } = self.values(of)?;
                let (min, max) = circuit.side_by_side(codes.len(), |c| c.min_max_of(&codes))?;
                let (min, max) = (circuit.propagate(&min)?, circuit.propagate(&max)?);
                match aggregate {
                    Aggregate::Min => Recorded::new([&min], Meaning::Reading(column)),
                    Aggregate::Max => Recorded::new([&max], Meaning::Reading(column)),
                    _ => Recorded::new([&min, &max], Meaning::Range(column)),
                }
            }
            Aggregate::Sum | Aggregate::Mean => {
                let (sum, column) = self.sum(of)?;
                let meaning = match aggregate {
                    Aggregate::Sum => Meaning::Sum(column, rows),
                    _ => Meaning::Mean(column, rows),
                };
                Recorded::new([&sum], meaning)
            }
            Aggregate::Argmin | Aggregate::Argmax => {
                let Values { codes, column } = self.values(of)?;
                let found = match aggregate {
                    Aggregate::Argmin => circuit.arg_min(&codes)?,
                    _ => circuit.arg_max(&codes)?,
                };
                let code_blocks = found.value.blocks().len() as u32;
                let labels = self.readings.rows.clone();
                let meaning = Meaning::Place(column, code_blocks, labels);
                Recorded::new([&found.value, &found.index], meaning)
            }
            Aggregate::Variance
            | Aggregate::Std
            | Aggregate::SampleVariance
            | Aggregate::SampleStd => {
                let Values { codes, column } = self.values(of)?;
                let moments = circuit.moments(&codes)?;
                let meaning = Meaning::Spread {
                    column,
                    rows,
                    sum_blocks: moments.sum.blocks().len() as u32,
                    measure: Spread {
                        sample: matches!(
                            aggregate,
                            Aggregate::SampleVariance | Aggregate::SampleStd
                        ),
                        root: matches!(aggregate, Aggregate::Std | Aggregate::SampleStd),
                    },
                };
                Recorded::new([&moments.sum, &moments.sum_of_squares], meaning)
            }
            Aggregate::Median => return self.percentile(of, 50.0),
        })
    }

    fn percentile(&self, of: &Expression, percent: f64) -> Result<Recorded, EvaluateError> {
        /// So much of a row is none: percentages are decimal fractions.
        const SLACK: f64 = 1e-9;
        let Values { codes, column } = self.values(of)?;
        let share = percent / 100.0 * codes.len() as f64;
        let rank = ((share - SLACK).ceil() as usize).clamp(1, codes.len()) - 1;
        let found = self.circuit.nth_smallest(&codes, rank)?;
        Ok(Recorded::new([&found], Meaning::Reading(column)))
    }

    fn histogram(&self, of: &Expression, edges: &[f64]) -> Result<Recorded, EvaluateError> {
        let Values { codes, column } = self.values(of)?;
        let encoding = encoding_of(&column)?;
        let code = |edge: &f64| i128::from(first_code_from(&encoding, *edge));
        let code_edges: Vec<i128> = edges.iter().map(code).collect();
        // No code is in a bin that is outside of the range or between two steps.
        let bins = code_edges.windows(2).map(|edges| edges[0]..edges[1]);
        let filled: Vec<_> = bins.clone().filter(|bin| !bin.is_empty()).collect();
        let counts = match filled.is_empty() {
            true => Vec::new(),
            false => self.circuit.histogram(&codes, &filled)?,
        };
        let width = Width::new(codes.len().ilog2() + 1)?;
        let none: FheUint = self.circuit.clear(0u64, width);
        let mut counts = counts.into_iter();
        let counts: Vec<FheUint> = bins
            .map(|bin| match bin.is_empty() {
                true => none.clone(),
                false => counts.next().unwrap_or_else(|| none.clone()),
            })
            .collect();
        let meaning = Meaning::Histogram {
            column,
            edges: edges.to_vec(),
            rows: self.row_count(),
        };
        Ok(Recorded::new(&counts, meaning))
    }

    fn sorted(
        &self,
        order: Order,
        of: &Expression,
        count: usize,
    ) -> Result<Recorded, EvaluateError> {
        let Values { codes, column } = self.values(of)?;
        let sorted = self.circuit.sorted_first(order, &codes, count)?;
        let sorted = sorted.iter().map(|code| self.circuit.propagate(code));
        let sorted: Vec<FheUint> = sorted.collect::<Result<_, _>>()?;
        Ok(Recorded::new(
            &sorted,
            Meaning::Readings(column, count as u32),
        ))
    }

    /// The codes of a column.
    fn load(&self, place: usize) -> Result<Codes, EvaluateError> {
        if let Some(loaded) = self.loaded.borrow().get(&place) {
            return Ok(Rc::clone(loaded));
        }
        let width = Width::new(self.readings.columns[place].bits)?;
        let encoding = self.circuit.encoding();
        let mut codes = Vec::with_capacity(self.readings.rows.len());
        match self.inputs {
            Inputs::StandIns(values) => {
                let column = values.as_ref().and_then(|values| values.get(place));
                codes.extend((0..self.readings.rows.len()).map(|row| {
                    let code = column.and_then(|column| column.get(row));
                    self.circuit
                        .stand_in_integer(code.copied().unwrap_or(0), width)
                }));
            }
            Inputs::Ciphertexts { tables, .. } => {
                for table in tables {
                    let blocks = self.readings.blocks_of_column(encoding, place, table.rows);
                    // `Upload::parse` has checked that all of them are there.
                    let blocks = table.ciphertexts.extract(blocks).unwrap_or_default();
                    let mut blocks = blocks.into_iter();
                    let row_blocks = self.circuit.block_count(width);
                    for _ in 0..table.rows {
                        let row = blocks.by_ref().take(row_blocks).collect();
                        codes.push(self.circuit.encrypted(row, width)?);
                    }
                }
            }
        }
        let codes = Rc::new(codes);
        self.loaded.borrow_mut().insert(place, Rc::clone(&codes));
        Ok(codes)
    }

    /// The codes of an expression.
    fn values(&self, of: &Expression) -> Result<Values, EvaluateError> {
        let linear = of.linear(self.readings)?;
        if let [(place, 1)] = linear.factors[..] {
            return Ok(Values {
                codes: self.load(place)?,
                column: linear.column,
            });
        }
        let places = linear.factors.iter().map(|&(place, _)| self.load(place));
        let columns: Vec<_> = places.collect::<Result<_, _>>()?;
        let weights: Vec<i64> = linear.factors.iter().map(|&(_, factor)| factor).collect();
        let rows = 0..self.readings.rows.len();
        let codes = self.circuit.side_by_side(rows.len(), |circuit| {
            let score = |row: usize| {
                let row: Vec<FheUint> = columns.iter().map(|column| column[row].clone()).collect();
                // Less the lowest score: that is the code of the expression's encoding.
                Ok(circuit.linear_score(&row, &weights, 0)?.above_lowest)
            };
            rows.map(score).collect::<Result<_, EvaluateError>>()
        })?;
        Ok(Values {
            codes: Rc::new(codes),
            column: linear.column,
        })
    }

    /// Whether each row meets a condition.
    fn met(&self, condition: &Condition) -> Result<Vec<FheBool>, EvaluateError> {
        let circuit = self.circuit;
        match condition {
            Condition::Compare {
                of,
                relation,
                threshold,
            } => self.compare(of, *relation, threshold),
            Condition::Between { of, low, high } => {
                let ends = [
                    self.compare(of, Relation::Ge, low)?,
                    self.compare(of, Relation::Le, high)?,
                ];
                self.row_by_row(&ends, |bits| Ok(circuit.all(bits)?))
            }
            Condition::In { of, values } => {
                let column = of.linear(self.readings)?.column;
                let equal = values.iter();
                let limits: Vec<_> = equal
                    .map(|value| self.limit(&column, Relation::Eq, value))
                    .collect::<Result<_, _>>()?;
                // What no value can be equal to is left out.
                let limits = limits.into_iter().filter_map(|limit| match limit {
                    Limit::Code(_, code) => Some(code),
                    Limit::Always(_) => None,
                });
                self.rows_where(of, |at| rows::Condition::OneOf(at, limits.collect()))
            }
            Condition::All(list) => {
                let met = list.iter().map(|condition| self.met(condition));
                let met: Vec<_> = met.collect::<Result<_, _>>()?;
                self.row_by_row(&met, |bits| Ok(circuit.all(bits)?))
            }
            Condition::Any(list) => {
                let met = list.iter().map(|condition| self.met(condition));
                let met: Vec<_> = met.collect::<Result<_, _>>()?;
                self.row_by_row(&met, |bits| Ok(circuit.any(bits)?))
            }
            Condition::Not(condition) => {
                let met = self.met(condition)?;
                Ok(met.iter().map(|bit| circuit.not(bit)).collect())
            }
        }
    }

    /// What an operator makes of the truth values of each row.
    fn row_by_row(
        &self,
        lists: &[Vec<FheBool>],
        operator: impl Fn(Vec<&FheBool>) -> Result<FheBool, EvaluateError>,
    ) -> Result<Vec<FheBool>, EvaluateError> {
        (0..self.readings.rows.len())
            .map(|row| operator(lists.iter().map(|bits| &bits[row]).collect()))
            .collect()
    }

    fn compare(
        &self,
        of: &Expression,
        relation: Relation,
        threshold: &Threshold,
    ) -> Result<Vec<FheBool>, EvaluateError> {
        let linear = of.linear(self.readings)?;
        let (relation, limit) = match self.limit(&linear.column, relation, threshold)? {
            Limit::Always(answer) => {
                let answer = self.circuit.clear_bool(answer);
                return Ok(vec![answer; self.readings.rows.len()]);
            }
            Limit::Code(relation, limit) => (relation, limit),
        };
        if let Some([a, b]) = self.two_columns(&linear, &limit)? {
            let both = a.iter().zip(b.iter());
            let compare = both.map(|(a, b)| self.circuit.compare(relation.comparison(), a, b));
            return Ok(compare.collect::<Result<_, _>>()?);
        }
        self.rows_where(of, |at| {
            rows::Condition::Compare(at, relation.comparison(), limit)
        })
    }

    /// The columns whose codes are equal where the expression is at the limit, if that is all
    /// there is to it: to compare them is cheaper than to subtract them.
    fn two_columns(
        &self,
        linear: &Linear,
        limit: &FheUint,
    ) -> Result<Option<[Codes; 2]>, EvaluateError> {
        let [(a, 1), (b, -1)] = linear.factors[..] else {
            return Ok(None);
        };
        let bits = |place: usize| self.readings.columns[place].bits;
        let shift: FheUint = self.circuit.clear(linear.shift, limit.width());
        if bits(a) != bits(b) || shift.blocks() != limit.blocks() {
            return Ok(None);
        }
        Ok(Some([self.load(a)?, self.load(b)?]))
    }

    fn rows_where(
        &self,
        of: &Expression,
        condition: impl FnOnce(usize) -> rows::Condition<Unsigned>,
    ) -> Result<Vec<FheBool>, EvaluateError> {
        let codes = self.values(of)?.codes;
        Ok(self.circuit.rows_where(&[&codes[..]], &condition(0))?)
    }

    /// A threshold as codes of a column are compared with it.
    fn limit(
        &self,
        column: &Column,
        relation: Relation,
        threshold: &Threshold,
    ) -> Result<Limit, EvaluateError> {
        let (encoding, width) = (encoding_of(column)?, Width::new(column.bits)?);
        Ok(match threshold {
            Threshold::Clear(value) => match code_condition(&encoding, relation, *value) {
                CodeCondition::Always(answer) => Limit::Always(answer),
                CodeCondition::Compare(relation, code) => {
                    Limit::Code(relation, self.circuit.clear(code, width))
                }
            },
            Threshold::Encrypted { .. } | Threshold::ToEncrypt(_) => Limit::Code(
                relation,
                self.threshold(threshold, column, relation, width)?,
            ),
        })
    }

    /// The code of an encrypted threshold.
    fn threshold(
        &self,
        threshold: &Threshold,
        column: &Column,
        relation: Relation,
        width: Width,
    ) -> Result<FheUint, EvaluateError> {
        let misfit = || RequestError::ThresholdEncoding {
            name: column.name.clone(),
        };
        match (threshold, self.inputs) {
            (
                Threshold::Encrypted {
                    first_block,
                    offset,
                    scale,
                    bits,
                },
                Inputs::Ciphertexts { thresholds, .. },
            ) if (*offset, *scale, *bits) == (column.offset, column.scale, column.bits) => {
                let first = *first_block as usize;
                let blocks = self.circuit.block_count(width);
                let ciphertexts = thresholds
                    .as_ref()
                    .and_then(|list| list.extract(first..first.checked_add(blocks)?))
                    .ok_or_else(misfit)?;
                Ok(self.circuit.encrypted(ciphertexts, width)?)
            }
            (Threshold::ToEncrypt(value), Inputs::StandIns(_)) => {
                let code = threshold_code(&encoding_of(column)?, relation, *value);
                Ok(self.circuit.stand_in_integer(code.unwrap_or(0), width))
            }
            _ => Err(misfit().into()),
        }
    }
}
