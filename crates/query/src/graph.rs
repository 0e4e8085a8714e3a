//! Questions as graphs of operators on columns.
//!
//! [`Graph::answer`] is the one place where a question becomes operators.

mod optional;
mod ordered;
mod pair;
mod told;

use tfhe_sbc_columns::threshold::{CodeCondition, code_condition, threshold_code};
use tfhe_sbc_columns::{
    self as columns, Computed, Decision, EncryptedLimits, Limit, Mask, Number, OptionalNumber,
    Relation, Table, decide,
};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_upload::readings::Column;

use crate::columns::encoding_of;
use crate::condition::{Comparing, Condition, Threshold};
use crate::error::{EvaluateError, RequestError};
use crate::expression::Expression;
use crate::results::{Gaps, Meaning, Spread};
use crate::tree::{Branch, Tree};
use crate::{Aggregate, Question};
use optional::Optional;

/// The encrypted thresholds of a request.
pub(crate) enum Thresholds {
    /// The thresholds under the evaluation key, if there are any.
    Encrypted(Option<EncryptedLimits>),
    /// Stand-ins, for questions that are counted or rehearsed.
    StandIns,
}

/// The conversion of questions about one table into graphs.
pub(crate) struct Graph<'a> {
    pub(crate) table: &'a Table,
    /// The places of the rows of the earliest and the latest moment.
    pub(crate) ends: (usize, usize),
    /// The places of all rows in the order of their moments; `None` if they come in that order, or if not all moments are known.
    pub(crate) order: Option<&'a [usize]>,
    pub(crate) thresholds: &'a Thresholds,
    pub(crate) parameters: Parameters,
}

/// The values that answer a question, and the meaning that they have together.
pub(crate) struct Asked {
    pub(crate) parts: Vec<Computed>,
    pub(crate) meaning: Meaning,
}

impl Asked {
    fn new(parts: impl IntoIterator<Item = Number>, meaning: Meaning) -> Self {
        Self {
            parts: parts.into_iter().map(Computed::Number).collect(),
            meaning,
        }
    }
}

/// A threshold in the form that codes are compared with.
enum CodeLimit {
    /// A threshold for which all codes give the same answer.
    Always(bool),
    Code(Relation, Limit),
}

