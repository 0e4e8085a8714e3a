//! The oracle's prediction of the noise under a key whose weights are known.

use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_oracle::blind_rotation::{
    FftErrorModel, GgswGadgets, GgswNoise, KeyRounding, blind_rotation_fft_variance,
    blind_rotation_variance,
};
use tfhe_sbc_oracle::noise::{
    Gadget, GlweNoise, KeySwitchNoise, ModulusSwitch, Variance, centred_modulus_switch_variance,
    key_switch_variance, truncation_variance,
};
use tfhe_sbc_oracle::noise_budget::PbsParameters;
use tfhe_sbc_oracle::prediction::worst_norm_squared;
use tfhe_sbc_oracle::upload::key_switch_offset_variance;

use super::sample::Samples;
use super::steps::{Step, linear_weights};

/// The prediction of the noise of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepPrediction {
    /// The variance among the ciphertexts of one key.
    pub(super) variance: Variance,
    /// The possible relative errors of the oracle's model of the transform's error, as fractions
    /// of `variance`: below and above it.
    pub(super) slack: (f64, f64),
    /// The squared relative deviation of `variance` from key to key, beyond the influence of the
    /// weights.
    pub(super) between_keys: f64,
    /// The variance of the part that is the same for all ciphertexts of a key.
    pub(super) offset: Variance,
    /// Whether the error is close to Gaussian.
    pub(super) normal: bool,
}

/// The predictions of all steps under one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPrediction {
    steps: [StepPrediction; Step::ALL.len()],
}

impl KeyPrediction {
    pub(super) fn step(&self, step: Step) -> StepPrediction {
        self.steps[step as usize]
    }

    /// Returns the predictions for a key with the weights of `key`, under `claimed` parameters.
    pub(super) fn new(claimed: &Parameters, key: &Samples) -> Self {
        let pbs = PbsParameters::from(claimed);
        let fresh = |variance, distribution| StepPrediction {
            variance,
            slack: (0.0, 0.0),
            between_keys: 0.0,
            offset: Variance::ZERO,
            normal: matches!(distribution, NoiseDistribution::Gaussian { .. }),
        };
        let lwe = fresh(
            pbs.lwe_variance + rounding(claimed.lwe_noise(), 32),
            claimed.lwe_noise(),
        );
        let step = rounding(claimed.glwe_noise(), claimed.torus_bits());
        let glwe = fresh(pbs.glwe_variance + step, claimed.glwe_noise());
        let rotated = rotated(&pbs, key);
        let key_switch = key_switch(&pbs, key);
        let modulus_switch = fresh(modulus_switch(&pbs, key), NOT_DRAWN);
        let weights: i64 = linear_weights(claimed).iter().map(|w| w * w).sum();
        let combined = sum([(rotated, weights as f64)]);
        let norm = worst_norm_squared(claimed).0;
        let looked_up = sum([(rotated, norm), (key_switch, 1.0), (modulus_switch, 1.0)]);
        Self {
            steps: [
                lwe,
                glwe,
                rotated,
                combined,
                key_switch,
                modulus_switch,
                looked_up,
            ],
        }
    }
}

/// A placeholder for the distribution of a sum of many errors.
const NOT_DRAWN: NoiseDistribution = NoiseDistribution::Gaussian {
    standard_deviation: 0.0,
};

/// The variance that rounding to steps of the torus adds to a Gaussian. The other distributions
/// are on integers.
fn rounding(distribution: NoiseDistribution, torus_bits: u32) -> Variance {
    match distribution {
        NoiseDistribution::Gaussian { .. } => truncation_variance(torus_bits),
        NoiseDistribution::TUniform { .. } | NoiseDistribution::CenteredBinomial { .. } => {
            Variance::ZERO
        }
    }
}

/// The sum of independent errors, each multiplied by a weight whose square is given.
fn sum<const TERMS: usize>(terms: [(StepPrediction, f64); TERMS]) -> StepPrediction {
    let variance: Variance = terms.iter().map(|(step, norm)| step.variance * *norm).sum();
    let share = |step: &StepPrediction, norm: f64| step.variance.0 * norm / variance.0;
    let over = |part: fn(&StepPrediction) -> f64| -> f64 {
        terms
            .iter()
            .map(|(s, norm)| part(s) * share(s, *norm))
            .sum()
    };
    let squares = terms
        .iter()
        .map(|(s, norm)| s.between_keys * share(s, *norm).powi(2));
    StepPrediction {
        variance,
        slack: (over(|s| s.slack.0), over(|s| s.slack.1)),
        between_keys: squares.sum(),
        offset: terms.iter().map(|(s, norm)| s.offset * *norm).sum(),
        normal: terms.iter().all(|(s, _)| s.normal),
    }
}

