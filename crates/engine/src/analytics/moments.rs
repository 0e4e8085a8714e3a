//! The sums that give mean and variance: count, sum, and sum of squares.
//!
//! The division takes place after decryption, so that the results are exact: see [`mean`] and
//! [`variance`]. Signed readings are counted from the lowest number of their width, so that all
//! sums are unsigned.
//!
//! A square is the sum of the squares of its digits and of twice the product of each pair of them,
//! which is half the products of a multiplication. Products of many rows are added up before they are digits, if the
//! circuit has forms of [sums of lookup results](Circuit::with_sums).

use super::AnalyticsError;
use crate::circuit::{Addend, Block, Circuit};
use crate::integer::sum::Columns;
use crate::integer::{FheUint, Integer, Signedness, Width, carry_bits};

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

/// The number of rows whose products are added up at a scale of their own.
pub(super) const MANY_ROWS: usize = 16;

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
        let squares = Width::new(2 * width.bits() + carry_bits(rows.len()))?;
        let columns = match self.squares_at_scale(rows, squares) {
            Some(columns) => columns,
            None => self.squares_in_digits(rows, squares),
        };
        Ok(self.propagate_unchecked(&self.add_columns(columns, squares)))
    }

    /// The digits of the squares of digits and of twice their products, by the powers that they are added at.
    fn squares_in_digits(&self, rows: &[FheUint], width: Width) -> Columns {
        let mut columns: Columns = vec![Vec::new(); self.block_count(width)];
        let base = self.message_modulus();
        for row in rows {
            for (i, low) in row.blocks().iter().enumerate() {
                let square: [&dyn Fn(i64) -> i64; 2] = [&|x| x * x % base, &|x| x * x / base];
                add_digits(&mut columns, 2 * i, self.look_up_all(low, &square));
                for (j, high) in row.blocks().iter().enumerate().skip(i + 1) {
                    let product: [&dyn Fn(i64, i64) -> i64; 2] =
                        [&|x, y| 2 * x * y % base, &|x, y| 2 * x * y / base];
                    let digits = self.look_up_pair_all(low, high, &product);
                    add_digits(&mut columns, i + j, digits);
                }
            }
        }
        columns
    }

    /// Does the same as [`squares_in_digits`](Self::squares_in_digits) by sums of products that one lookup gives each.
    /// `None` if there are few rows, or the circuit has no form of such sums.
    ///
    /// A square of a digit `d` is `2·C(d, 2) + d`. The digit below has products of the same power with it, so that they
    /// take the binomial coefficient with them. Squares of the lowest digits are looked up two rows at a time.
    fn squares_at_scale(&self, rows: &[FheUint], width: Width) -> Option<Columns> {
        if rows.len() < MANY_ROWS {
            return None;
        }
        let base = self.message_modulus();
        let blocks = rows.first()?.blocks().len();
        let mut columns: Columns = vec![Vec::new(); self.block_count(width)];
        for high in 1..blocks {
            let function = |low: i64, high: i64, is_next: bool| {
                let square = if is_next { high * (high - 1) / 2 } else { 0 };
                low * high + base * square
            };
            for low in 0..high {
                let is_next = low + 1 == high;
                let below = |x: i64| function(x % base, x / base, is_next);
                let above = |x: i64| function(x / base, x % base, is_next);
                let addends = rows.iter().map(|row| {
                    let (low, high) = (&row.blocks()[low], &row.blocks()[high]);
                    let (block, is_above) = self.paired(low, high);
                    let function: &dyn Fn(i64) -> i64 = if is_above { &above } else { &below };
                    Addend { block, function }
                });
                let addends: Vec<Addend<'_>> = addends.collect();
                for digits in self.digits_of_sums(&addends)? {
                    let twice = digits.iter().map(|digit| digit * 2);
                    add_digits(&mut columns, low + high, twice.collect());
                }
            }
            // The sum of the readings has the same sums of digits.
            let digits = rows.iter().map(|row| row.blocks()[high].clone());
            let digits: Vec<Block> = digits.collect();
            for digits in self.sums_of_groups(&digits)? {
                add_digits(&mut columns, 2 * high, digits);
            }
        }
        let lowest: Vec<&Block> = rows.iter().map(|row| &row.blocks()[0]).collect();
        let of_pair = |x: i64| (x / base) * (x / base) + (x % base) * (x % base);
        let none = Block::clear(0);
        let addends = lowest.chunks(2).map(|pair| {
            let (block, _) = self.paired(pair[0], pair.get(1).copied().unwrap_or(&none));
            Addend {
                block,
                function: &of_pair,
            }
        });
        let addends: Vec<Addend<'_>> = addends.collect();
        for digits in self.digits_of_sums(&addends)? {
            add_digits(&mut columns, 0, digits);
        }
        Some(columns)
    }

    /// Two digits in one block for a lookup: one as it is, the other one times the message modulus. Returns whether that is
    /// the first, which is the one with less noise. Digits that are too noisy are refreshed.
    pub(super) fn paired(&self, first: &Block, second: &Block) -> (Block, bool) {
        let sum = |below: &Block, above: &Block| below + &(above * self.message_modulus());
        let fits = |sum: &Block| sum.norm_squared() <= self.max_norm_squared();
        let orders = [(first, second, false), (second, first, true)];
        let mut sums = orders.map(|(below, above, order)| (sum(below, above), order));
        sums.sort_by_key(|(sum, _)| sum.norm_squared());
        let [quieter, _] = sums;
        if fits(&quieter.0) {
            return quieter;
        }
        // The first is refreshed if that is enough, so that pairs with one digit refresh the same.
        let refreshed = self.refresh(first);
        let both = sum(second, &refreshed);
        if fits(&both) {
            return (both, true);
        }
        let second = self.refresh(second);
        let both = sum(first, &second);
        match fits(&both) {
            true => (both, false),
            false => (sum(&refreshed, &second), false),
        }
    }
}

/// Adds the digits of a number to the columns from a place on.
pub(super) fn add_digits(columns: &mut Columns, place: usize, digits: Vec<Block>) {
    for (column, digit) in columns.iter_mut().skip(place).zip(digits) {
        if digit.clear_value() != Some(0) {
            column.push(digit);
        }
    }
}
