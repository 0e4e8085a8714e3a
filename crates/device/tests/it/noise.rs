//! The variance of what a device adds: encryption noise and the rounding of bodies.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_device::ExpanderKind;

use crate::common::frozen::{FROZEN_BOOLEAN, FROZEN_RADIX};
use crate::common::{self, Device};

const SAMPLES: usize = 1 << 18;

/// Mean and variance, as fractions of the torus, of the noise of what is sent.
fn measured<T: ProductTorus>(set: ParameterSet, expander: ExpanderKind) -> (f64, f64) {
    let mut device = Device::<T>::new(set, 41);
    let values = common::varied_values(&set, SAMPLES);
    let message = device.send(expander, 5, &values);
    let step = 0.5f64.powi(T::BITS as i32);
    let noises = device.open(&message).noises(&values);
    let mean = noises.iter().sum::<f64>() / SAMPLES as f64 * step;
    let square = noises.iter().map(|e| (e * step).powi(2)).sum::<f64>() / SAMPLES as f64;
    (mean, square - mean * mean)
}

/// Encryption noise and, where bodies are cut to `b` bits, a uniform rounding error.
fn predicted(set: &ParameterSet) -> f64 {
    let rounding = if set.body_bits == set.torus_bits {
        0.0
    } else {
        0.25f64.powi(set.body_bits as i32) / 12.0
    };
    set.glwe_noise.variance(set.torus_bits) + rounding
}

/// What is wrong with the noise of a set whose prediction is another's, if anything.
/// The tolerance is the relative one of the variance.
fn judge<T: ProductTorus>(
    sent: ParameterSet,
    claimed: ParameterSet,
    tolerance: f64,
) -> Result<(), String> {
    for expander in ExpanderKind::ALL {
        let (mean, variance) = measured::<T>(sent, expander);
        let expected = predicted(&claimed);
        let mean_score = mean / (expected / SAMPLES as f64).sqrt();
        let ratio = variance / expected;
        if mean_score.abs() > 5.0 || (ratio - 1.0).abs() > tolerance {
            return Err(format!(
                "{}, {expander}: variance {ratio} of the predicted, mean at {mean_score} deviations",
                sent.name
            ));
        }
    }
    Ok(())
}

fn with_sigma(set: ParameterSet, standard_deviation: f64) -> ParameterSet {
    ParameterSet {
        glwe_noise: NoiseDistribution::Gaussian { standard_deviation },
        ..set
    }
}

#[test]
fn shipped_sets_have_the_predicted_noise() {
    judge::<u64>(MESSAGE_2_CARRY_2, MESSAGE_2_CARRY_2, 0.1).unwrap();
    judge::<u64>(GATES, GATES, 0.1).unwrap();
}

#[test]
fn rounding_and_noise_of_equal_size_add_up() {
    for body_bits in [19, 20, 21] {
        let sigma = 0.5f64.powi(22);
        let wide = with_sigma(
            ParameterSet {
                body_bits,
                ..FROZEN_RADIX
            },
            sigma,
        );
        judge::<u64>(wide, wide, 0.02).unwrap();
        let narrow = with_sigma(
            ParameterSet {
                body_bits,
                ..FROZEN_BOOLEAN
            },
            sigma,
        );
        judge::<u32>(narrow, narrow, 0.02).unwrap();
    }
}

/// A relative deviation of the variance below 1.5% is six standard deviations of its
/// estimate, and one of sigma by 2% is 4% of the variance.
#[test]
fn whole_bodies_show_sigma_within_a_percent() {
    let set = |factor: f64| {
        with_sigma(
            ParameterSet {
                body_bits: 64,
                ..FROZEN_RADIX
            },
            factor * 0.5f64.powi(40),
        )
    };
    judge::<u64>(set(1.0), set(1.0), 0.015).unwrap();
    judge::<u64>(set(1.02), set(1.0), 0.015).unwrap_err();
    judge::<u64>(set(0.98), set(1.0), 0.015).unwrap_err();

    let set = |factor: f64| {
        with_sigma(
            ParameterSet {
                body_bits: 32,
                ..FROZEN_BOOLEAN
            },
            factor * 0.5f64.powi(25),
        )
    };
    judge::<u32>(set(1.0), set(1.0), 0.015).unwrap();
    judge::<u32>(set(1.02), set(1.0), 0.015).unwrap_err();
    judge::<u32>(set(0.98), set(1.0), 0.015).unwrap_err();
}

#[test]
fn tuniform_noise_has_its_variance() {
    let whole = ParameterSet {
        body_bits: 32,
        ..FROZEN_BOOLEAN
    };
    judge::<u32>(whole, whole, 0.015).unwrap();
    for bound_log2 in [17, 45] {
        let whole = ParameterSet {
            body_bits: 64,
            glwe_noise: NoiseDistribution::TUniform { bound_log2 },
            ..FROZEN_RADIX
        };
        judge::<u64>(whole, whole, 0.015).unwrap();
    }
}
