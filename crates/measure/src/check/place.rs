//! The report on the noise at one place, for measurements that no step of a bootstrap is.

use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::statistics::{Interval, mean, variance_interval_of_freedom};

use super::verdict::{PRINTED, TEST_LEVEL, Verdict};

/// The report on the noise of compact values, or of packed answers, at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceReport {
    /// The place, for people.
    pub name: String,
    /// The number of samples.
    pub samples: usize,
    /// The predicted variance, on average over keys.
    pub predicted: Variance,
    /// The variance of the samples among those of one key.
    pub measured: Variance,
    /// The 99% chi-square interval of the variance.
    pub interval: Interval,
    /// Whether the variance agrees with the prediction.
    pub verdict: Verdict,
}

impl PlaceReport {
    /// Compares the errors under each key with a predicted variance, which may be off by the relative
    /// difference `spread` because of the weights of keys.
    pub(super) fn new(name: String, keys: &[&[f64]], (predicted, spread): (Variance, f64)) -> Self {
        let (mut squares, mut samples) = (0.0, 0);
        for errors in keys {
            let centre = mean(errors);
            squares += errors.iter().map(|x| (x - centre).powi(2)).sum::<f64>();
            samples += errors.len();
        }
        let freedom = (samples - keys.len()) as f64;
        let measured = Variance(squares / freedom);
        let interval = |confidence| variance_interval_of_freedom(freedom, measured, confidence);
        let allowed = Interval {
            low: predicted.0 * (1.0 - spread),
            high: predicted.0 * (1.0 + spread),
        };
        Self {
            name,
            samples,
            predicted,
            measured,
            interval: interval(PRINTED),
            verdict: Verdict::of(interval(1.0 - TEST_LEVEL), allowed),
        }
    }
}
