//! The failure probability of the lookups that take a compact value apart, and the fewest of them.

use tfhe_sbc_core::encoding::chunks::{DigitLookup, DigitPlan, MAX_CHUNK_BITS, View, sign_views};
use tfhe_sbc_core::parameters::Parameters;

use super::CompactNoise;
use crate::failure::DecisionHalfWidth;
use crate::noise::Variance;
use crate::noise_budget::{NoiseBudget, PbsParameters};
use crate::upload::{LOPSIDED, TARGET_LOG2_P_FAIL, key_switch_offset_variance};

/// The noise before a lookup, and its failure probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupFailure {
    /// The variance of the whole noise at the lookup.
    pub total: Variance,
    /// log2 of the failure probability, on average over keys.
    pub log2_p_fail: f64,
    /// The same for a key-switching key as lopsided as one in a thousand, see
    /// [`UploadPrediction`](crate::upload::UploadPrediction).
    pub log2_p_fail_lopsided: f64,
}

impl LookupFailure {
    /// Returns whether both probabilities are at or below 2^`log2_p_fail`.
    pub fn meets(&self, log2_p_fail: f64) -> bool {
        self.log2_p_fail.max(self.log2_p_fail_lopsided) <= log2_p_fail
    }
}

/// Returns the noise and the failure probability of one lookup on a view of a value with `noise`, from
/// which bootstrap outputs are subtracted whose squared weights sum to `norm_squared`. The table has
/// `2^interleaved_log2` functions, which are interleaved: the modulus switch rounds to multiples of as
/// many steps, so that its variance is `4^interleaved_log2` times that of one function.
pub fn view_failure(
    parameters: &Parameters,
    view: View,
    noise: CompactNoise,
    norm_squared: f64,
    interleaved_log2: u32,
) -> LookupFailure {
    LookupNoise::new(parameters).failure(
        DecisionHalfWidth(f64::exp2(-f64::from(view.half_width_log2()))),
        noise.times(f64::exp2(f64::from(view.factor_log2))),
        norm_squared,
        interleaved_log2,
    )
}

/// The noise that lookups have themselves, and that of their results.
pub(super) struct LookupNoise {
    budget: NoiseBudget,
    offset: Variance,
}

impl LookupNoise {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let pbs = PbsParameters::from(parameters);
        Self {
            budget: NoiseBudget::new(&pbs),
            offset: key_switch_offset_variance(&pbs),
        }
    }

    /// The noise and the failure probability of a lookup with this distance to its borders, of a phase with the noise
    /// `seen` and that of bootstrap outputs whose squared weights sum to `norm_squared`.
    pub(super) fn failure(
        &self,
        half_width: DecisionHalfWidth,
        seen: CompactNoise,
        norm_squared: f64,
        interleaved_log2: u32,
    ) -> LookupFailure {
        let Self { budget, offset } = self;
        let coarser = f64::exp2(f64::from(2 * interleaved_log2));
        let more = budget.pbs * norm_squared + budget.key_switch + budget.modulus_switch * coarser;
        LookupFailure {
            total: seen.variance() + more,
            log2_p_fail: seen.log2_p_fail(half_width, more, 0.0),
            log2_p_fail_lopsided: seen.log2_p_fail(
                half_width,
                Variance(more.0 - offset.0),
                LOPSIDED * offset.standard_deviation(),
            ),
        }
    }
}

/// Returns the failure of every lookup of the sign of a number with `noise` at the top of the torus, the
/// lowest chunk first; `None` if `chunks` are no chunks of a number.
pub fn sign_failures(
    parameters: &Parameters,
    chunks: &[u32],
    noise: CompactNoise,
) -> Option<Vec<LookupFailure>> {
    let views = sign_views(chunks).ok()?;
    let failures = views
        .into_iter()
        .map(|view| sign_failure(parameters, view, noise));
    Some(failures.collect())
}

fn sign_failure(parameters: &Parameters, view: View, noise: CompactNoise) -> LookupFailure {
    // The bit below the chunk is one bootstrap output at the scale of the view.
    let outputs = if view.has_fraction { 1.0 } else { 0.0 };
    view_failure(parameters, view, noise, outputs, 0)
}