/// The prediction of a blind rotation under a key of known weights. The rounding of the
/// decomposition is multiplied by the ones of both keys, and the error of the transform by those
/// of the GLWE key.
fn rotated(pbs: &PbsParameters, key: &Samples) -> StepPrediction {
    let of = |bsk: &GgswNoise, gadgets: GgswGadgets| {
        blind_rotation_variance(pbs.blind_rotation, pbs.small_key, bsk, gadgets).0
    };
    let bsk = pbs.bootstrapping_key();
    let noiseless = GgswNoise {
        fresh: GlweNoise {
            variance: Variance::ZERO,
            ..bsk.fresh
        },
        rounding: KeyRounding::ZERO,
    };
    let cut_off = of(&noiseless, pbs.pbs);
    // The decomposition of the body keeps all bits.
    let exact_body = Gadget {
        base_log: bsk.fresh.torus_log2,
        level: 1,
    };
    let of_mask = of(
        &noiseless,
        GgswGadgets {
            body: exact_body,
            ..pbs.pbs
        },
    );
    let of_body = cut_off - of_mask;
    let by_errors = of(&bsk, pbs.pbs) - cut_off;
    let transform = blind_rotation_fft_variance(
        pbs.blind_rotation,
        FftErrorModel::Measured,
        pbs.small_key,
        &bsk.fresh,
        pbs.pbs,
    );
    let transform = transform.0 * key.big_weight;
    let total = by_errors + (of_body + of_mask * key.big_weight) * key.small_weight + transform;
    // The model counts the inverse transform of a block's sum once for each bit of the block. In
    // large polynomials the error depends on the key, by up to a third.
    let (below, above) = match pbs.polynomial_size {
        ..=2048 => (0.5, 0.12),
        _ => (0.6, 0.4),
    };
    let rows = (pbs.small_key.dimension * bsk.fresh.extracted_lwe_dimension()) as f64;
    StepPrediction {
        variance: Variance(total),
        slack: (below * transform / total, above * transform / total),
        between_keys: 2.0 / rows,
        offset: Variance::ZERO,
        normal: true,
    }
}

/// The prediction of the key switch under a key of known weight. Because of the mean of the
/// digits, a part of the noise is the same for all ciphertexts.
fn key_switch(pbs: &PbsParameters, key: &Samples) -> StepPrediction {
    let switch = pbs.key_switch();
    let noiseless = KeySwitchNoise {
        key_variance: Variance::ZERO,
        ..switch
    };
    let rounding = key_switch_variance(&noiseless).0;
    let body = truncation_variance(switch.output_torus_log2).0;
    let offset = key_switch_offset_variance(pbs);
    let by_errors = key_switch_variance(&switch).0 - rounding - offset.0;
    let total = by_errors + (rounding - body) * key.big_weight + body;
    let rows = (switch.input_dimension * switch.gadget.level) as f64;
    StepPrediction {
        variance: Variance(total),
        slack: (0.0, 0.0),
        between_keys: 2.0 / rows * (by_errors / total).powi(2),
        offset,
        normal: true,
    }
}

/// The variance of the modulus switch under a key of known weight, with the rounding of the body.
fn modulus_switch(pbs: &PbsParameters, key: &Samples) -> Variance {
    let weight = pbs.small_key.mean_weight() * key.small_weight;
    let body = truncation_variance(pbs.polynomial_size.ilog2() + 1);
    let mask = match pbs.modulus_switch() {
        ModulusSwitch::Plain => body * weight,
        ModulusSwitch::Centred => centred_modulus_switch_variance(
            pbs.small_key,
            weight,
            pbs.polynomial_size,
            pbs.small_torus_log2,
        ),
    };
    mask + body
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets;
    use tfhe_sbc_oracle::prediction::Prediction;

    use super::*;

    /// Under a key of mean weights, the steps add up to the noise that a set is judged by, except
    /// for the rounding of the body.
    #[test]
    fn a_mean_key_has_the_noise_that_sets_are_judged_by() {
        for set in parameter_sets::ALL {
            let parameters = set.validate().unwrap();
            let judged = Prediction::new(&parameters);
            let key = KeyPrediction::new(&parameters, &Samples::of_weights(1.0, 1.0));
            let close = |found: f64, expected: f64| {
                assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
            };
            close(
                key.step(Step::BlindRotation).variance.0,
                judged.budget.pbs.0,
            );
            let switch = key.step(Step::KeySwitch);
            close(
                (switch.variance + switch.offset).0,
                judged.budget.key_switch.0,
            );
            let look_up = key.step(Step::LookUp);
            let body = truncation_variance(parameters.polynomial_size().log2() + 1);
            let total = look_up.variance + look_up.offset;
            close(total.0, (judged.worst_total + body).0);
            // The slack comes from a small part of the noise.
            assert!(look_up.slack.1 < 0.1 && look_up.between_keys < 1e-3);
        }
    }

    #[test]
    fn heavier_keys_have_more_noise() {
        let parameters = parameter_sets::MESSAGE_2_CARRY_2.validate().unwrap();
        let variance =
            |step: Step, key: &Samples| KeyPrediction::new(&parameters, key).step(step).variance.0;
        let mean = Samples::of_weights(1.0, 1.0);
        let small = Samples::of_weights(1.1, 1.0);
        let big = Samples::of_weights(1.0, 1.1);
        for step in [Step::BlindRotation, Step::ModulusSwitch, Step::LookUp] {
            assert!(variance(step, &small) > variance(step, &mean));
        }
        for step in [Step::BlindRotation, Step::KeySwitch, Step::LookUp] {
            assert!(variance(step, &big) > variance(step, &mean));
        }
        let fresh = variance(Step::LweEncryption, &big);
        assert_eq!(fresh, variance(Step::LweEncryption, &mean));
    }
}
