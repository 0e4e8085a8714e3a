//! Columns, and sums and differences of them: what functions and conditions are about.
//!
//! An [`Expression`] is linear: columns times clear numbers, plus a clear number. Its values
//! have a fixed-point encoding of their own, made of those of its columns, so that
//! whatever works on a column works on an expression.

use std::fmt;

use serde::{Deserialize, Serialize};
use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::request::{RequestError, encoding_of, known_column};

/// A linear expression of columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expression {
    /// Columns and what they are multiplied by; none twice, none by 0.
    pub terms: Vec<(String, f64)>,
    /// What is added.
    pub constant: f64,
}

/// How the values of an expression are computed from codes, and how they are encoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Linear {
    /// The encoding of the values, under the expression's text.
    pub(crate) column: Column,
    /// Columns by their place, and the whole number that their codes are multiplied by.
    pub(crate) factors: Vec<(usize, i64)>,
    /// What is added to the sum to have the code of a value: the least that keeps it from 0
    /// upwards.
    pub(crate) shift: i64,
}

impl From<&str> for Expression {
    /// A column by its name.
    fn from(column: &str) -> Self {
        Self {
            terms: vec![(column.to_owned(), 1.0)],
            constant: 0.0,
        }
    }
}

impl Expression {
    /// The column that it is, if it is no more than one.
    pub fn column(&self) -> Option<&str> {
        match &self.terms[..] {
            [(name, 1.0)] if self.constant == 0.0 => Some(name),
            _ => None,
        }
    }

    /// Adds another one times a number.
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

    /// How it is computed from codes of these columns.
    pub(crate) fn linear(&self, readings: &ReadingsMetadata) -> Result<Linear, RequestError> {
        let mut parts = Vec::with_capacity(self.terms.len());
        for (name, weight) in &self.terms {
            let (place, column) = known_column(readings, name)?;
            parts.push((place, column, encoding_of(column)?, *weight));
        }
        if let ([(place, column, ..)], Some(_)) = (&parts[..], self.column()) {
            return Ok(Linear {
                column: (*column).clone(),
                factors: vec![(*place, 1)],
                shift: 0,
            });
        }
        let steps: Vec<f64> = parts
            .iter()
            .map(|(.., fixed_point, weight)| weight * fixed_point.scale())
            .collect();
        let (scale, factors) =
            whole_multiples(&steps).ok_or_else(|| RequestError::NoCommonStep(self.to_string()))?;
        let too_wide = || RequestError::TooWide(self.to_string());
        let (mut shift, mut largest, mut offset) = (0i64, 0i64, self.constant);
        for ((.., fixed_point, weight), &factor) in parts.iter().zip(&factors) {
            // At most 2^52 times 2^20 has room in 128 bits only.
            let most = i128::from(factor.unsigned_abs()) * ((1 << fixed_point.bits()) - 1);
            let most = i64::try_from(most).map_err(|_| too_wide())?;
            largest = largest.checked_add(most).ok_or_else(too_wide)?;
            if factor < 0 {
                shift += most;
            }
            offset += weight * fixed_point.minimum();
        }
        let column = Column {
            name: self.to_string(),
            unit: self.unit(&parts),
            offset: offset - shift as f64 * scale,
            scale,
            bits: (i64::BITS - largest.leading_zeros()).max(1),
        };
        column.fixed_point().map_err(|_| too_wide())?;
        Ok(Linear {
            column,
            factors: parts.iter().map(|part| part.0).zip(factors).collect(),
            shift,
        })
    }

    /// The unit of its columns, if they have the same and are only added and subtracted.
    fn unit(&self, parts: &[(usize, &Column, FixedPoint, f64)]) -> String {
        let unit = parts.first().map_or("", |(_, column, ..)| &column.unit);
        let same = |&(_, column, _, weight): &(usize, &Column, FixedPoint, f64)| {
            column.unit == unit && weight.abs() == 1.0
        };
        if parts.iter().all(same) {
            unit.to_owned()
        } else {
            String::new()
        }
    }
}

/// A step that all of some steps are whole multiples of, as large as can be, and the
/// multiples. `None` if there is none that is at least a thousandth of the smallest, or if a
/// multiple is above 2^20.
pub fn whole_multiples(steps: &[f64]) -> Option<(f64, Vec<i64>)> {
    whole_multiples_up_to(steps, 1 << 20)
}

