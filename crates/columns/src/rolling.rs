//! Functions of the rows up to each row: of the last ones, which form a window, or of all.
//!
//! As in pandas, a result has as many rows as its operand, and is missing where a window has too few numbers. Which rows these
//! are is no secret unless the gaps of the operand are encrypted. Sums of compact columns are added up on polynomials.

use std::sync::Arc;

use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::integer::carry_bits;

use crate::condition::Limit;
use crate::decimal;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{Kind, Node, Op, WindowFunction};
use crate::number::{Number, count_bits};
use crate::optional::OptionalNumber;
use crate::threshold::Relation;

/// The windows of the last rows up to each row, of numbers some of which may be missing.
///
/// ```
/// use tfhe_sbc_columns::{Error, Value};
///
/// # fn main() -> Result<(), Error> {
/// # let server = tfhe_sbc_columns::doc::rehearsal();
/// // 28.4, 30.1 and 31.5.
/// let table = tfhe_sbc_columns::doc::table(&server);
/// let mean = table.column("temperature_c")?.rolling(2, None)?.mean()?;
/// let [mean] = server.compute([&mean])?;
/// let expected = [None, Some(29.25), Some(30.8)];
/// assert_eq!(mean.rehearsed()?.optionals(), Some(&expected[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Rolling {
    of: OptionalNumber,
    window: usize,
    min_periods: usize,
}

/// The windows that have enough numbers.
enum Enough {
    /// The rows in which a window ends that has, and the number of numbers of each row's window, which are no secret.
    Known(Vec<bool>, Vec<usize>),
    /// The encrypted numbers of numbers.
    Encrypted(Number),
}

impl OptionalNumber {
    /// Returns the windows of the last `window` rows up to each row. A result is missing where a window has fewer than
    /// `min_periods` numbers; by default, where it has less than one for each of its rows.
    ///
    /// # Errors
    /// [`Error::Window`] for a window of no rows, and for `min_periods` of 0 or above `window`; a single number.
    pub fn rolling(&self, window: usize, min_periods: Option<usize>) -> Result<Rolling, Error> {
        if self.number().rows().is_none() {
            return Err(Error::NoOrder);
        }
        let min_periods = min_periods.unwrap_or(window);
        match (1..=window).contains(&min_periods) {
            true => Ok(Rolling {
                of: self.clone(),
                window,
                min_periods,
            }),
            false => Err(Error::Window {
                window,
                min_periods,
            }),
        }
    }

    /// The sum of the numbers up to each row, missing where the row's number is.
    ///
    /// # Errors
    /// An offset that has no common step with the scale, sums of more than 52 bits, and a single number.
    pub fn cumsum(&self) -> Result<Self, Error> {
        let rolling = self.rolling(self.row_count(), Some(1))?;
        let all = Rolling::all(self)?;
        Self::new(rolling.sum_in(&all, 0)?, self.notna().clone())
    }

    /// The smallest number up to each row, missing where the row's number is.
    ///
    /// # Errors
    /// A single number.
    pub fn cummin(&self) -> Result<Self, Error> {
        self.extreme_so_far(Order::Ascending)
    }

    /// The largest number up to each row, missing where the row's number is.
    ///
    /// # Errors
    /// A single number.
    pub fn cummax(&self) -> Result<Self, Error> {
        self.extreme_so_far(Order::Descending)
    }

    fn extreme_so_far(&self, order: Order) -> Result<Self, Error> {
        let rolling = self.rolling(self.row_count(), Some(1))?;
        let has_gaps = self.known_rows().is_none_or(|known| known.contains(&false));
        let extreme = rolling.extreme_of(order, has_gaps, 0);
        Self::new(extreme, self.notna().clone())
    }
}

impl Number {
    /// Returns the windows of the last `window` rows up to each row, see [`OptionalNumber::rolling`].
    ///
    /// # Errors
    /// As [`OptionalNumber::rolling`].
    pub fn rolling(&self, window: usize, min_periods: Option<usize>) -> Result<Rolling, Error> {
        OptionalNumber::whole(self.clone()).rolling(window, min_periods)
    }

    /// The sum of the rows up to each row.
    ///
    /// # Errors
    /// As [`OptionalNumber::cumsum`].
    pub fn cumsum(&self) -> Result<Self, Error> {
        Ok(OptionalNumber::whole(self.clone())
            .cumsum()?
            .number()
            .clone())
    }

    /// The smallest of the rows up to each row.
    ///
    /// # Errors
    /// A single number.
    pub fn cummin(&self) -> Result<Self, Error> {
        Ok(OptionalNumber::whole(self.clone())
            .cummin()?
            .number()
            .clone())
    }

    /// The largest of the rows up to each row.
    ///
    /// # Errors
    /// A single number.
    pub fn cummax(&self) -> Result<Self, Error> {
        Ok(OptionalNumber::whole(self.clone())
            .cummax()?
            .number()
            .clone())
    }

