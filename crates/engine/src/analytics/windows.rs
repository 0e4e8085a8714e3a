//! Sums and extremes of the rows up to each row: of the last `window` rows, or of all.
//!
//! The window of a row ends with it and has `window` rows, or fewer in the first rows.
//!
//! **Sums** are made of sums of `b` neighbours, of `b` of these, and so on, where `b` is a number of digits that
//! add up in a block without a carry: one propagation of carries a level. Sums of all rows up to each row go by
//! groups of as many rows: the totals of the groups are added up in the same way, and each row adds
//! the rows before it in its group. This is a parallel prefix in the manner of Brent and Kung (*A regular layout for
//! parallel adders*, 1982), whose nodes have more than two inputs.
//!
//! The sum of a long window of many rows is the difference of two of these, mod a power of two that it is below.
//!
//! **Extremes** go by blocks of `window` rows: a window is the end of one block and the beginning of the next, so that
//! it takes one comparison once the extremes from the beginning of each block to each row, and from each row to its end, are known.
//! That is van Herk's algorithm (*A fast algorithm for local minimum and maximum filters on rectangular and octagonal
//! kernels*, 1992) and Gil and Werman's (*Computing 2-D min, median, and max filters*, 1993): three comparisons a row,
//! whatever the window, where doubling takes `log2(window)`, rounded down, and one more unless the window is a power of 2. Within
//! a block the comparisons follow one another, or they form Brent and Kung's parallel prefix, which has twice as many
//! of them in few rounds. The form is the one that a model of the rounds of bootstraps predicts to be the fastest.

use super::AnalyticsError;
use super::extremes::Order;
use crate::circuit::{Circuit, round_cost};
use crate::integer::{FheUint, Integer, Signedness, Width, carry_bits};

/// Pairs of places that are compared in one round: the place before, and the place that gets the extreme of both.
type Round = Vec<(usize, usize)>;

/// Integers that are added up, and the width of the sum.
type Sum<'n> = (Vec<&'n FheUint>, Width);

/// A form of the extremes from the beginning of a list to each of its elements.
#[derive(Clone, Copy)]
enum Scan {
    /// One comparison after the other.
    Sequential,
    /// Brent and Kung's parallel prefix.
    Parallel,
}

impl Scan {
    /// The rounds for a list of `len` elements. A shorter list takes those pairs whose places it has.
    fn rounds(self, len: usize) -> Vec<Round> {
        match self {
            Self::Sequential => (1..len).map(|to| vec![(to - 1, to)]).collect(),
            Self::Parallel => {
                let steps = || std::iter::successors(Some(1), |step| Some(2 * step));
                let steps: Vec<usize> = steps().take_while(|step| *step < len).collect();
                let round = |first: usize, step: usize| {
                    let ends = (first..len).step_by(2 * step);
                    ends.map(|to| (to - step, to)).collect::<Round>()
                };
                let up = steps.iter().map(|&step| round(2 * step - 1, step));
                let down = steps.iter().rev().map(|&step| round(3 * step - 1, step));
                up.chain(down).filter(|round| !round.is_empty()).collect()
            }
        }
    }
}

/// The number of pairs of a round that lists of these lengths have.
fn pairs_of(round: &Round, lengths: &[usize]) -> usize {
    let in_list = |len: &usize| round.iter().filter(|(_, to)| to < len).count();
    lengths.iter().map(in_list).sum()
}

impl Circuit {
    /// Returns the sum of each window that ends with row `first` or a later one, as digits.
    ///
    /// # Errors
    /// If the column or the window is empty, there is no row `first`, or the readings have different widths or belong to another
    /// circuit.
    pub fn window_sums(
        &self,
        column: &[FheUint],
        window: usize,
        first: usize,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let bits = self.check_windows(column, window, first)?.bits();
        let rows = column.len();
        let window = window.min(rows);
        let mut sums = Vec::with_capacity(rows - first);
        if first + 1 < window {
            let begun = self.prefix_sums(&column[..window], bits, 1, Width::MAX)?;
            sums.extend_from_slice(&begun[first..]);
        }
        let next = first + sums.len();
        if next < rows {
            let width = Width::new(bits + carry_bits(window))?;
            let rows = &column[next + 1 - window..];
            sums.extend(match self.is_faster_by_prefixes(rows.len(), window) {
                true => self.differences_of_prefixes(rows, window, width)?,
                false => self.full_windows(rows, window, width)?,
            });
        }
        Ok(sums)
    }

