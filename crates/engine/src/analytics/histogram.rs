//! Counts of readings by bins.
//!
//! A reading is compared once with every edge, also with one that two bins share, and the readings
//! at or above an edge are counted. The count of a bin is the difference of two such counts. If a
//! block can hold a whole reading, one bootstrap compares it with several edges.

use std::ops::Range;

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
        for row in rows {
            for (ones, bit) in ones.iter_mut().zip(self.at_least(row, &inner)?) {
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
