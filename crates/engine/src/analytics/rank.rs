//! Readings of a given rank, percentiles and the median.
//!
//! The wanted reading is the largest number that enough rows reach. Its bits are found one after the other, the most
//! significant first, by counting the rows that are at least the number found so far with the next bit set. A row takes part
//! as one block: its digit at the current place, and above it the sign of the comparison of its higher digits with those
//! found. So a bit costs a row one lookup and its share of the count, a place one more lookup, and nothing else depends on
//! the number of rows. The price per row of a sorting network grows with that number.

use super::AnalyticsError;
use crate::circuit::{Block, Circuit};
use crate::integer::{Comparison, FheUint, Integer, IntegerError, Signedness, Width};

impl Circuit {
    /// Returns the reading with the given rank, from 0, in ascending order.
    ///
    /// # Errors
    /// If the column is empty or not of one width and this circuit, or the rank is not below the
    /// number of rows.
    pub fn nth_smallest<S: Signedness>(
        &self,
        column: &[Integer<S>],
        rank: usize,
    ) -> Result<Integer<S>, AnalyticsError> {
        self.check_column(column)?;
        if rank >= column.len() {
            return Err(AnalyticsError::Rank {
                rank,
                count: column.len(),
            });
        }
        let rows = self.ordered(column);
        let batch = self.batch_of(rows.len());
        let found = self.select_rank(&rows, rank)?;
        drop(batch);
        Ok(self.unordered(&found))
    }

    /// Returns the `percent`th percentile by nearest rank: the smallest reading that is not below
    /// at least this share of the readings. 0 gives the smallest reading, 50 the (lower) median.
    ///
    /// # Errors
    /// If the column is empty or not of one width and this circuit, or `percent` is above 100.
    pub fn percentile<S: Signedness>(
        &self,
        column: &[Integer<S>],
        percent: u32,
    ) -> Result<Integer<S>, AnalyticsError> {
        if percent > 100 {
            return Err(AnalyticsError::Rank {
                rank: percent as usize,
                count: 100,
            });
        }
        let rank = (column.len() as u128 * u128::from(percent)).div_ceil(100) as usize;
        self.nth_smallest(column, rank.saturating_sub(1))
    }

    /// Returns the lower median.
    ///
    /// # Errors
    /// If the column is empty, or its readings have different widths or belong to another circuit.
    pub fn median<S: Signedness>(
        &self,
        column: &[Integer<S>],
    ) -> Result<Integer<S>, AnalyticsError> {
        self.percentile(column, 50)
    }

    fn select_rank(&self, rows: &[FheUint], rank: usize) -> Result<FheUint, IntegerError> {
        let width = rows[0].width();
        let count_width = Width::new(rows.len().ilog2() + 1)?;
        let enough: FheUint = self.clear((rows.len() - rank) as u64, count_width);
        let places = self.places(rows);
        // For each row, the sign of the comparison of its higher digits with those found.
        let mut signs = vec![Block::clear(0); rows.len()];
        let mut digits = Vec::new();
        for (at, place) in places.iter().enumerate() {
            let of_row = |(row, sign): (&FheUint, &Block)| &place.of(self, row) + sign;
            let rows: Vec<Block> = rows.iter().zip(&signs).map(of_row).collect();
            let mut found = Block::clear(0);
            for bit in (0..place.modulus.ilog2()).rev() {
                let step = 1 << bit;
                let least = &found + step;
                let reach = |row| self.look_up(&(row - &least), |x| i64::from(x >= 0));
                let reached = rows.iter().map(reach).collect();
                let count = self.add_column(reached, count_width);
                let is_set = self.compare(Comparison::Ge, &count, &enough)?;
                found += &self.weighted_bit(&is_set, step);
            }
            if let Some(next) = places.get(at + 1) {
                let sign = |row| self.look_up(&(row - &found), |x| next.modulus * x.signum());
                signs = rows.iter().map(sign).collect();
            }
            digits.extend(place.digits(self, &found));
        }
        digits.reverse();
        Ok(Integer::new(digits, width))
    }

    /// The places of the digits of rows, the most significant first. The first two digits are one place if a lookup can
    /// take both at once, less bits that lookups give.
    pub(super) fn places(&self, rows: &[FheUint]) -> Vec<Place> {
        let width = rows[0].width();
        let one = |at: usize| Place {
            low: at,
            high: None,
            modulus: self.digit_modulus(width, at),
        };
        let mut places: Vec<Place> = (0..self.block_count(width)).rev().map(one).collect();
        if let [first, second, ..] = &places[..] {
            let both = Place {
                low: second.low,
                high: Some(first.low),
                modulus: first.modulus * second.modulus,
            };
            let fits = |row| both.fits(self, &both.of(self, row));
            if both.modulus <= self.block_modulus() && rows.iter().all(fits) {
                places.splice(..2, [both]);
            }
        }
        places
    }
}

/// One digit of numbers, or their two most significant ones.
pub(super) struct Place {
    /// The digit, or the lower of two.
    pub(super) low: usize,
    /// The higher of two digits.
    high: Option<usize>,
    /// The number of values.
    pub(super) modulus: i64,
}

impl Place {
    /// The part of a number that is at this place.
    pub(super) fn of(&self, circuit: &Circuit, number: &FheUint) -> Block {
        let low = &number.blocks()[self.low];
        let Some(high) = self.high.map(|at| &number.blocks()[at]) else {
            return low.clone();
        };
        let both = low + &(high * circuit.message_modulus());
        match self.fits(circuit, &both) {
            true => both,
            // A lookup makes the noise of the higher digit independent of that of the lower one, too.
            false => low + &(&circuit.look_up(high, |digit| digit) * circuit.message_modulus()),
        }
    }

    /// Returns whether a lookup can take a block and as many outputs of lookups as the place has bits.
    fn fits(&self, circuit: &Circuit, x: &Block) -> bool {
        x.norm_squared() + u64::from(self.modulus.ilog2()) <= circuit.max_norm_squared()
    }

    /// The digits of a number at this place, the most significant first.
    fn digits(&self, circuit: &Circuit, number: &Block) -> Vec<Block> {
        let number = number.clone().known_in(0, self.modulus - 1);
        let base = circuit.message_modulus();
        match self.high {
            None => vec![circuit.refresh(&number)],
            Some(_) => circuit.look_up_all(&number, &[&|x| x / base, &|x| x % base]),
        }
    }
}
