//! The comparison of the measurements with the predictions.

use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::failure::DecisionHalfWidth;
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_sum::NoiseSum;
use tfhe_sbc_oracle::prediction::{Prediction, worst_norm_squared};
use tfhe_sbc_oracle::special_functions::normal_quantile;
use tfhe_sbc_oracle::statistics::{
    Interval, ShapiroFrancia, mean, shapiro_francia, variance_interval_of_freedom,
};

use super::compact::{self, CompactSample};
use super::look_up::SimulatedLookUp;
use super::packing::{self, PackingSample};
use super::place::PlaceReport;
use super::predict::{KeyPrediction, StepPrediction};
use super::sample::Samples;
use super::steps::Step;

/// The measurements under one key set.
pub(super) struct KeyMeasurements {
    pub(super) samples: Samples,
    pub(super) look_up: SimulatedLookUp,
    pub(super) compact: Vec<CompactSample>,
    pub(super) packing: Option<PackingSample>,
}

/// The measurements under all key sets.
pub struct Measured {
    pub(super) parameters: Parameters,
    pub(super) keys: Vec<KeyMeasurements>,
}

/// The probability with which the check of a right set may fail by chance, whatever the number of
/// its tests.
const FAMILY_LEVEL: f64 = 0.01;
/// The largest number of samples of the test of normality.
const NORMALITY_SAMPLES: usize = 5000;
/// The tests of a report: variance, mean and normality of every step, the failures, compact values, and
/// packed answers.
const TESTS: f64 = (3 * Step::ALL.len() + 2 + compact::MOST_TESTS + packing::TESTS) as f64;
/// The significance level of every single test, by Bonferroni.
pub(super) const TEST_LEVEL: f64 = FAMILY_LEVEL / TESTS;
/// The confidence of the printed intervals.
pub(super) const PRINTED: f64 = 0.99;

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measurement agrees with the prediction.
    Consistent,
    /// The measured value is larger than predicted.
    TooHigh,
    /// The measured value is smaller than predicted: the noise is less than the security relies
    /// on, or the formula is wrong.
    TooLow,
    /// The errors do not have the assumed distribution.
    NotNormal,
    /// The mean is not the predicted one.
    OffCentre,
}

impl Verdict {
    /// The name of the verdict, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Consistent => "ok",
            Self::TooHigh => "too high",
            Self::TooLow => "too low",
            Self::NotNormal => "not normal",
            Self::OffCentre => "off centre",
        }
    }

    /// Returns whether the verdict is [`Consistent`](Self::Consistent).
    pub fn passes(self) -> bool {
        self == Self::Consistent
    }

    /// Returns the verdict of a measured interval for a value that was predicted to be in
    /// `predicted`.
    pub(super) fn of(measured: Interval, predicted: Interval) -> Self {
        if measured.low > predicted.high {
            Self::TooHigh
        } else if measured.high < predicted.low {
            Self::TooLow
        } else {
            Self::Consistent
        }
    }
}

/// The report on the noise of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// The step.
    pub step: Step,
    /// The number of samples.
    pub samples: usize,
    /// The predicted variance under the keys of the measurement.
    pub predicted: Variance,
    /// The variance of the samples among those of one key.
    pub measured: Variance,
    /// The 99% chi-square interval of the variance, widened by the variation between keys.
    pub interval: Interval,
    /// Whether the variance is in [predicted/2, predicted], a window that passes an exact prediction
    /// half of the time.
    pub in_half_window: bool,
    /// The difference of the mean from its prediction, in standard deviations of its estimate.
    pub mean_off: f64,
    /// The test of normality, if the noise should be close to normal.
    pub normality: Option<ShapiroFrancia>,
    /// The points of the QQ plot: standard normal scores, and the quantiles of the samples in
    /// predicted standard deviations.
    pub quantiles: Vec<[f64; 2]>,
    /// The verdict of all tests of the step.
    pub verdict: Verdict,
}

