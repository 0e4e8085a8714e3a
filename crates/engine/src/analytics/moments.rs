//! The sums that give mean and variance: count, sum, and sum of squares.
//!
//! The division takes place after decryption, so that the results are exact: see [`mean`] and
//! [`variance`]. Signed readings are counted from the lowest number of their width, so that all
//! sums are unsigned.
//!
//! A square is the sum of the squares of its digits and of twice the product of each pair of them,
//! which is half the products of a multiplication.

use super::AnalyticsError;
use crate::circuit::{Block, Circuit};
use crate::integer::sum::Columns;
use crate::integer::{FheUint, Integer, Signedness, Width};

/// Sums over a column.
#[derive(Clone, Debug)]
pub struct Moments {
    /// The number of readings.
    pub count: usize,
    /// The number that readings are counted from: 0, or `-2^(width - 1)` if they are signed.
    pub origin: i128,
    /// The sum of the readings, each less `origin`.
    pub sum: FheUint,
    /// The sum of the squares of the readings, each less `origin`.
    pub sum_of_squares: FheUint,
}

/// The mean of `count` readings, from their decrypted sum.
pub fn mean(count: usize, origin: i128, sum: u128) -> f64 {
    origin as f64 + sum as f64 / count as f64
}

/// Returns `n·Σx² - (Σx)²`, which is n² times the variance of the readings, and n·(n - 1) times
/// the variance estimated for the population that they are a sample of. `None` if it does not fit.
pub fn variance_numerator(count: usize, sum: u128, sum_of_squares: u128) -> Option<u128> {
    let first = sum_of_squares.checked_mul(count as u128)?;
    first.checked_sub(sum.checked_mul(sum)?)
}

/// The variance of the readings, from their decrypted sums.
pub fn variance(count: usize, sum: u128, sum_of_squares: u128) -> Option<f64> {
    let numerator = variance_numerator(count, sum, sum_of_squares)?;
    (count > 0).then(|| numerator as f64 / (count as f64 * count as f64))
}

/// The variance estimated for the population that the readings are a sample of, from their
/// decrypted sums.
pub fn sample_variance(count: usize, sum: u128, sum_of_squares: u128) -> Option<f64> {
    let numerator = variance_numerator(count, sum, sum_of_squares)?;
    (count > 1).then(|| numerator as f64 / (count as f64 * (count as f64 - 1.0)))
}

impl Circuit {
    /// Returns the sum and the sum of squares of a column. Lookups that no requested block needs
    /// are not evaluated, so that the sum alone costs no more than it would by itself.
    ///
    /// Readings may have at most 127 bits, and the sum of squares must fit 256 bits.
    ///
    /// # Errors
    /// If the column is empty, or its readings have different widths or belong to another circuit.
    pub fn moments<S: Signedness>(&self, column: &[Integer<S>]) -> Result<Moments, AnalyticsError> {
        let width = self.check_column(column)?;
        let origin = match S::SIGNED {
            true => super::range_of::<S>(width).0,
            false => 0,
        };
        if width.bits() > 127 {
            return Err(AnalyticsError::OutOfRange {
                value: origin,
                bits: width.bits(),
            });
        }
        let readings = self.ordered(column);
        Ok(Moments {
            count: column.len(),
            origin,
            sum: self.propagate_unchecked(&self.sum(&readings)?),
            sum_of_squares: self.sum_of_row_squares(&readings, width)?,
        })
    }

    /// The sum of the squares of the readings, of at most 127 bits, alone.
    pub fn sum_of_squares(&self, column: &[FheUint]) -> Result<FheUint, AnalyticsError> {
        let width = self.check_column(column)?;
        self.sum_of_row_squares(&self.ordered(column), width)
    }

    fn sum_of_row_squares(
        &self,
        rows: &[FheUint],
        width: Width,
    ) -> Result<FheUint, AnalyticsError> {
        let carry_bits = usize::BITS - (rows.len() - 1).leading_zeros();
        let squares = Width::new(2 * width.bits() + carry_bits)?;
        let mut columns: Columns = vec![Vec::new(); self.block_count(squares)];
        let base = self.message_modulus();
        let mut add = |place: usize, digits: Vec<Block>| {
            for (column, digit) in columns.iter_mut().skip(place).zip(digits) {
                if digit.clear_value() != Some(0) {
                    column.push(digit);
                }
            }
        };
        for row in rows {
            for (i, low) in row.blocks().iter().enumerate() {
                let square: [&dyn Fn(i64) -> i64; 2] = [&|x| x * x % base, &|x| x * x / base];
                add(2 * i, self.look_up_all(low, &square));
                for (j, high) in row.blocks().iter().enumerate().skip(i + 1) {
                    let product: [&dyn Fn(i64, i64) -> i64; 2] =
                        [&|x, y| 2 * x * y % base, &|x, y| 2 * x * y / base];
                    add(i + j, self.look_up_pair_all(low, high, &product));
                }
            }
        }
        Ok(self.propagate_unchecked(&self.add_columns(columns, squares)))
    }
}
