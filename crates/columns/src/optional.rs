//! Numbers some of whose rows are missing.
//!
//! As in SQL and pandas, reductions leave out what is missing, a result is missing where one of its operands is, and a
//! comparison with what is missing does not hold. An [`OptionalNumber`] is codes, and a [`Mask`] of the rows that have one; the
//! code of a missing reading of a column is 0. This is the one place that turns functions of such numbers into operators: what
//! must tell 0 from nothing takes both.

mod reductions;

use std::sync::Arc;

use crate::answer::{Computable, Form};
use crate::computed::Computed;
use crate::condition::Limit;
use crate::decimal::Decoder;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{Kind, Node, Op, Source};
use crate::number::{Number, Operand, common_rows};
use crate::table::told;
use crate::threshold::{CodeCondition, Relation, code_condition};
pub use reductions::OptionalStatistic;

/// Encrypted numbers in rows, some of which are missing. Which ones is encrypted.
///
/// ```
/// use tfhe_sbc_columns::{Error, Value};
///
/// # fn main() -> Result<(), Error> {
/// # let server = tfhe_sbc_columns::doc::rehearsal();
/// // 28.4, nothing and 31.5.
/// let table = tfhe_sbc_columns::doc::table_with_gaps(&server);
/// let temperature = table.optional("temperature_c")?;
/// let hot = temperature.gt(30.0)?.count();
/// let [mean, hot] = server.compute([&temperature.mean()?, &hot])?;
/// assert_eq!(mean.rehearsed()?.number(), Some(29.95));
/// assert_eq!(hot.rehearsed()?.number(), Some(1.0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OptionalNumber {
    number: Number,
    valid: Mask,
    /// True if the codes are those of a column, with 0 where it has no reading.
    are_zero: bool,
}

impl Computable for OptionalNumber {
    fn parts(&self) -> Vec<Computed> {
        // A number, because flags that were added up need no bootstrap, and truth values do.
        let flags = Computed::Number(self.valid.as_number());
        vec![flags, Computed::Number(self.number.clone())]
    }

    fn form(&self) -> Form {
        Form::Optional(Decoder::new(self.number.offset, self.number.scale))
    }
}

/// Returns the code below the mark of [`marked`](OptionalNumber::marked) codes of `bits` bits, or `Some(None)` if there is no
/// value. `None` for a code that is too wide.
pub fn unmarked(bits: u32, present: bool, marked: u128) -> Option<Option<u128>> {
    let mark = marked >> bits;
    match mark {
        0 | 1 if (mark == 1) == present => Some(Some(marked - (mark << bits))),
        0 | 1 => Some(None),
        _ => None,
    }
}

