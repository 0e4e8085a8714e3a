//! Linear expressions of columns, which functions and conditions take as arguments.
//!
//! An [`Expression`] is a sum of columns times clear numbers, plus a clear number. Its values have a
//! fixed-point encoding of their own, which follows from those of its columns. So every function that
//! takes a column takes an expression.

use std::fmt;

use serde::{Deserialize, Serialize};
use tfhe_sbc_columns::{self as columns, Number, Table, combine};
use tfhe_sbc_core::encoding::CompactEncoding;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::columns::{encoding_of, known_column};
use crate::condition::Comparing;
use crate::error::RequestError;

/// A linear expression of columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expression {
    /// The columns and their factors. No column is there twice, and no factor is 0.
    pub terms: Vec<(String, f64)>,
    /// The clear number that is added.
    pub constant: f64,
}

impl From<&str> for Expression {
    /// Makes the expression that is one column.
    fn from(column: &str) -> Self {
        Self {
            terms: vec![(column.to_owned(), 1.0)],
            constant: 0.0,
        }
    }
}

impl Expression {
    /// Returns the name of the column, if the expression is a single column.
    pub fn column(&self) -> Option<&str> {
        match &self.terms[..] {
            [(name, 1.0)] if self.constant == 0.0 => Some(name),
            _ => None,
        }
    }

