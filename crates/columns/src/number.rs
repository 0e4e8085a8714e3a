//! Encrypted numbers in fixed point.
//!
//! A [`Number`] is codes and their encoding: `a * 2 + 1` changes the encoding and no ciphertext.
//! Where numbers of different encodings meet, they are brought to one whose step all of theirs are
//! whole multiples of.

use std::fmt;
use std::sync::Arc;

use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::integer::Comparison;
use tfhe_sbc_upload::readings::Column;

use crate::decimal::{self, Decoder};
use crate::encoding::{Aligned, align, bits_of, weighted_sum};
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{Kind, Node, Op, PlacePart};
use crate::server::Backend;
use crate::threshold::{CodeCondition, Relation, code_condition, first_code_from, slack};

/// Encrypted numbers, in rows or a single one.
///
/// Operators take `self` by reference and return what they give as a new number, which is not
/// computed yet: [`Server::compute`](crate::Server::compute) computes any number of them together.
#[derive(Clone)]
pub struct Number {
    pub(crate) backend: Arc<Backend>,
    pub(crate) node: Arc<Node>,
    pub(crate) offset: f64,
    pub(crate) scale: f64,
}

/// The other operand of an operator: a clear number, or an encrypted one.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A clear number.
    Clear(f64),
    /// An encrypted number.
    Encrypted(&'a Number),
}

impl From<f64> for Operand<'_> {
    fn from(value: f64) -> Self {
        Self::Clear(value)
    }
}

impl<'a> From<&'a Number> for Operand<'a> {
    fn from(number: &'a Number) -> Self {
        Self::Encrypted(number)
    }
}

/// Returns the width of a count of at most `most`.
pub(crate) fn count_bits(most: usize) -> u32 {
    most.max(1).ilog2() + 1
}

/// Returns the number of bits that a sum of `rows` codes has more than each.
fn carry_bits(rows: usize) -> u32 {
    usize::BITS - rows.saturating_sub(1).leading_zeros()
}

/// Returns the number of rows of the result of an operator on these operands.
pub(crate) fn common_rows(nodes: &[&Node]) -> Result<Option<usize>, Error> {
    let mut rows = nodes.iter().filter_map(|node| node.rows);
    let Some(first) = rows.next() else {
        return Ok(None);
    };
    match rows.find(|&other| other != first) {
        Some(other) => Err(Error::Rows(first, other)),
        None => Ok(Some(first)),
    }
}

/// Checks places of rows.
pub(crate) fn check_rows(node: &Node, rows: &[usize]) -> Result<(), Error> {
    let count = node.len();
    match rows.iter().find(|&&row| row >= count) {
        Some(&row) => Err(Error::NoRow { row, rows: count }),
        None if rows.is_empty() => Err(Error::NoRows),
        None => Ok(()),
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Number")
            .field("rows", &self.rows())
            .field("offset", &self.offset)
            .field("scale", &self.scale)
            .field("bits", &self.bits())
            .field("is_computed", &self.is_computed())
            .finish_non_exhaustive()
    }
}

impl Number {
    /// A number of this one's encoding.
    fn made(&self, rows: Option<usize>, bits: u32, op: Op) -> Self {
        Self {
            backend: Arc::clone(&self.backend),
            node: Node::new(rows, Kind::Code(bits), op),
            offset: self.offset,
            scale: self.scale,
        }
    }

    /// Whole numbers from 0.
    pub(crate) fn counting(backend: &Arc<Backend>, rows: Option<usize>, bits: u32, op: Op) -> Self {
        Self {
            backend: Arc::clone(backend),
            node: Node::new(rows, Kind::Code(bits), op),
            offset: 0.0,
            scale: 1.0,
        }
    }

    /// Numbers of a column's encoding.
    pub(crate) fn of_column(
        backend: &Arc<Backend>,
        rows: Option<usize>,
        column: &Column,
        op: Op,
    ) -> Self {
        Self {
            backend: Arc::clone(backend),
            node: Node::new(rows, Kind::Code(column.bits), op),
            offset: column.offset,
            scale: column.scale,
        }
    }

    fn node(&self) -> Arc<Node> {
        Arc::clone(&self.node)
    }

