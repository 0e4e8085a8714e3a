//! The encodings of what is made of several numbers.

use std::sync::Arc;

use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_upload::cuts::slack;

use crate::backend::Backend;
use crate::decimal;
use crate::error::Error;
use crate::node::{Kind, Node, Op};
use crate::number::Number;

/// The largest code of a number.
const LARGEST_CODE: u64 = (1 << 52) - 1;

/// The encoding of a weighted sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Combined {
    /// The number of code 0.
    pub offset: f64,
    /// The step between the numbers of neighbouring codes.
    pub scale: f64,
    /// The width of a code.
    pub bits: u32,
    /// The whole number that the code of each term is multiplied by. The code of the sum is the sum
    /// of these products, less the smallest that it can be.
    pub factors: Vec<i64>,
}

/// Returns the encoding of `Σ weight·number + constant`, from the encodings of the numbers and
/// their weights, of which none is 0.
///
/// # Errors
/// Numbers without a common step, and sums of more than 52 bits.
pub fn combine(terms: &[(FixedPoint, f64)], constant: f64) -> Result<Combined, Error> {
    let parts = terms.iter().map(|(encoding, weight)| {
        let (offset, scale) = (encoding.minimum(), encoding.scale());
        (offset, scale, encoding.bits(), *weight)
    });
    combine_parts(&parts.collect::<Vec<_>>(), constant)
}

/// Does the same as [`combine`], from the offset, scale and width of each number and its weight.
fn combine_parts(parts: &[(f64, f64, u32, f64)], constant: f64) -> Result<Combined, Error> {
    let steps: Vec<f64> = parts
        .iter()
        .map(|&(_, scale, _, weight)| decimal::product(scale, weight))
        .collect();
    let (scale, factors) = common_step(&steps)?;
    let (mut largest, mut sum) = (0i64, 0.0);
    for (&(offset, _, bits, weight), &factor) in parts.iter().zip(&factors) {
        let most = (1i128 << bits.min(64)) - 1;
        let spread = most * i128::from(factor.unsigned_abs());
        largest = i64::try_from(i128::from(largest) + spread).map_err(|_| Error::TooWide)?;
        sum = decimal::sum(sum, decimal::product(weight, offset));
        if factor < 0 {
            sum = decimal::sum(sum, -decimal::product(spread as f64, scale));
        }
    }
    let combined = Combined {
        offset: decimal::sum(sum, constant),
        scale,
        bits: bits_of(largest.unsigned_abs()),
        factors,
    };
    match FixedPoint::new(combined.offset, scale, combined.bits) {
        Ok(_) => Ok(combined),
        Err(error) => Err(Error::Encoding(error)),
    }
}

/// Returns `Σ weight·number + constant`, of numbers of one server and with weights that are not 0.
pub(crate) fn weighted_sum(
    numbers: &[(&Number, f64)],
    constant: f64,
    backend: &Arc<Backend>,
    rows: Option<usize>,
) -> Result<Number, Error> {
    let parts = numbers.iter().map(|(number, weight)| {
        let bits = number.node.bits();
        (number.offset, number.scale, bits, *weight)
    });
    let combined = combine_parts(&parts.collect::<Vec<_>>(), constant)?;
    let mut terms: Vec<(Arc<Node>, i64)> = Vec::with_capacity(numbers.len());
    for ((number, _), factor) in numbers.iter().zip(combined.factors) {
        let known = terms
            .iter_mut()
            .find(|(known, _)| Arc::ptr_eq(known, &number.node));
        match known {
            Some((_, sum)) if sum.signum() == factor.signum() => *sum += factor,
            _ => terms.push((Arc::clone(&number.node), factor)),
        }
    }
    let op = Op::Linear { terms, shift: 0 };
    Ok(Number {
        backend: Arc::clone(backend),
        node: Node::new(rows, Kind::Code(combined.bits), op),
        offset: combined.offset,
        scale: combined.scale,
    })
}

impl Number {
    /// Returns this weighted sum as narrow as it is if the codes of one of its terms are at most `most`.
    pub(crate) fn up_to(self, term: &Self, most: Option<u64>) -> Self {
        let op = self.node.op();
        let (Op::Linear { terms, shift: 0 }, Some(most)) = (&*op, most) else {
            return self;
        };
        let largest = terms.iter().try_fold(0u64, |sum, (node, factor)| {
            let codes = match Arc::ptr_eq(node, &term.node) && *factor > 0 {
                true => most,
                false => 1u64.checked_shl(node.bits())?.wrapping_sub(1),
            };
            sum.checked_add(codes.checked_mul(factor.unsigned_abs())?)
        });
        let bits = largest.map_or(self.bits(), bits_of).min(self.bits());
        let terms = terms.clone();
        self.made(self.rows(), bits, Op::Linear { terms, shift: 0 })
    }
}

/// Returns the width of codes up to `largest`.
pub(crate) fn bits_of(largest: u64) -> u32 {
    (u64::BITS - largest.leading_zeros()).max(1)
}

