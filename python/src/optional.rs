//! Bindings of encrypted numbers some of which are missing.

use pyo3::prelude::*;
use tfhe_sbc_columns::{self as columns, OptionalNumber, unmarked};
use tfhe_sbc_python_shared::errors::TfheSbcError;

use crate::errors::refused;
use crate::mask::Mask;
use crate::number::{Number, made, number, pair_measure, relation};

/// Encrypted numbers in rows, some of which are missing.
#[pyclass(frozen)]
pub(crate) struct Optional(pub(crate) OptionalNumber);

impl Optional {
    /// Returns numbers for Python, unless they are too far from anything that is computed.
    pub(crate) fn made(made: Result<OptionalNumber, columns::Error>) -> PyResult<Self> {
        let optional = made.map_err(refused)?;
        optional.number().check_depth().map_err(refused)?;
        optional.notna().check_depth().map_err(refused)?;
        Ok(Self(optional))
    }
}

/// The error of a function that there is not.
fn unknown(function: &str) -> PyErr {
    TfheSbcError::new_err(format!(
        "there is no function '{function}' of rows in order"
    ))
}

#[pymethods]
impl Optional {
    /// Numbers none of which is missing.
    #[staticmethod]
    fn whole(number: &Number) -> Self {
        Self(OptionalNumber::whole(number.0.clone()))
    }

    /// The numbers of the rows in which a mask holds; the others are missing.
    #[staticmethod]
    fn masked(number: &Number, mask: &Mask) -> PyResult<Self> {
        Self::made(OptionalNumber::new(number.0.clone(), mask.0.clone()))
    }

    /// The numbers, whatever they are where they are missing.
    #[getter]
    fn number(&self) -> PyResult<Number> {
        number(self.0.number().clone())
    }

    /// The rows that have a number.
    #[getter]
    fn valid(&self) -> PyResult<Mask> {
        Mask::made(Ok(self.0.notna().clone()))
    }

    /// Returns `factor·self + constant`, where the factor is not 0.
    fn affine(&self, factor: f64, constant: f64) -> PyResult<Self> {
        Self::made(self.0.map(|number| number.affine(factor, constant)))
    }

    /// Returns `self + weight·other`, missing where one of the two is.
    fn add(&self, other: &Self, weight: f64) -> PyResult<Self> {
        Self::made(self.0.zip(&other.0, |a, b| a.add_weighted(b, weight)))
    }

    /// Returns `self·other`, missing where one of the two is.
    fn multiply(&self, other: &Self) -> PyResult<Self> {
        Self::made(self.0.zip(&other.0, |a, b| a.times(b)))
    }

    /// Returns, for each row, whether both have a number and these are in this relation.
    fn compare(&self, sign: &str, other: &Self) -> PyResult<Mask> {
        Mask::made(self.0.compare_optional(relation(sign)?, &other.0))
    }

    /// Returns, for each row, whether it has a number and that is in this relation to a clear one.
    fn compare_clear(&self, sign: &str, value: f64) -> PyResult<Mask> {
        Mask::made(self.0.compare(relation(sign)?, value))
    }

    /// Returns, for each row, whether it has a number and that is one of these values.
    fn one_of(&self, values: Vec<f64>) -> PyResult<Mask> {
        Mask::made(self.0.one_of(&values))
    }

    /// The numbers, and another one where they are missing.
    fn fill(&self, other: &Number) -> PyResult<Number> {
        made(self.0.fillna(&other.0))
    }

    /// The numbers, and a clear one where they are missing.
    fn fill_clear(&self, value: f64) -> PyResult<Number> {
        made(self.0.fillna(value))
    }

    /// Returns the rows at these places.
    fn take(&self, rows: Vec<usize>) -> PyResult<Self> {
        Self::made(self.0.take(&rows))
    }

    /// A function of the last `window` rows up to each row: `sum`, `mean`, `min` or `max`.
    fn rolling(&self, window: usize, min_periods: Option<usize>, function: &str) -> PyResult<Self> {
        let rolling = self.0.rolling(window, min_periods).map_err(refused)?;
        Self::made(match function {
            "sum" => rolling.sum(),
            "mean" => rolling.mean(),
            "min" => rolling.min(),
            "max" => rolling.max(),
            _ => return Err(unknown(function)),
        })
    }

    /// A function of all rows up to each row: `cumsum`, `cummin` or `cummax`.
    fn cumulative(&self, function: &str) -> PyResult<Self> {
        Self::made(match function {
            "cumsum" => self.0.cumsum(),
            "cummin" => self.0.cummin(),
            "cummax" => self.0.cummax(),
            _ => return Err(unknown(function)),
        })
    }

    /// The number `periods` rows before each row.
    fn shift(&self, periods: i64) -> PyResult<Self> {
        Self::made(self.0.shift(periods))
    }

    /// Each number less that `periods` rows before.
    fn diff(&self, periods: i64) -> PyResult<Self> {
        Self::made(self.0.diff(periods))
    }

    /// The sum of the products of this and another one, over the rows in which both are there.
    fn dot(&self, other: &Self) -> PyResult<Number> {
        made(self.0.dot(&other.0))
    }

    /// The number of rows in which this and another one are there, and the sums over these: see `Number.pair_value`.
    fn pair_sums(&self, other: &Self, function: &str) -> PyResult<Vec<Number>> {
        let sums = self.0.pair_sums(&other.0, pair_measure(function)?);
        sums.map_err(refused)?.into_iter().map(number).collect()
    }

    /// The number of rows that have a number.
    fn count(&self) -> PyResult<Number> {
        number(self.0.count())
    }

    /// The sum of the numbers that are there.
    fn sum(&self) -> PyResult<Number> {
        made(self.0.sum())
    }

    /// The sum of the codes of the numbers that are there.
    fn sum_of_codes(&self) -> PyResult<Number> {
        made(self.0.sum_of_codes())
    }

    /// The sum of the squares of the codes of the numbers that are there.
    fn sum_of_squared_codes(&self) -> PyResult<Number> {
        made(self.0.sum_of_squared_codes())
    }

    /// The smallest or the largest, below a mark: `unmarked` reads it.
    fn extreme(&self, largest: bool) -> PyResult<Number> {
        made(self.0.marked_extreme(largest))
    }

    /// The first numbers in an order, below marks, with those that are missing behind them: `unmarked` reads each.
    fn sorted(&self, largest_first: bool, count: usize) -> PyResult<Number> {
        let marked = self.0.marked(largest_first).map_err(refused)?;
        made(match largest_first {
            true => marked.largest(count),
            false => marked.smallest(count),
        })
    }

    /// The first row of the smallest or the largest, and that below a mark.
    fn place(&self, largest: bool) -> PyResult<(Number, Number)> {
        let marked = self.0.marked(largest).map_err(refused)?;
        let (index, value) = match largest {
            true => marked.arg_max(),
            false => marked.arg_min(),
        };
        Ok((number(index)?, number(value)?))
    }

    /// Returns how many rows with a number are from an edge up to but without the next; with `closed`, the last edge belongs to
    /// the last bin.
    fn histogram(&self, edges: Vec<f64>, closed: bool) -> PyResult<Number> {
        made(self.0.histogram(&edges, closed))
    }

    /// The number of a code with a mark, which is `present` if there is a number; `None` if there is none.
    fn unmarked(&self, present: bool, code: u128) -> PyResult<Option<f64>> {
        let code = unmarked(self.0.number().bits(), present, code);
        let code = code.ok_or_else(|| refused(columns::Error::Implausible))?;
        Ok(code.and_then(|code| self.0.number().decode(&[code]).first().copied()))
    }
}