    /// The number of rows; `None` if it is a single number.
    pub fn rows(&self) -> Option<usize> {
        self.node.rows
    }

    /// The number of rows; 1 if it is a single number.
    pub fn row_count(&self) -> usize {
        self.node.len()
    }

    /// The width of a code, in bits.
    pub fn bits(&self) -> u32 {
        self.node.bits()
    }

    /// The number of code 0.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// The step between the numbers of neighbouring codes.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The encoding.
    ///
    /// # Errors
    /// A number of more than 52 bits, as sums have.
    pub fn encoding(&self) -> Result<FixedPoint, Error> {
        Ok(FixedPoint::new(self.offset, self.scale, self.node.bits())?)
    }

    /// The highest number that has a code.
    ///
    /// # Errors
    /// A number of more than 52 bits, as sums have.
    pub fn maximum(&self) -> Result<f64, Error> {
        Ok(decimal::maximum(&self.encoding()?))
    }

    /// Whether it is computed, or was clear from the start.
    pub fn is_computed(&self) -> bool {
        self.node.is_known()
    }

    /// Checks that it is not too many operators away from what is computed.
    ///
    /// # Errors
    /// [`Error::TooDeep`], which computing it gives too.
    pub fn check_depth(&self) -> Result<(), Error> {
        self.node.check_depth()
    }

    /// Returns the numbers of codes.
    pub fn decode(&self, codes: &[u128]) -> Vec<f64> {
        let decoder = Decoder::new(self.offset, self.scale);
        codes.iter().map(|&code| decoder.value(code)).collect()
    }

    // Arithmetic.

    /// `factor·self + constant`, which takes no bootstrap if the factor is positive.
    ///
    /// # Errors
    /// A factor of 0, operands that are not finite, and results that have no encoding.
    pub fn affine(&self, factor: f64, constant: f64) -> Result<Self, Error> {
        if !factor.is_finite() || !constant.is_finite() {
            return Err(Error::NotFinite);
        }
        let mut result = if factor < 0.0 {
            weighted_sum(&[(self, factor)], 0.0, &self.backend, self.node.rows)?
        } else {
            Self {
                backend: Arc::clone(&self.backend),
                node: self.node(),
                offset: decimal::product(self.offset, factor),
                scale: decimal::product(self.scale, factor),
            }
        };
        result.offset = decimal::sum(result.offset, constant);
        FixedPoint::new(result.offset, result.scale, 1).map_err(Error::Encoding)?;
        Ok(result)
    }

    /// `Σ weight·number + constant` of one number or more; no weight is 0.
    ///
    /// # Errors
    /// Operands that do not belong together, and results that have no encoding.
    pub fn linear(terms: &[(&Self, f64)], constant: f64) -> Result<Self, Error> {
        let (first, others) = match terms {
            [] => return Err(Error::NoRows),
            [(only, weight)] => return only.affine(*weight, constant),
            [(first, _), others @ ..] => (first, others),
        };
        if terms.iter().any(|(_, weight)| !weight.is_finite()) || !constant.is_finite() {
            return Err(Error::NotFinite);
        }
        for (other, _) in others {
            first.backend.check_same(&other.backend)?;
        }
        let nodes: Vec<&Node> = terms.iter().map(|(number, _)| &*number.node).collect();
        let rows = common_rows(&nodes)?;
        weighted_sum(terms, constant, &first.backend, rows)
    }

    /// `self + weight·other`, where the weight is not 0.
    ///
    /// # Errors
    /// As [`linear`](Self::linear).
    pub fn add_weighted(&self, other: &Self, weight: f64) -> Result<Self, Error> {
        Self::linear(&[(self, 1.0), (other, weight)], 0.0)
    }

    /// `self + other`.
    ///
    /// # Errors
    /// As [`linear`](Self::linear).
    pub fn plus<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, Error> {
        match other.into() {
            Operand::Clear(value) => self.affine(1.0, value),
            Operand::Encrypted(other) => self.add_weighted(other, 1.0),
        }
    }

    /// `self - other`.
    ///
    /// # Errors
    /// As [`linear`](Self::linear).
    pub fn minus<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, Error> {
        match other.into() {
            Operand::Clear(value) => self.affine(1.0, -value),
            Operand::Encrypted(other) => self.add_weighted(other, -1.0),
        }
    }

