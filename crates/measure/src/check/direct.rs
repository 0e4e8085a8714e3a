//! Failures, counted. The failures of a set itself are too rare to be counted, so the same keys
//! and noise serve blocks of more bits, whose decisions are narrower.

use tfhe_sbc_core::dimensions::{CarryBits, MessageBits};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{ParameterSet, Parameters, PlaintextKind};
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_oracle::failure::{DecisionHalfWidth, kappa, log2_p_fail};
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::prediction::Prediction;
use tfhe_sbc_oracle::statistics::{Interval, clopper_pearson};

use super::keys::Keys;
use super::steps::{CheckError, Progress, key_steps, worst_weights};
use super::verdict::TEST_LEVEL;

/// log2 of the failure probability from which failures are frequent enough to be counted.
const FREQUENT: f64 = -9.0;
/// The number of key sets whose failures are counted.
const KEYS: usize = 4;
/// The number of blocks that are bootstrapped repeatedly.
const CHAINS: usize = 250;
/// The relative difference that the variance at a look-up under few keys may have from the average
/// over keys.
const KEY_SPREAD: f64 = 0.02;

/// The counted failures of blocks with more bits than the set has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectCount {
    /// The number of additional bits. Decisions are 2^bits times narrower.
    pub extra_bits: u32,
    /// The number of bootstraps.
    pub trials: u64,
    /// The number of bootstraps that gave a wrong value.
    pub failures: u64,
    /// The 99% interval of Clopper and Pearson for their probability.
    pub interval: Interval,
    /// Their predicted probability.
    pub predicted: f64,
    /// log2 of the set's own failure probability, mapped back from the interval as if the noise were
    /// Gaussian.
    pub mapped_log2_p: Interval,
    /// Whether the predicted probability agrees with the count, up to chance and the difference
    /// between keys.
    pub consistent: bool,
}

/// The number of steps that [`count_failures`] reports to its progress.
pub fn direct_steps(parameters: &Parameters, trials: u64) -> u64 {
    let links = links_of(trials) + 1;
    KEYS as u64 * (2 * key_steps(parameters) + links * CHAINS as u64)
}

fn links_of(trials: u64) -> u64 {
    trials.div_ceil((KEYS * CHAINS) as u64).max(1)
}

/// Counts the failures in at least `trials` bootstraps under `parameters`, and compares them with
/// the oracle's prediction for `claimed`. Every input is a sum of bootstrap outputs with the
/// weights of the worst look-up.
///
/// # Errors
/// If failures under the set stay too rare to be counted.
pub fn count_failures(
    parameters: &Parameters,
    claimed: &Parameters,
    trials: u64,
    seed: u64,
    progress: Progress<'_>,
) -> Result<DirectCount, CheckError> {
    let (set, extra_bits) = loosened(parameters)?;
    let loosened = set.validate().map_err(|_| CheckError::TooRare {
        log2_p_fail: Prediction::new(parameters).log2_p_fail as i32,
    })?;
    let mut failures = 0;
    for key in 0..KEYS as u64 {
        let keys = Keys::generate(&loosened, (seed, key))?;
        let weights = worst_weights(parameters);
        failures += match parameters.torus_bits() {
            64 => of_key::<u64>(keys, &weights, links_of(trials), progress)?,
            _ => of_key::<u32>(keys, &weights, links_of(trials), progress)?,
        };
    }
    let trials = links_of(trials) * (KEYS * CHAINS) as u64;
    let t = DecisionHalfWidth::of_worst_look_up(claimed);
    let narrow = DecisionHalfWidth(t.0 * 0.5f64.powi(extra_bits as i32));
    let total = Prediction::new(claimed).worst_total;
    let of_variance = |factor: f64| log2_p_fail(narrow, total * factor).exp2();
    let interval = clopper_pearson(failures, trials, 0.99);
    let strict = clopper_pearson(failures, trials, 1.0 - TEST_LEVEL);
    // The probability is erfc(κ/√2) for the narrow blocks, and erfc(2^d κ/√2) for those of the
    // set.
    let mapped = |p: f64| {
        let narrow_kappa = kappa(p.log2().max(-1000.0));
        log2_p_fail(
            DecisionHalfWidth(narrow_kappa * 2f64.powi(extra_bits as i32)),
            Variance(1.0),
        )
    };
    Ok(DirectCount {
        extra_bits,
        trials,
        failures,
        interval,
        predicted: of_variance(1.0),
        mapped_log2_p: Interval {
            low: mapped(interval.low),
            high: mapped(interval.high),
        },
        consistent: strict.low <= of_variance(1.0 + KEY_SPREAD)
            && strict.high >= of_variance(1.0 - KEY_SPREAD),
    })
}

