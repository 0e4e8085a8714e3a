//! Encrypted numbers in fixed point.
//!
//! A [`Number`] is codes and their encoding: what `a * 2 + 1` does to a number changes the
//! encoding and no ciphertext. Where numbers of different encodings meet, they are brought to one
//! whose step all of theirs are whole multiples of ([`encoding`]).

pub(crate) mod decimal;
mod encoding;

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use tfhe_sbc_upload::readings::Column;
use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::integer::Comparison;
use tfhe_sbc_python_shared::errors::{TfheSbcError, refused};
use tfhe_sbc_query::condition::{CodeCondition, Relation, code_condition, first_code_from, slack};

use crate::compute::Backend;
use crate::mask::{Mask, new_node};
use crate::node::{Kind, Node, Op, PlacePart};
use encoding::{Aligned, Sum, align, not_finite, too_wide};

/// Encrypted numbers, in rows or a single one.
#[pyclass(frozen)]
pub(crate) struct Number {
    pub(crate) backend: Arc<Backend>,
    pub(crate) node: Arc<Node>,
    /// The number of code 0.
    #[pyo3(get)]
    pub(crate) offset: f64,
    /// The step between codes.
    #[pyo3(get)]
    pub(crate) scale: f64,
}

/// Bits of a count of at most so many.
pub(crate) fn count_bits(most: usize) -> u32 {
    most.max(1).ilog2() + 1
}

/// Bits that the sum of so many has more than each.
fn carry_bits(rows: usize) -> u32 {
    usize::BITS - rows.saturating_sub(1).leading_zeros()
}

/// The rows of what several make together.
pub(crate) fn common_rows(nodes: &[&Node]) -> PyResult<Option<usize>> {
    let mut rows = nodes.iter().filter_map(|node| node.rows);
    let Some(first) = rows.next() else {
        return Ok(None);
    };
    match rows.find(|&other| other != first) {
        Some(other) => Err(refused(
            format_args!("operands of {first} and {other} rows do not belong together"),
            "give operands of as many rows, or single numbers",
        )),
        None => Ok(Some(first)),
    }
}

fn order(largest: bool) -> Order {
    match largest {
        true => Order::Descending,
        false => Order::Ascending,
    }
}

fn relation(sign: &str) -> PyResult<Relation> {
    let known = Relation::ALL.into_iter().find(|(_, text)| *text == sign);
    known
        .map(|(relation, _)| relation)
        .ok_or_else(|| TfheSbcError::new_err(format!("there is no comparison '{sign}'")))
}

impl Number {
    fn made(&self, rows: Option<usize>, bits: u32, op: Op) -> PyResult<Self> {
        Ok(Self {
            backend: Arc::clone(&self.backend),
            node: new_node(rows, Kind::Code(bits), op)?,
            offset: self.offset,
            scale: self.scale,
        })
    }

    /// Whole numbers from 0.
    pub(crate) fn counting(
        backend: &Arc<Backend>,
        rows: Option<usize>,
        bits: u32,
        op: Op,
    ) -> PyResult<Self> {
        Ok(Self {
            backend: Arc::clone(backend),
            node: new_node(rows, Kind::Code(bits), op)?,
            offset: 0.0,
            scale: 1.0,
        })
    }

    /// Of a column's encoding.
    pub(crate) fn of_column(
        backend: &Arc<Backend>,
        rows: Option<usize>,
        column: &Column,
        op: Op,
    ) -> PyResult<Self> {
        Ok(Self {
            backend: Arc::clone(backend),
            node: new_node(rows, Kind::Code(column.bits), op)?,
            offset: column.offset,
            scale: column.scale,
        })
    }

    fn encoding(&self) -> PyResult<FixedPoint> {
        FixedPoint::new(self.offset, self.scale, self.node.bits())
            .map_err(|error| TfheSbcError::new_err(error.to_string()))
    }

    fn node(&self) -> Arc<Node> {
        Arc::clone(&self.node)
    }

