//! The cheapest parameter set for a task, by exhaustive search.
//!
//! [`cheapest`] takes a set that says what is wanted (plaintexts, the noise level, block size,
//! and the GLWE key: q, k, N and its noise) and finds what is left: the small key's dimension
//! and noise, the decompositions, and the bits of uploads. Cheapest is what takes the fewest
//! cycles by [`Cost`], a model of the engine on one core with vectors of 64 bytes.

use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::parameters::{Decomposition, ParameterSet, Parameters};
use tfhe_sbc_core::random::NoiseDistribution;

use crate::blind_rotation::{
    FftErrorModel, GgswGadgets, blind_rotation_fft_variance, blind_rotation_variance,
};
use crate::failure::safe_variance;
use crate::noise::key_switch_variance;
use crate::noise_budget::{NoiseBudget, PbsParameters};
use crate::prediction::{Prediction, half_width, worst_norm_squared};
use crate::security::{MARGIN_LOG2_SIGMA, SecretKind, log2_sigma_floor, minimal_log2_sigma};
use crate::upload::{UploadBits, UploadKind, UploadPrediction};

/// What a bootstrap costs: key switch and blind rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Cycles of arithmetic.
    pub arithmetic: f64,
    /// Bytes of the bootstrapping key in memory, all of which every pass reads: 8 for a
    /// coefficient.
    pub bootstrap_key_bytes: f64,
    /// Bytes of the key-switching key in memory, likewise: 4 for a coefficient.
    pub key_switch_key_bytes: f64,
}

/// Cycles that a byte takes from memory.
const CYCLES_PER_BYTE: f64 = 0.1;
/// Vector operations in a cycle.
const OPERATIONS_PER_CYCLE: f64 = 2.0;
/// What a transform takes over its butterflies: loads, stores, conversions.
const TRANSFORM_OVERHEAD: f64 = 1.25;

impl Cost {
    /// The cost under `set`.
    pub fn new(set: &ParameterSet) -> Self {
        let (n, block) = (set.lwe_dimension.0 as f64, f64::from(set.lwe_block_size));
        let (k, size) = (set.glwe_dimension.0 as f64, set.polynomial_size as f64);
        let rows = k * set.pbs.level_count.0 as f64 + set.pbs_body.level_count.0 as f64;
        let points = size / 2.0;
        // Butterflies of 6 operations on 8 doubles.
        let transform = 6.0 * (points / 2.0) * points.log2() / 8.0 * TRANSFORM_OVERHEAD;
        let products = (4.0 * rows * (k + 1.0) + 4.0 + 4.0 * (k + 1.0)) * size / 16.0;
        let rotation = n / block * (rows + k + 1.0) * transform + n * products;
        let switch = k * size * set.key_switch.level_count.0 as f64 * (n + 1.0);
        Self {
            arithmetic: rotation / OPERATIONS_PER_CYCLE + switch / 16.0,
            bootstrap_key_bytes: n * rows * (k + 1.0) * size * 8.0,
            key_switch_key_bytes: switch * 4.0,
        }
    }

    /// Cycles of a bootstrap of one ciphertext: arithmetic, and the keys from memory.
    pub fn single(self) -> f64 {
        self.batched(1)
    }

    /// Cycles of each of `batch` bootstraps that share one pass over the keys.
    pub fn batched(self, batch: usize) -> f64 {
        let streamed = CYCLES_PER_BYTE * (self.bootstrap_key_bytes + self.key_switch_key_bytes);
        self.arithmetic + streamed / batch as f64
    }
}

/// What a set must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// log2 of the failure probability of its worst bootstrap: on average over keys, and for
    /// a key-switching key as lopsided as one in a thousand.
    pub log2_p_fail: f64,
    /// The level of both keys, with the margin.
    pub lambda: f64,
    /// The most bits of an upload, of body and public-key mask.
    pub upload: UploadBits,
}

/// The smallest Gaussian noise of `lambda` bits, with the margin, and not below the floor.
pub fn smallest_noise(
    lambda: f64,
    dimension: usize,
    secret: SecretKind,
    torus_bits: u32,
) -> Option<NoiseDistribution> {
    let least = minimal_log2_sigma(lambda, dimension, secret).ok()? + MARGIN_LOG2_SIGMA;
    // Four digits, rounded up.
    let sigma = least.max(log2_sigma_floor(torus_bits)).exp2();
    let unit = 10f64.powf(sigma.log10().floor() - 3.0);
    Some(NoiseDistribution::Gaussian {
        standard_deviation: (sigma / unit).ceil() * unit,
    })
}

/// The cheapest set for `goal` that differs from `wanted` only in the small key's dimension and
/// noise, the decompositions, and the bits of uploads, which are the fewest, and states nothing
/// about itself. `None` if there is none.
pub fn cheapest(wanted: &ParameterSet, goal: &Goal, cost: fn(Cost) -> f64) -> Option<ParameterSet> {
    let parameters = wanted.validate().ok()?;
    let mut candidates = candidates(&parameters, goal);
    candidates.sort_by(|a, b| cost(Cost::new(a)).total_cmp(&cost(Cost::new(b))));
    candidates.into_iter().find_map(|set| reaching(set, goal))
}