/// Returns the set with enough additional carry bits to make failures frequent, and their number.
/// Gates become blocks of integers.
fn loosened(parameters: &Parameters) -> Result<(ParameterSet, u32), CheckError> {
    let (message, carry) = match parameters.plaintext() {
        PlaintextKind::Radix => (parameters.message_bits().0, parameters.carry_bits().0),
        // The half width of a gate's decision, 1/8, is that of blocks of a single bit.
        PlaintextKind::Boolean => (1, 0),
    };
    let total = Prediction::new(parameters).worst_total;
    let t = DecisionHalfWidth::of_worst_look_up(parameters).0;
    let log2_p = |extra: u32| {
        let narrow = DecisionHalfWidth(t * 0.5f64.powi(extra as i32));
        log2_p_fail(narrow, total)
    };
    let most = parameters
        .polynomial_size()
        .log2()
        .saturating_sub(message + carry + 1);
    let most = most.min(8u32.saturating_sub(carry));
    let extra = (1..=most).find(|&extra| log2_p(extra) >= FREQUENT);
    let extra = extra.ok_or(CheckError::TooRare {
        log2_p_fail: log2_p(most) as i32,
    })?;
    let set = ParameterSet {
        plaintext: PlaintextKind::Radix,
        message_bits: MessageBits(message),
        carry_bits: CarryBits(carry + extra),
        body_bits: parameters.torus_bits(),
        ..*parameters.as_set()
    };
    Ok((set, extra))
}

/// The failures under one key set.
fn of_key<T: ProductTorus>(
    mut keys: Keys,
    weights: &[i64],
    links: u64,
    progress: Progress<'_>,
) -> Result<u64, CheckError> {
    let server = keys.server::<T>(progress)?;
    let (mut mask, mut noise) = keys.streams()?;
    let parameters = *keys.parameters();
    let encoding = parameters.block_encoding();
    let modulus = encoding.block_modulus();
    let table = LookupTable::from_fn(&parameters, |x| x as i64);
    let observe = |n| progress(n);
    let evaluator = Evaluator::with_observer(&server, &observe);
    let mut blocks: Vec<LweCiphertext<T>> = (0..CHAINS)
        .map(|_| {
            let distribution = parameters.glwe_noise();
            keys.big
                .encrypt(T::ZERO, distribution, &mut mask, &mut noise)
        })
        .collect();
    let mut failures = 0;
    for link in 0..=links {
        let wanted = |place: usize| (place as u64 + link) % modulus;
        let jobs: Vec<_> = (0..blocks.len())
            .map(|place| {
                let mut input = LweCiphertext::trivial(keys.big.dimension(), T::ZERO);
                let mut held = 0;
                for (next, &weight) in weights.iter().enumerate() {
                    let block = &blocks[(place + next) % blocks.len()];
                    input.add_scaled(block, weight);
                    held += weight * encoding.decode(keys.big.phase(block)) as i64;
                }
                input.add_plaintext(encoding.encode(wanted(place) as i64 - held));
                Job {
                    input,
                    table: &table,
                }
            })
            .collect();
        blocks = evaluator.bootstrap_batch(&jobs)?;
        let wrong = |&(place, block): &(usize, &LweCiphertext<T>)| {
            encoding.decode(keys.big.phase(block)) != wanted(place)
        };
        // The inputs of the first link are fresh.
        if link > 0 {
            failures += blocks.iter().enumerate().filter(wrong).count() as u64;
        }
    }
    Ok(failures)
}
