//! The smallest and the largest reading of a column, and the rows that they are in.
//!
//! To find the row, a reading becomes the high part of an integer whose low part is its index. One
//! tournament finds both, and equal readings are distinguished by their index.

use super::AnalyticsError;
use crate::circuit::{Block, Circuit};
use crate::integer::{FheUint, Integer, Signedness, Width};

/// A reading, and the row that it is in.
#[derive(Clone, Debug)]
pub struct Indexed<S> {
    /// The row, from 0, in the width that the last row needs.
    pub index: FheUint,
    /// The reading.
    pub value: Integer<S>,
}

/// An order of readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The smallest first.
    Ascending,
    /// The largest first.
    Descending,
}

impl Circuit {
    /// Returns the smallest reading.
    ///
    /// # Errors
    /// If the column is empty, or its readings have different widths or belong to another circuit.
    pub fn min_of<S: Signedness>(
        &self,
        column: &[Integer<S>],
    ) -> Result<Integer<S>, AnalyticsError> {
        self.extreme(Order::Ascending, column)
    }

    /// Returns the largest reading.
    ///
    /// # Errors
    /// If the column is empty, or its readings have different widths or belong to another circuit.
    pub fn max_of<S: Signedness>(
        &self,
        column: &[Integer<S>],
    ) -> Result<Integer<S>, AnalyticsError> {
        self.extreme(Order::Descending, column)
    }

    /// Returns the smallest reading and the first row that it is in.
    ///
    /// # Errors
    /// If the column is empty, or its readings have different widths or belong to another circuit.
    pub fn arg_min<S: Signedness>(
        &self,
        column: &[Integer<S>],
    ) -> Result<Indexed<S>, AnalyticsError> {
        self.arg_extreme(Order::Ascending, column)
    }

    /// Returns the largest reading and the first row that it is in.
    ///
    /// # Errors
    /// If the column is empty, or its readings have different widths or belong to another circuit.
    pub fn arg_max<S: Signedness>(
        &self,
        column: &[Integer<S>],
    ) -> Result<Indexed<S>, AnalyticsError> {
        self.arg_extreme(Order::Descending, column)
    }

    fn extreme<S: Signedness>(
        &self,
        order: Order,
        column: &[Integer<S>],
    ) -> Result<Integer<S>, AnalyticsError> {
        self.check_column(column)?;
        let winner = self.first(order, self.ordered(column))?;
        Ok(self.unordered(&winner))
    }

    fn arg_extreme<S: Signedness>(
        &self,
        order: Order,
        column: &[Integer<S>],
    ) -> Result<Indexed<S>, AnalyticsError> {
        let tags = Tags::new(self, order, column)?;
        let winner = self.first(order, tags.tagged(self, column)?)?;
        Ok(tags.split(self, &winner))
    }

    fn first(&self, order: Order, column: Vec<FheUint>) -> Result<FheUint, AnalyticsError> {
        Ok(match order {
            Order::Ascending => self.tournament(column, Self::min),
            Order::Descending => self.tournament(column, Self::max),
        }?)
    }
}

/// The widths of readings with indices below them.
pub(super) struct Tags {
    /// The width of an index.
    index: Width,
    /// The width of a reading with its index in whole digits below it.
    tagged: Width,
    value: Width,
    order: Order,
}

impl Tags {
    pub(super) fn new<S: Signedness>(
        circuit: &Circuit,
        order: Order,
        column: &[Integer<S>],
    ) -> Result<Self, AnalyticsError> {
        let value = circuit.check_column(column)?;
        let index = Width::new((column.len() - 1).max(1).ilog2() + 1)?;
        let digit_bits = circuit.encoding().message_bits();
        let below = circuit.block_count(index) as u32 * digit_bits;
        Ok(Self {
            index,
            tagged: Width::new(below + value.bits())?,
            value,
            order,
        })
    }

    /// The readings with their indices below them. If the largest comes first, indices are counted
    /// down, so that the first of equal readings comes first.
    pub(super) fn tagged<S: Signedness>(
        &self,
        circuit: &Circuit,
        column: &[Integer<S>],
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let ordered = circuit.ordered(column);
        let tagged = ordered.iter().enumerate().map(|(row, x)| {
            let index: FheUint = circuit.clear(row as u64, self.index);
            let digits = index
                .blocks()
                .iter()
                .map(|digit| self.turned(circuit, digit));
            Integer::new(
                digits.chain(x.blocks().iter().cloned()).collect(),
                self.tagged,
            )
        });
        Ok(tagged.collect())
    }

    /// Splits an integer into a reading and its index.
    pub(super) fn split<S: Signedness>(&self, circuit: &Circuit, x: &FheUint) -> Indexed<S> {
        let digits = circuit.propagate_unchecked(x);
        let (index, value) = digits.blocks().split_at(circuit.block_count(self.index));
        let index = index.iter().enumerate().map(|(i, digit)| {
            let modulus = circuit.digit_modulus(self.index, i);
            self.turned(circuit, digit).known_in(0, modulus - 1)
        });
        let value = Integer::new(value.to_vec(), self.value);
        Indexed {
            index: Integer::new(index.collect(), self.index),
            value: circuit.unordered(&value),
        }
    }

    fn turned(&self, circuit: &Circuit, digit: &Block) -> Block {
        match self.order {
            Order::Ascending => digit.clone(),
            Order::Descending => &Block::clear(circuit.message_modulus() - 1) - digit,
        }
    }
}
