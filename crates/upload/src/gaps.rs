//! The rows in which columns have no reading, where that is no secret.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::readings::Column;

/// The rows without a reading of each column whose gaps are told in clear.
///
/// It is written as a map of a column's name to lengths of runs: first of rows with a reading, which may be none, then of rows
/// without one, and so on, up to the last row without one. Columns without gaps are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps(BTreeMap<String, Vec<Range<usize>>>);

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
        for row in rows {
            self.add_run(column, row..row + 1);
        }
    }

    fn add_run(&mut self, column: &str, run: Range<usize>) {
        let runs = match self.0.get_mut(column) {
            Some(runs) => runs,
            None => self.0.entry(column.to_owned()).or_default(),
        };
        match runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => runs.push(run),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn runs(&self, column: &str) -> &[Range<usize>] {
        self.0.get(column).map_or(&[], Vec::as_slice)
    }

    /// The rows without a reading of a column, in increasing order.
    pub fn rows(&self, column: &str) -> impl Iterator<Item = usize> {
        self.runs(column).iter().cloned().flatten()
    }

    /// Appends the gaps of rows that follow the first `rows` rows.
    pub fn append(&mut self, rows: usize, others: &Self) {
        for (column, runs) in &others.0 {
            for run in runs {
                self.add_run(column, rows + run.start..rows + run.end);
            }
        }
    }

    /// The gaps of some rows, by their places, in a table of these rows alone.
    #[must_use]
    pub fn taken(&self, places: &[usize]) -> Self {
        let mut taken = Self::default();
        for (column, runs) in &self.0 {
            let is_gap = |place: usize| {
                let run = runs.partition_point(|run| run.end <= place);
                runs.get(run).is_some_and(|run| run.contains(&place))
            };
            let missing = places.iter().enumerate();
            let missing = missing.filter(|(_, place)| is_gap(**place));
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
            if let Some(last) = gaps.last().filter(|last| last.end > rows) {
                return Err(GapsError::Row {
                    column: name.clone(),
                    row: last.end - 1,
                    rows,
                });
            }
        }
        Ok(())
    }
}

/// Returns the lengths of the runs of rows with and without a reading, up to the last gap.
fn lengths(gaps: &[Range<usize>]) -> Vec<usize> {
    let mut lengths = Vec::with_capacity(2 * gaps.len());
    let mut end = 0;
    for run in gaps {
        lengths.extend([run.start - end, run.len()]);
        end = run.end;
    }
    lengths
}

/// Returns the runs of rows without a reading; `None` if no gaps have runs of such lengths. Nothing grows with the number of
/// rows that a length claims.
fn runs_of(lengths: &[usize]) -> Option<Vec<Range<usize>>> {
    let mut runs = Vec::with_capacity(lengths.len() / 2);
    let mut end = 0_usize;
    for pair in lengths.chunks(2) {
        let &[with, without] = pair else {
            return None;
        };
        let start = end.checked_add(with)?;
        end = start.checked_add(without)?;
        if without == 0 || (with == 0 && !runs.is_empty()) {
            return None;
        }
        runs.push(start..end);
    }
    (!runs.is_empty()).then_some(runs)
}

impl Serialize for Gaps {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(column, runs)| (column, lengths(runs))))
    }
}

impl<'de> Deserialize<'de> for Gaps {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written = BTreeMap::<String, Vec<usize>>::deserialize(from)?;
        let gaps = written.into_iter().map(|(column, lengths)| {
            let runs = runs_of(&lengths).ok_or_else(|| {
                serde::de::Error::custom(format!("the gaps of '{column}' are no runs of rows"))
            })?;
            Ok((column, runs))
        });
        gaps.collect::<Result<_, D::Error>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(rows: &[usize]) -> Gaps {
        let mut gaps = Gaps::default();
        gaps.add("a", rows.iter().copied());
        gaps
    }

    #[test]
    fn runs_stand_for_the_rows_of_gaps() {
        for (rows, expected) in [
            (&[0][..], &[0, 1][..]),
            (&[2, 3, 4], &[2, 3]),
            (&[0, 1, 5, 7, 8], &[0, 2, 3, 1, 1, 2]),
        ] {
            let gaps = gaps(rows);
            assert_eq!(lengths(gaps.runs("a")), expected);
            assert_eq!(runs_of(expected).as_deref(), Some(gaps.runs("a")));
            assert!(gaps.rows("a").eq(rows.iter().copied()));
        }
        for none in [
            &[][..],
            &[1],
            &[1, 0],
            &[0, 1, 0, 1],
            &[1, 1, 2],
            &[usize::MAX, 2],
            &[1, usize::MAX],
        ] {
            assert_eq!(runs_of(none), None, "{none:?}");
        }
        // A length that no upload has takes no room.
        assert_eq!(runs_of(&[1, 1 << 60]).unwrap().len(), 1);
    }

    #[test]
    fn rows_are_taken_and_appended_with_their_gaps() {
        let all = gaps(&[1, 4, 5]);
        assert_eq!(all.taken(&[0, 4, 2, 1]), gaps(&[1, 3]));
        assert_eq!(all.taken(&[0, 2]), Gaps::default());
        let mut joined = all.clone();
        joined.append(6, &gaps(&[0, 2]));
        joined.append(9, &Gaps::default());
        assert_eq!(joined, gaps(&[1, 4, 5, 6, 8]));
        assert_eq!(joined.rows("b").count(), 0);
    }
}
