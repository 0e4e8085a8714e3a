//! Sensor readings as unsigned fixed-point codes.

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
    #[error("the reading is outside the declared range {minimum} to {maximum}")]
    OutOfRange {
        /// The lowest reading that has a code.
        minimum: f64,
        /// The highest reading that has a code.
        maximum: f64,
    },
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
