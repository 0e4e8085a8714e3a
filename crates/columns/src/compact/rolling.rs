//! Sums of windows of rows, and the runs of rows that one polynomial has the values of.
//!
//! The product of a polynomial and `1 + X^-1 + … + X^-(w - 1)` has the sums of all windows of `w` coefficients, so
//! that the windows of a stretch of a column are one product. Windows that reach over the end of a stretch are added up one by one.

use std::collections::BTreeSet;
use std::sync::Arc;

use tfhe_sbc_core::parameters::Parameters;

use super::linear::{Linear, Origin, Rows, Term, element, window_of};
use super::values::stretch;
use crate::error::Error;

/// Returns for each place of a list the number of the run of neighbours that it is in.
pub(super) fn run_numbers(rows: &[usize]) -> Vec<usize> {
    let mut runs = Vec::with_capacity(rows.len());
    for run in rows.chunk_by(|a, b| *b == a + 1) {
        let number = runs.last().map_or(0, |last| last + 1);
        runs.resize(runs.len() + run.len(), number);
    }
    runs
}

impl Linear {
    /// The sums of the last `window` of `rows` rows up to each row from `first` on, as far as there are so many.
    pub(super) fn windowed(&self, rows: usize, window: usize, first: usize) -> Option<Self> {
        let ends: Arc<[usize]> = (first..rows).collect();
        let window = window.min(rows);
        let mut terms = Vec::with_capacity(self.terms().len());
        for term in self.terms().iter().filter(|term| !term.origin.is_public()) {
            let list: Arc<[usize]> = match &term.rows {
                Rows::Each { first } => (*first..first + rows).collect(),
                Rows::Picked(picked) if picked.len() == rows => Arc::clone(picked),
                _ => return None,
            };
            terms.push(Term {
                rows: Rows::Windows {
                    rows: list,
                    ends: Arc::clone(&ends),
                    window,
                },
                ..term.clone()
            });
        }
        if terms.is_empty() {
            return None;
        }
        let is_public = self.terms().iter().any(|term| term.origin.is_public());
        if !is_public && (self.constant() == 0 || first + 1 >= window) {
            let constant = self.constant().wrapping_mul(window as u64);
            return Some(Self::new(terms, constant));
        }
        let mut before = Vec::with_capacity(rows + 1);
        before.push(0u64);
        for row in 0..rows {
            before.push(before[row].wrapping_add(self.clear_at(row)));
        }
        let sum = |end: &usize| {
            let places = window_of(*end, window);
            before[places.end].wrapping_sub(before[places.start])
        };
        terms.push(Term {
            origin: Origin::Public(ends.iter().map(sum).collect()),
            rows: Rows::Each { first: 0 },
            weight: 1,
        });
        Some(Self::new(terms, 0))
    }
}

/// Returns the rows of a result behind which a piece ends: what one polynomial has the values of in its first coefficients.
///
/// # Errors
/// [`Error::NoCiphertexts`] if a column has none.
pub(super) fn piece_ends(
    parameters: &Parameters,
    linear: &Linear,
    rows: usize,
) -> Result<Vec<usize>, Error> {
    let encrypted = || (linear.terms().iter()).filter(|term| !term.origin.is_public());
    // What is the same in all rows has the value in its first coefficient only.
    if encrypted().any(|term| term.rows.are_common()) {
        return Ok((1..=rows).collect());
    }
    let mut ends = BTreeSet::from([rows]);
    for term in encrypted() {
        match &term.rows {
            Rows::Each { first } => {
                let list: Vec<usize> = (*first..first + rows).collect();
                ends.extend(stretch_ends(parameters, &term.origin, &list)?);
            }
            Rows::Picked(picked) => ends.extend(stretch_ends(parameters, &term.origin, picked)?),
            Rows::Windows {
                rows: list,
                ends: windows,
                window,
            } => {
                let behind = stretch_ends(parameters, &term.origin, list)?;
                let stretch = |place: usize| behind.partition_point(|end| *end <= place);
                let ranges = (0..rows).map(|row| window_of(element(windows, row), *window));
                let ranges = ranges.map(|range| {
                    let place = stretch(range.start);
                    (
                        range.clone(),
                        (place == stretch(range.end - 1)).then_some(place),
                    )
                });
                let ranges: Vec<_> = ranges.collect();
                for (row, pair) in ranges.windows(2).enumerate() {
                    let [(a, in_a), (b, in_b)] = pair else {
                        continue;
                    };
                    let moved = (a.start + 1, a.end + 1) == (b.start, b.end);
                    if !(moved && in_a.is_some() && in_a == in_b) {
                        ends.insert(row + 1);
                    }
                }
            }
            Rows::Sum(_) => {}
        }
    }
    Ok(ends.into_iter().collect())
}

/// The places of a list behind which a stretch ends.
fn stretch_ends(
    parameters: &Parameters,
    origin: &Origin,
    list: &[usize],
) -> Result<Vec<usize>, Error> {
    let mut ends = Vec::new();
    let mut place = 0;
    for run in list.chunk_by(|a, b| *b == a + 1) {
        let mut left = run;
        while let Some(&row) = left.first() {
            let found = stretch(parameters, origin, row, left.len())?;
            left = &left[found.places.len()..];
            place += found.places.len();
            ends.push(place);
        }
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_numbered() {
        assert_eq!(run_numbers(&[4, 5, 6, 9, 1, 2, 2]), [0, 0, 0, 1, 2, 2, 3]);
        assert!(run_numbers(&[]).is_empty());
    }
}
