//! The tail of a sum of a Gaussian and of many bounded errors.
//!
//! The noise at a look-up is such a sum. The modulus switch rounds every mask coefficient; each of
//! these errors is uniform over one step and is multiplied by its coefficient of the key. A
//! Gaussian of the same variance has a heavier tail.

use crate::failure::DecisionHalfWidth;
use crate::noise::Variance;
use crate::special_functions::log2_erfc;

/// `count` independent errors, each uniform on `[-bound, bound]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniformErrors {
    /// The number of errors.
    pub count: usize,
    /// The largest absolute value of an error.
    pub bound: f64,
}

/// An offset, a centred Gaussian and uniform errors, all independent.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundedSum {
    /// The constant part of the sum.
    pub offset: f64,
    /// The variance of the Gaussian, above 0.
    pub gaussian: Variance,
    /// The uniform errors, one entry for each bound.
    pub uniform: Vec<UniformErrors>,
}

impl BoundedSum {
    /// The variance of the sum.
    pub fn variance(&self) -> Variance {
        let uniform = self.uniform.iter();
        let uniform = uniform.map(|u| Variance(u.count as f64 * u.bound * u.bound / 3.0));
        self.gaussian + uniform.sum()
    }

    /// log2 of the probability that the sum is outside of `[-t, t]`: both
    /// [tails](Self::log2_tail).
    pub fn log2_p_fail(&self, t: DecisionHalfWidth) -> f64 {
        let (above, below) = (
            self.log2_tail(t.0 - self.offset),
            self.log2_tail(t.0 + self.offset),
        );
        let larger = above.max(below);
        larger + ((above - larger).exp2() + (below - larger).exp2()).log2()
    }

    /// log2 of the probability that the sum without its offset is above `x`, by the saddlepoint
    /// approximation of Lugannani and Rice (1980, formula 10). The relative error is about 1e-3 if
    /// the sum consists of many errors of similar size, and a few percent for a single uniform
    /// error. An `x` below a thousandth of the standard deviation counts as that, so that the
    /// result is at most 1/2.
    pub fn log2_tail(&self, x: f64) -> f64 {
        let x = x.max(1e-3 * self.variance().standard_deviation());
        let s = self.saddlepoint(x);
        let (k, _, curvature) = self.cumulants(s);
        let w = (2.0 * (s * x - k)).max(0.0).sqrt();
        let u = s * curvature.sqrt();
        // Φ(-w) + φ(w) (1/u - 1/w), with the density taken out of both.
        let log2_density = -0.5 * (w * w + std::f64::consts::TAU.ln()) * std::f64::consts::LOG2_E;
        let log2_above = log2_erfc(w * std::f64::consts::FRAC_1_SQRT_2) - 1.0;
        let mills = (log2_above - log2_density).exp2();
        log2_density + (mills + 1.0 / u - 1.0 / w).log2()
    }

    /// The saddlepoint: the argument at which the derivative of the cumulant generating function
    /// is `x`, above 0. It is found by Newton's method between bounds.
    fn saddlepoint(&self, x: f64) -> f64 {
        // The Gaussian alone has slope V s, and the others add to it.
        let (mut low, mut high) = (0.0, x / self.gaussian.0);
        let mut s = x / self.variance().0;
        for _ in 0..200 {
            let (_, slope, curvature) = self.cumulants(s);
            if slope < x {
                low = s;
            } else {
                high = s;
            }
            let next = s - (slope - x) / curvature;
            let next = if (low..=high).contains(&next) {
                next
            } else {
                0.5 * (low + high)
            };
            if (next - s).abs() <= 1e-14 * s {
                return next;
            }
            s = next;
        }
        s
    }

    /// The cumulant generating function at `s`, above 0, and two derivatives: V s²/2 and
    /// ln(sinh(sh)/(sh)) for each uniform error.
    fn cumulants(&self, s: f64) -> (f64, f64, f64) {
        let v = self.gaussian.0;
        let mut sums = (0.5 * v * s * s, v * s, v);
        for &UniformErrors { count, bound } in &self.uniform {
            let (count, y) = (count as f64, s * bound);
            let (value, slope, curvature) = if y < 1e-2 {
                let y2 = y * y;
                (
                    y2 * (1.0 / 6.0 - y2 / 180.0),
                    y * (1.0 / 3.0 - y2 / 45.0),
                    1.0 / 3.0 - y2 / 15.0,
                )
            } else {
                // sinh(y)/y = e^y (1 - e^-2y)/2y.
                let rest = (-2.0 * y).exp();
                let coth = (1.0 + rest) / (1.0 - rest);
                (
                    y + (-rest).ln_1p() - (2.0 * y).ln(),
                    coth - 1.0 / y,
                    1.0 / (y * y) - (coth * coth - 1.0),
                )
            };
            sums.0 += count * value;
            sums.1 += count * bound * slope;
            sums.2 += count * bound * bound * curvature;
        }
        sums
    }
}
