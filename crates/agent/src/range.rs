//! The range of a column, and what happens to readings outside it.

use serde::Deserialize;
use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_upload::definition::Definition;

use crate::error::AgentError;
use crate::metrics::{Metrics, Skipped};

/// The treatment of a reading that its column cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutOfRange {
    /// The reading becomes the nearest end of the range. A reading that is not a number is left out
    /// as with [`Skip`](Self::Skip).
    Clamp,
    /// The reading's row is left out, or the reading alone if its column is optional.
    #[default]
    Skip,
    /// The agent stops.
    Fail,
}

/// The check of a column's readings. It logs once when a run of bad readings begins, and when it
/// ends.
pub(crate) struct Gate {
    name: String,
    fixed_point: FixedPoint,
    policy: OutOfRange,
    /// True if readings may be missing. A row without a reading is kept then.
    optional: bool,
    /// The number of bad readings since the last good one.
    run: u64,
}

impl Gate {
    pub(crate) fn new(column: &Definition, policy: OutOfRange) -> Result<Self, AgentError> {
        let fixed_point = FixedPoint::new(column.offset, column.scale, column.bits);
        let fixed_point = fixed_point.map_err(|error| {
            AgentError::setting(
                &format!("column '{}'", column.name),
                error,
                "correct its offset, scale or bits",
            )
        })?;
        Ok(Self {
            name: column.name.clone(),
            fixed_point,
            policy,
            optional: column.derived.optional.is_allowed(),
            run: 0,
        })
    }

    /// Returns the reading as it goes into a batch: NaN if it is missing, `None` if its row is left out.
    pub(crate) fn pass(
        &mut self,
        reading: Result<f64, String>,
        metrics: &Metrics,
    ) -> Result<Option<f64>, AgentError> {
        let (why, words) = match reading {
            Ok(value) if self.fixed_point.encode(value).is_ok() => {
                if self.run > 0 {
                    tracing::info!(column = %self.name, left_out = self.run, "readings are good again");
                    self.run = 0;
                }
                return Ok(Some(value));
            }
            Ok(value) if value.is_nan() => (Skipped::NotANumber, "it is not a number".to_owned()),
            Ok(value) => {
                if self.policy == OutOfRange::Clamp {
                    metrics.skipped(Skipped::Clamped);
                    let (low, high) = (self.fixed_point.minimum(), self.fixed_point.maximum());
                    return Ok(Some(value.clamp(low, high)));
                }
                (
                    Skipped::OutOfRange,
                    "it is beyond the column's range".to_owned(),
                )
            }
            Err(words) => (Skipped::Unreadable, words),
        };
        metrics.skipped(why);
        if self.policy == OutOfRange::Fail {
            return Err(AgentError::new(
                format_args!("column '{}' gave no reading: {words}", self.name),
                "repair the sensor, widen the column's range (offset, scale, bits), or set its out_of_range to \"skip\"",
            ));
        }
        if self.run == 0 && self.optional {
            tracing::warn!(column = %self.name, reason = %words, "a reading is missing, and its row has a gap; more of them are counted, not logged");
        } else if self.run == 0 {
            tracing::warn!(column = %self.name, reason = %words, "a reading is left out, with its row; more of them are counted, not logged");
        }
        self.run += 1;
        Ok(match self.optional {
            true => {
                metrics.missing(&self.name);
                Some(f64::NAN)
            }
            false => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(policy: OutOfRange) -> Gate {
        let column = Definition {
            name: "t".to_owned(),
            unit: String::new(),
            offset: -40.0,
            scale: 0.5,
            bits: 8,
            usage: None,
            compact: None,
            derived: Default::default(),
        };
        Gate::new(&column, policy).unwrap()
    }

    #[test]
    fn bad_readings_are_clamped_left_out_or_fatal() {
        let metrics = Metrics::default();
        let mut optional = gate(OutOfRange::Skip);
        optional.optional = true;
        for reading in [Ok(f64::NAN), Ok(1e9), Err("gone".to_owned())] {
            let passed = optional.pass(reading, &Metrics::default()).unwrap();
            assert!(passed.is_some_and(f64::is_nan));
        }
        let bad = [f64::NAN, 1e9, -41.0, f64::INFINITY];
        let mut skip = gate(OutOfRange::Skip);
        assert_eq!(skip.pass(Ok(3.25), &metrics).unwrap(), Some(3.25));
        for value in bad {
            assert_eq!(skip.pass(Ok(value), &metrics).unwrap(), None);
        }
        assert_eq!(skip.pass(Err("gone".to_owned()), &metrics).unwrap(), None);
        assert_eq!(skip.run, 5);
        assert_eq!(skip.pass(Ok(1.0), &metrics).unwrap(), Some(1.0));
        assert_eq!(skip.run, 0);

        let mut clamp = gate(OutOfRange::Clamp);
        let clamped = bad.map(|value| clamp.pass(Ok(value), &metrics).unwrap());
        assert_eq!(clamped, [None, Some(87.5), Some(-40.0), Some(87.5)]);

        let mut fail = gate(OutOfRange::Fail);
        for value in bad {
            let error = fail.pass(Ok(value), &metrics).unwrap_err();
            assert!(error.to_string().contains("'t'"), "{error}");
            // Logs have no readings.
            assert!(!error.to_string().contains("1000000000"), "{error}");
        }
        let text = metrics.render();
        for line in [
            "reason=\"out_of_range\"} 6",
            "reason=\"not_a_number\"} 3",
            "reason=\"clamped\"} 3",
            "reason=\"unreadable\"} 1",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
