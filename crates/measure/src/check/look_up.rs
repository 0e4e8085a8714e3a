//! The failures of the worst look-up under a key, simulated by splitting.
//!
//! The Gaussian parts, the outputs of bootstraps and the key switch, have the deviations of the
//! samples. The rounding of the mask coefficients is uniform and is multiplied by the bits of the
//! key. The simulated failures are turned into ciphertexts, and the engine's modulus switch
//! confirms them or not.

use rayon::prelude::*;
use tfhe_sbc_core::parameters::{ModulusSwitch, Parameters};
use tfhe_sbc_oracle::failure::DecisionHalfWidth;
use tfhe_sbc_oracle::generator::Generator;
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_sum::{Errors, GaussianErrors, NoiseSum};
use tfhe_sbc_oracle::prediction::worst_norm_squared;
use tfhe_sbc_oracle::splitting::{self, Combined, Run};
use tfhe_sbc_oracle::statistics::{mean, variance};

use super::keys::Keys;
use super::sample::{Samples, switched_steps};
use super::steps::{CheckError, Effort, Progress, RUN_STEPS, Step};

/// The simulated failures under one key, whose bits the value contains.
pub(super) struct SimulatedLookUp {
    /// The simulated noise.
    pub(super) noise: NoiseSum,
    /// The estimate of the failure probability.
    pub(super) found: Combined,
    /// The standard deviation in bits by which the variances of the Gaussian parts, which are
    /// estimates, may shift the estimate.
    pub(super) sampling_error: f64,
    /// The share of proposals accepted, for each kind of move.
    pub(super) acceptance: Vec<f64>,
    /// The share of the simulated failures that are failures by the engine's modulus switch.
    pub(super) confirmed: f64,
}

pub(super) fn simulate(
    keys: &Keys,
    samples: &Samples,
    effort: &Effort,
    (seed, number): (u64, u64),
    progress: Progress<'_>,
) -> Result<SimulatedLookUp, CheckError> {
    let parameters = keys.parameters();
    let switch = samples.errors(Step::KeySwitch);
    let outputs = variance(samples.errors(Step::BlindRotation));
    let noise = noise_of_key(keys, mean(switch), outputs, variance(switch));
    let t = DecisionHalfWidth::of_worst_look_up(parameters);
    let root = Generator::new(seed).stream(number);
    let runs: Vec<Option<(Run<Errors>, f64)>> = (0..effort.runs.max(2) as u64)
        .into_par_iter()
        .map(|stream| {
            let mut generator = root.stream(stream);
            let run = splitting::run(&noise, t.0, effort.splitting, &mut generator)?;
            let failures = run.reached.iter();
            let confirmed = failures.filter(|e| fails(keys, &noise, e, &mut generator));
            let confirmed = confirmed.count() as f64 / run.reached.len() as f64;
            progress(RUN_STEPS as u64);
            Some((run, confirmed))
        })
        .collect();
    let runs: Vec<_> = runs
        .into_iter()
        .collect::<Option<_>>()
        .ok_or(CheckError::Stuck)?;
    let count = runs.len() as f64;
    let confirmed = runs.iter().map(|(_, confirmed)| confirmed).sum::<f64>() / count;
    let kinds = 0..runs[0].0.acceptance.len();
    let acceptance = kinds
        .map(|kind| {
            runs.iter()
                .map(|(run, _)| run.acceptance[kind])
                .sum::<f64>()
                / count
        })
        .collect();
    let runs: Vec<_> = runs.into_iter().map(|(run, _)| run).collect();
    let mut found = splitting::combine(&runs, effort.splitting).ok_or(CheckError::Stuck)?;
    found.log2_p += confirmed.log2();
    Ok(SimulatedLookUp {
        sampling_error: sampling_error(&noise, t, samples),
        noise,
        found,
        acceptance,
        confirmed,
    })
}

