//! Sensor readings as unsigned fixed-point codes.

use core::fmt;

use thiserror::Error;

use crate::memcheck::disclosed;

/// An encoding of a reading `v` as the unsigned code `round((v - offset) / scale)` of `bits` bits.
/// The `offset` is the lowest reading that can occur, so that negative readings have
/// ordinary codes, and the order of codes is the order of readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedPoint {
    offset: f64,
    scale: f64,
    bits: u32,
}

/// The reason why a fixed-point encoding is not usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FixedPointError {
    /// The offset is not a finite number.
    #[error("the offset is not a finite number")]
    Offset,
    /// The scale is not a positive finite number.
    #[error("the scale is not a positive finite number")]
    Scale,
    /// The width is not in 1..=52 bits.
    #[error("the width of {0} bits is not between 1 and 52")]
    Bits(u32),
}

/// The reason why an encoding cannot hold a reading. The reading is a plaintext, so the error does
/// not state it: errors are logged.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ReadingError {
    /// The reading is NaN or infinite.
    #[error("the reading is not a finite number")]
    NotFinite,
    /// The reading is outside the declared range.
    #[error(
        "the reading is outside the declared range {} to {}",
        Bound { value: *minimum, largest: minimum.abs().max(maximum.abs()) },
        Bound { value: *maximum, largest: minimum.abs().max(maximum.abs()) }
    )]
    OutOfRange {
        /// The lowest reading that has a code.
        minimum: f64,
        /// The highest reading that has a code.
        maximum: f64,
    },
}

/// A bound of a range whose largest number has the magnitude `largest`. It is printed with the fewest decimals, at most 12, that give it but for errors of binary
/// arithmetic: as 12.7, where `127 · 0.1` is 12.700000000000001.
struct Bound {
    value: f64,
    largest: f64,
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 12;
        let Self { value, largest } = *self;
        let mut unit = 1.0;
        for decimals in 0..=MOST {
            let scaled = value * unit;
            // A double of this size is a whole number, so more decimals would not change it.
            if scaled.abs() >= (1u64 << 52) as f64 {
                break;
            }
            let whole = (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i64 as f64;
            if (whole / unit - value).abs() <= 4.0 * f64::EPSILON * largest {
                // A sum with 0 is not -0.
                return write!(formatter, "{:.decimals$}", whole / unit + 0.0);
            }
            unit *= 10.0;
        }
        write!(formatter, "{value}")
    }
}

impl FixedPoint {
    /// Makes an encoding of `bits` bits (1 to 52) in steps of `scale` from `offset` upwards.
    ///
    /// # Errors
    /// If a number is out of its range.
    pub fn new(offset: f64, scale: f64, bits: u32) -> Result<Self, FixedPointError> {
        if !offset.is_finite() {
            return Err(FixedPointError::Offset);
        }
        if !(scale.is_finite() && scale > 0.0) {
            return Err(FixedPointError::Scale);
        }
        if !(1..=52).contains(&bits) {
            return Err(FixedPointError::Bits(bits));
        }
        Ok(Self {
            offset,
            scale,
            bits,
        })
    }

    /// The lowest reading that has a code.
    pub fn minimum(&self) -> f64 {
        self.offset
    }

    /// The highest reading that has a code.
    pub fn maximum(&self) -> f64 {
        self.decode(((1u64 << self.bits) - 1) as f64)
    }

    /// The step between neighbouring codes.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The width of a code in bits.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the code of a reading, rounded to nearest (ties up). There is no branch on the reading, except
    /// that it may be refused.
    ///
    /// # Errors
    /// If the reading is not finite or outside the range of the encoding.
    pub fn encode(&self, reading: f64) -> Result<u64, ReadingError> {
        let steps = (reading - self.offset) / self.scale + 0.5;
        // For a number that passes the check, truncation rounds down. The upper bound is exact in a
        // double, because a code has at most 52 bits. A number that is not finite does not pass.
        if disclosed((steps >= 0.0) & (steps < (1u64 << self.bits) as f64)) {
            Ok(steps as u64)
        } else if !reading.is_finite() {
            Err(ReadingError::NotFinite)
        } else {
            Err(ReadingError::OutOfRange {
                minimum: self.minimum(),
                maximum: self.maximum(),
            })
        }
    }

    /// Returns the reading of a code. A mean of codes, which need not be an integer, is a code too.
    pub fn decode(&self, code: f64) -> f64 {
        self.offset + code * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decoding_an_encoded_reading_is_within_half_a_step(reading in -50.0f64..52.0) {
            let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
            let code = celsius.encode(reading).unwrap();
            prop_assert!((celsius.decode(code as f64) - reading).abs() <= 0.05 + 1e-9);
        }

        #[test]
        fn order_is_kept(a in -50.0f64..52.0, b in -50.0f64..52.0) {
            let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
            if a <= b {
                prop_assert!(celsius.encode(a).unwrap() <= celsius.encode(b).unwrap());
            }
        }
    }

    #[test]
    fn ranges_are_told_as_people_write_them() {
        for (offset, scale, bits, told) in [
            (0.0, 0.1, 7, "0 to 12.7"),
            (-40.0, 0.1, 10, "-40 to 62.3"),
            (-0.0, 0.001, 12, "0 to 4.095"),
            (-12.8, 0.05, 8, "-12.8 to -0.05"),
            (1e-9, 1e-10, 4, "0.000000001 to 0.0000000025"),
            (1e16, 2.0, 3, "10000000000000000 to 10000000000000014"),
            (0.0, 1.0 / 3.0, 1, "0 to 0.3333333333333333"),
        ] {
            let error = FixedPoint::new(offset, scale, bits).unwrap().encode(1e300);
            let expected = format!("the reading is outside the declared range {told}");
            assert_eq!(error.unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn what_has_no_code_is_refused() {
        let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
        assert_eq!(celsius.encode(-10.6), Ok(394));
        assert_eq!(celsius.encode(f64::NAN), Err(ReadingError::NotFinite));
        assert_eq!(celsius.encode(f64::INFINITY), Err(ReadingError::NotFinite));
        for outside in [-50.1, 52.4, 1e300, -1e300] {
            assert!(matches!(
                celsius.encode(outside),
                Err(ReadingError::OutOfRange { .. })
            ));
        }
        assert_eq!(FixedPoint::new(0.0, 0.0, 8), Err(FixedPointError::Scale));
        assert_eq!(
            FixedPoint::new(f64::NAN, 1.0, 8),
            Err(FixedPointError::Offset)
        );
        assert_eq!(
            FixedPoint::new(0.0, 1.0, 53),
            Err(FixedPointError::Bits(53))
        );
    }
}