    fn check_clear(value: f64) -> PyResult<()> {
        match value.is_finite() {
            true => Ok(()),
            false => Err(not_finite()),
        }
    }
}

#[pymethods]
impl Number {
    /// Number of rows; `None` of a single one.
    #[getter]
    pub(crate) fn rows(&self) -> Option<usize> {
        self.node.rows
    }

    /// The width of a code.
    #[getter]
    fn bits(&self) -> u32 {
        self.node.bits()
    }

    #[getter]
    fn is_computed(&self) -> bool {
        self.node.is_known()
    }

    /// `factor·self + constant`, the factor not 0. No bootstrap if it is positive.
    fn affine(&self, factor: f64, constant: f64) -> PyResult<Self> {
        Self::check_clear(factor)?;
        Self::check_clear(constant)?;
        let mut result = if factor < 0.0 {
            Sum::new(&[(self, factor)])?.number(&self.backend, self.node.rows)?
        } else {
            Self {
                backend: Arc::clone(&self.backend),
                node: self.node(),
                offset: decimal::product(self.offset, factor),
                scale: decimal::product(self.scale, factor),
            }
        };
        result.offset = decimal::sum(result.offset, constant);
        FixedPoint::new(result.offset, result.scale, 1)
            .map_err(|error| TfheSbcError::new_err(format!("the result: {error}")))?;
        Ok(result)
    }

