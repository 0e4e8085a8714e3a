//! Bindings of encrypted numbers.

use numpy::PyArray1;
use pyo3::prelude::*;
use tfhe_sbc_columns as columns;
use tfhe_sbc_columns::decimal::Decoder;
use tfhe_sbc_columns::{PairMeasure, PairSums, Relation};
use tfhe_sbc_python_shared::errors::TfheSbcError;

use crate::errors::refused;
// See the comment in `mask.rs`: the two files use each other.
use crate::mask::Mask;

/// Encrypted numbers, in rows or a single one.
#[pyclass(frozen)]
pub(crate) struct Number(pub(crate) columns::Number);

/// Returns a number for Python, unless it is too far from anything that is computed.
pub(crate) fn number(number: columns::Number) -> PyResult<Number> {
    number.check_depth().map_err(refused)?;
    Ok(Number(number))
}

pub(crate) fn made(made: Result<columns::Number, columns::Error>) -> PyResult<Number> {
    number(made.map_err(refused)?)
}

pub(crate) fn relation(sign: &str) -> PyResult<Relation> {
    let known = Relation::ALL.into_iter().find(|(_, text)| *text == sign);
    known
        .map(|(relation, _)| relation)
        .ok_or_else(|| TfheSbcError::new_err(format!("there is no comparison '{sign}'")))
}

/// The measure of a name of Python's.
pub(crate) fn pair_measure(function: &str) -> PyResult<PairMeasure> {
    Ok(match function {
        "cov" => PairMeasure::Covariance { sample: true },
        "population_cov" => PairMeasure::Covariance { sample: false },
        "corr" => PairMeasure::Correlation,
        _ => {
            let message = format!("there is no function '{function}' of two columns");
            return Err(TfheSbcError::new_err(message));
        }
    })
}

#[pymethods]
impl Number {
    /// Number of rows; `None` of a single one.
    #[getter]
    pub(crate) fn rows(&self) -> Option<usize> {
        self.0.rows()
    }

    /// The width of a code.
    #[getter]
    fn bits(&self) -> u32 {
        self.0.bits()
    }

    /// The number of code 0.
    #[getter]
    fn offset(&self) -> f64 {
        self.0.offset()
    }

    /// The step between codes.
    #[getter]
    fn scale(&self) -> f64 {
        self.0.scale()
    }

    /// The highest number that there is a code for.
    #[getter]
    fn maximum(&self) -> PyResult<f64> {
        self.0.maximum().map_err(refused)
    }

    #[getter]
    fn is_computed(&self) -> bool {
        self.0.is_computed()
    }

    /// Returns `factor·self + constant`, where the factor is not 0. A positive factor takes no
    /// bootstrap.
    fn affine(&self, factor: f64, constant: f64) -> PyResult<Self> {
        made(self.0.affine(factor, constant))
    }

    /// Returns `self + weight·other`.
    fn add(&self, other: &Self, weight: f64) -> PyResult<Self> {
        made(self.0.add_weighted(&other.0, weight))
    }