impl StepReport {
    /// The measured variance divided by the predicted one.
    pub fn ratio(&self) -> f64 {
        self.measured.0 / self.predicted.0
    }

    /// Returns the [`interval`](Self::interval) divided by the predicted variance.
    pub fn ratio_interval(&self) -> Interval {
        Interval {
            low: self.interval.low / self.predicted.0,
            high: self.interval.high / self.predicted.0,
        }
    }
}

/// The report on the failures of the worst look-up. All probabilities are log2.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureReport {
    /// The probability by the formula for a Gaussian, on average over keys, by which the set is
    /// judged.
    pub formula: f64,
    /// The probability by convolution, with the predicted variances, under the keys of the
    /// measurement.
    pub convolution: f64,
    /// The same with the measured variances. Splitting should find this value.
    pub convolution_of_measured: f64,
    /// The probability by splitting, with the measured noise.
    pub splitting: f64,
    /// The standard error of `splitting`.
    pub standard_error: f64,
    /// The standard deviation by which the measured variances, which are estimates, may shift it.
    pub sampling_error: f64,
    /// The 99% interval of `splitting`, from both errors.
    pub interval: Interval,
    /// The shares of accepted proposals: for the roundings of the mask, the bootstrap outputs, and
    /// the key switch.
    pub acceptance: Vec<f64>,
    /// The share of simulated failures that the engine's modulus switch confirms.
    pub confirmed: f64,
    /// The verdict on whether the convolution is within the errors of the result of splitting.
    pub verdict: Verdict,
}

/// The report of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The number of key sets.
    pub keys: usize,
    /// The reports on all steps.
    pub steps: Vec<StepReport>,
    /// The report on failures.
    pub failure: FailureReport,
    /// The reports on compact values: the noise before every lookup of their signs and digits, and that of
    /// sums. Empty for sets that do not carry them.
    pub compact: Vec<PlaceReport>,
    /// The reports on packed answers. Empty for sets without packing.
    pub packing: Vec<PlaceReport>,
}

impl Report {
    /// Returns whether all verdicts are consistent.
    pub fn passes(&self) -> bool {
        self.steps.iter().all(|step| step.verdict.passes())
            && self.failure.verdict.passes()
            && self
                .compact
                .iter()
                .chain(&self.packing)
                .all(|place| place.verdict.passes())
    }
}

impl Measured {
    /// Compares the measurements with the oracle's prediction for `claimed`, which are the
    /// measured parameters unless a check is to fail. The probability that right parameters fail
    /// is at most 1%.
    pub fn judge(&self, claimed: &Parameters) -> Report {
        let predictions: Vec<KeyPrediction> = self
            .keys
            .iter()
            .map(|key| KeyPrediction::new(claimed, &key.samples))
            .collect();
        Report {
            keys: self.keys.len(),
            steps: Step::ALL
                .iter()
                .map(|&step| self.judge_step(step, &predictions))
                .collect(),
            failure: self.judge_failure(claimed, &predictions),
            compact: compact::judge(
                &self.parameters,
                claimed,
                &self
                    .keys
                    .iter()
                    .map(|key| &key.compact[..])
                    .collect::<Vec<_>>(),
            ),
            packing: packing::judge(
                claimed,
                &self
                    .keys
                    .iter()
                    .filter_map(|key| key.packing.as_ref())
                    .collect::<Vec<_>>(),
            ),
        }
    }