    /// `self + weight·other`.
    fn add(&self, other: &Self, weight: f64) -> PyResult<Self> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        Sum::new(&[(self, 1.0), (other, weight)])?.number(&self.backend, rows)
    }

    /// `self·other`.
    fn multiply(&self, other: &Self) -> PyResult<Self> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        let bits = self.node.bits() + other.node.bits();
        let op = Op::Product(self.node(), other.node());
        // (o + s·c)·(o' + s'·c'), whose code is c·c' where both offsets are 0.
        let product = Self {
            backend: Arc::clone(&self.backend),
            node: new_node(rows, Kind::Code(bits), op)?,
            offset: 0.0,
            scale: decimal::product(self.scale, other.scale),
        };
        product.encoding().map_err(|_| too_wide())?;
        let without_offset = |number: &Self| Self {
            backend: Arc::clone(&number.backend),
            node: number.node(),
            offset: 0.0,
            scale: number.scale,
        };
        let (a, b) = (without_offset(self), without_offset(other));
        let parts = [(&product, 1.0), (&a, other.offset), (&b, self.offset)];
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|(_, weight)| *weight != 0.0)
            .collect();
        let mut result = match parts[..] {
            [_] => product,
            _ => Sum::new(&parts)?.number(&self.backend, rows)?,
        };
        let constant = decimal::product(self.offset, other.offset);
        result.offset = decimal::sum(result.offset, constant);
        Ok(result)
    }

    /// How each compares with another one.
    fn compare(&self, sign: &str, other: &Self) -> PyResult<Mask> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        let comparison = relation(sign)?.comparison();
        let aligned = align(&[self, other], &[])?;
        let [a, b] = &aligned.nodes[..] else {
            return Err(TfheSbcError::new_err("two numbers are compared"));
        };
        let op = Op::Compare(comparison, Arc::clone(a), Arc::clone(b));
        Mask::new(&self.backend, rows, op)
    }

    /// How each compares with a clear number.
    fn compare_clear(&self, sign: &str, value: f64) -> PyResult<Mask> {
        if value.is_nan() {
            return Err(not_finite());
        }
        let op = match code_condition(&self.encoding()?, relation(sign)?, value) {
            CodeCondition::Always(truth) => Op::Constant(truth),
            CodeCondition::Compare(relation, code) => {
                Op::CompareCode(relation.comparison(), self.node(), code)
            }
        };
        Mask::new(&self.backend, self.node.rows, op)
    }

    /// Whether each is one of these.
    fn one_of(&self, values: Vec<f64>) -> PyResult<Mask> {
        let encoding = self.encoding()?;
        let codes = values.iter().filter_map(|&value| {
            match code_condition(&encoding, Relation::Eq, value) {
                CodeCondition::Compare(_, code) => Some(code),
                CodeCondition::Always(_) => None,
            }
        });
        let mut codes: Vec<u64> = codes.collect();
        codes.sort_unstable();
        codes.dedup();
        let op = match codes[..] {
            [] => Op::Constant(false),
            [code] => Op::CompareCode(Comparison::Eq, self.node(), code),
            _ => Op::OneOf(self.node(), codes),
        };
        Mask::new(&self.backend, self.node.rows, op)
    }

    /// This where the condition holds, another one elsewhere.
    fn select(&self, mask: &Mask, otherwise: &Self) -> PyResult<Self> {
        self.backend.check_same(&mask.backend)?;
        self.backend.check_same(&otherwise.backend)?;
        let rows = common_rows(&[&self.node, &otherwise.node, &mask.node])?;
        let Aligned {
            nodes,
            bits,
            offset,
            scale,
            ..
        } = align(&[self, otherwise], &[])?;
        let mut nodes = nodes.into_iter();
        let (Some(then), Some(otherwise)) = (nodes.next(), nodes.next()) else {
            return Err(TfheSbcError::new_err("two numbers are selected from"));
        };
        let mask = Arc::clone(&mask.node);
        let op = Op::Select {
            mask,
            then,
            otherwise,
        };
        Ok(Self {
            offset,
            scale,
            ..self.made(rows, bits, op)?
        })
    }

    /// This where the condition holds, a clear number elsewhere.
    fn select_clear(&self, mask: &Mask, otherwise: f64) -> PyResult<Self> {
        self.backend.check_same(&mask.backend)?;
        let rows = common_rows(&[&self.node, &mask.node])?;
        let Aligned {
            nodes,
            codes,
            bits,
            offset,
            scale,
        } = align(&[self], &[otherwise])?;
        let (Some(of), Some(&otherwise)) = (nodes.into_iter().next(), codes.first()) else {
            return Err(TfheSbcError::new_err("two numbers are selected from"));
        };
        let mask = Arc::clone(&mask.node);
        let op = match otherwise {
            0 if of.rows.is_some() && mask.rows.is_some() => Op::Keep { of, mask },
            _ => {
                let otherwise = new_node(None, Kind::Code(bits), Op::Public(vec![otherwise]))?;
                Op::Select {
                    mask,
                    then: of,
                    otherwise,
                }
            }
        };
        Ok(Self {
            offset,
            scale,
            ..self.made(rows, bits, op)?
        })
    }

    /// Some rows.
    fn take(&self, rows: Vec<usize>) -> PyResult<Self> {
        let count = rows.len();
        let op = Op::Take {
            of: self.node(),
            rows,
        };
        self.made(Some(count), self.node.bits(), op)
    }

    /// One of the rows.
    fn item(&self, row: usize) -> PyResult<Self> {
        let op = Op::Take {
            of: self.node(),
            rows: vec![row],
        };
        self.made(None, self.node.bits(), op)
    }

    /// The sum of the rows.
    fn sum(&self) -> PyResult<Self> {
        let rows = self.node.len();
        let bits = self.node.bits() + carry_bits(rows);
        Ok(Self {
            offset: decimal::product(self.offset, rows as f64),
            ..self.made(None, bits, Op::Sum(self.node()))?
        })
    }

    /// The sum of the squares of the rows' codes.
    fn sum_of_squared_codes(&self) -> PyResult<Self> {
        let bits = 2 * self.node.bits() + carry_bits(self.node.len());
        Self::counting(&self.backend, None, bits, Op::SumOfSquares(self.node()))
    }

    /// The smallest or the largest.
    fn extreme(&self, largest: bool) -> PyResult<Self> {
        let op = Op::Extreme {
            of: self.node(),
            order: order(largest),
        };
        self.made(None, self.node.bits(), op)
    }

    /// The first row of the smallest or the largest, and that.
    fn place(&self, largest: bool) -> PyResult<(Self, Self)> {
        let op = |part| Op::Place {
            of: self.node(),
            order: order(largest),
            part,
        };
        let bits = (self.node.len() - 1).max(1).ilog2() + 1;
        let index = Self::counting(&self.backend, None, bits, op(PlacePart::Index))?;
        Ok((
            index,
            self.made(None, self.node.bits(), op(PlacePart::Value))?,
        ))
    }

    /// The one that so many others come before.
    fn rank(&self, rank: usize) -> PyResult<Self> {
        self.made(
            None,
            self.node.bits(),
            Op::Rank {
                of: self.node(),
                rank,
            },
        )
    }

    /// The first ones in order.
    fn sorted(&self, largest_first: bool, count: usize) -> PyResult<Self> {
        let op = Op::Sorted {
            of: self.node(),
            order: order(largest_first),
            count,
        };
        self.made(Some(count), self.node.bits(), op)
    }

    /// How many are from an edge up to but without the next; with `closed`, the last edge
    /// belongs to the last bin.
    fn histogram(&self, edges: Vec<f64>, closed: bool) -> PyResult<Self> {
        let encoding = self.encoding()?;
        let mut codes: Vec<u64> = edges
            .iter()
            .map(|&edge| first_code_from(&encoding, edge))
            .collect();
        if let (true, Some(last), Some(&edge)) = (closed, codes.last_mut(), edges.last())
            && let CodeCondition::Compare(_, code) = code_condition(&encoding, Relation::Eq, edge)
        {
            *last = code + 1;
        }
        let bins: Vec<_> = codes.windows(2).map(|edges| edges[0]..edges[1]).collect();
        let bits = count_bits(self.node.len());
        let rows = Some(bins.len());
        Self::counting(
            &self.backend,
            rows,
            bits,
            Op::Histogram {
                of: self.node(),
                bins,
            },
        )
    }

    /// The code where the condition holds, 0 elsewhere: as a number of the same step whose code 0
    /// is 0.
    fn keep(&self, mask: &Mask) -> PyResult<Self> {
        self.backend.check_same(&mask.backend)?;
        let rows = common_rows(&[&self.node, &mask.node])?;
        let op = Op::Keep {
            of: self.node(),
            mask: Arc::clone(&mask.node),
        };
        Ok(Self {
            offset: 0.0,
            ..self.made(rows, self.node.bits(), op)?
        })
    }

    /// Clear numbers, one for each of these rows, of this one's step.
    fn public(&self, values: Vec<f64>) -> PyResult<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return Err(not_finite());
        }
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        // On the grid of this one's encoding.
        let below = ((self.offset - lowest) / self.scale).ceil().max(0.0);
        let below = decimal::product(below, self.scale);
        let offset = decimal::sum(self.offset, -below);
        let code = |value: &f64| {
            let steps = (value - offset) / self.scale;
            let code = steps.round();
            if (steps - code).abs() > slack(*value, offset, self.scale) {
                return Err(refused(
                    format_args!("a clear number is no multiple of the step {}", self.scale),
                    "round the clear numbers to the encoding of what they meet",
                ));
            }
            match code < (1u64 << 52) as f64 {
                true => Ok(code as u64),
                false => Err(too_wide()),
            }
        };
        let codes = values.iter().map(code).collect::<PyResult<Vec<u64>>>()?;
        let largest = codes.iter().copied().max().unwrap_or(0);
        let bits = (u64::BITS - largest.leading_zeros()).max(1);
        Ok(Self {
            offset,
            ..self.made(Some(codes.len()), bits, Op::Public(codes))?
        })
    }

    /// What codes stand for.
    fn decoded<'py>(&self, py: Python<'py>, codes: Vec<u128>) -> Bound<'py, PyArray1<f64>> {
        let decoded = codes
            .into_iter()
            .map(|code| decimal::decode(self.offset, self.scale, code));
        PyArray1::from_vec(py, decoded.collect())
    }

    /// The highest number that there is a code for.
    #[getter]
    fn maximum(&self) -> PyResult<f64> {
        Ok(decimal::maximum(&self.encoding()?))
    }
}