    /// Returns the smallest or the largest reading of each window that ends with row `first` or a later one.
    ///
    /// # Errors
    /// As [`window_sums`](Self::window_sums).
    pub fn window_extremes<S: Signedness>(
        &self,
        order: Order,
        column: &[Integer<S>],
        window: usize,
        first: usize,
    ) -> Result<Vec<Integer<S>>, AnalyticsError> {
        self.check_windows(column, window, first)?;
        let window = window.min(column.len());
        let column = self.ordered(column);
        let (scan, in_blocks) = self.cheapest_scan(column.len(), window);
        let found = match self.doubling_cost(column.len(), window) < in_blocks {
            true => self.extremes_by_doubling(order, column, window)?,
            false => self.extremes_by_blocks(order, &column, window, scan)?,
        };
        let wanted = found.iter().skip(first);
        Ok(wanted.map(|extreme| self.unordered(extreme)).collect())
    }

    fn check_windows<S: Signedness>(
        &self,
        column: &[Integer<S>],
        window: usize,
        first: usize,
    ) -> Result<Width, AnalyticsError> {
        let width = self.check_column(column)?;
        let (rank, count) = (first, column.len() - 1);
        match window {
            0 => Err(AnalyticsError::NoRows),
            _ if rank > count => Err(AnalyticsError::Rank { rank, count }),
            _ => Ok(width),
        }
    }

    /// The number of integers whose digits add up without a lookup, with room for a carry.
    fn addable(&self) -> usize {
        let most = self.block_modulus() - 1;
        let room = most - most / self.message_modulus();
        (room / (self.message_modulus() - 1)).max(2) as usize
    }

