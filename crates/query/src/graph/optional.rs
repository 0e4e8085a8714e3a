//! Questions about values some of which are missing, because the reading of a column is.
//!
//! As in SQL, functions leave out what is missing, an expression is missing where one of its columns is, and a
//! comparison with what is missing is neither true nor false: a condition holds in the rows in which it is true.

use tfhe_sbc_columns::{Mask, Number, OptionalNumber};
use tfhe_sbc_upload::readings::Column;

use super::{Asked, Graph};
use crate::Aggregate;
use crate::condition::Condition;
use crate::error::EvaluateError;
use crate::expression::Expression;
use crate::results::{Gaps, Meaning, Spread, percentile_place};

/// The values of an expression some of which may be missing.
pub(super) struct Optional {
    pub(super) values: OptionalNumber,
    /// The encoding of the values.
    pub(super) column: Column,
}

impl Graph<'_> {
    /// The rows in which all columns of an expression have a reading; `None` if no reading can be missing.
    pub(super) fn valid(&self, of: &Expression) -> Result<Option<Mask>, EvaluateError> {
        let mut masks = Vec::new();
        for (name, _) in &of.terms {
            masks.extend(self.table.valid(name)?);
        }
        Ok(match masks[..] {
            [] => None,
            [only] => Some(only.clone()),
            _ => Some(Mask::all_of(&masks)?),
        })
    }

    /// Returns whether a condition is about a column whose readings may be missing.
    pub(super) fn is_optional(&self, condition: &Condition) -> Result<bool, EvaluateError> {
        for (of, ..) in condition.comparisons() {
            if self.valid(of)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of values that are there, and the number of its blocks.
    fn counted(&self, values: &OptionalNumber) -> (Number, Gaps) {
        let count = values.count();
        let blocks = self.block_count(count.bits());
        (count, Gaps::Counted(blocks))
    }

    /// Returns the values that answer an aggregate.
    ///
    /// # Errors
    /// Values that have no encoding.
    pub(super) fn aggregate_optional(
        &self,
        aggregate: Aggregate,
        Optional { values, column }: Optional,
    ) -> Result<Asked, EvaluateError> {
        let rows = self.row_count();
        let marked = |present| values.marked(present);
        let (count, counted) = self.counted(&values);
        let sums = |meaning: Meaning, squares: bool| {
            let squares = squares.then(|| values.sum_of_squared_codes()).transpose()?;
            let parts = [count.clone(), values.sum_of_codes()?]
                .into_iter()
                .chain(squares);
            Ok::<_, EvaluateError>(Asked::new(parts, meaning.with_gaps(counted.clone())))
        };
        let spread = |sample, root, column| {
            let sum = values.sum_of_codes()?;
            let meaning = Meaning::Spread {
                column,
                rows,
                sum_blocks: self.block_count(sum.bits()),
                measure: Spread { sample, root },
            };
            sums(meaning, true)
        };
        let place = |(index, value): (Number, Number), column, present| {
            let code_blocks = self.block_count(value.bits());
            let labels = self.table.labels().to_vec();
            let meaning = Meaning::Place(column, code_blocks, labels);
            Asked::new([value, index], meaning.with_gaps(Gaps::Marked(present)))
        };
        let reading = |number, present| {
            let meaning = Meaning::Reading(column.clone());
            Asked::new([number], meaning.with_gaps(Gaps::Marked(present)))
        };
        let row = |at: usize| {
            let label = self.table.labels().get(at).cloned().unwrap_or_default();
            let parts = [
                values.notna().item(at)?.as_number(),
                values.number().item(at)?,
            ];
            let meaning = Meaning::Row(column.clone(), label);
            Ok::<_, EvaluateError>(Asked::new(parts, meaning.with_gaps(Gaps::Flagged)))
        };
        Ok(match aggregate {
            Aggregate::Min => reading(values.marked_extreme(false)?, false),
            Aggregate::Max => reading(values.marked_extreme(true)?, true),
            Aggregate::Range => {
                let meaning = Meaning::Range(column).with_gaps(Gaps::Marked(false));
                let ends = [values.marked_extreme(false)?, values.marked_extreme(true)?];
                Asked::new(ends, meaning)
            }
            Aggregate::Argmin => place(marked(false)?.arg_min(), column, false),
            Aggregate::Argmax => place(marked(true)?.arg_max(), column, true),
            Aggregate::Count => Asked::new([count], Meaning::Present(rows)),
            Aggregate::Sum => sums(Meaning::Sum(column, rows), false)?,
            Aggregate::Mean => sums(Meaning::Mean(column, rows), false)?,
            Aggregate::Variance => spread(false, false, column)?,
            Aggregate::Std => spread(false, true, column)?,
            Aggregate::SampleVariance => spread(true, false, column)?,
            Aggregate::SampleStd => spread(true, true, column)?,
            Aggregate::Median => {
                let optional = Optional { values, column };
                return self.percentile_optional(optional, 50.0);
            }
            Aggregate::First => row(self.ends.0)?,
            Aggregate::Last => row(self.ends.1)?,
        })
    }

    /// Returns the numbers of values in the bins of a histogram, and that of all of them.
    pub(super) fn histogram_optional(
        &self,
        Optional { values, column }: Optional,
        edges: &[f64],
    ) -> Result<Asked, EvaluateError> {
        let meaning = Meaning::Histogram {
            column,
            edges: edges.to_vec(),
            rows: self.row_count(),
        };
        let (count, counted) = self.counted(&values);
        let bins = values.histogram(edges, false)?;
        Ok(Asked::new([count, bins], meaning.with_gaps(counted)))
    }

    /// Returns all values in ascending order, behind which those come that are missing.
    pub(super) fn sorted_optional(
        &self,
        Optional { values, column }: Optional,
    ) -> Result<Asked, EvaluateError> {
        let rows = self.row_count();
        let sorted = values.marked(false)?.smallest(rows as usize)?;
        let meaning = Meaning::Readings(column, rows).with_gaps(Gaps::Marked(false));
        Ok(Asked::new([sorted], meaning))
    }

    /// Returns the largest values and their rows, behind which those come that are missing.
    pub(super) fn top_k_optional(
        &self,
        Optional { values, column }: Optional,
        count: u32,
    ) -> Result<Asked, EvaluateError> {
        let marked = values.marked(true)?;
        let (places, values) = marked.largest_places(count as usize)?;
        let meaning = Meaning::Places {
            column,
            count,
            code_blocks: self.block_count(values.bits()),
            labels: self.table.labels().to_vec(),
        };
        let meaning = meaning.with_gaps(Gaps::Marked(true));
        Ok(Asked::new([values, places], meaning))
    }

    /// Returns the first values in an order, up to the last that the percentile may be, and the number of values that are
    /// there, which tells the key owner which of them it is.
    pub(super) fn percentile_optional(
        &self,
        Optional { values, column }: Optional,
        percent: f64,
    ) -> Result<Asked, EvaluateError> {
        let rows = values.row_count();
        let most = |descending| {
            let places = (1..=rows).map(|count| percentile_place(percent, count, descending));
            places.max().unwrap_or(0) + 1
        };
        let (ascending, descending) = (most(false), most(true));
        let from_above = descending < ascending;
        let marked = values.marked(from_above)?;
        let sorted = match from_above {
            true => marked.largest(descending)?,
            false => marked.smallest(ascending)?,
        };
        let count = values.count();
        let meaning = Meaning::Percentile {
            column,
            percent,
            rows: self.row_count(),
            count_blocks: self.block_count(count.bits()),
            values: sorted.row_count() as u32,
            descending: from_above,
        };
        Ok(Asked::new([count, sorted], meaning))
    }

    /// Returns the rows in which a condition is true, or those in which it is false. In the others, it is neither.
    pub(super) fn decided(
        &self,
        condition: &Condition,
        truth: bool,
    ) -> Result<Mask, EvaluateError> {
        // By De Morgan's laws negations end at the comparisons.
        let several = |list: &[Condition], all: bool| {
            let each = list.iter().map(|condition| self.decided(condition, truth));
            let each = each.collect::<Result<Vec<Mask>, _>>()?;
            let each: Vec<&Mask> = each.iter().collect();
            Ok(match all == truth {
                true => Mask::all_of(&each)?,
                false => Mask::any_of(&each)?,
            })
        };
        match condition {
            Condition::Not(condition) => self.decided(condition, !truth),
            Condition::All(list) => several(list, true),
            Condition::Any(list) => several(list, false),
            Condition::Compare { of, .. }
            | Condition::Between { of, .. }
            | Condition::In { of, .. } => {
                let valid = self.valid(of)?;
                match (condition, truth, &valid) {
                    (
                        Condition::Compare {
                            of,
                            relation,
                            threshold,
                        },
                        true,
                        Some(valid),
                    ) => self.compare(of, *relation, threshold, Some(valid)),
                    (_, true, None) => self.met(condition),
                    (_, true, Some(valid)) => Ok(self.met(condition)?.and(valid)?),
                    (_, false, None) => Ok(self.met(condition)?.negated()),
                    (_, false, Some(valid)) => Ok(self.met(condition)?.negated().and(valid)?),
                }
            }
        }
    }
}
