//! Computations on columns of readings.
//!
//! A column is a slice of integers of the same width. The computations are methods of [`Circuit`]
//! that record operators. Computations of one circuit share their common lookups. Signed readings
//! are ordered as unsigned ones with their sign bits flipped, which takes one bootstrap per
//! reading once.
//!
//! - [`extremes`]: the smallest and the largest reading, and their rows;
//! - [`order`]: sorting, and the first readings in order;
//! - [`rank`]: readings of a given rank, percentiles and the median;
//! - [`moments`]: the sums that give mean and variance;
//! - [`parts`]: sums that were begun on whole polynomials;
//! - [`rows`]: conditions, and the number and the sum of the rows that meet them;
//! - [`histogram`]: counts by bins;
//! - [`tree`]: decision trees and forests;
//! - [`score`]: linear scores and logistic models;
//! - [`windows`]: sums and extremes of the rows up to each row.

pub mod extremes;
pub mod histogram;
pub mod moments;
pub mod order;
pub mod parts;
mod products;
pub mod rank;
pub mod rows;
pub mod score;
pub mod tree;
pub mod windows;

use thiserror::Error;

use crate::circuit::{Block, Circuit};
use crate::integer::{Clear, FheBool, FheUint, Integer, IntegerError, Signedness, Width};

/// The reason for which a computation on columns is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AnalyticsError {
    /// An integer operator refuses an operand.
    #[error(transparent)]
    Integer(#[from] IntegerError),
    /// A column has no rows.
    #[error("a column has no rows")]
    NoRows,
    /// Columns or truth values have different numbers of rows.
    #[error("{0} rows and {1} rows do not belong together")]
    Rows(usize, usize),
    /// There is no column of this index.
    #[error("there is no column {column} among {count}")]
    NoColumn {
        /// The index that was given.
        column: usize,
        /// The number of columns.
        count: usize,
    },
    /// A clear number does not fit the width of the column.
    #[error("{value} is no number of {bits} bits")]
    OutOfRange {
        /// The number.
        value: i128,
        /// The width in bits.
        bits: u32,
    },
    /// A rank or a number of rows is above the number of rows, or a percentage above 100.
    #[error("there is no rank {rank} among {count}")]
    Rank {
        /// The rank, number of rows or percentage that was given.
        rank: usize,
        /// The largest value that is allowed.
        count: usize,
    },
    /// The list of bins is empty.
    #[error("there are no bins")]
    NoBins,
    /// A bin has no values.
    #[error("bin {0} is empty")]
    EmptyBin(usize),
    /// A bin starts before the previous one ends.
    #[error("bin {0} starts before the one before it ends")]
    BinOrder(usize),
    /// The nodes do not form a tree.
    #[error(
        "node {0} is no node of a tree: a branch's children come after it, each once, and not \
         below 64 others"
    )]
    Tree(usize),
    /// The number of weights is not the number of columns, or the sums do not fit 126 bits.
    #[error("the weights do not fit the columns or their sums overflow")]
    Weights,
    /// The parts of a sum do not fit together.
    #[error("the parts of a sum have more readings than a block can hold, or digits of others")]
    Parts,
    /// The levels or the step of a probability are out of range.
    #[error("a probability needs 2 to 256 levels and a positive step")]
    Levels,
}

/// The range of integers of this kind and width, as far as an `i128` holds it.
fn range_of<S: Signedness>(width: Width) -> (i128, i128) {
    match (S::SIGNED, width.bits()) {
        (true, 128..) => (i128::MIN, i128::MAX),
        (true, bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, 127..) => (0, i128::MAX),
        (false, bits) => (0, (1 << bits) - 1),
    }
}

impl Circuit {
    /// Checks that a column has rows, all of this circuit and of the same width, and returns the
    /// width.
    fn check_column<S: Signedness>(&self, column: &[Integer<S>]) -> Result<Width, AnalyticsError> {
        let first = column.first().ok_or(AnalyticsError::NoRows)?;
        self.check(&column.iter().collect::<Vec<_>>())?;
        Ok(first.width())
    }

    fn check_bits(&self, bits: &[FheBool], rows: usize) -> Result<(), AnalyticsError> {
        if bits.len() != rows {
            return Err(AnalyticsError::Rows(bits.len(), rows));
        }
        Ok(self.check_own_bools(bits)?)
    }

    /// A clear number of this width, if it fits.
    fn clear_in_range<S: Signedness>(
        &self,
        value: i128,
        width: Width,
    ) -> Result<Integer<S>, AnalyticsError> {
        let (low, high) = range_of::<S>(width);
        match (low..=high).contains(&value) {
            true => Ok(self.clear(Clear::from(value), width)),
            false => Err(AnalyticsError::OutOfRange {
                value,
                bits: width.bits(),
            }),
        }
    }

    /// Unsigned integers in the order of these, in digits: signed ones are increased by 2^(width -
    /// 1).
    fn ordered<S: Signedness>(&self, column: &[Integer<S>]) -> Vec<FheUint> {
        let ordered = column.iter().map(|x| match S::SIGNED {
            true => self.flip_sign(&x.clone().reinterpret()),
            false => self.digits(&x.clone().reinterpret(), 2),
        });
        ordered.collect()
    }

    /// The inverse of [`ordered`](Self::ordered).
    fn unordered<S: Signedness>(&self, x: &FheUint) -> Integer<S> {
        match S::SIGNED {
            true => self.flip_sign(x).reinterpret(),
            false => x.clone().reinterpret(),
        }
    }

    fn flip_sign(&self, x: &FheUint) -> FheUint {
        let digits = self.digits(x, 2);
        let mut blocks = digits.blocks().to_vec();
        let modulus = self.digit_modulus(x.width(), blocks.len() - 1);
        if let Some(top) = blocks.last_mut() {
            *top = match modulus {
                2 => (&Block::clear(1) - &*top).known_in(0, 1),
                _ => self.look_up(top, |digit| digit ^ (modulus / 2)),
            };
        }
        Integer::new(blocks, x.width())
    }

    /// The whole integer as one block, if a block holds it.
    fn packed(&self, x: &FheUint) -> Option<Block> {
        let values = 1i64.checked_shl(x.width().bits())?;
        if x.width().bits() >= self.encoding().plaintext_bits() {
            return None;
        }
        let sum = |x: &FheUint| {
            let base = self.message_modulus();
            let blocks = x.blocks().iter().rev();
            blocks.fold(Block::clear(0), |sum, digit| &(&sum * base) + digit)
        };
        let mut packed = sum(&self.digits(x, 1));
        if packed.norm_squared() > self.max_norm_squared() {
            let refreshed = x.blocks().iter().map(|digit| self.refresh(digit));
            packed = sum(&Integer::new(refreshed.collect(), x.width()));
        }
        let fits = packed.norm_squared() <= self.max_norm_squared();
        fits.then(|| packed.known_in(0, values - 1))
    }

    /// Returns `x` if the bit is 1, and 0 if not, in digits if `x` is.
    fn masked(&self, bit: &Block, x: &FheUint) -> FheUint {
        let digits = self.digits(x, 2);
        let blocks = digits.blocks().iter();
        let masked = blocks.map(|digit| self.look_up_pair(digit, bit, |digit, bit| digit * bit));
        Integer::new(masked.collect(), x.width())
    }
}