    /// The digits of sums, recorded side by side. Each has a number of integers that add up.
    fn propagated<'n>(
        &self,
        sums: impl ExactSizeIterator<Item = Sum<'n>>,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        self.side_by_side(sums.len(), |circuit| {
            let sums = sums.map(|(terms, width)| {
                let sum = circuit.resized(circuit.sum_of(&terms)?, width)?;
                Ok(circuit.propagate_unchecked(&sum))
            });
            sums.collect()
        })
    }

    /// The sums from the first of these sums of `each` rows of `bits` bits to every one of them, mod a power of two if they are
    /// not below it.
    fn prefix_sums<'r>(
        &self,
        rows: &'r [FheUint],
        bits: u32,
        each: usize,
        widest: Width,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let group = self.addable();
        let width = |count: usize| {
            let bits = bits + carry_bits(count.saturating_mul(each));
            Width::new(bits.min(widest.bits()))
        };
        let befores = match rows.len() > group {
            false => Vec::new(),
            true => {
                let total = |rows: &'r [FheUint]| Ok((rows.iter().collect(), width(group)?));
                let totals = rows.chunks_exact(group).map(total);
                let totals: Vec<Sum<'_>> = totals.collect::<Result<_, AnalyticsError>>()?;
                let totals = self.propagated(totals.into_iter())?;
                self.prefix_sums(&totals, bits, each * group, widest)?
            }
        };
        let terms = (0..rows.len()).map(|row| {
            let (begin, before) = match row / group {
                0 => (0, None),
                place => (place * group, befores.get(place - 1)),
            };
            let own = before.into_iter().chain(&rows[begin..=row]);
            // The last row of a group has the total of all groups so far.
            let known = befores
                .get(row / group)
                .filter(|_| (row + 1).is_multiple_of(group));
            let terms = known.map_or_else(|| own.collect(), |known| vec![known]);
            Ok((terms, width(row + 1)?))
        });
        let terms: Vec<Sum<'_>> = terms.collect::<Result<_, AnalyticsError>>()?;
        self.propagated(terms.into_iter())
    }

    /// Returns whether the sums of windows of `window` of `rows` rows take fewer bootstraps as differences of sums from the first
    /// row, and the rows keep the threads so busy that nothing else counts.
    fn is_faster_by_prefixes(&self, rows: usize, window: usize) -> bool {
        /// Sums from the first row and their differences take about two propagations a row in the width of the result, and
        /// windows that are made of shorter ones one for each of their lengths, in smaller widths.
        const FEW: usize = 3;
        let (_, propagations) = self.base_of_windows(window);
        propagations > FEW && rows.saturating_mul(self.batch()) >= 64 * self.threads()
    }

    /// The sums of all windows of `window` rows, as differences of the sums from the first row.
    fn differences_of_prefixes(
        &self,
        rows: &[FheUint],
        window: usize,
        width: Width,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let bits = rows.first().map_or(0, |row| row.width().bits());
        let prefixes = self.prefix_sums(rows, bits, 1, width)?;
        let ends = prefixes.get(window - 1..).ok_or(AnalyticsError::NoRows)?;
        self.side_by_side(ends.len(), |circuit| {
            let difference = |(place, end): (usize, &FheUint)| {
                let end = circuit.cast(end, width)?;
                let Some(before) = place.checked_sub(1).and_then(|at| prefixes.get(at)) else {
                    return Ok(end);
                };
                let sum = circuit.sub(&end, &circuit.cast(before, width)?)?;
                Ok(circuit.propagate_unchecked(&sum))
            };
            ends.iter().enumerate().map(difference).collect()
        })
    }

    /// The number of windows of one length that a window of the next length is made of, and the number of propagations of
    /// carries that a window takes: one for each length, and one for as many terms as add up.
    fn base_of_windows(&self, window: usize) -> (usize, usize) {
        let most = self.addable();
        let cost = |base: usize| {
            let digits = digits_of(window, base);
            let terms: usize = digits.iter().sum();
            digits.len() + terms.saturating_sub(1) / (most - 1).max(1)
        };
        let bases = (2..=most).map(|base| (base, cost(base)));
        bases.min_by_key(|(_, cost)| *cost).unwrap_or((2, cost(2)))
    }

    /// The sums of all windows of `window` rows.
    fn full_windows(
        &self,
        rows: &[FheUint],
        window: usize,
        width: Width,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let (base, _) = self.base_of_windows(window);
        let digits = digits_of(window, base);
        let bits = rows.first().map_or(0, |row| row.width().bits());
        // The sums of `base`, `base²`, … rows from each row on.
        let mut levels: Vec<Vec<FheUint>> = Vec::with_capacity(digits.len());
        let mut length = 1;
        for _ in 1..digits.len() {
            let below = levels.last().map_or(rows, |level| &level[..]);
            let reach = (base - 1) * length;
            let width = Width::new(bits + carry_bits(base * length))?;
            let sums = (0..below.len() - reach).map(|row| {
                let terms = (0..base).map(|part| &below[row + part * length]);
                (terms.collect(), width)
            });
            let level = self.propagated(sums)?;
            levels.push(level);
            length *= base;
        }
        let sums = (0..rows.len() - window + 1).map(|row| {
            let (mut at, mut length, mut terms) = (row, 1, Vec::new());
            let levels = std::iter::once(rows).chain(levels.iter().map(|level| &level[..]));
            for (level, &count) in levels.zip(&digits) {
                for _ in 0..count {
                    terms.push(&level[at]);
                    at += length;
                }
                length *= base;
            }
            (terms, width)
        });
        self.propagated(sums)
    }

    /// The cheapest scan of the blocks of a column, and the time of the extremes by blocks.
    fn cheapest_scan(&self, rows: usize, window: usize) -> (Scan, f64) {
        let lengths = block_lengths(rows, window);
        let joins = (0..rows).filter(|&row| row >= window && !(row + 1).is_multiple_of(window));
        let joins = round_cost(joins.count() * self.batch(), self.threads());
        let cost = |scan: Scan| {
            let rounds = scan.rounds(window);
            let pairs = rounds.iter().map(|round| pairs_of(round, &lengths));
            let rounds = pairs.map(|pairs| round_cost(pairs * self.batch(), self.threads()));
            rounds.sum::<f64>() + joins
        };
        let sequential = cost(Scan::Sequential);
        let parallel = cost(Scan::Parallel);
        match parallel < sequential {
            true => (Scan::Parallel, parallel),
            false => (Scan::Sequential, sequential),
        }
    }

    /// The time of the extremes by doubling.
    fn doubling_cost(&self, rows: usize, window: usize) -> f64 {
        let shifts = doubling(window);
        let rounds = shifts.iter().map(|shift| rows.saturating_sub(*shift));
        rounds
            .map(|pairs| round_cost(pairs * self.batch(), self.threads()))
            .sum()
    }

    /// The extremes of pairs, recorded side by side.
    fn extremes_of_pairs<'n>(
        &self,
        order: Order,
        pairs: impl ExactSizeIterator<Item = (&'n FheUint, &'n FheUint)>,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        self.side_by_side(pairs.len(), |circuit| {
            let extreme = |(a, b)| match order {
                Order::Ascending => circuit.min(a, b),
                Order::Descending => circuit.max(a, b),
            };
            Ok(pairs.map(extreme).collect::<Result<_, _>>()?)
        })
    }

    /// The extremes of all windows, shorter ones in the first rows.
    fn extremes_by_doubling(
        &self,
        order: Order,
        mut column: Vec<FheUint>,
        window: usize,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        for shift in doubling(window) {
            let shift = shift.min(column.len());
            let joined = self.extremes_of_pairs(order, column.iter().zip(&column[shift..]))?;
            column.truncate(shift);
            column.extend(joined);
        }
        Ok(column)
    }

    /// The extremes of all windows, shorter ones in the first rows.
    fn extremes_by_blocks(
        &self,
        order: Order,
        column: &[FheUint],
        window: usize,
        scan: Scan,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let blocks = column.chunks(window).map(<[FheUint]>::to_vec);
        let mut lists: Vec<Vec<FheUint>> = blocks.collect();
        let ends = lists.len();
        // No window begins within the last block and ends behind it.
        let reversed = column.chunks(window).take(ends - 1);
        let reversed: Vec<Vec<FheUint>> = reversed
            .map(|block| block.iter().rev().cloned().collect())
            .collect();
        lists.extend(reversed);
        for round in scan.rounds(window) {
            let pairs = lists.iter().enumerate().flat_map(|(list, elements)| {
                let pairs = round.iter().filter(move |(_, to)| *to < elements.len());
                pairs.map(move |&(from, to)| (list, from, to))
            });
            let pairs: Vec<(usize, usize, usize)> = pairs.collect();
            let operands = pairs
                .iter()
                .map(|&(list, from, to)| (&lists[list][from], &lists[list][to]));
            let extremes = self.extremes_of_pairs(order, operands)?;
            for ((list, _, to), extreme) in pairs.into_iter().zip(extremes) {
                lists[list][to] = extreme;
            }
        }
        let (from_begin, to_end) = lists.split_at(ends);
        let until = |row: usize| &from_begin[row / window][row % window];
        let joined = |row: &usize| *row >= window && !(row + 1).is_multiple_of(window);
        let rows: Vec<usize> = (0..column.len()).filter(joined).collect();
        let pairs = rows.iter().map(|&row| {
            let begin = row + 1 - window;
            let behind = window - 1 - begin % window;
            (&to_end[begin / window][behind], until(row))
        });
        let joined_rows = self.extremes_of_pairs(order, pairs)?;
        let mut found: Vec<FheUint> = (0..column.len()).map(|row| until(row).clone()).collect();
        for (row, extreme) in rows.into_iter().zip(joined_rows) {
            found[row] = extreme;
        }
        Ok(found)
    }
}