/// Returns the lengths of the chunks of the fewest lookups for the sign of a number of `bits` bits in
/// two's complement, each of which fails with at most 2^-128. The number is at the top of the torus with
/// `noise`: that of a difference of compact values with `h` bits of headroom, times `2^(h-1)`.
/// Returns `None` where not even chunks of one bit meet that, or `bits` is 0.
///
/// The part of the input's noise in half a unit, or a quarter, is the same for all chunks that begin at
/// one bit and falls with that bit. The longest chunks from the lowest bit up are therefore the fewest.
pub fn sign_chunks(parameters: &Parameters, bits: u32, noise: CompactNoise) -> Option<Vec<u32>> {
    let mut chunks = Vec::new();
    let mut first = 0;
    while first < bits {
        let longest = MAX_CHUNK_BITS.min(bits - first);
        let chunk = (1..=longest).rev().find(|&chunk| {
            let view = View {
                factor_log2: bits - first - chunk,
                unit_log2: chunk,
                has_fraction: first > 0,
            };
            sign_failure(parameters, view, noise).meets(TARGET_LOG2_P_FAIL)
        })?;
        chunks.push(chunk);
        first += chunk;
    }
    (!chunks.is_empty()).then_some(chunks)
}

/// Returns the failure of every lookup of the plan for the digits of a number with `noise` at the top of the
/// torus.
pub fn digit_failures(
    parameters: &Parameters,
    plan: &DigitPlan,
    noise: CompactNoise,
) -> Vec<LookupFailure> {
    let lookups = plan.lookups().iter();
    lookups
        .map(|lookup| digit_failure(parameters, lookup, noise))
        .collect()
}

fn digit_failure(
    parameters: &Parameters,
    lookup: &DigitLookup,
    noise: CompactNoise,
) -> LookupFailure {
    view_failure(
        parameters,
        lookup.view,
        noise,
        lookup.norm_squared(),
        lookup.interleaved_log2(),
    )
}

/// Returns the plan with the fewest lookups for the radix digits of an unsigned number of `bits` bits below
/// `headroom` clear bits at the top of the torus, with `noise`, each of which fails with at most 2^-128.
/// Among plans with equally many lookups it is that with the longest chunks first. Returns `None` where
/// no plan meets that.
///
/// The failures of a chunk's lookups depend on where it begins and ends, and not on the chunks below. The
/// best plan up to every bit therefore follows from the best plans up to lower bits.
pub fn digit_plan(
    parameters: &Parameters,
    bits: u32,
    headroom: u32,
    noise: CompactNoise,
) -> Option<DigitPlan> {
    let encoding = parameters.block_encoding();
    let mut best: Vec<Option<DigitPlan>> = vec![None; bits as usize + 1];
    best[0] = DigitPlan::begin(bits, headroom, encoding).ok();
    for first in 0..bits as usize {
        let Some(so_far) = best[first].take() else {
            continue;
        };
        let longest = (MAX_CHUNK_BITS as usize).min(bits as usize - first);
        for chunk in 1..=longest {
            let mut plan = so_far.clone();
            if plan.push(chunk as u32).is_err() {
                continue;
            }
            let mut added = plan.lookups()[so_far.lookups().len()..].iter();
            let meets = added
                .all(|lookup| digit_failure(parameters, lookup, noise).meets(TARGET_LOG2_P_FAIL));
            let order = |plan: &DigitPlan| {
                let chunks = plan.chunks().to_vec();
                (plan.lookups().len(), std::cmp::Reverse(chunks))
            };
            let place = &mut best[first + chunk];
            if meets && place.as_ref().is_none_or(|best| order(&plan) < order(best)) {
                *place = Some(plan);
            }
        }
    }
    best.pop().flatten()
}

/// Returns the lengths of the chunks of the [`digit_plan`], the lowest chunk first.
pub fn digit_chunks(
    parameters: &Parameters,
    bits: u32,
    headroom: u32,
    noise: CompactNoise,
) -> Option<Vec<u32>> {
    let plan = digit_plan(parameters, bits, headroom, noise)?;
    Some(plan.chunks().to_vec())
}
