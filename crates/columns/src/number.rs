//! Encrypted numbers in fixed point.
//!
//! A [`Number`] is codes and their encoding: `a * 2 + 1` changes the encoding and no ciphertext.
//! Operators on numbers of different encodings bring them to one encoding: the steps of all of them
//! are whole multiples of its step.

use std::fmt;
use std::sync::Arc;

use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_upload::readings::Column;

use crate::backend::Backend;
use crate::decimal::{self, Decoder};
use crate::error::Error;
use crate::node::{Kind, Node, Op};

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
    pub(crate) fn made(&self, rows: Option<usize>, bits: u32, op: Op) -> Self {
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

    pub(crate) fn node(&self) -> Arc<Node> {
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

    /// Returns whether the number is computed, or was clear from the start.
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
}