    /// Returns `constant + step·Σ factor·code` of the codes of several numbers.
    #[staticmethod]
    fn combined_codes(
        terms: Vec<(PyRef<'_, Self>, i64)>,
        step: f64,
        constant: f64,
    ) -> PyResult<Self> {
        let terms = terms.iter().map(|(number, factor)| (&number.0, *factor));
        let terms: Vec<(&columns::Number, i64)> = terms.collect();
        made(columns::Number::combined_codes(&terms, step, constant))
    }

    /// Returns `self·other`.
    fn multiply(&self, other: &Self) -> PyResult<Self> {
        made(self.0.times(&other.0))
    }

    /// Compares each row with that of another number.
    fn compare(&self, sign: &str, other: &Self) -> PyResult<Mask> {
        Mask::made(self.0.compare(relation(sign)?, &other.0))
    }

    /// Compares each row with a clear number.
    fn compare_clear(&self, sign: &str, value: f64) -> PyResult<Mask> {
        Mask::made(self.0.compare(relation(sign)?, value))
    }

    /// Compares each row's code with a clear one.
    fn compare_code(&self, sign: &str, code: u64) -> PyResult<Mask> {
        let limit = columns::Limit::Clear(code);
        Mask::made(Ok(self.0.compare_codes(relation(sign)?, &limit)))
    }

    /// Returns, for each row, whether it is one of these values.
    fn one_of(&self, values: Vec<f64>) -> PyResult<Mask> {
        Mask::made(self.0.one_of(&values))
    }

    /// This where the condition holds, another one elsewhere.
    fn select(&self, mask: &Mask, otherwise: &Self) -> PyResult<Self> {
        made(self.0.select(&mask.0, &otherwise.0))
    }

    /// This where the condition holds, a clear number elsewhere.
    fn select_clear(&self, mask: &Mask, otherwise: f64) -> PyResult<Self> {
        made(self.0.select(&mask.0, otherwise))
    }

    /// The code where the condition holds, 0 elsewhere: as a number of the same step whose code 0
    /// is 0.
    fn keep(&self, mask: &Mask) -> PyResult<Self> {
        made(self.0.keep(&mask.0))
    }

    /// Returns clear numbers of this one's step, one for each of its rows.
    fn public(&self, values: Vec<f64>) -> PyResult<Self> {
        made(self.0.public(&values))
    }

    /// Returns clear numbers with a step of their own, one for each of this one's rows.
    fn clear(&self, values: Vec<f64>) -> PyResult<Self> {
        made(self.0.clear(&values))
    }

    /// The sum of the products of this and another number, row by row.
    fn dot(&self, other: &Self) -> PyResult<Self> {
        made(self.0.dot(&other.0))
    }

    /// The sums that give a function of this and another number: see `pair_value`.
    fn pair_sums(&self, other: &Self, function: &str) -> PyResult<Vec<Self>> {
        let sums = self.0.pair_sums(&other.0, pair_measure(function)?);
        sums.map_err(refused)?.into_iter().map(number).collect()
    }

    /// The function of this and another number, from the number of rows and the decrypted sums; `None` if there is none.
    fn pair_value(
        &self,
        other: &Self,
        function: &str,
        rows: u32,
        sums: Vec<u128>,
    ) -> PyResult<Option<f64>> {
        let decoders =
            [self, other].map(|number| Decoder::new(number.0.offset(), number.0.scale()));
        let measure = pair_measure(function)?;
        let value = PairSums::read(rows, &sums)
            .and_then(|sums| measure.of_sums([&decoders[0], &decoders[1]], &sums));
        value.ok_or_else(|| refused(columns::Error::Implausible))
    }

    /// Returns the rows at these places.
    fn take(&self, rows: Vec<usize>) -> PyResult<Self> {
        made(self.0.take(&rows))
    }

    /// Returns the row at a place.
    fn item(&self, row: usize) -> PyResult<Self> {
        made(self.0.item(row))
    }

    /// The sum of the rows.
    fn sum(&self) -> PyResult<Self> {
        number(self.0.sum())
    }

    /// The sum of the squares of the rows' codes.
    fn sum_of_squared_codes(&self) -> PyResult<Self> {
        number(self.0.sum_of_squared_codes())
    }

    /// The smallest or the largest.
    fn extreme(&self, largest: bool) -> PyResult<Self> {
        number(match largest {
            true => self.0.max(),
            false => self.0.min(),
        })
    }

    /// The first row of the smallest or the largest, and that.
    fn place(&self, largest: bool) -> PyResult<(Self, Self)> {
        let (index, value) = match largest {
            true => self.0.arg_max(),
            false => self.0.arg_min(),
        };
        Ok((number(index)?, number(value)?))
    }

    /// The one that `rank` others come before.
    fn rank(&self, rank: usize) -> PyResult<Self> {
        made(self.0.rank(rank))
    }

    /// The first ones in order.
    fn sorted(&self, largest_first: bool, count: usize) -> PyResult<Self> {
        made(match largest_first {
            true => self.0.largest(count),
            false => self.0.smallest(count),
        })
    }

    /// Returns how many rows are from an edge up to but without the next; with `closed`, the last
    /// edge belongs to the last bin.
    fn histogram(&self, edges: Vec<f64>, closed: bool) -> PyResult<Self> {
        made(self.0.histogram(&edges, closed))
    }

    /// The numbers of codes.
    fn decoded<'py>(&self, py: Python<'py>, codes: Vec<u128>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.0.decode(&codes))
    }
}
