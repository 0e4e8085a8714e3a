//! Encrypted truth values.

use std::sync::Arc;

use pyo3::prelude::*;
use tfhe_sbc_python_shared::errors::refused;

use crate::compute::Backend;
use crate::node::{Kind, Logic, MAX_DEPTH, Node, Op};
use crate::number::{Number, common_rows, count_bits};

/// Encrypted truth values, in rows or a single one.
#[pyclass(frozen)]
pub(crate) struct Mask {
    pub(crate) backend: Arc<Backend>,
    pub(crate) node: Arc<Node>,
}

impl Mask {
    pub(crate) fn new(backend: &Arc<Backend>, rows: Option<usize>, op: Op) -> PyResult<Self> {
        Ok(Self {
            backend: Arc::clone(backend),
            node: new_node(rows, Kind::Truth, op)?,
        })
    }

    fn logic(&self, logic: Logic, other: &Self) -> PyResult<Self> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        let (a, b) = (Arc::clone(&self.node), Arc::clone(&other.node));
        Self::new(&self.backend, rows, Op::Logic(logic, a, b))
    }
}

/// A node, unless it is too far from what is known.
pub(crate) fn new_node(rows: Option<usize>, kind: Kind, op: Op) -> PyResult<Arc<Node>> {
    let node = Node::new(rows, kind, op);
    match node.depth() > MAX_DEPTH {
        true => Err(refused(
            format_args!("this is more than {MAX_DEPTH} steps from anything that is computed"),
            "call compute() on intermediate results",
        )),
        false => Ok(node),
    }
}

#[pymethods]
impl Mask {
    /// Number of rows; `None` of a single one.
    #[getter]
    pub(crate) fn rows(&self) -> Option<usize> {
        self.node.rows
    }

    #[getter]
    fn is_computed(&self) -> bool {
        self.node.is_known()
    }

    fn logical_not(&self) -> PyResult<Self> {
        Self::new(
            &self.backend,
            self.node.rows,
            Op::Not(Arc::clone(&self.node)),
        )
    }

    fn logical_and(&self, other: &Self) -> PyResult<Self> {
        self.logic(Logic::And, other)
    }

    fn logical_or(&self, other: &Self) -> PyResult<Self> {
        self.logic(Logic::Or, other)
    }

    fn logical_xor(&self, other: &Self) -> PyResult<Self> {
        self.logic(Logic::Xor, other)
    }

    /// One clear truth value for all rows.
    fn constant(&self, truth: bool) -> PyResult<Self> {
        Self::new(&self.backend, self.node.rows, Op::Constant(truth))
    }

    /// Clear truth values, one for each row.
    fn public(&self, truths: Vec<bool>) -> PyResult<Self> {
        let bits: Vec<u64> = truths.into_iter().map(u64::from).collect();
        Self::new(&self.backend, Some(bits.len()), Op::Public(bits))
    }

    /// 1 where it holds, 0 elsewhere.
    fn as_number(&self) -> PyResult<Number> {
        let op = Op::Bits(Arc::clone(&self.node));
        Number::counting(&self.backend, self.node.rows, 1, op)
    }

    fn count(&self) -> PyResult<Number> {
        let bits = count_bits(self.node.len());
        Number::counting(&self.backend, None, bits, Op::Count(Arc::clone(&self.node)))
    }

    fn all(&self) -> PyResult<Self> {
        Self::new(&self.backend, None, Op::All(Arc::clone(&self.node)))
    }

    fn any(&self) -> PyResult<Self> {
        Self::new(&self.backend, None, Op::Any(Arc::clone(&self.node)))
    }

    fn take(&self, rows: Vec<usize>) -> PyResult<Self> {
        let of = Arc::clone(&self.node);
        Self::new(&self.backend, Some(rows.len()), Op::Take { of, rows })
    }

    fn item(&self, row: usize) -> PyResult<Self> {
        let of = Arc::clone(&self.node);
        let rows = vec![row];
        Self::new(&self.backend, None, Op::Take { of, rows })
    }
}
