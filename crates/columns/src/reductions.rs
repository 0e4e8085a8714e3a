//! Functions of all rows of an encrypted number.

use std::sync::Arc;

use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::integer::carry_bits;
use tfhe_sbc_upload::cuts::first_code_from;

use crate::decimal;
use crate::error::Error;
use crate::node::{Node, Op, PlacePart};
use crate::number::{Number, check_rows, count_bits};
use crate::threshold::{CodeCondition, Relation, code_condition};

/// The number of values that come before a percentile of `count` values in ascending order: the percentile is the smallest value
/// that at least `percent` percent of them do not exceed.
pub fn percentile_rank(percent: f64, count: usize) -> usize {
    /// A share of a row that is none: percentages are decimal fractions.
    const SLACK: f64 = 1e-9;
    let share = percent / 100.0 * count as f64;
    ((share - SLACK).ceil() as usize).clamp(1, count.max(1)) - 1
}

impl Number {
    /// The sum of the rows. The sum of a whole column loads few blocks.
    #[must_use]
    pub fn sum(&self) -> Self {
        let rows = self.node.len();
        let bits = self.node.bits() + carry_bits(rows);
        Self {
            offset: decimal::product(self.offset, rows as f64),
            ..self.made(None, bits, Op::Sum(self.node()))
        }
    }

    /// The sum of the squares of the rows' codes, as a whole number.
    #[must_use]
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
    #[must_use]
    pub fn min(&self) -> Self {
        self.extreme(Order::Ascending)
    }

    /// The largest of the rows.
    #[must_use]
    pub fn max(&self) -> Self {
        self.extreme(Order::Descending)
    }

    /// The places of the first `count` rows in an order, `None` standing for a single one, and the numbers in them.
    fn place(&self, order: Order, count: Option<usize>) -> (Self, Self) {
        let op = |part| Op::Place {
            of: self.node(),
            order,
            part,
        };
        let bits = count_bits(self.node.len().saturating_sub(1));
        let index = Self::counting(&self.backend, count, bits, op(PlacePart::Index));
        let value = self.made(count, self.node.bits(), op(PlacePart::Value));
        (index, value)
    }

    /// The place of the first of the smallest rows, from 0, and that number.
    pub fn arg_min(&self) -> (Self, Self) {
        self.place(Order::Ascending, None)
    }

    /// The place of the first of the largest rows, from 0, and that number.
    pub fn arg_max(&self) -> (Self, Self) {
        self.place(Order::Descending, None)
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
        if !(0.0..=100.0).contains(&percent) {
            return Err(Error::NotFinite);
        }
        self.rank(percentile_rank(percent, self.node.len()))
    }

    /// The lower median.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn median(&self) -> Result<Self, Error> {
        self.percentile(50.0)
    }

    /// Checks that there are `count` rows.
    fn check_count(&self, count: usize) -> Result<(), Error> {
        let rows = self.node.len();
        match (1..=rows).contains(&count) {
            true => Ok(()),
            false => Err(Error::Count { asked: count, rows }),
        }
    }

    fn sorted(&self, order: Order, count: usize) -> Result<Self, Error> {
        self.check_count(count)?;
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

    /// The places of the `count` largest rows, from 0, and the numbers in them, the largest first; of equal rows, the first
    /// comes first.
    ///
    /// # Errors
    /// A count of 0, or of more than there are.
    pub fn largest_places(&self, count: usize) -> Result<(Self, Self), Error> {
        self.check_count(count)?;
        Ok(self.place(Order::Descending, Some(count)))
    }

    /// The numbers of rows from each edge up to but without the next. If `closed`, the last edge
    /// belongs to the last bin.
    ///
    /// # Errors
    /// Edges that do not increase, or fewer than two.
    pub fn histogram(&self, edges: &[f64], closed: bool) -> Result<Self, Error> {
        self.histogram_of(self.node(), edges, closed)
    }

    /// The numbers of rows in the bins of this number's codes, as they are in another node.
    pub(crate) fn histogram_of(
        &self,
        of: Arc<Node>,
        edges: &[f64],
        closed: bool,
    ) -> Result<Self, Error> {
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
        let rows = Some(bins.len());
        let op = Op::Histogram { of, bins };
        Ok(Self::counting(&self.backend, rows, bits, op))
    }
}
