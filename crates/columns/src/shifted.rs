//! Rows moved by a number of rows, and differences to them.

use crate::error::Error;
use crate::mask::Mask;
use crate::number::Number;
use crate::optional::OptionalNumber;

/// For each row, the place of the row `periods` before it, or any other if there is none, and whether there is one.
fn places(rows: usize, periods: i64) -> (Vec<usize>, Vec<bool>) {
    let place = |row: usize| {
        let before = (row as i64).checked_sub(periods);
        let before = before.and_then(|before| usize::try_from(before).ok());
        before.filter(|before| *before < rows)
    };
    let all = (0..rows).map(|row| (place(row).unwrap_or(row), place(row).is_some()));
    all.unzip()
}

impl OptionalNumber {
    /// Returns, for each row, the number `periods` rows before it, or after it if `periods` is negative; missing where there is no
    /// such row. It takes no bootstrap.
    ///
    /// # Errors
    /// A single number.
    pub fn shift(&self, periods: i64) -> Result<Self, Error> {
        let Some(rows) = self.number().rows() else {
            return Err(Error::NoOrder);
        };
        if periods == 0 {
            return Ok(self.clone());
        }
        let (places, there) = places(rows, periods);
        let number = self.number().take(&places)?;
        let valid = match self.known_rows() {
            Some(known) => {
                let both = places
                    .iter()
                    .zip(there)
                    .map(|(&place, there)| there && known[place]);
                self.notna().public(&both.collect::<Vec<bool>>())
            }
            None => {
                let there = self.notna().public(&there);
                Mask::all_of(&[&self.notna().take(&places)?, &there])?
            }
        };
        Self::new(number, valid)
    }

    /// Returns, for each row, its number less that `periods` rows before it, or after it if `periods` is negative; missing where one
    /// of the two is.
    ///
    /// # Errors
    /// [`Error::NoDifference`] for 0 rows, a single number, and differences of more than 52 bits.
    pub fn diff(&self, periods: i64) -> Result<Self, Error> {
        if periods == 0 {
            return Err(Error::NoDifference);
        }
        let before = self.shift(periods)?;
        let (there, others) = (self.known_rows(), before.known_rows());
        let valid = match there.zip(others) {
            Some((there, others)) => {
                let both = there.iter().zip(&others).map(|(a, b)| *a && *b);
                let both: Vec<bool> = both.collect();
                let valid = self.notna().public(&both);
                // No row is subtracted from itself, which is no secret.
                if !both.contains(&true) {
                    return Self::new(self.number().clone(), valid);
                }
                valid
            }
            None => Mask::all_of(&[self.notna(), before.notna()])?,
        };
        Self::new(self.number().minus(before.number())?, valid)
    }
}

impl Number {
    /// Returns, for each row, the number `periods` rows before it, see [`OptionalNumber::shift`].
    ///
    /// # Errors
    /// As [`OptionalNumber::shift`].
    pub fn shift(&self, periods: i64) -> Result<OptionalNumber, Error> {
        OptionalNumber::whole(self.clone()).shift(periods)
    }

    /// Returns, for each row, its number less that `periods` rows before it, see [`OptionalNumber::diff`].
    ///
    /// # Errors
    /// As [`OptionalNumber::diff`].
    pub fn diff(&self, periods: i64) -> Result<OptionalNumber, Error> {
        OptionalNumber::whole(self.clone()).diff(periods)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_before_the_first_and_behind_the_last_are_missing() {
        let (rows, there) = places(4, 1);
        assert_eq!(rows, [0, 0, 1, 2]);
        assert_eq!(there, [false, true, true, true]);
        let (rows, there) = places(4, -3);
        assert_eq!(rows, [3, 1, 2, 3]);
        assert_eq!(there, [true, false, false, false]);
        for periods in [4, -4, i64::MAX, i64::MIN] {
            let (rows, there) = places(4, periods);
            assert_eq!((rows, there), (vec![0, 1, 2, 3], vec![false; 4]));
        }
    }
}
