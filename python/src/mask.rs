//! Bindings of encrypted truth values.

use pyo3::prelude::*;
use tfhe_sbc_columns as columns;

use crate::errors::refused;
// A comparison of numbers gives a mask and a count of a mask gives a number, so these two files use
// each other.
use crate::number::{Number, made, number};

/// Encrypted truth values, in rows or a single one.
#[pyclass(frozen)]
pub(crate) struct Mask(pub(crate) columns::Mask);

impl Mask {
    /// Returns a mask for Python, unless it is too far from anything that is computed.
    pub(crate) fn made(made: Result<columns::Mask, columns::Error>) -> PyResult<Self> {
        let mask = made.map_err(refused)?;
        mask.check_depth().map_err(refused)?;
        Ok(Self(mask))
    }
}

#[pymethods]
impl Mask {
    /// Number of rows; `None` of a single one.
    #[getter]
    pub(crate) fn rows(&self) -> Option<usize> {
        self.0.rows()
    }

    #[getter]
    fn is_computed(&self) -> bool {
        self.0.is_computed()
    }

    fn logical_not(&self) -> PyResult<Self> {
        Self::made(Ok(self.0.negated()))
    }

    fn logical_and(&self, other: &Self) -> PyResult<Self> {
        Self::made(self.0.and(&other.0))
    }

    fn logical_or(&self, other: &Self) -> PyResult<Self> {
        Self::made(self.0.or(&other.0))
    }

    fn logical_xor(&self, other: &Self) -> PyResult<Self> {
        Self::made(self.0.xor(&other.0))
    }

    /// Returns one clear truth value for all rows.
    fn constant(&self, truth: bool) -> PyResult<Self> {
        Self::made(Ok(self.0.constant(truth)))
    }

    /// Returns clear truth values, one for each row.
    fn public(&self, truths: Vec<bool>) -> PyResult<Self> {
        Self::made(Ok(self.0.public(&truths)))
    }

    /// Returns the number that is 1 where the mask holds, 0 elsewhere.
    fn as_number(&self) -> PyResult<Number> {
        number(self.0.as_number())
    }

    fn count(&self) -> PyResult<Number> {
        number(self.0.count())
    }

    fn all(&self) -> PyResult<Self> {
        Self::made(Ok(self.0.all()))
    }

    fn any(&self) -> PyResult<Self> {
        Self::made(Ok(self.0.any()))
    }

    fn take(&self, rows: Vec<usize>) -> PyResult<Self> {
        Self::made(self.0.take(&rows))
    }

    fn item(&self, row: usize) -> PyResult<Self> {
        Self::made(self.0.item(row))
    }
}

/// A branch of a decision tree: whether it goes to a leaf, and that leaf's answer or the place of a node.
type Turn = (bool, u64);

/// Returns the branch that a turn is.
fn branch((is_leaf, to): Turn) -> columns::Branch {
    match is_leaf {
        true => columns::Branch::Leaf(to),
        false => columns::Branch::Node(usize::try_from(to).unwrap_or(usize::MAX)),
    }
}

/// Returns the leaf of a decision tree that each row comes to. Each node has the condition that it asks for, the branch of the
/// rows in which it holds, and that of the others.
#[pyfunction]
pub(crate) fn decide(nodes: Vec<(PyRef<'_, Mask>, Turn, Turn)>) -> PyResult<Number> {
    let nodes = nodes.iter().map(|(mask, then, otherwise)| {
        let decision = columns::Decision::Holds(&mask.0);
        (decision, branch(*then), branch(*otherwise))
    });
    let nodes: Vec<(columns::Decision<'_>, columns::Branch, columns::Branch)> = nodes.collect();
    made(columns::decide(&nodes))
}