    fn judge_step(&self, step: Step, predictions: &[KeyPrediction]) -> StepReport {
        let keys = self.keys.len() as f64;
        let over_keys = |part: &dyn Fn(&StepPrediction) -> f64| {
            predictions.iter().map(|p| part(&p.step(step))).sum::<f64>() / keys
        };
        let predicted = over_keys(&|p| p.variance.0);
        let errors: Vec<&[f64]> = self.keys.iter().map(|k| k.samples.errors(step)).collect();
        let samples: usize = errors.iter().map(|errors| errors.len()).sum();
        let centred = centred_by_key(&errors);
        let freedom = (samples - errors.len()) as f64;
        let measured = centred.iter().map(|x| x * x).sum::<f64>() / freedom;
        // A chi-square of f degrees has the relative variance 2/f; the variance between keys is
        // added.
        let freedom = 1.0 / (1.0 / freedom + over_keys(&|p| p.between_keys) / (2.0 * keys));
        let interval =
            |confidence| variance_interval_of_freedom(freedom, Variance(measured), confidence);
        let (below, above) = (over_keys(&|p| p.slack.0), over_keys(&|p| p.slack.1));
        let by_variance = Verdict::of(
            interval(1.0 - TEST_LEVEL),
            Interval {
                low: predicted * (1.0 - below),
                high: predicted * (1.0 + above),
            },
        );
        let all: f64 = errors.iter().map(|errors| errors.iter().sum::<f64>()).sum();
        let spread = predicted / samples as f64 + over_keys(&|p| p.offset.0) / keys;
        let mean_off = all / samples as f64 / spread.sqrt();
        let normality = predictions
            .iter()
            .all(|p| p.step(step).normal)
            .then(|| shapiro_francia(&some_of(&centred, step, &self.parameters)))
            .flatten();
        let verdict = if !by_variance.passes() {
            by_variance
        } else if mean_off.abs() > normal_quantile(1.0 - 0.5 * TEST_LEVEL) {
            Verdict::OffCentre
        } else if normality.is_some_and(|test| test.p_value < TEST_LEVEL) {
            Verdict::NotNormal
        } else {
            Verdict::Consistent
        };
        StepReport {
            step,
            samples,
            predicted: Variance(predicted),
            measured: Variance(measured),
            interval: interval(PRINTED),
            in_half_window: (0.5 * predicted..=predicted).contains(&measured),
            mean_off,
            normality,
            quantiles: quantiles(centred, predicted.sqrt()),
            verdict,
        }
    }

