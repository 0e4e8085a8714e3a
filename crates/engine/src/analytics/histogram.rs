//! Counts of readings by bins.
//!
//! The readings at or above each edge are counted, once for an edge that two bins share. The count of a bin is the
//! difference of two such counts. If a block can hold a whole reading, one bootstrap compares it with several edges.
//!
//! Longer readings are compared with all edges together where that is faster. The highest digits of a reading tell the
//! *cell* that it is in, a range of numbers with the same highest digits. Few edges are in one cell, often a single one.
//! Lookups of the cell give the number of edges below it and the lower digits of the edge in it, with which the lower
//! digits of the reading are compared. The number of edges at or below the reading follows, in one block, and a lookup of
//! that for each edge.

use std::ops::Range;

use super::rank::Place;
use super::{AnalyticsError, range_of};
use crate::circuit::{Block, Circuit};
use crate::integer::sum::Columns;
use crate::integer::{Comparison, FheUint, Integer, IntegerError, Signedness, Unsigned, Width};

impl Circuit {
    /// Returns the number of readings in each bin. Bins are ranges of values that the width can
    /// hold (the last one ends at most one above the largest value), in ascending order; there may
    /// be gaps between them.
    ///
    /// # Errors
    /// If the column is empty or not of one width and this circuit, there are no bins, or a bin is
    /// empty, out of range or out of order.
    pub fn histogram<S: Signedness>(
        &self,
        column: &[Integer<S>],
        bins: &[Range<i128>],
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let width = self.check_column(column)?;
        let edges = edges::<S>(width, bins)?;
        let batch = self.batch_of(column.len() * edges.len());
        let counts = self.counts_from(&self.ordered(column), &edges, range_of::<S>(width))?;
        drop(batch);
        let from = |edge: &i128| {
            let at = edges.binary_search(edge).unwrap_or_default();
            &counts[at]
        };
        let count = |bin: &Range<i128>| {
            let difference = self.sub(from(&bin.start), from(&bin.end))?;
            Ok(self.propagate_unchecked(&difference))
        };
        bins.iter().map(count).collect()
    }

    /// The number of readings at or above each edge.
    fn counts_from(
        &self,
        rows: &[FheUint],
        edges: &[i128],
        (low, high): (i128, i128),
    ) -> Result<Vec<FheUint>, IntegerError> {
        let width = Width::new(rows.len().ilog2() + 1)?;
        // All readings are at or above the smallest value, and none is above the largest.
        let inner: Vec<i128> = edges
            .iter()
            .filter(|&&edge| low < edge && edge <= high)
            .map(|&edge| edge - low)
            .collect();
        let mut ones = vec![Vec::with_capacity(rows.len()); inner.len()];
        let cells = self.cells(rows, &inner)?;
        for row in rows {
            let bits = match &cells {
                None => self.at_least(row, &inner)?,
                Some(cells) => self.at_least_by_cells(row, cells),
            };
            for (ones, bit) in ones.iter_mut().zip(bits) {
                ones.push(bit);
            }
        }
        let mut counted = ones.into_iter().map(|ones: Vec<Block>| {
            let mut columns: Columns = vec![Vec::new(); self.block_count(width)];
            columns[0] = ones;
            self.add_columns::<Unsigned>(columns, width)
        });
        let count = |&edge: &i128| match edge {
            _ if edge <= low => self.clear(rows.len() as u64, width),
            _ if edge > high => self.clear(0u64, width),
            _ => counted.next().unwrap_or_else(|| self.clear(0u64, width)),
        };
        Ok(edges.iter().map(count).collect())
    }

    /// Returns, for each of these numbers, whether `x` is at least the number.
    fn at_least(&self, x: &FheUint, limits: &[i128]) -> Result<Vec<Block>, IntegerError> {
        if let Some(packed) = self.packed(x) {
            let steps: Vec<_> = limits
                .iter()
                .map(|&limit| move |x: i64| i64::from(i128::from(x) >= limit))
                .collect();
            let steps: Vec<_> = steps.iter().map(|f| f as &dyn Fn(i64) -> i64).collect();
            return Ok(self.look_up_all(&packed, &steps));
        }
        let at_least = limits.iter().map(|&limit| {
            let limit = self.clear(limit, x.width());
            Ok(self.bit(&self.compare(Comparison::Ge, x, &limit)?))
        });
        at_least.collect()
    }

    /// The cells by which rows are compared with limits in ascending order; `None` if each limit by itself is faster.
    fn cells(&self, rows: &[FheUint], limits: &[i128]) -> Result<Option<Vec<Cells>>, IntegerError> {
        let Some(first) = rows.first().filter(|row| self.packed(row).is_none()) else {
            return Ok(None);
        };
        // A block counts as many limits as it has values besides 0.
        let groups = limits.chunks(self.block_modulus() as usize - 1);
        let cells = groups.map(|limits| Cells::new(self, rows, limits));
        let Some(cells) = cells.collect::<Option<Vec<Cells>>>() else {
            return Ok(None);
        };
        let start = self.lookup_count();
        let time = |bits: &[Block]| self.time_since(start, bits, rows.len());
        let one_by_one = time(&self.at_least(first, limits)?);
        let together = time(&self.at_least_by_cells(first, &cells));
        Ok((together < one_by_one).then_some(cells))
    }