/// Returns the largest step that all `steps` are whole multiples of, and the multiples, of at most
/// `most`, which is at most 2^52. `None` if there is none of at least a thousandth of the smallest.
pub(crate) fn whole_multiples(steps: &[f64], most: u64) -> Option<(f64, Vec<i64>)> {
    /// A multiple that differs from a whole number by this share of it is one: steps are decimal
    /// fractions.
    const SLACK: f64 = 1e-9;
    /// Above this, a multiple is as exact as rounding leaves it.
    const LARGE: f64 = (1u64 << 20) as f64;
    let smallest = steps
        .iter()
        .fold(f64::INFINITY, |smallest, step| smallest.min(step.abs()));
    if !(smallest.is_finite() && smallest > 0.0) {
        return None;
    }
    (1..=1000u32).find_map(|part| {
        let common = smallest / f64::from(part);
        let multiple = |step: &f64| {
            let multiple = step / common;
            let whole = multiple.round();
            let slack = match whole.abs() {
                size if size <= LARGE => SLACK * size,
                size => (16.0 * f64::EPSILON * size).clamp(1e-6, 0.25),
            };
            let close = (multiple - whole).abs() <= slack;
            (close && whole.abs() <= most as f64).then_some(whole as i64)
        };
        let multiples = steps.iter().map(multiple).collect::<Option<Vec<_>>>()?;
        Some((common, multiples))
    })
}

/// Returns a step that all `steps` are whole multiples of, and the multiples.
fn common_step(steps: &[f64]) -> Result<(f64, Vec<i64>), Error> {
    whole_multiples(steps, LARGEST_CODE).ok_or_else(|| {
        let sizes = steps.iter().map(|step| step.abs());
        let (low, high) = sizes.fold((f64::INFINITY, 0.0f64), |(low, high), size| {
            (low.min(size), high.max(size))
        });
        match high / low > LARGEST_CODE as f64 {
            true => Error::TooFarApart,
            false => Error::NoCommonStep,
        }
    })
}

/// Returns a part of the step `scale` that all `numbers` are whole multiples of from `offset` on,
/// and the number of such parts in the step.
fn common_grid(scale: f64, offset: f64, numbers: &[f64]) -> Result<(f64, i64), Error> {
    let apart = numbers.iter().map(|number| number - offset);
    let farthest = apart.fold(0.0, f64::max);
    if farthest / scale > LARGEST_CODE as f64 {
        return Err(Error::TooFarApart);
    }
    let fits = |part: &i64| {
        let step = scale / *part as f64;
        numbers.iter().all(|&number| {
            let steps = (number - offset) / step;
            (steps - steps.round()).abs() <= slack(number, offset, step)
        })
    };
    let part = (1..=1000).find(fits).ok_or(Error::NoCommonStep)?;
    Ok((scale / part as f64, part))
}

/// Numbers and clear values in one encoding.
pub(crate) struct Aligned {
    pub(crate) nodes: Vec<Arc<Node>>,
    /// The codes of the clear values.
    pub(crate) codes: Vec<u64>,
    pub(crate) bits: u32,
    pub(crate) offset: f64,
    pub(crate) scale: f64,
}

/// Brings numbers, and clear values beside them, to one encoding, whose offset is the lowest of
/// all offsets and clear values.
pub(crate) fn align(numbers: &[&Number], clear: &[f64]) -> Result<Aligned, Error> {
    if clear.iter().any(|value| !value.is_finite()) {
        return Err(Error::NotFinite);
    }
    let offsets: Vec<f64> = numbers
        .iter()
        .map(|number| number.offset)
        .chain(clear.iter().copied())
        .collect();
    let offset = offsets.iter().copied().fold(f64::INFINITY, f64::min);
    let steps: Vec<f64> = numbers.iter().map(|number| number.scale).collect();
    let (scale, factors) = common_step(&steps)?;
    let (scale, part) = common_grid(scale, offset, &offsets)?;
    let factors: Option<Vec<i64>> = factors
        .iter()
        .map(|factor| factor.checked_mul(part))
        .collect();
    let factors = factors.ok_or(Error::TooWide)?;
    let codes: Vec<u64> = offsets
        .iter()
        .map(|from| ((from - offset) / scale).round() as u64)
        .collect();
    let (shifts, codes) = codes.split_at(numbers.len());
    let mut largest = codes.iter().copied().max().unwrap_or(0);
    for ((number, &factor), &shift) in numbers.iter().zip(&factors).zip(shifts) {
        let most = (1u128 << number.node.bits().min(64)) - 1;
        let most = most * u128::from(factor.unsigned_abs()) + u128::from(shift);
        largest = largest.max(u64::try_from(most).map_err(|_| Error::TooWide)?);
    }
    let bits = bits_of(largest);
    if bits > 52 {
        return Err(Error::TooWide);
    }
    let parts = numbers.iter().zip(factors).zip(shifts);
    let nodes = parts.map(|((number, factor), &shift)| {
        if (factor, shift, number.node.bits()) == (1, 0, bits) {
            return Arc::clone(&number.node);
        }
        let terms = vec![(Arc::clone(&number.node), factor)];
        Node::new(
            number.node.rows,
            Kind::Code(bits),
            Op::Linear { terms, shift },
        )
    });
    Ok(Aligned {
        nodes: nodes.collect(),
        codes: codes.to_vec(),
        bits,
        offset,
        scale,
    })
}
