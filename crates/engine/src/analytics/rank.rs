//! Readings of a given rank, percentiles and the median.
//!
//! The digits of the result are found one after the other, from the most significant one (a radix
//! selection). The rows whose higher digits are those found so far are counted by their next
//! digit. The counts give the next digit of the wanted row, and its rank among the rows that share
//! this digit. The price of a row is that of its digits, whatever the number of rows; the price
//! per row of a sorting network grows with the number of rows.

use super::AnalyticsError;
use crate::circuit::{Block, Circuit};
use crate::integer::sum::Columns;
use crate::integer::{
    Comparison, FheBool, FheUint, Integer, IntegerError, Signedness, Unsigned, Width,
};

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
        let mut rank: FheUint = self.clear(rank as u64, count_width);
        // For each row, 1 if it has the digits found so far.
        let mut left = vec![Block::clear(1); rows.len()];
        let mut digits = Vec::new();
        for i in (0..self.block_count(width)).rev() {
            let modulus = self.digit_modulus(width, i);
            let counts = self.counts_below(rows, &left, i, modulus, count_width);
            // The digit is the number of counts that are at most the rank.
            let passed = counts
                .iter()
                .map(|count| {
                    let passed = self.compare(Comparison::Le, count, &rank)?;
                    Ok(self.bit(&passed))
                })
                .collect::<Result<Vec<Block>, IntegerError>>()?;
            let sum = passed.iter().fold(Block::clear(0), |sum, bit| &sum + bit);
            let digit = self.refresh(&sum.known_in(0, modulus - 1));
            if i > 0 {
                rank = self.sub(&rank, &self.last_passed(&counts, &passed))?;
                rank = self.propagate_unchecked(&rank);
                for (left, row) in left.iter_mut().zip(rows) {
                    *left = self.still(left, &row.blocks()[i], &digit);
                }
            }
            digits.push(digit);
        }
        digits.reverse();
        Ok(Integer::new(digits, width))
    }

    /// The numbers of remaining rows whose digit is below 1, 2, and so on.
    fn counts_below(
        &self,
        rows: &[FheUint],
        left: &[Block],
        i: usize,
        modulus: i64,
        width: Width,
    ) -> Vec<FheUint> {
        let below: Vec<_> = (1..modulus)
            .map(|v| move |digit: i64, left: i64| i64::from(digit < v) * left)
            .collect();
        let below: Vec<_> = below
            .iter()
            .map(|f| f as &dyn Fn(i64, i64) -> i64)
            .collect();
        let mut ones: Vec<Vec<Block>> = vec![Vec::with_capacity(rows.len()); below.len()];
        for (row, left) in rows.iter().zip(left) {
            let bits = self.look_up_pair_all(&row.blocks()[i], left, &below);
            for (ones, bit) in ones.iter_mut().zip(bits) {
                ones.push(bit);
            }
        }
        let count = |ones: Vec<Block>| {
            let mut columns: Columns = vec![Vec::new(); self.block_count(width)];
            columns[0] = ones;
            self.propagate_unchecked(&self.add_columns::<Unsigned>(columns, width))
        };
        ones.into_iter().map(count).collect()
    }

    /// The last of the counts that is at most the rank, or 0.
    fn last_passed(&self, counts: &[FheUint], passed: &[Block]) -> FheUint {
        let width = counts[0].width();
        let mut blocks = vec![Block::clear(0); self.block_count(width)];
        for (v, count) in counts.iter().enumerate() {
            let next = passed.get(v + 1).cloned();
            let is_last = &passed[v] - &next.unwrap_or_else(|| Block::clear(0));
            let masked = self.masked(&is_last.known_in(0, 1), count);
            for (sum, digit) in blocks.iter_mut().zip(masked.blocks()) {
                *sum += digit;
            }
        }
        let digits = blocks.into_iter().enumerate();
        let digits = digits.map(|(i, sum)| sum.known_in(0, self.digit_modulus(width, i) - 1));
        Integer::new(digits.collect(), width)
    }

    /// Returns whether a remaining row also has this digit.
    fn still(&self, left: &Block, own: &Block, digit: &Block) -> Block {
        let difference = own - digit;
        if left.clear_value().is_some() || 2 * difference.span() <= self.block_modulus() {
            return self.look_up_pair(&difference, left, |d, left| i64::from(d == 0) * left);
        }
        let equal = self.bit(&FheBool::of(difference, |d| d == 0));
        self.look_up_pair(&equal, left, |equal, left| equal * left)
    }
}
