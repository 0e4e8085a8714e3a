//! The failure probability of a variance, and the variance of a failure probability.
//!
//! The noise is taken as Gaussian, as in TFHE-rs and Concrete. The error of the modulus switch is
//! a bounded sum, so that the true probability is smaller: by about 1.4 bits at 2^-128 if this
//! error is three quarters of the variance, and by almost nothing if it is a small part.
//! Probabilities are two-sided, for one bootstrapping, and averaged over keys. They are passed as
//! their log2, because they may underflow.

use std::f64::consts::{LN_2, SQRT_2};

use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};

use crate::noise::Variance;
use crate::noise_budget::{BootstrapOrder, NoiseBudget, NormSquared};
use crate::special_functions::{bisect, log2_erfc};

/// The largest noise that leaves a message unchanged: the distance on the torus from an
/// encoded message to the nearest border between two decisions.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct DecisionHalfWidth(pub f64);

impl DecisionHalfWidth {
    /// The half width for decrypting a boolean ±1/8, and for looking up a linear gate (AND, OR,
    /// NAND, NOR and the like, with ν² = 2) on the sum of two: 1/8.
    pub const GATE: Self = Self(0.125);
    /// The half width for looking up XOR or XNOR on twice the sum of two booleans (ν² = 8): 1/4.
    pub const XOR_GATE: Self = Self(0.25);

    /// The half width of a radix block of `message_bits` + `carry_bits` bits p below one padding
    /// bit: 2^-(p+2).
    pub fn radix(message_bits: u32, carry_bits: u32) -> Self {
        Self(f64::exp2(-f64::from(message_bits + carry_bits + 2)))
    }

    /// The half width of the worst look-up under a parameter set. For booleans that is a linear gate:
    /// XOR doubles both the half width and the weights, so that the noise of the key switch and
    /// of the modulus switch matters less.
    pub fn of_worst_look_up(parameters: &Parameters) -> Self {
        match parameters.plaintext() {
            PlaintextKind::Radix => {
                Self::radix(parameters.message_bits().0, parameters.carry_bits().0)
            }
            PlaintextKind::Boolean => Self::GATE,
        }
    }
}

/// log2 of the probability that a centred Gaussian of the given variance leaves
/// `[-t, t]`: erfc(t/√(2V)).
pub fn log2_p_fail(t: DecisionHalfWidth, variance: Variance) -> f64 {
    log2_erfc(t.0 / (2.0 * variance.0).sqrt())
}

/// log2 of the probability that `offset` + G + U leaves `[-t, t]`, for a centred Gaussian G of the
/// given variance and U uniform on `[-rounding, rounding]`. Both `offset` and `rounding` must be
/// at least 0. If U were taken as Gaussian, it would get a tail that it does not have.
pub fn log2_p_fail_with_rounding(
    t: DecisionHalfWidth,
    variance: Variance,
    rounding: f64,
    offset: f64,
) -> f64 {
    let sigma = variance.standard_deviation();
    let tail = |distance: f64| log2_mean_tail(distance / sigma, rounding / sigma);
    log2_sum(tail(t.0 - offset), tail(t.0 + offset))
}