    /// `self·other`. A clear factor takes no bootstrap if it is positive.
    ///
    /// # Errors
    /// A clear factor of 0, operands that do not belong together, and results of more than 52 bits.
    pub fn times<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, Error> {
        match other.into() {
            Operand::Clear(0.0) => Err(Error::ZeroFactor),
            Operand::Clear(factor) => self.affine(factor, 0.0),
            Operand::Encrypted(other) => self.product(other),
        }
    }

    fn product(&self, other: &Self) -> Result<Self, Error> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        let bits = self.node.bits() + other.node.bits();
        // (o + s·c)·(o' + s'·c'), whose code is c·c' where both offsets are 0.
        let product = Self {
            offset: 0.0,
            scale: decimal::product(self.scale, other.scale),
            ..self.made(rows, bits, Op::Product(self.node(), other.node()))
        };
        product.encoding().map_err(|_| Error::TooWide)?;
        let without_offset = |number: &Self| Self {
            offset: 0.0,
            ..number.clone()
        };
        let (a, b) = (without_offset(self), without_offset(other));
        let parts = [(&product, 1.0), (&a, other.offset), (&b, self.offset)];
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|(_, weight)| *weight != 0.0)
            .collect();
        let mut result = match parts[..] {
            [_] => product,
            _ => weighted_sum(&parts, 0.0, &self.backend, rows)?,
        };
        let constant = decimal::product(self.offset, other.offset);
        result.offset = decimal::sum(result.offset, constant);
        Ok(result)
    }

    /// Clear numbers, one for each of as many rows, of this one's step.
    ///
    /// # Errors
    /// No values, values that are not finite, and values between two steps.
    pub fn public(&self, values: &[f64]) -> Result<Self, Error> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return Err(Error::NotFinite);
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
                return Err(Error::NoMultiple(self.scale));
            }
            match code < (1u64 << 52) as f64 {
                true => Ok(code as u64),
                false => Err(Error::TooWide),
            }
        };
        let codes = values.iter().map(code).collect::<Result<Vec<u64>, _>>()?;
        let bits = bits_of(codes.iter().copied().max().unwrap_or(0));
        Ok(Self {
            offset,
            ..self.made(Some(codes.len()), bits, Op::Public(codes))
        })
    }

    // Comparisons.

    /// Whether the numbers are in this relation to the other ones.
    ///
    /// # Errors
    /// Operands that do not belong together, or that have no common encoding.
    pub fn compare<'a>(
        &self,
        relation: Relation,
        other: impl Into<Operand<'a>>,
    ) -> Result<Mask, Error> {
        match other.into() {
            Operand::Clear(value) => self.compare_clear(relation, value),
            Operand::Encrypted(other) => self.compare_encrypted(relation, other),
        }
    }

    fn compare_encrypted(&self, relation: Relation, other: &Self) -> Result<Mask, Error> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        let aligned = align(&[self, other], &[])?;
        let [a, b] = &aligned.nodes[..] else {
            return Err(Error::NoRows);
        };
        let op = Op::Compare(relation.comparison(), Arc::clone(a), Arc::clone(b));
        Ok(Mask::new(&self.backend, rows, op))
    }

    fn compare_clear(&self, relation: Relation, value: f64) -> Result<Mask, Error> {
        if value.is_nan() {
            return Err(Error::NotFinite);
        }
        let op = match code_condition(&self.encoding()?, relation, value) {
            CodeCondition::Always(truth) => Op::Constant(truth),
            CodeCondition::Compare(relation, code) => {
                Op::CompareCode(relation.comparison(), self.node(), code)
            }
        };
        Ok(Mask::new(&self.backend, self.node.rows, op))
    }

    /// `self < other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn lt<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Lt, other)
    }

    /// `self <= other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn le<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Le, other)
    }

    /// `self > other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn gt<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Gt, other)
    }

    /// `self >= other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn ge<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Ge, other)
    }

    /// `self == other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn equals<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Eq, other)
    }

    /// `low <= self && self <= high`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn between(&self, low: f64, high: f64) -> Result<Mask, Error> {
        Mask::all_of(&[&self.ge(low)?, &self.le(high)?])
    }

    /// Whether the numbers are among these values.
    ///
    /// # Errors
    /// A number of more than 52 bits.
    pub fn one_of(&self, values: &[f64]) -> Result<Mask, Error> {
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
            _ => {
                let limits = codes.into_iter().map(|code| self.limit(code));
                Op::OneOf(self.node(), limits.collect())
            }
        };
        Ok(Mask::new(&self.backend, self.node.rows, op))
    }

    /// A single clear code of this number's width.
    fn limit(&self, code: u64) -> Arc<Node> {
        Node::new(None, self.node.kind, Op::Public(vec![code]))
    }

    // Choices.

    /// `self` where the mask holds, `otherwise` elsewhere.
    ///
    /// # Errors
    /// Operands that do not belong together, or that have no common encoding.
    pub fn select<'a>(
        &self,
        mask: &Mask,
        otherwise: impl Into<Operand<'a>>,
    ) -> Result<Self, Error> {
        match otherwise.into() {
            Operand::Clear(value) => self.select_clear(mask, value),
            Operand::Encrypted(otherwise) => self.select_encrypted(mask, otherwise),
        }
    }

    fn select_encrypted(&self, mask: &Mask, otherwise: &Self) -> Result<Self, Error> {
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
            return Err(Error::NoRows);
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
            ..self.made(rows, bits, op)
        })
    }

    fn select_clear(&self, mask: &Mask, otherwise: f64) -> Result<Self, Error> {
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
            return Err(Error::NoRows);
        };
        let mask = Arc::clone(&mask.node);
        let op = match otherwise {
            0 if of.rows.is_some() && mask.rows.is_some() => Op::Keep { of, mask },
            _ => Op::Select {
                mask,
                then: of,
                otherwise: Node::new(None, Kind::Code(bits), Op::Public(vec![otherwise])),
            },
        };
        Ok(Self {
            offset,
            scale,
            ..self.made(rows, bits, op)
        })
    }

    /// The number where the mask holds, 0 elsewhere, as a number of the same step whose code 0
    /// is 0: the offset is left out.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn keep(&self, mask: &Mask) -> Result<Self, Error> {
        self.backend.check_same(&mask.backend)?;
        let rows = common_rows(&[&self.node, &mask.node])?;
        let op = Op::Keep {
            of: self.node(),
            mask: Arc::clone(&mask.node),
        };
        Ok(Self {
            offset: 0.0,
            ..self.made(rows, self.node.bits(), op)
        })
    }

    /// Some rows, by their places from 0.
    ///
    /// # Errors
    /// No rows, or rows that are not there.
    pub fn take(&self, rows: &[usize]) -> Result<Self, Error> {
        check_rows(&self.node, rows)?;
        let op = Op::Take {
            of: self.node(),
            rows: rows.to_vec(),
        };
        Ok(self.made(Some(rows.len()), self.node.bits(), op))
    }

    /// One of the rows, by its place from 0.
    ///
    /// # Errors
    /// A row that is not there.
    pub fn item(&self, row: usize) -> Result<Self, Error> {
        check_rows(&self.node, &[row])?;
        let op = Op::Take {
            of: self.node(),
            rows: vec![row],
        };
        Ok(self.made(None, self.node.bits(), op))
    }

    /// Single numbers as the rows of one.
    ///
    /// # Errors
    /// No numbers, numbers that have rows, and numbers that have no common encoding.
    pub fn stack(numbers: &[&Self]) -> Result<Self, Error> {
        let first = numbers.first().ok_or(Error::NoRows)?;
        for number in numbers {
            first.backend.check_same(&number.backend)?;
            if let Some(rows) = number.node.rows {
                return Err(Error::Rows(1, rows));
            }
        }
        let aligned = align(numbers, &[])?;
        Ok(Self {
            offset: aligned.offset,
            scale: aligned.scale,
            ..first.made(Some(numbers.len()), aligned.bits, Op::Stack(aligned.nodes))
        })
    }

    // Functions of all rows.

    /// The sum of the rows. The sum of a whole column loads few blocks.
    pub fn sum(&self) -> Self {
        let rows = self.node.len();
        let bits = self.node.bits() + carry_bits(rows);
        Self {
            offset: decimal::product(self.offset, rows as f64),
            ..self.made(None, bits, Op::Sum(self.node()))
        }
    }

    /// The sum of the squares of the rows' codes, as a whole number.
    pub fn sum_of_squared_codes(&self) -> Self {
        let bits = 2 * self.node.bits() + carry_bits(self.node.len());
        Self::counting(&self.backend, None, bits, Op::SumOfSquares(self.node()))
    }

    /// The first of the rows in an order.
    fn extreme(&self, order: Order) -> Self {
        let of = self.node();
        self.made(None, self.node.bits(), Op::Extreme { of, order })
    }

    /// The smallest of the rows.
    pub fn min(&self) -> Self {
        self.extreme(Order::Ascending)
    }

    /// The largest of the rows.
    pub fn max(&self) -> Self {
        self.extreme(Order::Descending)
    }

    fn place(&self, order: Order) -> (Self, Self) {
        let op = |part| Op::Place {
            of: self.node(),
            order,
            part,
        };
        let bits = count_bits(self.node.len().saturating_sub(1));
        let index = Self::counting(&self.backend, None, bits, op(PlacePart::Index));
        (
            index,
            self.made(None, self.node.bits(), op(PlacePart::Value)),
        )
    }

    /// The place of the first of the smallest rows, from 0, and that number.
    pub fn arg_min(&self) -> (Self, Self) {
        self.place(Order::Ascending)
    }

    /// The place of the first of the largest rows, from 0, and that number.
    pub fn arg_max(&self) -> (Self, Self) {
        self.place(Order::Descending)
    }

    /// The number that `rank` rows come before in ascending order.
    ///
    /// # Errors
    /// A rank that is not below the number of rows.
    pub fn rank(&self, rank: usize) -> Result<Self, Error> {
        check_rows(&self.node, &[rank])?;
        let of = self.node();
        Ok(self.made(None, self.node.bits(), Op::Rank { of, rank }))
    }

    /// The smallest number that at least `percent` percent of the rows do not exceed.
    ///
    /// # Errors
    /// A number that is not from 0 to 100.
    pub fn percentile(&self, percent: f64) -> Result<Self, Error> {
        /// A share of a row that is none: percentages are decimal fractions.
        const SLACK: f64 = 1e-9;
        if !(0.0..=100.0).contains(&percent) {
            return Err(Error::NotFinite);
        }
        let rows = self.node.len();
        let share = percent / 100.0 * rows as f64;
        self.rank(((share - SLACK).ceil() as usize).clamp(1, rows.max(1)) - 1)
    }

    /// The lower median.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn median(&self) -> Result<Self, Error> {
        self.percentile(50.0)
    }

    fn sorted(&self, order: Order, count: usize) -> Result<Self, Error> {
        let rows = self.node.len();
        if !(1..=rows).contains(&count) {
            return Err(Error::Count { asked: count, rows });
        }
        let of = self.node();
        let op = Op::Sorted { of, order, count };
        Ok(self.made(Some(count), self.node.bits(), op))
    }

    /// The `count` smallest rows, the smallest first.
    ///
    /// # Errors
    /// A count of 0, or of more than there are.
    pub fn smallest(&self, count: usize) -> Result<Self, Error> {
        self.sorted(Order::Ascending, count)
    }

    /// The `count` largest rows, the largest first.
    ///
    /// # Errors
    /// A count of 0, or of more than there are.
    pub fn largest(&self, count: usize) -> Result<Self, Error> {
        self.sorted(Order::Descending, count)
    }

    /// The numbers of rows from each edge up to but without the next. If `closed`, the last edge
    /// belongs to the last bin.
    ///
    /// # Errors
    /// Edges that do not increase, or fewer than two.
    pub fn histogram(&self, edges: &[f64], closed: bool) -> Result<Self, Error> {
        if edges.len() < 2 || edges.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(Error::Bins);
        }
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
        let (rows, of) = (Some(bins.len()), self.node());
        let op = Op::Histogram { of, bins };
        Ok(Self::counting(&self.backend, rows, bits, op))
    }
}