impl OptionalNumber {
    /// Returns the numbers of the rows in which the mask holds; the others are missing.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn new(number: Number, valid: Mask) -> Result<Self, Error> {
        number.backend.check_same(&valid.backend)?;
        common_rows(&[&number.node, &valid.node])?;
        let are_zero = are_of_one_column(&number.node.op(), &valid.node.op());
        Ok(Self {
            number,
            valid,
            are_zero,
        })
    }

    /// Returns a column and the rows in which it has readings, which belong together.
    pub(crate) fn of_column(number: Number, valid: Mask) -> Self {
        Self {
            number,
            valid,
            are_zero: true,
        }
    }

    /// Returns numbers none of which is missing.
    pub fn whole(number: Number) -> Self {
        let valid = number.same_for_all(true);
        Self {
            number,
            valid,
            are_zero: false,
        }
    }

    /// Returns whether the codes are 0 where there is no number.
    pub(crate) fn are_zero(&self) -> bool {
        self.are_zero
    }

    /// The numbers, whatever they are where they are missing.
    pub fn number(&self) -> &Number {
        &self.number
    }

    /// The number of rows, those without a number included.
    pub fn row_count(&self) -> usize {
        self.number.row_count()
    }

    /// The rows that have a number.
    pub fn notna(&self) -> &Mask {
        &self.valid
    }

    /// The rows whose number is missing.
    pub fn isna(&self) -> Mask {
        self.valid.negated()
    }

    /// The rows whose number is missing get this one. Values of a column's range that are near its lowest take
    /// no bootstrap.
    ///
    /// # Errors
    /// Operands that do not belong together, or that have no common encoding.
    pub fn fillna<'a>(&self, value: impl Into<Operand<'a>>) -> Result<Number, Error> {
        let value = value.into();
        if let Operand::Clear(value) = value
            && let Some(filled) = self.filled(value)?
        {
            return Ok(filled);
        }
        self.number.select(&self.valid, value)
    }

    /// The code of `value` added where there is none, if that is how it gets there: the codes of a column, which are 0 where
    /// readings are missing, and a value that has a code.
    fn filled(&self, value: f64) -> Result<Option<Number>, Error> {
        let number = &self.number;
        let code = match code_condition(&number.encoding()?, Relation::Eq, value) {
            CodeCondition::Compare(_, code) if self.are_zero => code,
            _ => return Ok(None),
        };
        let Ok(factor) = i64::try_from(code) else {
            return Ok(None);
        };
        if code == 0 {
            return Ok(Some(number.clone()));
        }
        // The smallest value of a sum with a negative factor is left out, so that `factor` is added where the mask is 0. There
        // the code is 0, so that the sum is no wider than the codes.
        let added = self.beside(-factor);
        Ok(Some(number.made(number.rows(), number.bits(), added)))
    }

    /// The codes, and `factor` more where there is a number.
    fn beside(&self, factor: i64) -> Op {
        let bit = Op::Bits(Arc::clone(&self.valid.node));
        let bit = Node::new(self.valid.node.rows, Kind::Code(1), bit);
        let terms = vec![(self.number.node(), 1), (bit, factor)];
        Op::Linear { terms, shift: 0 }
    }

    /// Returns the codes with one bit above them, which is `present` where there is a number and the opposite where there is
    /// none. So rows without a number come behind all others in ascending order if `present` is false, and in descending
    /// order if it is true. [`unmarked`] reads them.
    ///
    /// # Errors
    /// Codes of too many bits.
    pub fn marked(&self, present: bool) -> Result<Number, Error> {
        let bits = self.number.bits();
        let above = 1i64.checked_shl(bits).filter(|above| *above > 0);
        let above = above.ok_or(Error::TooWide)?;
        let factor = if present { above } else { -above };
        let rows = self.number.rows();
        // The smallest value of a sum with a negative factor is left out, so that the bit is 1 where the factor's is 0.
        Ok(self.number.made(rows, bits + 1, self.beside(factor)))
    }

    /// Returns the results of an operator on each row's number of both, missing where one of the two is.
    ///
    /// # Errors
    /// Those of the operator, and operands that do not belong together.
    pub fn zip(
        &self,
        other: &Self,
        operator: impl FnOnce(&Number, &Number) -> Result<Number, Error>,
    ) -> Result<Self, Error> {
        let valid = Mask::all_of(&[&self.valid, &other.valid])?;
        Self::new(operator(&self.number, &other.number)?, valid)
    }

    /// Returns the results of an operator on each row's number, missing where it is.
    ///
    /// # Errors
    /// Those of the operator, and a result of another number of rows.
    pub fn map(
        &self,
        operator: impl FnOnce(&Number) -> Result<Number, Error>,
    ) -> Result<Self, Error> {
        let number = operator(&self.number)?;
        let are_zero = self.are_zero && Arc::ptr_eq(&number.node, &self.number.node);
        Ok(Self {
            are_zero,
            ..Self::new(number, self.valid.clone())?
        })
    }

    /// Returns the rows at these places, which count from 0.
    ///
    /// # Errors
    /// No rows, or rows that are not there.
    pub fn take(&self, rows: &[usize]) -> Result<Self, Error> {
        Ok(Self {
            number: self.number.take(rows)?,
            valid: self.valid.take(rows)?,
            are_zero: self.are_zero,
        })
    }

    /// Returns, for each row, whether it has a number and that is in this relation to another one.
    ///
    /// # Errors
    /// Operands that do not belong together, or that have no common encoding.
    pub fn compare<'a>(
        &self,
        relation: Relation,
        other: impl Into<Operand<'a>>,
    ) -> Result<Mask, Error> {
        let value = match other.into() {
            Operand::Clear(value) if value.is_nan() => return Err(Error::NotFinite),
            Operand::Clear(value) => value,
            Operand::Encrypted(other) => {
                return self.number.compare(relation, other)?.and(&self.valid);
            }
        };
        Ok(
            match code_condition(&self.number.encoding()?, relation, value) {
                CodeCondition::Always(true) => self.valid.clone(),
                CodeCondition::Always(false) => self.number.same_for_all(false),
                CodeCondition::Compare(relation, code) => {
                    let limit = Limit::Clear(code);
                    self.compare_codes(relation, &limit)?
                }
            },
        )
    }

    /// Returns, for each row, whether both have a number and these are in this relation.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn compare_optional(&self, relation: Relation, other: &Self) -> Result<Mask, Error> {
        let holds = self.number.compare(relation, &other.number)?;
        Mask::all_of(&[&holds, &self.valid, &other.valid])
    }

    /// Returns, for each row, whether it has a number and the code of that is in this relation to a threshold.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn compare_codes(&self, relation: Relation, limit: &Limit) -> Result<Mask, Error> {
        let holds = self.number.compare_codes(relation, limit);
        // The code of a column is 0 where it has no reading, and that is not above another one.
        let is_above_lowest = match (relation, limit) {
            (Relation::Gt, Limit::Clear(_)) => true,
            (Relation::Ge | Relation::Eq, Limit::Clear(code)) => *code > 0,
            _ => false,
        };
        match self.are_zero && is_above_lowest {
            true => Ok(holds),
            false => holds.and(&self.valid),
        }
    }

    /// Returns `self < other` where there is a number.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn lt<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Lt, other)
    }

    /// Returns `self <= other` where there is a number.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn le<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Le, other)
    }

    /// Returns `self > other` where there is a number.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn gt<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Gt, other)
    }

    /// Returns `self >= other` where there is a number.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn ge<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Ge, other)
    }

    /// Returns `self == other` where there is a number.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn equals<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Eq, other)
    }

    /// Returns `low <= self && self <= high` where there is a number.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn between(&self, low: f64, high: f64) -> Result<Mask, Error> {
        Mask::all_of(&[&self.ge(low)?, &self.le(high)?])
    }

    /// Returns, for each row, whether it has a number and that is among these values.
    ///
    /// # Errors
    /// A number of more than 52 bits.
    pub fn one_of(&self, values: &[f64]) -> Result<Mask, Error> {
        self.number.one_of(values)?.and(&self.valid)
    }
}

/// Returns whether these are codes of a column and the rows in which it has readings.
fn are_of_one_column(number: &Op, valid: &Op) -> bool {
    match (number, valid) {
        (
            Op::Load { source, column },
            Op::Valid {
                source: other,
                column: other_column,
            },
        ) => Arc::ptr_eq(source, other) && column == other_column,
        (
            Op::Take { of, rows },
            Op::Take {
                of: other,
                rows: other_rows,
            },
        ) => rows == other_rows && are_of_one_column(&of.op(), &other.op()),
        (Op::Load { source, column }, Op::Public(flags)) => {
            told_of(source, *column).is_some_and(|told| told == *flags)
        }
        (Op::Take { of, rows }, Op::Public(flags)) => match &*of.op() {
            Op::Load { source, column } => told_of(source, *column)
                .is_some_and(|told| rows.iter().map(|&row| &told[row]).eq(flags)),
            _ => false,
        },
        _ => false,
    }
}

/// The truth values that tell where a column has a reading; `None` unless they are no secret.
fn told_of(source: &Source, column: usize) -> Option<Vec<u64>> {
    let described = source.metadata.columns.get(column)?;
    let tells = described.derived.tells_gaps();
    tells.then(|| told(&source.metadata, described))
}
