//! The test of one row: two classes of times compared by Welch's t-test.

use std::time::{Duration, Instant};

use serde::Serialize;
use tfhe_sbc_core::random::{Expander, ExpanderKind, MaskSeed, fill_uniform};

use crate::error::BenchError;

/// The |t| from which a difference counts as seen. Reparaz et al. take 4.5 for a hint and 10 for
/// certainty. With a hundred percentiles, and many rows on a machine with other work, only the
/// latter is an error.
pub(super) const LARGEST_T: f64 = 10.0;

/// The number of percentiles at which a row is cropped, `1 - 0.5^(10 i / n)` as in the paper,
/// besides no cropping.
const CROPS: usize = 20;

/// The number of measurements between two readings of the clock, and of the secrets of each class
/// among them.
pub(super) const BATCH: usize = 512;

/// The smallest number of measurements of a row.
const LEAST: usize = 4 * BATCH;

#[derive(Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    /// The secret that is fixed in one class and random in the other.
    pub(super) secret: &'static str,
    /// True if the code is meant to be constant-time. A row that is not is the positive control of the test.
    pub(super) constant_time: bool,
    /// The largest |t| over all croppings, with its sign.
    pub(super) t: f64,
    /// The number of measurements of both classes together.
    pub(super) measurements: usize,
    /// True if |t| is below the threshold for constant-time code, or above it for the positive control.
    pub(super) as_expected: bool,
}

/// The secret that differs between the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secret {
    Plaintext,
    /// The seeds of a session. The noise must be secret; the time of the mask is public, but has
    /// no reason to vary either.
    Noise,
    Key,
}

impl Secret {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "plaintext",
            Self::Noise => "seeds",
            Self::Key => "key",
        }
    }
}

/// Returns a stream of bytes for secrets, from a known seed. The secrecy does not matter, because
/// only times are measured.
pub(super) fn draw(stream: u32) -> impl Expander {
    ExpanderKind::ChaCha20.mask_stream(&MaskSeed(*b"tfhe-sbc-bench: constant time  1"), stream)
}

/// Times `run` with numbers below [`BATCH`] for the fixed class and with the next [`BATCH`]
/// numbers for the random class, in an order drawn beforehand. Returns the largest t of the fixed
/// class's times against the random one's, and the number of measurements.
pub(super) fn welch(
    budget: Duration,
    mut run: impl FnMut(usize) -> Result<Duration, BenchError>,
) -> Result<(f64, usize), BenchError> {
    let start = Instant::now();
    let mut random = draw(4);
    let mut order = [0u32; BATCH];
    let mut times = [Vec::new(), Vec::new()];
    for which in 0..2 * BATCH {
        run(which)?;
    }
    while times[0].len() + times[1].len() < LEAST || start.elapsed() < budget {
        fill_uniform(&mut random, &mut order);
        for (i, coin) in order.into_iter().enumerate() {
            let class = (coin & 1) as usize;
            let which = class * BATCH + i;
            times[class].push(run(which)?.as_secs_f64());
        }
    }
    let measurements = times[0].len() + times[1].len();
    Ok((worst_t(&times), measurements))
}

/// The t with the largest magnitude over all croppings.
fn worst_t(times: &[Vec<f64>; 2]) -> f64 {
    let mut all: Vec<f64> = times.iter().flatten().copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    (1..=CROPS)
        .map(|i| {
            let share = 1.0 - 0.5f64.powf(10.0 * i as f64 / CROPS as f64);
            all[((all.len() - 1) as f64 * share) as usize]
        })
        .chain([f64::INFINITY])
        .map(|limit| {
            let [a, b] = [0, 1].map(|class: usize| {
                Moments::of(times[class].iter().copied().filter(|time| *time <= limit))
            });
            a.t(&b)
        })
        .fold(
            0.0,
            |worst: f64, t| if t.abs() > worst.abs() { t } else { worst },
        )
}

/// Count, mean and variance, by Welford's updates.
#[derive(Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        values.fold(Self::default(), |mut moments, x| {
            moments.count += 1.0;
            let step = x - moments.mean;
            moments.mean += step / moments.count;
            moments.squares += step * (x - moments.mean);
            moments
        })
    }

    /// Welch's t; 0 if a class is too small or the variance is 0.
    fn t(&self, other: &Self) -> f64 {
        if self.count < 100.0 || other.count < 100.0 {
            return 0.0;
        }
        let error = |m: &Self| m.squares / (m.count - 1.0) / m.count;
        let deviation = (error(self) + error(other)).sqrt();
        if deviation > 0.0 {
            (self.mean - other.mean) / deviation
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(scale: f64) -> [Vec<f64>; 2] {
        let mut words = vec![0u32; 20_000];
        fill_uniform(&mut draw(5), &mut words);
        let (a, b) = words.split_at(10_000);
        // A few long interruptions in both.
        let time = |x: &u32| f64::from(x % 1000) + if x.is_multiple_of(97) { 1e6 } else { 0.0 };
        [
            a.iter().map(time).collect(),
            b.iter().map(|x| time(x) * scale).collect(),
        ]
    }

    #[test]
    fn t_is_welchs() {
        let a = Moments::of((0..1000).map(f64::from));
        let b = Moments::of((0..2000).map(|i| f64::from(i % 100)));
        // (499.5 - 49.5) / sqrt(83416.67 / 1000 + 833.667 / 2000)
        assert!((a.t(&b) - 49.1478).abs() < 1e-3, "{}", a.t(&b));
    }

    #[test]
    fn a_difference_is_seen_behind_interruptions_and_none_where_there_is_none() {
        assert!(worst_t(&times(1.0)).abs() < 4.5);
        assert!(worst_t(&times(1.1)) < -LARGEST_T);
        assert!(worst_t(&times(0.9)) > LARGEST_T);
    }
}
