//! Sorting, and the first readings in order.
//!
//! A network of comparators does the same for all readings. This one merges pairs of sorted lists, by their odd and
//! their even places (Batcher's odd-even merge; Knuth, The Art of Computer Programming, volume 3, section 5.3.4, for
//! lists of any lengths). For the first few readings, a merged list is shortened to as many before it is merged again,
//! and only the comparators that lead to them are recorded. The first two of `n` readings take `2·n - 3` comparators,
//! one more than any network needs that leaves them unordered (theorem A of the same section).

use std::ops::Range;

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
        let network = Network::new(list.len(), count);
        for (i, j) in network.comparators {
            let (min, max) = self.min_max(&list[i], &list[j])?;
            (list[i], list[j]) = match order {
                Order::Ascending => (min, max),
                Order::Descending => (max, min),
            };
        }
        let outputs = network.outputs.into_iter();
        Ok(outputs.map(|place| list[place].clone()).collect())
    }
}

/// A network that puts the first few of several elements in order.
struct Network {
    /// Pairs of places. The first place of each receives the element that comes first.
    comparators: Vec<(usize, usize)>,
    /// The places of the first elements afterwards, in order.
    outputs: Vec<usize>,
}

impl Network {
    /// The network for the first `count` of `len` elements, `count` being at most `len`.
    fn new(len: usize, count: usize) -> Self {
        // Halves are best for whole sorts, and powers of two for a few elements.
        let in_halves = Self::split(len, count, |len| len.div_ceil(2));
        let in_powers = Self::split(len, count, |len| len.div_ceil(2).next_power_of_two());
        match in_powers.comparators.len() < in_halves.comparators.len() {
            true => in_powers,
            false => in_halves,
        }
    }

    /// The network that sorts the first elements of a list apart from the others and then merges both. `first` is the number of
    /// the former, for a number of elements of at least 2.
    fn split(len: usize, count: usize, first: fn(usize) -> usize) -> Self {
        let mut comparators = Vec::new();
        let outputs = sorted(0..len, count, first, &mut comparators);
        // What is left out of a list leads to no output.
        let mut wanted = vec![false; len];
        for &place in &outputs {
            wanted[place] = true;
        }
        let mut leading: Vec<(usize, usize)> = comparators
            .into_iter()
            .rev()
            .filter(|&(i, j)| {
                let leads = wanted[i] || wanted[j];
                (wanted[i], wanted[j]) = (leads, leads);
                leads
            })
            .collect();
        leading.reverse();
        Self {
            comparators: leading,
            outputs,
        }
    }
}

/// Appends the comparators that put the first `count` of some places in order, and returns these places.
fn sorted(
    places: Range<usize>,
    count: usize,
    first: fn(usize) -> usize,
    comparators: &mut Vec<(usize, usize)>,
) -> Vec<usize> {
    if places.len() < 2 {
        return places.collect();
    }
    let middle = places.start + first(places.len());
    let a = sorted(places.start..middle, count, first, comparators);
    let b = sorted(middle..places.end, count, first, comparators);
    let mut merged = merge(&a, &b, comparators);
    merged.truncate(count);
    merged
}

/// Appends the comparators that merge two sorted lists of places, and returns the places of the merged list.
fn merge(a: &[usize], b: &[usize], comparators: &mut Vec<(usize, usize)>) -> Vec<usize> {
    match (a, b) {
        ([], other) | (other, []) => return other.to_vec(),
        (&[i], &[j]) => {
            comparators.push((i, j));
            return vec![i, j];
        }
        _ => {}
    }
    let every_second = |list: &[usize], from| -> Vec<usize> {
        list.iter().skip(from).step_by(2).copied().collect()
    };
    let even = merge(&every_second(a, 0), &every_second(b, 0), comparators);
    let odd = merge(&every_second(a, 1), &every_second(b, 1), comparators);
    // The first element is the first of the even ones. An odd one and the even one behind it may be in either order.
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut even, mut odd) = (even.into_iter(), odd.into_iter());
    merged.extend(even.next());
    loop {
        match (odd.next(), even.next()) {
            (Some(i), Some(j)) => {
                comparators.push((i, j));
                merged.extend([i, j]);
            }
            (one, other) => {
                let last = one.or(other);
                merged.extend(last);
                merged.extend(odd.by_ref().chain(even.by_ref()));
                return merged;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that sorts zeros and ones sorts everything.
    #[test]
    fn networks_sort_zeros_and_ones() {
        for len in 1..=13 {
            for count in 1..=len {
                let Network {
                    comparators,
                    outputs,
                } = Network::new(len, count);
                for bits in 0u32..1 << len {
                    let mut x: Vec<bool> = (0..len).map(|i| bits >> i & 1 == 1).collect();
                    let mut sorted = x.clone();
                    sorted.sort_unstable();
                    for &(i, j) in &comparators {
                        (x[i], x[j]) = (x[i] & x[j], x[i] | x[j]);
                    }
                    let first: Vec<bool> = outputs.iter().map(|&place| x[place]).collect();
                    assert_eq!(first, sorted[..count], "{len} {count} {bits:b}");
                }
            }
        }
    }

    #[test]
    fn networks_have_as_few_comparators_as_are_known() {
        let size = |len, count| Network::new(len, count).comparators.len();
        for len in 1..100 {
            assert_eq!(size(len, 1), len - 1);
            if len > 1 {
                assert_eq!(size(len, 2), 2 * len - 3);
            }
        }
        // Batcher's own sizes of whole networks.
        for (len, all) in [(4, 5), (8, 19), (16, 63), (64, 543), (1000, 23_499)] {
            assert_eq!(size(len, len), all);
        }
        assert_eq!(size(8760, 10), 47_606);
    }
}