/// [`whole_multiples`], but with multiples up to `most`, which is at most 2^52.
pub fn whole_multiples_up_to(steps: &[f64], most: u64) -> Option<(f64, Vec<i64>)> {
    /// A multiple within this part of a whole number is one: steps are decimal fractions.
    const SLACK: f64 = 1e-9;
    /// Above this, a multiple is as exact as rounding leaves it.
    const LARGE: f64 = (1u64 << 20) as f64;
    let smallest = steps
        .iter()
        .fold(f64::INFINITY, |s, step| s.min(step.abs()));
    if !(smallest.is_finite() && smallest > 0.0) {
        return None;
    }
    (1..=1000u32).find_map(|part| {
        let common = smallest / f64::from(part);
        let multiple = |step: &f64| {
            let multiple = step / common;
            let whole = multiple.round();
            let slack = match whole.abs() {
                size if size <= LARGE => SLACK * size,
                size => (16.0 * f64::EPSILON * size).clamp(1e-6, 0.25),
            };
            let close = (multiple - whole).abs() <= slack;
            (close && whole.abs() <= most as f64).then_some(whole as i64)
        };
        let multiples = steps.iter().map(multiple).collect::<Option<Vec<_>>>()?;
        Some((common, multiples))
    })
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
        };
        ReadingsMetadata {
            columns: vec![
                column("inside", "°C", -10.0, 0.5, 4),
                column("outside", "°C", -20.0, 0.5, 5),
                column("light", "lx", 0.0, 0.2, 3),
            ],
            rows: vec!["r".to_owned()],
        }
    }

    fn linear(terms: &[(&str, f64)], constant: f64) -> Result<Linear, RequestError> {
        let terms = terms
            .iter()
            .map(|&(name, weight)| (name.to_owned(), weight));
        let terms = terms.collect();
        Expression { terms, constant }.linear(&readings())
    }

    #[test]
    fn a_column_is_its_own_encoding() {
        let own = linear(&[("outside", 1.0)], 0.0).unwrap();
        assert_eq!(own.column, readings().columns[1]);
        assert_eq!((own.factors, own.shift), (vec![(1, 1)], 0));
    }

    #[test]
    fn every_value_has_its_code() {
        for (terms, constant) in [
            (&[("inside", 1.0), ("outside", -1.0)][..], 0.0),
            (&[("inside", 2.0), ("light", 1.5)], -3.25),
            (&[("light", -1.0)], 7.0),
            (&[("outside", 0.25), ("inside", -0.4), ("light", 0.1)], 0.5),
        ] {
            let linear = linear(terms, constant).unwrap();
            let encoding = linear.column.fixed_point().unwrap();
            for draw in 0..200u64 {
                let readings = readings();
                let codes: Vec<u64> = (readings.columns.iter().enumerate())
                    .map(|(i, column)| (draw * 7919 + 31 * i as u64) % (1 << column.bits))
                    .collect();
                let value = terms.iter().fold(constant, |sum, (name, weight)| {
                    let (place, column) = readings.column(name).unwrap();
                    let decoded = column.fixed_point().unwrap().decode(codes[place] as f64);
                    sum + weight * decoded
                });
                let code = linear
                    .factors
                    .iter()
                    .fold(linear.shift, |sum, (place, factor)| {
                        sum + factor * codes[*place] as i64
                    });
                assert!((0..1i64 << encoding.bits()).contains(&code));
                assert!((encoding.decode(code as f64) - value).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn widths_and_units_follow_the_columns() {
        let difference = linear(&[("inside", 1.0), ("outside", -1.0)], 0.0).unwrap();
        // Codes 0 to 15 less codes 0 to 31: 47 values.
        assert_eq!((difference.column.bits, difference.shift), (6, 31));
        assert_eq!(difference.column.unit, "°C");
        let mixed = linear(&[("inside", 1.0), ("light", 1.0)], 0.0).unwrap();
        // Steps of 0.5 and 0.2 are 5 and 2 times 0.1.
        assert_eq!(mixed.factors, [(0, 5), (2, 2)]);
        assert_eq!(mixed.column.unit, "");
    }

    #[test]
    fn what_has_no_common_step_is_refused() {
        let refused = linear(&[("inside", std::f64::consts::PI), ("light", 1.0)], 0.0);
        assert!(matches!(refused, Err(RequestError::NoCommonStep(_))));
        let refused = linear(&[("inside", 1e300), ("light", 1.0)], 0.0);
        assert!(matches!(refused, Err(RequestError::NoCommonStep(_))));
        let refused = linear(&[("inside", f64::NAN)], 0.0);
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