    /// Does the same as [`at_least`](Self::at_least) for the limits of cells.
    fn at_least_by_cells(&self, x: &FheUint, cells: &[Cells]) -> Vec<Block> {
        let bits = cells.iter().map(|cells| cells.reached(self, x));
        bits.flatten().collect()
    }
}

/// The ranges of numbers with the same highest digits, and the limits in them.
struct Cells {
    /// The place of the highest digits, whose value is the number of a cell.
    place: Place,
    /// The number of limits.
    limit_count: i64,
    /// For each cell, the number of limits up to its first number, less one for each of the `thresholds` that every number
    /// of the cell reaches.
    below: Vec<i64>,
    /// Limits inside of cells: for each cell the lower digits of one, the least significant first, or zeros.
    thresholds: Vec<Vec<Vec<i64>>>,
}

impl Cells {
    /// The cells of rows, and these limits. `None` if no lower digits are left or the highest ones have too much noise.
    fn new(circuit: &Circuit, rows: &[FheUint], limits: &[i128]) -> Option<Self> {
        let place = circuit.places(rows).into_iter().next()?;
        let width = rows.first()?.width();
        let lower: Vec<i64> = (0..place.low)
            .map(|at| circuit.digit_modulus(width, at))
            .collect();
        let size: i128 = lower.iter().map(|&modulus| i128::from(modulus)).product();
        let cells = (0..i128::from(place.modulus)).map(|cell| cell * size..(cell + 1) * size);
        // The limits inside of each cell.
        let inside = cells.clone().map(|cell| {
            let inside = limits
                .iter()
                .filter(|&&limit| cell.start < limit && limit < cell.end);
            inside.map(|limit| limit - cell.start).collect()
        });
        let inside: Vec<Vec<i128>> = inside.collect();
        let most = inside.iter().map(Vec::len).max()?;
        let below = cells.zip(&inside).map(|(cell, inside)| {
            let below = limits.iter().filter(|&&limit| limit <= cell.start).count();
            below as i64 - (most - inside.len()) as i64
        });
        let digits = |mut number: i128| -> Vec<i64> {
            let digit = |&modulus: &i64| {
                let digit = number.rem_euclid(modulus.into()) as i64;
                number = number.div_euclid(modulus.into());
                digit
            };
            lower.iter().map(digit).collect()
        };
        let threshold = |at: usize| {
            let of_cell = inside.iter().map(|inside| inside.get(at).copied());
            of_cell.map(|limit| digits(limit.unwrap_or(0))).collect()
        };
        Some(Self {
            limit_count: limits.len() as i64,
            below: below.collect(),
            thresholds: (0..most).map(threshold).collect(),
            place,
        })
    }

    /// For each limit, 1 if a number is at least the limit and 0 if not.
    fn reached(&self, circuit: &Circuit, number: &FheUint) -> Vec<Block> {
        let cell = self.place.of(circuit, number);
        if self.thresholds.is_empty() {
            return self.steps(circuit, &cell, |cell| self.below[cell as usize]);
        }
        let of_cell =
            |value: &dyn Fn(usize) -> i64| circuit.look_up(&cell, |cell| value(cell as usize));
        // A sign of this weight exceeds every difference of digits.
        let weight = circuit.message_modulus();
        let mut reached = of_cell(&|cell| self.below[cell]);
        for threshold in &self.thresholds {
            let mut sign = Block::clear(0);
            let lower = number.blocks().iter().enumerate().take(self.place.low);
            for (at, digit) in lower.rev() {
                let least = of_cell(&|cell| threshold[cell][at]);
                let difference = &(&sign + digit) - &least;
                sign = match at {
                    0 => circuit.look_up(&difference, |x| i64::from(x >= 0)),
                    _ => circuit.look_up(&difference, |x| weight * x.signum()),
                };
            }
            reached += &sign;
        }
        self.steps(circuit, &reached.known_in(0, self.limit_count), |reached| {
            reached
        })
    }

    /// For each limit, 1 if the number of limits that a function gives includes it.
    fn steps(&self, circuit: &Circuit, x: &Block, reached: impl Fn(i64) -> i64) -> Vec<Block> {
        let steps: Vec<_> = (1..=self.limit_count)
            .map(|limit| {
                let reached = &reached;
                move |x: i64| i64::from(reached(x) >= limit)
            })
            .collect();
        let steps: Vec<_> = steps.iter().map(|f| f as &dyn Fn(i64) -> i64).collect();
        circuit.look_up_all(x, &steps)
    }
}

/// The distinct edges of checked bins, in order.
fn edges<S: Signedness>(width: Width, bins: &[Range<i128>]) -> Result<Vec<i128>, AnalyticsError> {
    let (low, high) = range_of::<S>(width);
    let mut edges: Vec<i128> = Vec::with_capacity(bins.len() + 1);
    for (i, bin) in bins.iter().enumerate() {
        if bin.start >= bin.end {
            return Err(AnalyticsError::EmptyBin(i));
        }
        for value in [bin.start, bin.end - 1] {
            if !(low..=high).contains(&value) {
                return Err(AnalyticsError::OutOfRange {
                    value,
                    bits: width.bits(),
                });
            }
        }
        match edges.last() {
            Some(&last) if bin.start < last => return Err(AnalyticsError::BinOrder(i)),
            Some(&last) if bin.start == last => {}
            _ => edges.push(bin.start),
        }
        edges.push(bin.end);
    }
    match edges.is_empty() {
        true => Err(AnalyticsError::NoBins),
        false => Ok(edges),
    }
}
