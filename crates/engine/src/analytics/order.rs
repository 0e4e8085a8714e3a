//! Sorting, and the first readings in order.
//!
//! A network of comparators does the same for all readings. This one merges odd and even halves
//! (Batcher; Knuth, The Art of Computer Programming, volume 3, section 5.2.2, algorithm M, for any
//! number of rows). For the first few readings, only the comparators that lead to them are
//! recorded.

use super::AnalyticsError;
use super::extremes::{Indexed, Order, Tags};
use crate::circuit::Circuit;
use crate::integer::{FheUint, Integer, Signedness};

impl Circuit {
    /// Returns the readings in order.
    ///
    /// # Errors
    /// If the column is empty, or its readings have different widths or belong to another circuit.
    pub fn sort<S: Signedness>(
        &self,
        order: Order,
        column: &[Integer<S>],
    ) -> Result<Vec<Integer<S>>, AnalyticsError> {
        self.sorted_first(order, column, column.len())
    }

    /// Returns the readings in order, and the rows that they are in, which are in order too for
    /// equal readings.
    ///
    /// # Errors
    /// If the column is empty, or its readings have different widths or belong to another circuit.
    pub fn sort_indexed<S: Signedness>(
        &self,
        order: Order,
        column: &[Integer<S>],
    ) -> Result<Vec<Indexed<S>>, AnalyticsError> {
        self.sorted_first_indexed(order, column, column.len())
    }

    /// Returns the first `count` readings in order; with [`Order::Descending`] these are the
    /// largest.
    ///
    /// # Errors
    /// If the column is empty or not of one width and this circuit, or has fewer rows.
    pub fn sorted_first<S: Signedness>(
        &self,
        order: Order,
        column: &[Integer<S>],
        count: usize,
    ) -> Result<Vec<Integer<S>>, AnalyticsError> {
        self.check_column(column)?;
        let sorted = self.pass(order, self.ordered(column), count)?;
        Ok(sorted.iter().map(|x| self.unordered(x)).collect())
    }

    /// Returns the first `count` readings in order, and the rows that they are in, which are in
    /// order too for equal readings.
    ///
    /// # Errors
    /// If the column is empty or not of one width and this circuit, or has fewer rows.
    pub fn sorted_first_indexed<S: Signedness>(
        &self,
        order: Order,
        column: &[Integer<S>],
        count: usize,
    ) -> Result<Vec<Indexed<S>>, AnalyticsError> {
        let tags = Tags::new(self, order, column)?;
        let sorted = self.pass(order, tags.tagged(self, column)?, count)?;
        Ok(sorted.iter().map(|x| tags.split(self, x)).collect())
    }

    /// Passes integers through the network to its first `count` outputs.
    fn pass(
        &self,
        order: Order,
        mut list: Vec<FheUint>,
        count: usize,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        if !(1..=list.len()).contains(&count) {
            return Err(AnalyticsError::Rank {
                rank: count,
                count: list.len(),
            });
        }
        let _batch = self.batch_of(list.len() / 2);
        for (i, j) in leading_to(network(list.len()), list.len(), count) {
            let (min, max) = self.min_max(&list[i], &list[j])?;
            (list[i], list[j]) = match order {
                Order::Ascending => (min, max),
                Order::Descending => (max, min),
            };
        }
        list.truncate(count);
        Ok(list)
    }
}

/// The comparators of a network that sorts `len` elements. The first index of each receives the
/// element that comes first.
fn network(len: usize) -> Vec<(usize, usize)> {
    let mut comparators = Vec::new();
    let top = len.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            let firsts = (0..len.saturating_sub(d)).filter(|i| i & p == r);
            comparators.extend(firsts.map(|i| (i, i + d)));
            if q == p {
                break;
            }
            (d, r) = (q - p, p);
            q /= 2;
        }
        p /= 2;
    }
    comparators
}

/// The comparators that the first `count` outputs depend on.
fn leading_to(comparators: Vec<(usize, usize)>, len: usize, count: usize) -> Vec<(usize, usize)> {
    let mut wanted: Vec<bool> = (0..len).map(|i| i < count).collect();
    let mut leading: Vec<_> = comparators
        .into_iter()
        .rev()
        .filter(|&(i, j)| {
            let leads = wanted[i] || wanted[j];
            (wanted[i], wanted[j]) = (wanted[i] || leads, wanted[j] || leads);
            leads
        })
        .collect();
    leading.reverse();
    leading
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that sorts zeros and ones sorts everything.
    #[test]
    fn networks_sort_zeros_and_ones() {
        for len in 1..=13 {
            for count in 1..=len {
                let comparators = leading_to(network(len), len, count);
                for bits in 0u32..1 << len {
                    let mut x: Vec<bool> = (0..len).map(|i| bits >> i & 1 == 1).collect();
                    let mut sorted = x.clone();
                    sorted.sort_unstable();
                    for &(i, j) in &comparators {
                        (x[i], x[j]) = (x[i] & x[j], x[i] | x[j]);
                    }
                    assert_eq!(x[..count], sorted[..count], "{len} {count} {bits:b}");
                }
            }
        }
    }

    #[test]
    fn the_first_costs_a_tournament() {
        for len in 1..100 {
            assert_eq!(leading_to(network(len), len, 1).len(), len - 1);
        }
        assert_eq!(network(16).len(), 63);
    }
}