/// log2 of the mean of the normal tail Q over `[x - h, x + h]`. The integral of Q from `x - h` on
/// is φ(x - h) - (x - h) Q(x - h). The mean is the difference of the integrals at the two ends if
/// rounding does not lose it, and is computed by Simpson's rule if Q hardly bends.
fn log2_mean_tail(x: f64, h: f64) -> f64 {
    let tail = |x: f64| log2_erfc(x / SQRT_2) - 1.0;
    // Over the interval Q falls by a factor of about e^(2 x h).
    if h * (x.abs() + h + 1.0) < 0.05 {
        const INTERVALS: u32 = 4;
        let sum = (0..=INTERVALS).fold(f64::NEG_INFINITY, |sum, i| {
            let weight: f64 = match i {
                0 | INTERVALS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let at = x + h * (2.0 * f64::from(i) / f64::from(INTERVALS) - 1.0);
            log2_sum(sum, tail(at) + weight.log2())
        });
        return sum - (3.0 * f64::from(INTERVALS)).log2();
    }
    let (near, far) = (log2_tail_integral(x - h), log2_tail_integral(x + h));
    near + (-(far - near).exp2()).ln_1p() / LN_2 - (2.0 * h).log2()
}

/// log2 of the integral of the normal tail Q from `x` on: φ(x) - x Q(x). For large x the
/// difference would lose its digits, so the continued fraction φ(x) / (x² + 3 - 2·3/(x² + 7 -
/// 4·5/(x² + 11 - …))) is used.
fn log2_tail_integral(x: f64) -> f64 {
    let square = x * x;
    let log2_density = -0.5 * (square + (2.0 * std::f64::consts::PI).ln()) / LN_2;
    if x < 3.0 {
        let q = (log2_erfc(x / SQRT_2) - 1.0).exp2();
        return (log2_density.exp2() - x * q).log2();
    }
    const TERMS: u32 = 60;
    let mut fraction = 0.0;
    for term in (1..TERMS).rev() {
        let m = 2.0 * f64::from(term);
        fraction = m * (m + 1.0) / (square + 4.0 * f64::from(term) + 3.0 - fraction);
    }
    log2_density - (square + 3.0 - fraction).log2()
}

/// log2(2^a + 2^b).
fn log2_sum(a: f64, b: f64) -> f64 {
    let (large, small) = if a >= b { (a, b) } else { (b, a) };
    if large == f64::NEG_INFINITY {
        return large;
    }
    large + (small - large).exp2().ln_1p() / LN_2
}

/// Returns [`log2_p_fail`] at the look-up of a bootstrapping whose linear step combines the results
/// of earlier bootstrappings.
pub fn log2_bootstrap_failure(
    budget: &NoiseBudget,
    order: BootstrapOrder,
    t: DecisionHalfWidth,
    norm: NormSquared,
) -> f64 {
    log2_p_fail(t, budget.total(order, norm))
}

/// log2 of the probability that at least one of `count` independent events of the given
/// probability happens: 1 - (1-p)^count.
pub fn log2_p_any(log2_p: f64, count: u64) -> f64 {
    let p = log2_p.exp2();
    let expected = if p > 1e-12 {
        -(count as f64) * (-p).ln_1p()
    } else {
        (log2_p + (count as f64).log2()).exp2()
    };
    if expected > 1e-12 {
        (-(-expected).exp_m1()).log2()
    } else {
        log2_p + (count as f64).log2()
    }
}

/// The number κ of standard deviations that must fit the half-width, with erfc(κ/√2) = 2^`log2_p`:
/// 13.109 for 2^-128. `log2_p` must be at most 0.
pub fn kappa(log2_p: f64) -> f64 {
    // erfc(x) ≤ e^(-x²) bounds the search.
    let high = (-2.0 * log2_p * LN_2).max(0.0).sqrt();
    bisect(0.0, high, -log2_p, |kappa| -log2_erfc(kappa / SQRT_2))
}

/// The largest variance whose failure probability is at most 2^`log2_p`: (t/κ)².
pub fn safe_variance(t: DecisionHalfWidth, log2_p: f64) -> Variance {
    Variance::from_standard_deviation(t.0 / kappa(log2_p))
}

/// The largest ν² for which a bootstrapping fails with a probability of at most 2^`log2_p`; `None`
/// if it fails more often even without any input noise.
pub fn largest_norm_squared(
    budget: &NoiseBudget,
    order: BootstrapOrder,
    t: DecisionHalfWidth,
    log2_p: f64,
) -> Option<NormSquared> {
    let fixed = budget.total_for_inputs(order, Variance::ZERO);
    let room = safe_variance(t, log2_p).0 - fixed.0;
    (room >= 0.0).then(|| NormSquared(room / budget.output(order).0))
}

/// The largest number of fresh radix blocks whose sum stays below message modulus × carry modulus:
/// ⌊(m·c - 1)/(m - 1)⌋. The blocks may all be the same ciphertext, so that the number is a norm ν,
/// of variance ν². `message_bits` must be at least 1, and the sum of both at most 63.
///
/// # Panics
/// If `message_bits` is 0.
pub fn max_noise_level(message_bits: u32, carry_bits: u32) -> u64 {
    assert!(message_bits >= 1, "a block carries at least one bit");
    ((1u64 << (message_bits + carry_bits)) - 1) / ((1u64 << message_bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kappa_known_values() {
        for (log2_p, expected) in [(-40.0, 7.144), (-64.0, 9.155), (-128.0, 13.109)] {
            assert!((kappa(log2_p) - expected).abs() < 5e-4, "{log2_p}");
        }
        assert_eq!(kappa(0.0), 0.0);
    }

    #[test]
    fn kappa_inverts_log2_p_fail() {
        let t = DecisionHalfWidth::radix(2, 2);
        for log2_p in [-0.5, -1.0, -13.95, -40.0, -128.0, -1000.0, -1e6] {
            let back = log2_p_fail(t, safe_variance(t, log2_p));
            assert!((back / log2_p - 1.0).abs() < 1e-12, "{log2_p} {back}");
        }
    }

    /// Computes [`log2_p_fail_with_rounding`] by Simpson's rule on the tails themselves.
    fn by_quadrature(t: DecisionHalfWidth, variance: Variance, rounding: f64, offset: f64) -> f64 {
        const INTERVALS: u32 = 1 << 15;
        let tail = |distance: f64| log2_erfc(distance / (2.0 * variance.0).sqrt()) - 1.0;
        let sum = (0..=INTERVALS).fold(f64::NEG_INFINITY, |sum, i| {
            let u = rounding * (2.0 * f64::from(i) / f64::from(INTERVALS) - 1.0);
            let weight: f64 = match i {
                0 | INTERVALS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let both = log2_sum(tail(t.0 - offset - u), tail(t.0 + offset + u));
            log2_sum(sum, both + weight.log2())
        });
        sum - (3.0 * f64::from(INTERVALS)).log2()
    }

    #[test]
    fn tails_under_rounding_are_those_of_a_quadrature() {
        let t = DecisionHalfWidth(1.0);
        for sigma in [0.02, 0.05, 0.08, 0.2, 0.5, 1.5] {
            for rounding in [0.0, 1e-6, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.3, 0.8] {
                for offset in [0.0, 0.01, 0.15] {
                    let variance = Variance(sigma * sigma);
                    let closed = log2_p_fail_with_rounding(t, variance, rounding, offset);
                    let slow = by_quadrature(t, variance, rounding, offset);
                    assert!(
                        (closed - slow).abs() < 1e-7 * slow.abs().max(1.0),
                        "{sigma} {rounding} {offset}: {closed} is not {slow}"
                    );
                }
            }
        }
    }

    #[test]
    fn rounding_is_a_mean_of_shifted_tails() {
        let t = DecisionHalfWidth::radix(2, 2);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs(), "{a} is not {b}");
        for variance in [1e-6, 2e-6, 1e-5] {
            let variance = Variance(variance);
            near(
                log2_p_fail_with_rounding(t, variance, 0.0, 0.0),
                log2_p_fail(t, variance),
            );
            // Two errors of ±h/2 that add up to a sum uniform on [-h, h]: the mean of the
            // two halves is the whole.
            let whole = log2_p_fail_with_rounding(t, variance, 6e-4, 0.0);
            let half = |offset| log2_p_fail_with_rounding(t, variance, 3e-4, offset).exp2();
            near(whole, (0.5 * (half(3e-4) + half(-3e-4))).log2());
            // Between the Gaussian of the same variance, which has more of a tail, and the
            // Gaussian alone.
            let as_gaussian = log2_p_fail(t, Variance(variance.0 + 6e-4 * 6e-4 / 3.0));
            assert!(whole > log2_p_fail(t, variance) && whole < as_gaussian);
        }
        // A shift alone: one side of two.
        let shifted = log2_p_fail_with_rounding(t, Variance(1e-6), 0.0, 1e-3);
        near(
            shifted,
            log2_p_fail(DecisionHalfWidth(t.0 - 1e-3), Variance(1e-6)) - 1.0,
        );
    }

    #[test]
    fn failure_grows_with_the_variance() {
        let t = DecisionHalfWidth::GATE;
        let mut last = f64::NEG_INFINITY;
        for exponent in -400..0 {
            let log2_p = log2_p_fail(t, Variance((0.1 * f64::from(exponent)).exp2()));
            assert!(log2_p > last && log2_p <= 0.0);
            last = log2_p;
        }
    }

    #[test]
    fn noise_levels() {
        let levels = [(1, 1, 3), (2, 2, 5), (3, 3, 9), (4, 4, 17)];
        for (message, carry, level) in levels {
            assert_eq!(max_noise_level(message, carry), level);
        }
    }

    #[test]
    fn repetition() {
        assert!((log2_p_any(-128.0, 1 << 20) + 108.0).abs() < 1e-9);
        assert!((log2_p_any(-1.0, 2) - 0.75f64.log2()).abs() < 1e-12);
        assert!((log2_p_any(-60.0, 1 << 60) - (1.0 - (-1f64).exp()).log2()).abs() < 1e-9);
        assert_eq!(log2_p_any(-10.0, 1).round(), -10.0);
    }

    #[test]
    fn largest_norm_is_where_the_probability_is_reached() {
        let budget = NoiseBudget {
            pbs: Variance(1e-9),
            fft: Variance::ZERO,
            key_switch: Variance(2e-7),
            modulus_switch: Variance(4e-7),
        };
        let t = DecisionHalfWidth::radix(2, 2);
        for order in [
            BootstrapOrder::KeySwitchFirst,
            BootstrapOrder::BootstrapFirst,
        ] {
            let norm = largest_norm_squared(&budget, order, t, -128.0).unwrap();
            let log2_p = log2_bootstrap_failure(&budget, order, t, norm);
            assert!((log2_p + 128.0).abs() < 1e-9);
        }
        let tight = DecisionHalfWidth(1e-3);
        let order = BootstrapOrder::KeySwitchFirst;
        assert!(largest_norm_squared(&budget, order, tight, -128.0).is_none());
    }
}