    /// Adds another expression times a number.
    pub(crate) fn add(&mut self, other: &Self, factor: f64) {
        for (name, weight) in &other.terms {
            match self.terms.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += weight * factor,
                None => self.terms.push((name.clone(), weight * factor)),
            }
        }
        self.terms.retain(|(_, weight)| *weight != 0.0);
        self.constant += other.constant * factor;
    }

    /// Returns the encoding of its values, under its text as a name.
    ///
    /// # Errors
    /// Returns an error for columns that do not exist and for values that have no encoding.
    pub fn encoding(&self, readings: &ReadingsMetadata) -> Result<Column, RequestError> {
        let mut parts = Vec::with_capacity(self.terms.len());
        for (name, weight) in &self.terms {
            let (_, column) = known_column(readings, name)?;
            parts.push((column, encoding_of(column)?, *weight));
        }
        if let ([(column, ..)], Some(_)) = (&parts[..], self.column()) {
            return Ok(Column {
                derived: Default::default(),
                ..(*column).clone()
            });
        }
        let terms = parts
            .iter()
            .map(|&(_, encoding, weight)| (encoding, weight));
        let combined = combine(&terms.collect::<Vec<_>>(), self.constant);
        let combined = combined.map_err(|error| self.refused(error))?;
        Ok(Column {
            name: self.to_string(),
            unit: self.unit(parts.iter().map(|&(column, _, weight)| (column, weight))),
            offset: combined.offset,
            scale: combined.scale,
            bits: combined.bits,
            compact: None,
            derived: Default::default(),
        })
    }

    /// Returns whether readings of one of its columns may be missing, and which are is encrypted.
    pub(crate) fn hides_gaps(&self, readings: &ReadingsMetadata) -> bool {
        self.terms.iter().any(|(name, _)| {
            let column = readings.column(name);
            column.is_some_and(|(_, column)| column.derived.encrypted_validity().is_some())
        })
    }

    /// Returns the encoding of an encrypted threshold of `bits` bits for its values that is sent as one
    /// compact code; `None` if it is sent as radix blocks.
    pub(crate) fn limit_encoding(
        &self,
        readings: &ReadingsMetadata,
        parameters: &Parameters,
        comparing: Comparing,
        bits: u32,
    ) -> Option<CompactEncoding> {
        // A list of values is compared with the digits of a column, which are taken once for all of them.
        let is_single = comparing != Comparing::Among;
        let is_compact = |name: &str| {
            let column = readings.column(name);
            column.is_some_and(|(_, column)| column.compact.is_some())
        };
        (is_single && self.terms.iter().all(|(name, _)| is_compact(name)))
            .then(|| columns::limit_encoding(parameters, bits))?
    }

    /// Returns its values as a number over the columns of a table.
    ///
    /// # Errors
    /// Returns an error for columns that do not exist and for values that have no encoding.
    pub fn number(&self, table: &Table) -> Result<Number, RequestError> {
        let terms = self.terms.iter().map(|(name, weight)| {
            known_column(table.metadata(), name)?;
            let number = table.codes(name).map_err(|error| self.refused(error))?;
            Ok((number, *weight))
        });
        let terms: Vec<(&Number, f64)> = terms.collect::<Result<_, RequestError>>()?;
        match (&terms[..], self.column()) {
            ([(number, _)], Some(_)) => Ok((*number).clone()),
            _ => Number::linear(&terms, self.constant).map_err(|error| self.refused(error)),
        }
    }

    /// Returns the error of values that have no encoding.
    fn refused(&self, error: columns::Error) -> RequestError {
        match error {
            columns::Error::TooWide | columns::Error::Encoding(_) => {
                RequestError::TooWide(self.to_string())
            }
            columns::Error::NotFinite => RequestError::Expression,
            _ => RequestError::NoCommonStep(self.to_string()),
        }
    }

    /// Returns the unit of the columns, if all have the same and are only added and subtracted; otherwise
    /// an empty text.
    fn unit<'c>(&self, mut parts: impl Iterator<Item = (&'c Column, f64)> + Clone) -> String {
        let first = parts.clone().next();
        let unit = first.map_or("", |(column, _)| column.unit.as_str());
        match parts.all(|(column, weight)| column.unit == unit && weight.abs() == 1.0) {
            true => unit.to_owned(),
            false => String::new(),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut sign = |f: &mut fmt::Formatter<'_>, negative: bool| {
            let sign = match (std::mem::take(&mut first), negative) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            f.write_str(sign)
        };
        for (name, weight) in &self.terms {
            sign(f, *weight < 0.0)?;
            match weight.abs() {
                1.0 => f.write_str(name)?,
                weight => write!(f, "{weight} * {name}")?,
            }
        }
        if self.constant != 0.0 || self.terms.is_empty() {
            sign(f, self.constant < 0.0)?;
            write!(f, "{}", self.constant.abs())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings() -> ReadingsMetadata {
        let column = |name: &str, unit: &str, offset, scale, bits| Column {
            name: name.to_owned(),
            unit: unit.to_owned(),
            offset,
            scale,
            bits,
            compact: None,
            derived: Default::default(),
        };
        ReadingsMetadata {
            columns: vec![
                column("inside", "°C", -10.0, 0.5, 4),
                column("outside", "°C", -20.0, 0.5, 5),
                column("light", "lx", 0.0, 0.2, 3),
            ],
            rows: vec!["r".to_owned()],
            gaps: Default::default(),
        }
    }

    fn encoding(terms: &[(&str, f64)], constant: f64) -> Result<Column, RequestError> {
        let terms = terms
            .iter()
            .map(|&(name, weight)| (name.to_owned(), weight));
        let terms = terms.collect();
        Expression { terms, constant }.encoding(&readings())
    }

    #[test]
    fn a_column_is_its_own_encoding() {
        let own = encoding(&[("outside", 1.0)], 0.0).unwrap();
        assert_eq!(own, readings().columns[1]);
    }

    #[test]
    fn widths_and_units_follow_the_columns() {
        let difference = encoding(&[("inside", 1.0), ("outside", -1.0)], 0.0).unwrap();
        // Codes 0 to 15 less codes 0 to 31: 47 values.
        assert_eq!((difference.bits, difference.offset), (6, -5.5));
        assert_eq!(difference.unit, "°C");
        let mixed = encoding(&[("inside", 1.0), ("light", 1.0)], 0.0).unwrap();
        // Steps of 0.5 and 0.2 are 5 and 2 times 0.1.
        assert_eq!((mixed.scale, mixed.bits), (0.1, 7));
        assert_eq!(mixed.unit, "");
    }

    #[test]
    fn what_has_no_common_step_is_refused() {
        let refused = encoding(&[("inside", std::f64::consts::PI), ("light", 1.0)], 0.0);
        assert!(matches!(refused, Err(RequestError::NoCommonStep(_))));
        let refused = encoding(&[("inside", 1e300), ("light", 1.0)], 0.0);
        assert!(matches!(refused, Err(RequestError::NoCommonStep(_))));
        let refused = encoding(&[("inside", f64::NAN)], 0.0);
        assert!(matches!(refused, Err(RequestError::NoCommonStep(_))));
    }

    #[test]
    fn texts_are_short() {
        let mut expression = Expression::from("a");
        expression.add(&Expression::from("b"), -2.5);
        expression.constant = -3.0;
        assert_eq!(expression.to_string(), "a - 2.5 * b - 3");
        expression.add(&Expression::from("a"), -1.0);
        assert_eq!(expression.to_string(), "-2.5 * b - 3");
    }
}