impl Graph<'_> {
    /// Returns the values that answer a question.
    ///
    /// # Errors
    /// Returns an error for columns that do not exist, values without an encoding, and thresholds that
    /// were encrypted with another encoding.
    pub(crate) fn answer(&self, question: &Question) -> Result<Asked, EvaluateError> {
        match self.answer_beside_gaps(question)? {
            Some(asked) => Ok(asked),
            None => self.answer_of_all_rows(question),
        }
    }

    /// Returns the values that answer a question about all rows of the table.
    fn answer_of_all_rows(&self, question: &Question) -> Result<Asked, EvaluateError> {
        let labels = || self.table.labels().to_vec();
        Ok(match question {
            Question::Aggregate(aggregate, of) => self.aggregate(*aggregate, of)?,
            Question::Pair(function, a, b) => self.pair(*function, a, b)?,
            Question::Count(condition) => {
                Asked::new([self.holds(condition)?.count()], Meaning::Count)
            }
            Question::Rows(condition) => Asked {
                parts: vec![Computed::Mask(self.holds(condition)?)],
                meaning: Meaning::Rows(labels()),
            },
            Question::Percentile(of, percent) => self.percentile(of, *percent)?,
            Question::Histogram(of, edges) => {
                if let Some(optional) = self.optional(of)? {
                    return self.histogram_optional(optional, edges);
                }
                let (number, column) = self.values(of)?;
                let meaning = Meaning::Histogram {
                    column,
                    edges: edges.clone(),
                    rows: self.row_count(),
                };
                Asked::new([number.histogram(edges, false)?], meaning)
            }
            Question::Sort(of) => {
                if let Some(optional) = self.optional(of)? {
                    return self.sorted_optional(optional);
                }
                let (number, column) = self.values(of)?;
                let sorted = number.smallest(number.row_count())?;
                Asked::new([sorted], Meaning::Readings(column, self.row_count()))
            }
            Question::TopK(of, count) => {
                if let Some(optional) = self.optional(of)? {
                    return self.top_k_optional(optional, *count);
                }
                let (number, column) = self.values(of)?;
                let (places, values) = number.largest_places(*count as usize)?;
                let meaning = Meaning::Places {
                    code_blocks: self.block_count(values.bits()),
                    column,
                    count: *count,
                    labels: labels(),
                };
                Asked::new([values, places], meaning)
            }
            Question::Score(of) => {
                self.of_each_row(of, |column| Meaning::Scores(column, labels()))?
            }
            Question::Ordered(function, of) => {
                self.ordered(*function, of, question.public_text())?
            }
            Question::Logistic(of) => {
                self.of_each_row(of, |column| Meaning::Logistic(column, labels()))?
            }
            Question::Tree(tree) => self.tree(tree)?,
        })
    }

    /// The number of radix blocks of a number of `bits` bits.
    fn block_count(&self, bits: u32) -> u32 {
        self.parameters.block_encoding().block_count(bits) as u32
    }

    fn row_count(&self) -> u32 {
        self.table.row_count() as u32
    }

    /// Returns the values of an expression, and their encoding without the form that they have in uploads.
    fn values(&self, of: &Expression) -> Result<(Number, Column), EvaluateError> {
        let column = Column {
            compact: None,
            derived: Default::default(),
            ..of.encoding(self.table.metadata())?
        };
        Ok((of.number(self.table)?, column))
    }

    /// Returns the values of an expression if some of them may be missing.
    fn optional(&self, of: &Expression) -> Result<Option<Optional>, EvaluateError> {
        let Some(valid) = self.valid(of)? else {
            return Ok(None);
        };
        let (number, column) = self.values(of)?;
        let values = OptionalNumber::new(number, valid)?;
        Ok(Some(Optional { values, column }))
    }

    /// Returns the value of an expression in each row.
    fn of_each_row(
        &self,
        of: &Expression,
        meaning: impl FnOnce(Column) -> Meaning,
    ) -> Result<Asked, EvaluateError> {
        let (number, column) = self.values(of)?;
        let meaning = meaning(column);
        Ok(match self.valid(of)? {
            None => Asked::new([number], meaning),
            Some(valid) => {
                let meaning = meaning.with_gaps(Gaps::Flagged);
                Asked::new([valid.as_number(), number], meaning)
            }
        })
    }

    fn aggregate(&self, aggregate: Aggregate, of: &Expression) -> Result<Asked, EvaluateError> {
        if let Some(optional) = self.optional(of)? {
            return self.aggregate_optional(aggregate, optional);
        }
        let (number, column) = self.values(of)?;
        let rows = self.row_count();
        let spread = |sample, root, column| {
            let sum = number.sum();
            let meaning = Meaning::Spread {
                column,
                rows,
                sum_blocks: self.block_count(sum.bits()),
                measure: Spread { sample, root },
            };
            Asked::new([sum, number.sum_of_squared_codes()], meaning)
        };
        let place = |(index, value): (Number, Number), column| {
            let code_blocks = self.block_count(value.bits());
            let labels = self.table.labels().to_vec();
            Asked::new([value, index], Meaning::Place(column, code_blocks, labels))
        };
        Ok(match aggregate {
            Aggregate::Min => Asked::new([number.min()], Meaning::Reading(column)),
            Aggregate::Max => Asked::new([number.max()], Meaning::Reading(column)),
            Aggregate::Range => Asked::new([number.min(), number.max()], Meaning::Range(column)),
            Aggregate::Count => {
                let all = number.same_for_all(true).count();
                Asked::new([all], Meaning::Present(rows))
            }
            Aggregate::Sum => Asked::new([number.sum()], Meaning::Sum(column, rows)),
            Aggregate::Mean => Asked::new([number.sum()], Meaning::Mean(column, rows)),
            Aggregate::Argmin => place(number.arg_min(), column),
            Aggregate::Argmax => place(number.arg_max(), column),
            Aggregate::Variance => spread(false, false, column),
            Aggregate::Std => spread(false, true, column),
            Aggregate::SampleVariance => spread(true, false, column),
            Aggregate::SampleStd => spread(true, true, column),
            Aggregate::Median => self.percentile(of, 50.0)?,
            Aggregate::First => self.row(&number, column, self.ends.0)?,
            Aggregate::Last => self.row(&number, column, self.ends.1)?,
        })
    }

    /// The value in the row at a place.
    fn row(&self, number: &Number, column: Column, place: usize) -> Result<Asked, EvaluateError> {
        let label = self.table.labels().get(place).cloned().unwrap_or_default();
        Ok(Asked::new(
            [number.item(place)?],
            Meaning::Row(column, label),
        ))
    }

    fn percentile(&self, of: &Expression, percent: f64) -> Result<Asked, EvaluateError> {
        if let Some(optional) = self.optional(of)? {
            return self.percentile_optional(optional, percent);
        }
        let (number, column) = self.values(of)?;
        Ok(Asked::new(
            [number.percentile(percent)?],
            Meaning::Reading(column),
        ))
    }

    /// Returns the mask of the rows that a condition is true in.
    fn holds(&self, condition: &Condition) -> Result<Mask, EvaluateError> {
        match self.is_optional(condition)? {
            true => self.decided(condition, true),
            false => self.met(condition),
        }
    }

    /// Returns the mask of the rows that meet a condition, as if no reading were missing.
    fn met(&self, condition: &Condition) -> Result<Mask, EvaluateError> {
        let all_met = |list: &[Condition]| {
            let met = list.iter().map(|condition| self.met(condition));
            met.collect::<Result<Vec<Mask>, _>>()
        };
        Ok(match condition {
            Condition::Compare {
                of,
                relation,
                threshold,
            } => self.compare(of, *relation, threshold, None)?,
            Condition::Between { of, low, high } => {
                let ends = [
                    self.compare(of, Relation::Ge, low, None)?,
                    self.compare(of, Relation::Le, high, None)?,
                ];
                Mask::all_of(&[&ends[0], &ends[1]])?
            }
            Condition::In { of, values } => {
                let (number, column) = self.values(of)?;
                let mut limits = Vec::with_capacity(values.len());
                for value in values {
                    // Thresholds that no value can be equal to are left out.
                    if let CodeLimit::Code(_, limit) =
                        self.limit(of, &number, &column, Comparing::Among, value)?
                    {
                        limits.push(limit);
                    }
                }
                number.codes_among(&limits)
            }
            Condition::All(list) => {
                let met = all_met(list)?;
                Mask::all_of(&met.iter().collect::<Vec<_>>())?
            }
            Condition::Any(list) => {
                let met = all_met(list)?;
                Mask::any_of(&met.iter().collect::<Vec<_>>())?
            }
            Condition::Not(condition) => self.met(condition)?.negated(),
        })
    }

    /// Returns the mask of the rows, of those with a value if they are given, that a comparison is true in.
    fn compare(
        &self,
        of: &Expression,
        relation: Relation,
        threshold: &Threshold,
        valid: Option<&Mask>,
    ) -> Result<Mask, EvaluateError> {
        let among_valid = |mask: Mask| match valid {
            Some(valid) => mask.and(valid),
            None => Ok(mask),
        };
        let (number, column) = self.values(of)?;
        let (relation, limit) =
            match self.limit(of, &number, &column, Comparing::With(relation), threshold)? {
                CodeLimit::Always(answer) => {
                    return Ok(match (answer, valid) {
                        (true, Some(valid)) => valid.clone(),
                        _ => number.same_for_all(answer),
                    });
                }
                CodeLimit::Code(relation, limit) => (relation, limit),
            };
        match self.two_columns(of, &limit)? {
            Some([a, b]) => Ok(among_valid(a.compare_codes_of(relation, &b)?)?),
            None => match valid {
                Some(valid) => {
                    let values = OptionalNumber::new(number, valid.clone())?;
                    Ok(values.compare_codes(relation, &limit)?)
                }
                None => Ok(number.compare_codes(relation, &limit)),
            },
        }
    }

    /// Returns the two columns of a difference if their codes are equal exactly where the difference is at
    /// the limit. Comparing them is cheaper than subtracting them.
    fn two_columns(
        &self,
        of: &Expression,
        limit: &Limit,
    ) -> Result<Option<[Number; 2]>, EvaluateError> {
        let Limit::Clear(code) = *limit else {
            return Ok(None);
        };
        let [(a, weight), (b, other)] = &of.terms[..] else {
            return Ok(None);
        };
        let named = |name: &str| Expression::from(name).number(self.table);
        let (a, b) = (named(a)?, named(b)?);
        let factors = columns::combine(
            &[(a.encoding()?, *weight), (b.encoding()?, *other)],
            of.constant,
        )?
        .factors;
        let shift = (1u64 << b.bits()) - 1;
        let same = factors == [1, -1] && a.bits() == b.bits() && code == shift;
        Ok(same.then_some([a, b]))
    }

    /// Returns a threshold in the form that codes of an expression are compared with.
    fn limit(
        &self,
        of: &Expression,
        number: &Number,
        column: &Column,
        comparing: Comparing,
        threshold: &Threshold,
    ) -> Result<CodeLimit, EvaluateError> {
        let (encoding, relation) = (encoding_of(column)?, comparing.relation());
        let misfit = || RequestError::ThresholdEncoding {
            name: column.name.clone(),
        };
        let encrypted = match (threshold, self.thresholds) {
            (Threshold::Clear(value), _) => {
                return Ok(match code_condition(&encoding, relation, *value) {
                    CodeCondition::Always(answer) => CodeLimit::Always(answer),
                    CodeCondition::Compare(relation, code) => {
                        CodeLimit::Code(relation, Limit::Clear(code))
                    }
                });
            }
            (
                Threshold::Encrypted {
                    first_block,
                    offset,
                    scale,
                    bits,
                },
                Thresholds::Encrypted(list),
            ) if (*offset, *scale, *bits) == (column.offset, column.scale, column.bits) => {
                let first = *first_block as usize;
                let blocks = self.block_count(column.bits) as usize;
                let ciphertexts = list
                    .as_ref()
                    .and_then(|list| list.blocks(first..first.checked_add(blocks)?))
                    .ok_or_else(misfit)?;
                number.encrypted_limit(ciphertexts)
            }
            (
                Threshold::EncryptedCode {
                    index,
                    offset,
                    scale,
                    bits,
                },
                Thresholds::Encrypted(Some(list)),
            ) if (*offset, *scale, *bits) == (column.offset, column.scale, column.bits) => number
                .compact_limit(list, *index as usize)
                .ok_or_else(misfit)?,
            (Threshold::ToEncrypt(value), Thresholds::StandIns) => {
                let code = threshold_code(&encoding, relation, *value).unwrap_or(0);
                let readings = self.table.metadata();
                match of.limit_encoding(readings, &self.parameters, comparing, column.bits) {
                    Some(encoding) => number.rehearsed_compact_limit(code, &encoding),
                    None => Some(number.rehearsed_limit(code)),
                }
                .ok_or_else(misfit)?
            }
            _ => return Err(misfit().into()),
        };
        Ok(CodeLimit::Code(relation, Limit::Encrypted(encrypted)))
    }

    fn tree(&self, tree: &Tree) -> Result<Asked, EvaluateError> {
        let mut leaves: Vec<String> = tree.leaves.clone();
        leaves.sort();
        leaves.dedup();
        let branch = |branch| match branch {
            Branch::Node(node) => columns::Branch::Node(node as usize),
            Branch::Leaf(leaf) => {
                let text = tree.leaves.get(leaf as usize);
                let place = text.and_then(|text| leaves.binary_search(text).ok());
                columns::Branch::Leaf(place.unwrap_or_default() as u64)
            }
        };
        /// A condition as a number with a clear threshold, or as a mask.
        enum Asks {
            Compare(Number, Relation, f64),
            Holds(Mask),
        }
        let asks = tree.nodes.iter().map(|node| match &node.condition {
            Condition::Compare {
                of,
                relation,
                threshold: Threshold::Clear(threshold),
            } if !matches!(relation, Relation::Eq | Relation::Ne) && self.valid(of)?.is_none() => {
                Ok(Asks::Compare(of.number(self.table)?, *relation, *threshold))
            }
            condition => Ok(Asks::Holds(self.holds(condition)?)),
        });
        let asks: Vec<Asks> = asks.collect::<Result<_, EvaluateError>>()?;
        let nodes = tree.nodes.iter().zip(&asks).map(|(node, asks)| {
            let decision = match asks {
                Asks::Compare(number, relation, value) => {
                    Decision::Compare(number, *relation, *value)
                }
                Asks::Holds(mask) => Decision::Holds(mask),
            };
            (decision, branch(node.then), branch(node.otherwise))
        });
        let decided = decide(&nodes.collect::<Vec<_>>())?;
        let meaning = Meaning::Leaves(self.table.labels().to_vec(), leaves);
        Ok(Asked::new([decided], meaning))
    }
}
