//! The encodings of what is made of several numbers.

use std::sync::Arc;

use pyo3::prelude::*;
use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_python_shared::errors::{TfheSbcError, refused};
use tfhe_sbc_query::condition::slack;
use tfhe_sbc_query::expression::whole_multiples_up_to;

use super::{Number, decimal};
use crate::compute::Backend;
use crate::mask::new_node;
use crate::node::{Kind, Node, Op};

/// The sum of terms and a constant, before it is written down.
pub(super) struct Sum {
    terms: Vec<(Arc<Node>, i64)>,
    shift: u64,
    bits: u32,
    offset: f64,
    scale: f64,
}

impl Sum {
    /// `Σ weight·number`.
    pub(super) fn new(numbers: &[(&Number, f64)]) -> PyResult<Self> {
        let steps: Vec<f64> = numbers
            .iter()
            .map(|(n, weight)| decimal::product(n.scale, *weight))
            .collect();
        let (scale, factors) = common_step(&steps)?;
        let (mut largest, mut offset) = (0i64, 0.0);
        let mut terms: Vec<(Arc<Node>, i64)> = Vec::with_capacity(numbers.len());
        for ((number, weight), factor) in numbers.iter().zip(factors) {
            let most = (1i128 << number.node.bits()) - 1;
            let spread = most * i128::from(factor.unsigned_abs());
            largest = i64::try_from(i128::from(largest) + spread).map_err(|_| too_wide())?;
            offset = decimal::sum(offset, decimal::product(*weight, number.offset));
            if factor < 0 {
                offset = decimal::sum(offset, -decimal::product(spread as f64, scale));
            }
            match terms
                .iter_mut()
                .find(|(known, _)| Arc::ptr_eq(known, &number.node))
            {
                Some((_, sum)) if sum.signum() == factor.signum() => *sum += factor,
                _ => terms.push((Arc::clone(&number.node), factor)),
            }
        }
        Ok(Self {
            terms,
            shift: 0,
            bits: (i64::BITS - largest.leading_zeros()).max(1),
            offset,
            scale,
        })
    }

    pub(super) fn number(self, backend: &Arc<Backend>, rows: Option<usize>) -> PyResult<Number> {
        let (offset, scale) = (self.offset, self.scale);
        FixedPoint::new(offset, scale, self.bits)
            .map_err(|error| TfheSbcError::new_err(format!("the result: {error}")))?;
        let op = Op::Linear {
            terms: self.terms,
            shift: self.shift,
        };
        Ok(Number {
            backend: Arc::clone(backend),
            node: new_node(rows, Kind::Code(self.bits), op)?,
            offset,
            scale,
        })
    }
}

pub(super) fn too_wide() -> PyErr {
    refused(
        "the result needs more than 52 bits",
        "round the factors, or give the readings fewer bits",
    )
}

/// The largest code there is.
const LARGEST_CODE: u64 = (1 << 52) - 1;

fn no_common_step() -> PyErr {
    refused(
        "these numbers have no common step",
        "round the clear ones to multiples of the column's scale, or give columns one scale",
    )
}

fn too_far_apart() -> PyErr {
    refused(
        "these numbers are too far apart: from the lowest to the highest there are more steps than \
         52 bits count",
        "bring them closer together, or give them larger steps",
    )
}

/// A step that all of these are whole multiples of, and the multiples.
fn common_step(steps: &[f64]) -> PyResult<(f64, Vec<i64>)> {
    whole_multiples_up_to(steps, LARGEST_CODE).ok_or_else(|| {
        let sizes = steps.iter().map(|step| step.abs());
        let (low, high) = sizes.fold((f64::INFINITY, 0.0f64), |(low, high), size| {
            (low.min(size), high.max(size))
        });
        match high / low > LARGEST_CODE as f64 {
            true => too_far_apart(),
            false => no_common_step(),
        }
    })
}

/// A part of a step that numbers are whole multiples of from one of them on, and how many there
/// are in the step.
fn common_grid(scale: f64, offset: f64, numbers: &[f64]) -> PyResult<(f64, i64)> {
    let apart = numbers.iter().map(|number| number - offset);
    let farthest = apart.fold(0.0, f64::max);
    if farthest / scale > LARGEST_CODE as f64 {
        return Err(too_far_apart());
    }
    let fits = |part: &i64| {
        let step = scale / *part as f64;
        numbers.iter().all(|&number| {
            let steps = (number - offset) / step;
            (steps - steps.round()).abs() <= slack(number, offset, step)
        })
    };
    let part = (1..=1000).find(fits).ok_or_else(no_common_step)?;
    Ok((scale / part as f64, part))
}

/// Numbers and clear values, all at least the first's lowest, in one encoding.
pub(super) struct Aligned {
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) codes: Vec<u64>,
    pub(super) bits: u32,
    pub(super) offset: f64,
    pub(super) scale: f64,
}

/// Brings numbers, and clear values beside them, to one encoding.
pub(super) fn align(numbers: &[&Number], clear: &[f64]) -> PyResult<Aligned> {
    if clear.iter().any(|value| !value.is_finite()) {
        return Err(not_finite());
    }
    let offsets: Vec<f64> = numbers
        .iter()
        .map(|n| n.offset)
        .chain(clear.iter().copied())
        .collect();
    let offset = offsets.iter().copied().fold(f64::INFINITY, f64::min);
    let steps: Vec<f64> = numbers.iter().map(|n| n.scale).collect();
    let (scale, factors) = common_step(&steps)?;
    let (scale, part) = common_grid(scale, offset, &offsets)?;
    let factors: Option<Vec<i64>> = factors
        .iter()
        .map(|factor| factor.checked_mul(part))
        .collect();
    let factors = factors.ok_or_else(too_wide)?;
    let codes: Vec<u64> = offsets
        .iter()
        .map(|from| ((from - offset) / scale).round() as u64)
        .collect();
    let (shifts, codes) = codes.split_at(numbers.len());
    let mut largest = codes.iter().copied().max().unwrap_or(0);
    for ((number, &factor), &shift) in numbers.iter().zip(&factors).zip(shifts) {
        let most = ((1u128 << number.node.bits()) - 1) * u128::from(factor.unsigned_abs());
        let most = u64::try_from(most + u128::from(shift)).map_err(|_| too_wide())?;
        largest = largest.max(most);
    }
    let bits = (u64::BITS - largest.leading_zeros()).max(1);
    if bits > 52 {
        return Err(too_wide());
    }
    let parts = numbers.iter().zip(factors).zip(shifts);
    let nodes = parts.map(|((number, factor), &shift)| {
        if (factor, shift, number.node.bits()) == (1, 0, bits) {
            return Ok(Arc::clone(&number.node));
        }
        let terms = vec![(Arc::clone(&number.node), factor)];
        new_node(
            number.node.rows,
            Kind::Code(bits),
            Op::Linear { terms, shift },
        )
    });
    Ok(Aligned {
        nodes: nodes.collect::<PyResult<_>>()?,
        codes: codes.to_vec(),
        bits,
        offset,
        scale,
    })
}

pub(super) fn not_finite() -> PyErr {
    refused(
        "a clear operand is not a finite number",
        "leave out NaN and infinite values",
    )
}