/// The digits of a number, the least significant first.
fn digits_of(number: usize, base: usize) -> Vec<usize> {
    let left = std::iter::successors(Some(number), |left| Some(left / base));
    let left = left.take_while(|left| *left > 0);
    left.map(|left| left % base).collect()
}

/// The lengths of the lists that are scanned: of the blocks of a column from the beginning, and of all but the last from the end.
fn block_lengths(rows: usize, window: usize) -> Vec<usize> {
    let blocks = (0..rows).step_by(window);
    let blocks: Vec<usize> = blocks.map(|begin| window.min(rows - begin)).collect();
    let reversed = &blocks[..blocks.len().saturating_sub(1)];
    [&blocks, reversed].concat()
}

/// The distances of the windows that are joined in each round: two windows as long as the distance, or two that overlap in the last
/// round.
fn doubling(window: usize) -> Vec<usize> {
    let mut length = 1;
    let mut shifts = Vec::new();
    while length < window {
        let shift = length.min(window - length);
        shifts.push(shift);
        length += shift;
    }
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parallel_scan_has_twice_the_pairs_in_few_rounds() {
        for len in 1..70 {
            let rounds = Scan::Parallel.rounds(len);
            let pairs: usize = rounds.iter().map(Vec::len).sum();
            assert!(pairs < 2 * len, "{len}: {pairs}");
            assert!(rounds.len() <= 2 * len.ilog2() as usize + 1, "{len}");
            // The sets of elements that each place has the extreme of.
            let mut reach: Vec<usize> = (0..len).collect();
            for round in rounds {
                for (from, to) in round {
                    assert_eq!(reach[to], from + 1, "{len}");
                    reach[to] = reach[from];
                }
            }
            assert!(reach.iter().all(|from| *from == 0), "{len}: {reach:?}");
        }
    }

    #[test]
    fn windows_are_doubled_up_to_their_length() {
        assert_eq!(doubling(1), [0; 0]);
        assert_eq!(doubling(8), [1, 2, 4]);
        assert_eq!(doubling(24), [1, 2, 4, 8, 8]);
        assert_eq!(doubling(5), [1, 2, 1]);
    }
}
