//! Rows that meet conditions: the rows themselves, their number, and the sum of their readings.

use super::AnalyticsError;
use crate::circuit::{Block, Circuit};
use crate::integer::{Comparison, FheBool, FheUint, Integer, Signedness, Width};

/// A condition on a row of a table. Limits are encrypted, or clear ([`Circuit::clear`]).
#[derive(Clone, Debug)]
pub enum Condition<S> {
    /// A comparison of the reading of a column with a limit.
    Compare(usize, Comparison, Integer<S>),
    /// A test that the reading of a column is at least the first limit and at most the second.
    Between(usize, Integer<S>, Integer<S>),
    /// A test that the reading of a column is one of these.
    OneOf(usize, Vec<Integer<S>>),
    /// The negation of a condition.
    Not(Box<Self>),
    /// The conjunction of conditions.
    All(Vec<Self>),
    /// The disjunction of conditions.
    Any(Vec<Self>),
}

impl Circuit {
    /// Returns, for each row of a table of columns, whether it meets a condition.
    ///
    /// # Errors
    /// If a column is empty or not of one width and this circuit, the columns have different
    /// numbers of rows, or the condition names a column that does not exist or a limit of another
    /// width.
    pub fn rows_where<S: Signedness>(
        &self,
        columns: &[&[Integer<S>]],
        condition: &Condition<S>,
    ) -> Result<Vec<FheBool>, AnalyticsError> {
        let rows = columns.first().map_or(0, |column| column.len());
        for column in columns {
            self.check_column(column)?;
            if column.len() != rows {
                return Err(AnalyticsError::Rows(rows, column.len()));
            }
        }
        if rows == 0 {
            return Err(AnalyticsError::NoRows);
        }
        let _batch = self.batch_of(rows);
        self.meet(columns, rows, condition)
    }

    /// Returns the number of rows of a table of columns that meet a condition, in the width that
    /// the number of rows needs.
    ///
    /// # Errors
    /// As for [`rows_where`](Self::rows_where).
    pub fn count_where<S: Signedness>(
        &self,
        columns: &[&[Integer<S>]],
        condition: &Condition<S>,
    ) -> Result<FheUint, AnalyticsError> {
        let met = self.rows_where(columns, condition)?;
        Ok(self.propagate_unchecked(&self.count(&met)?))
    }

    /// Returns the sum of the readings of the rows whose truth value holds.
    ///
    /// # Errors
    /// If the column is empty or not of one width and this circuit, or the number of truth values
    /// is not that of its rows.
    pub fn sum_where(
        &self,
        column: &[FheUint],
        rows: &[FheBool],
    ) -> Result<FheUint, AnalyticsError> {
        let kept = self.keep_where(column, rows)?;
        Ok(self.propagate_unchecked(&self.sum(&kept)?))
    }

    /// Returns the readings of the rows whose truth value holds, and 0 for the others.
    ///
    /// # Errors
    /// As for [`sum_where`](Self::sum_where).
    pub fn keep_where(
        &self,
        column: &[FheUint],
        rows: &[FheBool],
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        self.check_column(column)?;
        self.check_bits(rows, column.len())?;
        let bits: Vec<Block> = rows.iter().map(|row| self.bit(row)).collect();
        let both = column.iter().zip(&bits);
        let _batch = self.batch_of(column.len());
        Ok(both.map(|(x, bit)| self.masked(bit, x)).collect())
    }

    fn meet<S: Signedness>(
        &self,
        columns: &[&[Integer<S>]],
        rows: usize,
        condition: &Condition<S>,
    ) -> Result<Vec<FheBool>, AnalyticsError> {
        let column = |at: usize| {
            columns.get(at).copied().ok_or(AnalyticsError::NoColumn {
                column: at,
                count: columns.len(),
            })
        };
        let together = |conditions: &[Condition<S>], all: bool| {
            let met = conditions
                .iter()
                .map(|condition| self.meet(columns, rows, condition))
                .collect::<Result<Vec<_>, _>>()?;
            let row = |i: usize| {
                let bits = met.iter().map(move |bits: &Vec<FheBool>| &bits[i]);
                match all {
                    true => self.all(bits),
                    false => self.any(bits),
                }
            };
            Ok((0..rows).map(row).collect::<Result<Vec<_>, _>>()?)
        };
        match condition {
            Condition::Compare(at, comparison, limit) => {
                self.compare_all(*comparison, column(*at)?, limit)
            }
            Condition::Between(at, low, high) => {
                let from = self.compare_all(Comparison::Ge, column(*at)?, low)?;
                let to = self.compare_all(Comparison::Le, column(*at)?, high)?;
                let both = from.iter().zip(&to).map(|(from, to)| self.and(from, to));
                Ok(both.collect::<Result<_, _>>()?)
            }
            Condition::OneOf(at, values) => self.is_one_of(column(*at)?, values),
            Condition::Not(condition) => {
                let met = self.meet(columns, rows, condition)?;
                Ok(met.iter().map(|bit| self.not(bit)).collect())
            }
            Condition::All(conditions) => together(conditions, true),
            Condition::Any(conditions) => together(conditions, false),
        }
    }

    /// The comparison of each reading with a limit.
    fn compare_all<S: Signedness>(
        &self,
        comparison: Comparison,
        column: &[Integer<S>],
        limit: &Integer<S>,
    ) -> Result<Vec<FheBool>, AnalyticsError> {
        let is_equality = matches!(comparison, Comparison::Eq | Comparison::Ne);
        if is_equality || !S::SIGNED {
            let compared = column.iter().map(|x| self.compare(comparison, x, limit));
            return Ok(compared.collect::<Result<_, _>>()?);
        }
        // The sign of the limit is flipped once, rather than in each comparison.
        self.check(&[&column[0], limit])?;
        let limits = self.ordered(std::slice::from_ref(limit));
        let readings = self.ordered(column);
        let compared = readings
            .iter()
            .map(|x| self.compare(comparison, x, &limits[0]));
        Ok(compared.collect::<Result<_, _>>()?)
    }

    fn is_one_of<S: Signedness>(
        &self,
        column: &[Integer<S>],
        values: &[Integer<S>],
    ) -> Result<Vec<FheBool>, AnalyticsError> {
        let width = self.check_column(column)?;
        for value in values {
            self.check(&[&column[0], value])?;
        }
        if values.is_empty() {
            return Ok(vec![self.clear_bool(false); column.len()]);
        }
        let clear: Option<Vec<i64>> = values.iter().map(|x| self.clear_value(x, width)).collect();
        let is_one = |x: &Integer<S>| {
            let packed = self.packed(&x.clone().reinterpret());
            if let (Some(packed), Some(clear)) = (packed, &clear) {
                return Ok(FheBool::of(packed, |x| clear.contains(&x)));
            }
            let equal = values
                .iter()
                .map(|value| self.compare(Comparison::Eq, x, value))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(self.any(&equal)?)
        };
        column.iter().map(is_one).collect()
    }

    /// The bits of a narrow clear integer.
    fn clear_value<S: Signedness>(&self, x: &Integer<S>, width: Width) -> Option<i64> {
        if width.bits() > 62 {
            return None;
        }
        let base = self.message_modulus();
        let mut blocks = x.blocks().iter().rev();
        let value = blocks.try_fold(0, |sum, digit| Some(sum * base + digit.clear_value()?))?;
        Some(value & ((1 << width.bits()) - 1))
    }
}