    /// Returns a function of the windows that end with row `first` or a later one.
    fn windows(&self, function: WindowFunction, window: usize, first: usize) -> Self {
        let window = window.min(self.row_count());
        let bits = match function {
            WindowFunction::Sum => self.bits() + carry_bits(window),
            WindowFunction::Extreme(_) => self.bits(),
        };
        let op = Op::Windows {
            of: self.node(),
            function,
            window,
            first,
        };
        self.made(Some(self.row_count() - first), bits, op)
    }

    /// Returns these rows behind `first` others, which may be any.
    fn behind(&self, first: usize) -> Result<Self, Error> {
        match first {
            0 => Ok(self.clone()),
            _ => self.take(&places_behind(self.row_count(), first)),
        }
    }
}

/// The places of rows behind `first` others. The others are runs of neighbours, too, because each run of a compact column is one
/// polynomial.
fn places_behind(rows: usize, first: usize) -> Vec<usize> {
    let before = (0..first).map(|row| row % rows);
    before.chain(0..rows).collect()
}

/// The sum of the last `window` of some numbers up to each row.
fn window_sums(numbers: &[usize], window: usize) -> Vec<usize> {
    let mut sum = 0;
    let mut sums = Vec::with_capacity(numbers.len());
    for (row, number) in numbers.iter().enumerate() {
        sum += number;
        if row >= window {
            sum -= numbers[row - window];
        }
        sums.push(sum);
    }
    sums
}

impl Rolling {
    /// The windows with enough numbers, and the first row that may have one; `None` if no row can.
    fn enough(&self) -> Result<Option<(Enough, usize)>, Error> {
        let enough = self.all_counts()?;
        let first = match &enough {
            Enough::Known(rows, _) => rows.iter().position(|row| *row),
            Enough::Encrypted(_) => Some(self.min_periods - 1),
        };
        let first = first.filter(|first| *first < self.of.row_count());
        Ok(first.map(|first| (enough, first)))
    }

    fn all_counts(&self) -> Result<Enough, Error> {
        Ok(match self.of.known_rows() {
            Some(known) => {
                let known: Vec<usize> = known.into_iter().map(usize::from).collect();
                let counts = window_sums(&known, self.window);
                let rows = counts.iter().map(|count| *count >= self.min_periods);
                Enough::Known(rows.collect(), counts)
            }
            None => {
                let flags = self.of.notna().as_number();
                Enough::Encrypted(flags.windows(WindowFunction::Sum, self.window, 0))
            }
        })
    }

    /// The numbers of numbers up to each row.
    fn all(of: &OptionalNumber) -> Result<Enough, Error> {
        let rows = of.row_count();
        let all = Self {
            of: of.clone(),
            window: rows,
            min_periods: 1,
        };
        all.all_counts()
    }

    /// The result of these numbers, of the rows from `first` on.
    fn result(
        &self,
        number: &Number,
        enough: &Enough,
        first: usize,
    ) -> Result<OptionalNumber, Error> {
        let number = number.behind(first)?;
        let valid = match enough {
            Enough::Known(rows, _) => self.of.notna().public(rows),
            Enough::Encrypted(counts) => {
                let least = Limit::Clear(self.min_periods as u64);
                let enough = counts.compare_codes(Relation::Ge, &least);
                match first {
                    0 => enough,
                    _ => {
                        let rows: Vec<bool> =
                            (0..counts.row_count()).map(|row| row >= first).collect();
                        Mask::all_of(&[&enough, &self.of.notna().public(&rows)])?
                    }
                }
            }
        };
        OptionalNumber::new(number, valid)
    }

    /// The column, whose rows are all missing.
    fn nothing(&self) -> Result<OptionalNumber, Error> {
        let none = vec![false; self.of.row_count()];
        let valid = self.of.notna().public(&none);
        OptionalNumber::new(self.of.number().clone(), valid)
    }

    /// Returns whether a window with enough numbers has a row without one.
    fn meet_gaps(&self, enough: &Enough) -> bool {
        match enough {
            Enough::Known(rows, counts) => {
                let mut windows = rows.iter().zip(counts).enumerate();
                windows.any(|(row, (is_enough, count))| {
                    *is_enough && *count < self.window.min(row + 1)
                })
            }
            Enough::Encrypted(_) => true,
        }
    }

    /// The sums of the codes of the windows from `first` on.
    fn sums_of_codes(&self, enough: &Enough, first: usize) -> Result<Number, Error> {
        let codes = Number {
            offset: 0.0,
            ..self.of.number().clone()
        };
        let codes = match self.meet_gaps(enough) && !self.of.are_zero() {
            true => codes.keep(self.of.notna())?,
            false => codes,
        };
        Ok(codes.windows(WindowFunction::Sum, self.window, first))
    }

