//! Tests of whether a measured noise is the predicted one: sample moments with their confidence
//! intervals, a test of normality, and intervals for failure counts.

use crate::noise::Variance;
use crate::special_functions::{beta_i, bisect, gamma_p, normal_cdf, normal_quantile};

/// An interval with its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Returns whether `value` lies in the interval.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Returns the sample mean.
///
/// # Panics
/// If there are no samples.
pub fn mean(samples: &[f64]) -> f64 {
    assert!(!samples.is_empty(), "a mean needs samples");
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Returns the unbiased sample variance (divisor M - 1).
///
/// # Panics
/// If there are fewer than two samples.
pub fn variance(samples: &[f64]) -> Variance {
    assert!(samples.len() >= 2, "a variance needs two samples");
    let centre = mean(samples);
    let squares: f64 = samples.iter().map(|x| (x - centre).powi(2)).sum();
    Variance(squares / (samples.len() - 1) as f64)
}

/// The interval that holds the mean with the given confidence, by the normal law.
pub fn mean_interval(samples: &[f64], confidence: f64) -> Interval {
    let half = normal_quantile(0.5 + 0.5 * confidence)
        * (variance(samples).0 / samples.len() as f64).sqrt();
    let centre = mean(samples);
    Interval {
        low: centre - half,
        high: centre + half,
    }
}

/// The interval that holds the true variance with the given confidence when `count`
/// Gaussian samples have the variance `measured`: (M-1) s²/χ².
pub fn variance_interval(count: usize, measured: Variance, confidence: f64) -> Interval {
    assert!(count >= 2, "a variance needs two samples");
    variance_interval_of_freedom((count - 1) as f64, measured, confidence)
}

/// Returns the [`variance_interval`] for an estimate with `freedom` degrees of freedom, above 0: an estimate
/// whose relative variance is 2/`freedom`.
pub fn variance_interval_of_freedom(freedom: f64, measured: Variance, confidence: f64) -> Interval {
    let tail = 0.5 * (1.0 - confidence);
    Interval {
        low: freedom * measured.0 / chi_square_quantile(1.0 - tail, freedom),
        high: freedom * measured.0 / chi_square_quantile(tail, freedom),
    }
}

/// The x below which a chi-square variable of `freedom` degrees lies with probability
/// `p`, `0 < p < 1`: bisection on the incomplete gamma function, relative error below
/// 1e-8 for up to 10^6 degrees.
pub fn chi_square_quantile(p: f64, freedom: f64) -> f64 {
    // Wilson and Hilferty's approximation is within a few percent of the answer
    // wherever it is not tiny.
    let c = 2.0 / (9.0 * freedom);
    let guess = freedom * (1.0 - c + normal_quantile(p) * c.sqrt()).max(0.0).powi(3);
    let cdf = |x: f64| gamma_p(0.5 * freedom, 0.5 * x);
    let mut high = guess.max(1e-3) * 1.1;
    while cdf(high) < p {
        high *= 2.0;
    }
    let mut low = guess * 0.9;
    if cdf(low) > p {
        low = 0.0;
    }
    bisect(low, high, p, cdf)
}

/// The comparison of a sample's variance with the predicted one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceCheck {
    /// The sample variance.
    pub measured: Variance,
    /// The measured variance divided by the predicted one.
    pub ratio: f64,
    /// Whether the ratio is within the tolerance of 1.
    pub within: bool,
    /// The 99% interval of the true variance, if the samples are Gaussian.
    pub interval: Interval,
}

/// Compares the samples' variance with `predicted`. The check passes if |measured/predicted - 1| ≤
/// `tolerance`. The ratio of M Gaussian samples spreads by √(2/M) about 1, so a tolerance below
/// 4√(2/M) fails by chance.
pub fn variance_within(samples: &[f64], predicted: Variance, tolerance: f64) -> VarianceCheck {
    let measured = variance(samples);
    let ratio = measured.0 / predicted.0;
    VarianceCheck {
        measured,
        ratio,
        within: (ratio - 1.0).abs() <= tolerance,
        interval: variance_interval(samples.len(), measured, 0.99),
    }
}

/// TFHE-rs's rule for a measured variance: it must not be below what security needs, and
/// must be at most the predicted one or have it in its 99% interval. Unlike the window
/// \[predicted/2, predicted\] it passes an exact prediction.
pub fn variance_is_consistent(
    samples: &[f64],
    predicted: Variance,
    security_minimum: Variance,
) -> bool {
    let check = variance_within(samples, predicted, 0.0);
    check.measured >= security_minimum
        && (check.measured <= predicted || check.interval.contains(predicted.0))
}

/// The result of a test of normality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapiroFrancia {
    /// W', the squared correlation of the samples with normal scores: 1 is normal.
    pub w: f64,
    /// The probability that a normal sample gives a W' as small; reject normality if it is below
    /// the chosen level.
    pub p_value: f64,
}

/// The Shapiro-Francia test (1972) with Blom's scores and Royston's normal approximation
/// (1993), good for 5 to 5000 samples; `None` for other counts and for samples that are
/// all equal. It catches gross errors and says nothing about tails beyond 4 σ.
pub fn shapiro_francia(samples: &[f64]) -> Option<ShapiroFrancia> {
    let count = samples.len();
    if !(5..=5000).contains(&count) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = count as f64;
    let centre = mean(samples);
    let (mut cross, mut scores, mut squares) = (0.0, 0.0, 0.0);
    for (i, x) in sorted.iter().enumerate() {
        let score = normal_quantile((i as f64 + 1.0 - 0.375) / (n + 0.25));
        cross += score * (x - centre);
        scores += score * score;
        squares += (x - centre).powi(2);
    }
    if squares == 0.0 {
        return None;
    }
    let w = (cross * cross / (scores * squares)).min(1.0);
    let ln_n = n.ln();
    let u = ln_n.ln() - ln_n;
    let v = ln_n.ln() + 2.0 / ln_n;
    let z = ((1.0 - w).ln() - (1.0521 * u - 1.2725)) / (1.0308 - 0.26758 * v);
    Some(ShapiroFrancia {
        w,
        p_value: normal_cdf(-z),
    })
}

/// The interval of Clopper and Pearson: holds the probability of an event seen
/// `successes` times in `trials` with at least the given confidence.
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> Interval {
    assert!(successes <= trials && trials > 0, "more events than trials");
    let tail = 0.5 * (1.0 - confidence);
    let (x, rest) = (successes as f64, (trials - successes) as f64);
    Interval {
        low: if successes == 0 {
            0.0
        } else {
            bisect(0.0, 1.0, tail, |p| beta_i(x, rest + 1.0, p))
        },
        high: if successes == trials {
            1.0
        } else {
            bisect(0.0, 1.0, 1.0 - tail, |p| beta_i(x + 1.0, rest, p))
        },
    }
}