/// `set` with the fewest bits of uploads, if it reaches `goal`.
fn reaching(set: ParameterSet, goal: &Goal) -> Option<ParameterSet> {
    let with = |bits: UploadBits| ParameterSet {
        body_bits: bits.body,
        public_key_mask_bits: bits.public_key_mask,
        ..set
    };
    let parameters = with(goal.upload).validate().ok()?;
    let prediction = Prediction::new(&parameters);
    let reached = prediction.log2_p_fail.max(prediction.log2_p_fail_lopsided) <= goal.log2_p_fail
        && UploadKind::ALL
            .iter()
            .all(|&kind| UploadPrediction::new(&parameters, kind).meets(goal.log2_p_fail));
    if !reached {
        return None;
    }
    UploadBits::fewest(&parameters, goal.log2_p_fail).map(with)
}

/// Every small key and number of levels with the best bases, where a Gaussian would reach the
/// goal.
fn candidates(wanted: &Parameters, goal: &Goal) -> Vec<ParameterSet> {
    let Ok(secret) = SecretKind::of_blocks(wanted.lwe_block_size) else {
        return Vec::new();
    };
    let safe = safe_variance(half_width(wanted), goal.log2_p_fail);
    let norm = worst_norm_squared(wanted);
    let rotations = rotations(wanted);
    let mut found = Vec::new();
    let step = wanted.lwe_block_size as usize;
    for n in (512usize.next_multiple_of(step)..=1024).step_by(step) {
        let Some(lwe_noise) = smallest_noise(goal.lambda, n, secret, 32) else {
            continue;
        };
        let with_key = ParameterSet {
            lwe_dimension: LweDimension(n),
            lwe_noise,
            ..**wanted
        };
        for key_switch in key_switches(&with_key) {
            for &(pbs, pbs_body) in &rotations {
                let set = ParameterSet {
                    pbs,
                    pbs_body,
                    key_switch,
                    ..with_key
                };
                let Ok(parameters) = set.validate() else {
                    continue;
                };
                let budget = NoiseBudget::new(&PbsParameters::from(&parameters));
                let fixed = budget.key_switch.0 + budget.modulus_switch.0;
                if norm.0 * budget.pbs.0 + fixed <= safe.0 {
                    found.push(set);
                }
            }
        }
    }
    found
}

/// For every number of levels of mask and body, the bases with the least noise: which they are
/// depends on the GLWE key and the block size, not on the dimension of the small key.
fn rotations(wanted: &Parameters) -> Vec<(Decomposition, Decomposition)> {
    const MOST_LEVELS: usize = 6;
    let pbs = PbsParameters::from(wanted);
    let bsk = pbs.bootstrapping_key();
    let variance = |mask: Decomposition, body: Decomposition| {
        let gadgets = GgswGadgets {
            mask: mask.into(),
            body: body.into(),
        };
        let (kind, key) = (pbs.blind_rotation, pbs.small_key);
        let transform =
            blind_rotation_fft_variance(kind, FftErrorModel::Measured, key, &bsk, gadgets);
        blind_rotation_variance(kind, key, &bsk, gadgets).0 + transform.0
    };
    let best = |levels, variance: &dyn Fn(Decomposition) -> f64| {
        let bases = 1..=(wanted.torus_bits / levels as u32).min(32);
        bases
            .map(|base_log| Decomposition::new(base_log, levels))
            .min_by(|&a, &b| variance(a).total_cmp(&variance(b)))
    };
    let mut found = Vec::new();
    for mask_levels in 1..=MOST_LEVELS {
        // The variance is a sum of a part of the mask's and one of the body's.
        let any = Decomposition::new(1, 1);
        let Some(mask) = best(mask_levels, &|mask| variance(mask, any)) else {
            continue;
        };
        for body_levels in 1..=mask_levels {
            if let Some(body) = best(body_levels, &|body| variance(mask, body)) {
                found.push((mask, body));
            }
        }
    }
    found
}

/// For every number of levels, the base with the least noise.
fn key_switches(set: &ParameterSet) -> Vec<Decomposition> {
    const MOST_LEVELS: usize = 12;
    let variance = |key_switch: Decomposition| {
        let parameters = ParameterSet { key_switch, ..*set }.validate().ok()?;
        let switch = PbsParameters::from(&parameters).key_switch();
        Some(key_switch_variance(&switch).0)
    };
    (1..=MOST_LEVELS)
        .filter_map(|levels| {
            (1..=16)
                .map(|base_log| Decomposition::new(base_log, levels))
                .filter_map(|candidate| Some((candidate, variance(candidate)?)))
                .min_by(|a, b| a.1.total_cmp(&b.1))
        })
        .map(|(best, _)| best)
        .collect()
}