    fn judge_failure(&self, claimed: &Parameters, predictions: &[KeyPrediction]) -> FailureReport {
        let t = DecisionHalfWidth::of_worst_look_up(claimed);
        let measured: Vec<f64> = self.keys.iter().map(|k| k.look_up.found.log2_p).collect();
        let splitting = log2_mean(&measured);
        // The share of every key in the mean of the probabilities.
        let part = |log2_p: f64| (log2_p - splitting).exp2() / measured.len() as f64;
        let combined = |error: &dyn Fn(&KeyMeasurements) -> f64| {
            let errors = self.keys.iter().zip(&measured);
            let squares = errors.map(|(key, &log2_p)| (part(log2_p) * error(key)).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let standard_error = combined(&|key| key.look_up.found.standard_error);
        let sampling_error = combined(&|key| key.look_up.sampling_error);
        let error = standard_error.hypot(sampling_error);
        let within = |confidence: f64| {
            let half = normal_quantile(0.5 + 0.5 * confidence) * error;
            Interval {
                low: splitting - half,
                high: splitting + half,
            }
        };
        // The prediction, moved by multiples of its slacks and of the deviation between keys.
        let convolution = |slacks: f64, spreads: f64| {
            let keys = self.keys.iter().zip(predictions);
            let each: Vec<f64> = keys
                .map(|(key, prediction)| {
                    let noise =
                        predicted_noise(&key.look_up.noise, claimed, prediction, slacks, spreads);
                    noise.convolution().log2_p_fail(t)
                })
                .collect();
            log2_mean(&each)
        };
        let spreads = normal_quantile(1.0 - 0.5 * TEST_LEVEL) / (self.keys.len() as f64).sqrt();
        let predicted = Interval {
            low: convolution(-1.0, -spreads),
            high: convolution(1.0, spreads),
        };
        let acceptance = &self.keys[0].look_up.acceptance;
        let mean_over_keys = |value: &dyn Fn(&KeyMeasurements) -> f64| {
            self.keys.iter().map(value).sum::<f64>() / self.keys.len() as f64
        };
        let of_measured: Vec<f64> = self
            .keys
            .iter()
            .map(|key| key.look_up.noise.convolution().log2_p_fail(t))
            .collect();
        FailureReport {
            formula: Prediction::new(claimed).log2_p_fail,
            convolution: convolution(0.0, 0.0),
            convolution_of_measured: log2_mean(&of_measured),
            splitting,
            standard_error,
            sampling_error,
            interval: within(PRINTED),
            acceptance: (0..acceptance.len())
                .map(|kind| mean_over_keys(&|key| key.look_up.acceptance[kind]))
                .collect(),
            confirmed: mean_over_keys(&|key| key.look_up.confirmed),
            verdict: Verdict::of(within(1.0 - TEST_LEVEL), predicted),
        }
    }
}

/// The simulated noise with the predicted deviations of its Gaussian parts, moved by `slacks`
/// times the slack of the transform and by `spreads` standard deviations of the variation between
/// keys.
fn predicted_noise(
    simulated: &NoiseSum,
    claimed: &Parameters,
    prediction: &KeyPrediction,
    slacks: f64,
    spreads: f64,
) -> NoiseSum {
    let deviation = |step: Step| {
        let step = prediction.step(step);
        let slack = if slacks < 0.0 {
            step.slack.0
        } else {
            step.slack.1
        };
        let moved = 1.0 + slacks * slack + spreads * step.between_keys.sqrt();
        (step.variance * moved).standard_deviation()
    };
    let mut noise = simulated.clone();
    noise.gaussian[0].count = worst_norm_squared(claimed).0.round() as usize;
    noise.gaussian[0].deviation = deviation(Step::BlindRotation);
    noise.gaussian[1].deviation = deviation(Step::KeySwitch);
    noise
}

/// log2 of the mean of 2^x.
fn log2_mean(logarithms: &[f64]) -> f64 {
    let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logarithms.iter().map(|l| (l - largest).exp2()).sum();
    largest + (sum / logarithms.len() as f64).log2()
}

/// All errors, from which the mean of each key is subtracted, taken from the keys in turns.
fn centred_by_key(errors: &[&[f64]]) -> Vec<f64> {
    let means: Vec<f64> = errors.iter().map(|errors| mean(errors)).collect();
    let longest = errors.iter().map(|errors| errors.len()).max().unwrap_or(0);
    (0..longest)
        .flat_map(|i| {
            errors
                .iter()
                .zip(&means)
                .map(move |(e, mean)| Some(e.get(i)? - mean))
        })
        .flatten()
        .collect()
}

/// The samples for the test of normality. They are spread over the step that they are multiples
/// of, because a deviation of few steps has too many ties.
fn some_of(errors: &[f64], step: Step, parameters: &Parameters) -> Vec<f64> {
    let bits = match step {
        Step::LweEncryption => 32,
        Step::LookUp => parameters.polynomial_size().log2() + 1,
        _ => parameters.torus_bits(),
    };
    let width = 2f64.powi(-(bits as i32));
    let spread = |i: usize| {
        let x = i as f64 * 0.618_033_988_749_895;
        width * (x - x.round())
    };
    let few = errors.iter().take(NORMALITY_SAMPLES).enumerate();
    few.map(|(i, error)| error + spread(i)).collect()
}

/// The points of a QQ plot, at every tenth of a standard deviation as far as there are samples.
fn quantiles(mut errors: Vec<f64>, deviation: f64) -> Vec<[f64; 2]> {
    use tfhe_sbc_oracle::special_functions::normal_cdf;
    errors.sort_by(f64::total_cmp);
    let count = errors.len() as f64;
    (-60..=60)
        .map(|tenths| f64::from(tenths) / 10.0)
        .filter_map(|score| {
            let rank = normal_cdf(score) * count;
            (1.0..count - 1.0)
                .contains(&rank)
                .then(|| [score, errors[rank as usize] / deviation])
        })
        .collect()
}