/// The noise at the worst look-up: ν² unit weights on bootstrap outputs, the key switch, and the
/// rounding of the mask.
///
/// The error of a coefficient, as a multiple of half a step of 1/2N, is multiplied by its bit of
/// the key, less the mean of a bit if that is compensated. After compensation the body is rounded
/// down, which makes both borders of a box equally far. If it is rounded to nearest, one border is
/// half a step nearer and the other half a step farther.
pub(super) fn noise_of_key(
    keys: &Keys,
    offset: f64,
    outputs: Variance,
    key_switch: Variance,
) -> NoiseSum {
    let parameters = keys.parameters();
    let half_step = half_step(parameters);
    let (mean, shift) = match parameters.modulus_switch() {
        ModulusSwitch::Plain => (0.0, half_step),
        ModulusSwitch::MeanCompensated => (1.0 / f64::from(parameters.lwe_block_size() + 1), 0.0),
    };
    let bits = keys.secret.lwe().coefficients().iter();
    NoiseSum {
        offset: offset + shift,
        gaussian: vec![
            GaussianErrors {
                count: worst_norm_squared(parameters).0.round() as usize,
                deviation: outputs.standard_deviation(),
            },
            GaussianErrors {
                count: 1,
                deviation: key_switch.standard_deviation(),
            },
        ],
        bounds: bits
            .map(|&bit| half_step * (mean - f64::from(bit)))
            .collect(),
    }
}

/// Half a step of the modulus switch.
fn half_step(parameters: &Parameters) -> f64 {
    0.25 / parameters.polynomial_size().get() as f64
}

/// The number of bits by which a standard deviation of the measured moments changes the failure
/// probability.
fn sampling_error(noise: &NoiseSum, t: DecisionHalfWidth, samples: &Samples) -> f64 {
    let sum = noise.convolution();
    let at = |offset: f64, gaussian: f64| {
        let mut moved = sum.clone();
        moved.offset += offset;
        moved.gaussian = Variance(moved.gaussian.0 + gaussian);
        moved.log2_p_fail(t)
    };
    let slope = |by: f64, at: &dyn Fn(f64) -> f64| 0.5 * (at(by) - at(-by));
    let [outputs, switch] = [Step::BlindRotation, Step::KeySwitch].map(|s| samples.errors(s));
    let of_variance = |group: usize, count: usize| {
        let GaussianErrors {
            count: terms,
            deviation,
        } = noise.gaussian[group];
        let by = terms as f64 * deviation * deviation * (2.0 / count as f64).sqrt();
        slope(by, &|by| at(0.0, by))
    };
    let of_mean = (variance(switch).0 / switch.len() as f64).sqrt();
    let bits = [
        of_variance(0, outputs.len()),
        of_variance(1, switch.len()),
        slope(of_mean, &|by| at(by, 0.0)),
    ];
    bits.iter().map(|bits| bits * bits).sum::<f64>().sqrt()
}

/// Returns whether the engine's modulus switch confirms a simulated failure: a ciphertext of a
/// block is made with these errors and with a mask that has the simulated roundings.
fn fails(keys: &Keys, noise: &NoiseSum, errors: &Errors, generator: &mut Generator) -> bool {
    let parameters = keys.parameters();
    let log2_steps = parameters.polynomial_size().log2() + 1;
    let shift = u32::BITS - log2_steps;
    let half = f64::from(1u32 << (shift - 1));
    let mut lwe: Vec<u32> = errors
        .uniform()
        .iter()
        .map(|&u| {
            // The rounding of this value to a multiple of the step changes it by u half steps.
            let below = (u * half).round() as i64;
            (i64::from((generator.word() as u32) << shift) - below) as u32
        })
        .collect();
    // The part of the sum that is not due to rounding.
    let rounded: f64 = noise
        .bounds
        .iter()
        .zip(errors.uniform())
        .map(|(b, u)| b * u)
        .sum();
    let shifted = match parameters.modulus_switch() {
        ModulusSwitch::Plain => half_step(parameters),
        ModulusSwitch::MeanCompensated => 0.0,
    };
    let phase = errors.sum() - rounded - shifted;
    let phase = (phase * 2f64.powi(32)).round() as i64 as u32;
    let body = keys.secret.lwe().mask_product(&lwe).wrapping_add(phase);
    lwe.push(body);
    let steps = switched_steps(keys, &lwe);
    // The values from the middle of the circle on are negative.
    let signed = (steps << shift) as i32 >> shift;
    let half_box =
        (DecisionHalfWidth::of_worst_look_up(parameters).0 * 2f64.powi(log2_steps as i32)) as i32;
    !(-half_box..half_box).contains(&signed)
}
