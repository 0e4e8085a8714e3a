//! The rows in which columns have no reading, where that is no secret.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::readings::Column;

/// The rows without a reading of each column whose gaps are told in clear.
///
/// It is written as a map of a column's name to lengths of runs: first of rows with a reading, which may be none, then of rows
/// without one, and so on, up to the last row without one. Columns without gaps are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps(BTreeMap<String, Vec<usize>>);

/// The reason why gaps are not those of the columns of an upload.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GapsError {
    /// Gaps of a column that is not there, or whose gaps are not told in clear.
    #[error("the metadata has gaps of '{0}', which is no column whose gaps are told in clear")]
    Column(String),
    /// A gap in a row that is not there.
    #[error("the metadata has a gap of '{column}' in row {row}: there are {rows} rows")]
    Row {
        /// The name of the column.
        column: String,
        /// The place of the row, counted from 0.
        row: usize,
        /// The number of rows.
        rows: usize,
    },
}

impl Gaps {
    /// Returns the gaps of a table: the rows of columns that tell their gaps in which the reading is NaN.
    pub fn of(columns: &[Column], readings: &[impl AsRef<[f64]>]) -> Self {
        let mut gaps = Self::default();
        for (column, readings) in columns.iter().zip(readings) {
            if column.derived.tells_gaps() {
                let readings = readings.as_ref().iter().enumerate();
                let missing = readings.filter(|(_, reading)| reading.is_nan());
                gaps.add(&column.name, missing.map(|(row, _)| row));
            }
        }
        gaps
    }

    /// Adds rows without a reading of a column, in increasing order and behind those that it has already.
    pub fn add(&mut self, column: &str, rows: impl Iterator<Item = usize>) {
        let mut rows = rows.peekable();
        if rows.peek().is_some() {
            self.0.entry(column.to_owned()).or_default().extend(rows);
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rows without a reading of a column, in increasing order.
    pub fn rows(&self, column: &str) -> &[usize] {
        self.0.get(column).map_or(&[], Vec::as_slice)
    }

    /// Appends the gaps of rows that follow the first `rows` rows.
    pub fn append(&mut self, rows: usize, others: &Self) {
        for (column, gaps) in &others.0 {
            self.add(column, gaps.iter().map(|row| rows + row));
        }
    }

    /// The gaps of some rows, by their places, in a table of these rows alone.
    #[must_use]
    pub fn taken(&self, places: &[usize]) -> Self {
        let mut taken = Self::default();
        for (column, gaps) in &self.0 {
            let missing = places.iter().enumerate();
            let missing = missing.filter(|(_, place)| gaps.binary_search(place).is_ok());
            taken.add(column, missing.map(|(row, _)| row));
        }
        taken
    }

    /// Checks that they are gaps of these columns, in `rows` rows.
    ///
    /// # Errors
    /// The first defect.
    pub fn check(&self, columns: &[Column], rows: usize) -> Result<(), GapsError> {
        for (name, gaps) in &self.0 {
            let column = columns.iter().find(|column| column.name == *name);
            if !column.is_some_and(|column| column.derived.tells_gaps()) {
                return Err(GapsError::Column(name.clone()));
            }
            if let Some(&row) = gaps.last().filter(|row| **row >= rows) {
                return Err(GapsError::Row {
                    column: name.clone(),
                    row,
                    rows,
                });
            }
        }
        Ok(())
    }
}

/// Returns the lengths of the runs of rows with and without a reading, up to the last gap.
fn runs(gaps: &[usize]) -> Vec<usize> {
    let mut runs = Vec::new();
    let mut end = 0;
    for run in gaps.chunk_by(|a, b| *b == a + 1) {
        let (first, next) = (run[0], run[0] + run.len());
        runs.extend([first - end, run.len()]);
        end = next;
    }
    runs
}

/// Returns the rows that runs leave without a reading; `None` if no gaps have such runs. `most` is the largest number of rows.
fn rows_of(runs: &[usize], most: usize) -> Option<Vec<usize>> {
    let mut rows = Vec::new();
    let mut end = 0_usize;
    for (place, pair) in runs.chunks(2).enumerate() {
        let &[with, without] = pair else {
            return None;
        };
        let first = end.checked_add(with)?;
        end = first.checked_add(without).filter(|end| *end <= most)?;
        if without == 0 || (with == 0 && place > 0) {
            return None;
        }
        rows.extend(first..end);
    }
    (!rows.is_empty()).then_some(rows)
}

impl Serialize for Gaps {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(column, gaps)| (column, runs(gaps))))
    }
}

impl<'de> Deserialize<'de> for Gaps {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        /// The largest number of rows that runs may stand for: each row of an upload has a label of a byte at least, or a ciphertext.
        const MOST_ROWS: usize = 1 << 24;
        let written = BTreeMap::<String, Vec<usize>>::deserialize(from)?;
        let gaps = written.into_iter().map(|(column, runs)| {
            let rows = rows_of(&runs, MOST_ROWS).ok_or_else(|| {
                serde::de::Error::custom(format!("the gaps of '{column}' are no runs of rows"))
            })?;
            Ok((column, rows))
        });
        gaps.collect::<Result<_, D::Error>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_stand_for_the_rows_of_gaps() {
        for (gaps, expected) in [
            (&[0][..], &[0, 1][..]),
            (&[2, 3, 4], &[2, 3]),
            (&[0, 1, 5, 7, 8], &[0, 2, 3, 1, 1, 2]),
        ] {
            assert_eq!(runs(gaps), expected);
            assert_eq!(rows_of(expected, 9).as_deref(), Some(gaps));
        }
        for none in [
            &[][..],
            &[1],
            &[1, 0],
            &[0, 1, 0, 1],
            &[1, 1, 2],
            &[9, 1],
            &[usize::MAX, 2],
            &[1, usize::MAX],
        ] {
            assert_eq!(rows_of(none, 9), None, "{none:?}");
        }
    }

    #[test]
    fn rows_are_taken_and_appended_with_their_gaps() {
        let gaps = |rows: &[usize]| {
            let mut gaps = Gaps::default();
            gaps.add("a", rows.iter().copied());
            gaps
        };
        let all = gaps(&[1, 4, 5]);
        assert_eq!(all.taken(&[0, 4, 2, 1]), gaps(&[1, 3]));
        assert_eq!(all.taken(&[0, 2]), Gaps::default());
        let mut joined = all.clone();
        joined.append(6, &gaps(&[0, 2]));
        joined.append(9, &Gaps::default());
        assert_eq!(joined, gaps(&[1, 4, 5, 6, 8]));
        assert_eq!(joined.rows("a"), [1, 4, 5, 6, 8]);
        assert!(joined.rows("b").is_empty());
    }
}