    /// The sums of the windows from `first` on.
    fn sum_in(&self, enough: &Enough, first: usize) -> Result<Number, Error> {
        let sums = self.sums_of_codes(enough, first)?;
        let offset = self.of.number().offset;
        if offset == 0.0 {
            return Ok(sums);
        }
        match enough {
            Enough::Known(rows, counts) => {
                if let Some(count) = common_count(rows, counts) {
                    return Ok(Number {
                        offset: decimal::product(offset, count as f64),
                        ..sums
                    });
                }
                let counts: Vec<u64> = counts[first..].iter().map(|count| *count as u64).collect();
                let bits = count_bits(self.window.min(self.of.row_count()));
                let rows = Some(counts.len());
                let counts = Number::counting(&sums.backend, rows, bits, Op::Public(counts));
                let longest = self.window.min(self.of.row_count()) as u64;
                let most = 1u64.checked_shl(self.of.number().bits());
                let most = most.and_then(|codes| longest.checked_mul(codes.wrapping_sub(1)));
                Ok(sums.add_weighted(&counts, offset)?.up_to(&sums, most))
            }
            Enough::Encrypted(counts) => {
                let rows: Vec<usize> = (first..counts.row_count()).collect();
                sums.add_weighted(&counts.take(&rows)?, offset)
            }
        }
    }

    /// The sum of each window.
    ///
    /// # Errors
    /// An offset that has no common step with the scale if windows have different numbers of numbers, and sums of more than 52
    /// bits.
    pub fn sum(&self) -> Result<OptionalNumber, Error> {
        match self.enough()? {
            None => self.nothing(),
            Some((enough, first)) => self.result(&self.sum_in(&enough, first)?, &enough, first),
        }
    }

    /// The mean of each window, exact: the sum with a smaller step.
    ///
    /// # Errors
    /// [`Error::WindowMeans`] if windows may have different numbers of numbers, and sums of more than 52 bits.
    pub fn mean(&self) -> Result<OptionalNumber, Error> {
        let Some((enough, first)) = self.enough()? else {
            return self.nothing();
        };
        let count = match &enough {
            Enough::Known(rows, counts) => common_count(rows, counts),
            Enough::Encrypted(_) => (self.min_periods == self.window).then_some(self.window),
        };
        let count = count.ok_or(Error::WindowMeans)?;
        let sums = self.sums_of_codes(&enough, first)?;
        let means = Number {
            offset: self.of.number().offset,
            scale: sums.scale / count as f64,
            ..sums
        };
        means.encoding().map_err(|_| Error::TooWide)?;
        self.result(&means, &enough, first)
    }

    /// The smallest number of each window.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn min(&self) -> Result<OptionalNumber, Error> {
        self.extreme(Order::Ascending)
    }

    /// The largest number of each window.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn max(&self) -> Result<OptionalNumber, Error> {
        self.extreme(Order::Descending)
    }

    fn extreme(&self, order: Order) -> Result<OptionalNumber, Error> {
        let Some((enough, first)) = self.enough()? else {
            return self.nothing();
        };
        let extremes = self.extreme_of(order, self.meet_gaps(&enough), first);
        self.result(&extremes, &enough, first)
    }

    /// The first in an order of each window from `first` on. Rows without a number come last if there may be some.
    fn extreme_of(&self, order: Order, has_gaps: bool, first: usize) -> Number {
        let number = self.of.number();
        let (of, mask) = (number.node(), Arc::clone(&self.of.notna().node));
        let filled = match (has_gaps, order) {
            (false, _) => None,
            // The lowest code.
            (true, Order::Descending) if self.of.are_zero() => None,
            (true, Order::Descending) => Some(Op::Keep { of, mask }),
            (true, Order::Ascending) => {
                let kind = Kind::Code(number.bits());
                let largest = Op::Public(vec![u64::MAX >> (64 - number.bits().clamp(1, 64))]);
                Some(Op::Select {
                    mask,
                    then: of,
                    otherwise: Node::new(None, kind, largest),
                })
            }
        };
        let filled = filled.map(|op| number.made(number.rows(), number.bits(), op));
        let filled = filled.as_ref().unwrap_or(number);
        filled.windows(WindowFunction::Extreme(order), self.window, first)
    }
}

/// The number of numbers of all windows that have enough, if it is the same.
fn common_count(rows: &[bool], counts: &[usize]) -> Option<usize> {
    let mut counts = rows.iter().zip(counts).filter(|(row, _)| **row);
    let (_, first) = counts.next()?;
    counts.all(|(_, count)| count == first).then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_behind_others_are_two_runs() {
        assert_eq!(places_behind(5, 2), [0, 1, 0, 1, 2, 3, 4]);
        assert_eq!(places_behind(2, 3), [0, 1, 0, 0, 1]);
        assert_eq!(window_sums(&[1, 0, 1, 1, 0], 2), [1, 1, 1, 2, 1]);
        assert_eq!(common_count(&[false, true, true], &[1, 2, 2]), Some(2));
        assert_eq!(common_count(&[true, true, true], &[1, 2, 2]), None);
        assert_eq!(common_count(&[false], &[1]), None);
    }
}
