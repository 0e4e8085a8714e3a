//! Bindings of computations: `compute` and `cost`.

use pyo3::prelude::*;
use tfhe_sbc_columns::{Computed, Progress, Server};

use crate::errors::refused;
use crate::mask::Mask;
use crate::number::Number;
use crate::watch::watched;

/// A value that can be computed.
#[derive(FromPyObject)]
pub(crate) enum Computable<'py> {
    Number(PyRef<'py, Number>),
    Mask(PyRef<'py, Mask>),
}

impl Computable<'_> {
    pub(crate) fn computed(&self) -> Computed {
        match self {
            Self::Number(number) => Computed::Number(number.0.clone()),
            Self::Mask(mask) => Computed::Mask(mask.0.clone()),
        }
    }
}

/// The values to be computed, and their server; `None` if nothing is to be computed.
fn task(items: Vec<Computable<'_>>) -> PyResult<Option<(Server, Vec<Computed>)>> {
    let values: Vec<Computed> = items.iter().map(Computable::computed).collect();
    let Some(first) = values.first() else {
        return Ok(None);
    };
    for value in &values {
        first.check_same(value).map_err(refused)?;
    }
    Ok(Some((first.server(), values)))
}

/// Computes all of them together; gives the number of bootstraps.
#[pyfunction]
pub(crate) fn compute(
    py: Python<'_>,
    items: Vec<Computable<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let Some((server, values)) = task(items)? else {
        return Ok(0);
    };
    if values.iter().all(Computed::is_computed) {
        return Ok(0);
    }
    let computed = watched(py, progress, |progress| {
        server.compute_all(&values, progress)
    })?;
    computed.map_err(refused)
}

/// Returns the number of bootstraps, how many of them follow one another, the seconds that they
/// take if a server computes and `measure` is set, and the number of blocks that are loaded at once.
#[pyfunction]
pub(crate) fn cost(
    py: Python<'_>,
    items: Vec<Computable<'_>>,
    measure: bool,
) -> PyResult<(u64, u32, Option<f64>, u64)> {
    let Some((server, values)) = task(items)? else {
        return Ok((0, 0, measure.then_some(0.0), 0));
    };
    let counted = watched(py, None, |progress: &Progress| {
        let cost = server.cost(&values, progress)?;
        let seconds = match measure {
            true => server.seconds(&cost)?,
            false => None,
        };
        Ok((cost.bootstraps, cost.depth, seconds, cost.loaded_blocks))
    })?;
    counted.map_err(refused)
}
