//! The variance of what a device adds: encryption noise and the rounding of bodies.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_device::{BodyRounding, ColumnValues, CompactEncoding, ExpanderKind};

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

/// Judges the noise of a set by the prediction for another one. The tolerance is the relative one
/// of the variance.
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

/// Returns the errors of the phases of a compact column of zeros, as fractions of the torus.
fn errors_of_a_column(set: ParameterSet, encoding: CompactEncoding) -> Vec<f64> {
    let codes: Vec<u64> = (0..SAMPLES as u64)
        .map(|i| i * i % (1 << encoding.bits()))
        .collect();
    let columns = [ColumnValues::Codes(encoding, &codes)];
    let mut device = Device::<u64>::new(set, 42);
    let message = common::send_columns(&mut device.session(ExpanderKind::ChaCha20, 6), &columns);
    let phases = device.open(&message).phases;
    let error = |(phase, &code): (&u64, &u64)| {
        let plaintext: u64 = encoding.encode(code);
        phase.wrapping_sub(plaintext) as i64 as f64 * 0.5f64.powi(64)
    };
    phases.iter().zip(&codes).map(error).collect()
}

fn variance(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64
}

/// The error of a code is encryption noise and one rounding, of variance `2^-2B / 12`, or two with
/// error feedback, which is the difference of two roundings: neighbours have a correlation of -1/2.
#[test]
fn compact_codes_have_the_noise_of_their_rounding() {
    let sigma = 0.5f64.powi(32);
    let set = with_sigma(FROZEN_RADIX, sigma);
    for (rounding, roundings, correlation) in [
        (BodyRounding::Nearest, 1.0, 0.0),
        (BodyRounding::ErrorFeedback, 2.0, -0.5),
    ] {
        for body_bits in [24, 30] {
            let encoding = CompactEncoding::new(12, 8, body_bits, rounding).unwrap();
            let errors = errors_of_a_column(set, encoding);
            let rounding = roundings * 0.25f64.powi(body_bits as i32) / 12.0;
            let ratio = variance(&errors) / (rounding + sigma * sigma);
            assert!((ratio - 1.0).abs() < 0.02, "{encoding:?}: ratio {ratio}");
            // The noise itself has none: its deviations of the estimate are 1 / sqrt(2^18) = 1/512.
            let products = errors.windows(2).map(|pair| pair[0] * pair[1]);
            let found = products.sum::<f64>() / errors.len() as f64 / rounding;
            let deviation = (rounding + sigma * sigma) / rounding / 512.0;
            let off = (found - correlation).abs();
            assert!(off < 6.0 * deviation, "{encoding:?}: correlation {found}");
        }
    }
}
