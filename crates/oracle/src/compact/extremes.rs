//! The plans of the largest or the smallest of a group of compact values.

mod number;
mod program;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tfhe_sbc_core::encoding::chunks::{
    DigitLookup, DigitPlan, ExtremeLookup, ExtremePlan, ExtremeTerm, MAX_CHUNK_BITS,
};
use tfhe_sbc_core::parameters::{ParameterFingerprint, Parameters};

use self::number::{Number, torus};
use self::program::{Comparison, Program, ends};
use super::lookups::{LookupFailure, LookupNoise};
use super::{CompactNoise, Roundings, digit_plan};
use crate::failure::DecisionHalfWidth;
use crate::upload::TARGET_LOG2_P_FAIL;

/// The largest distance of two scales, as a power of two, of which the finer one serves both.
const MAX_GAP: u32 = 8;

/// An end of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The smallest value.
    Smallest,
    /// The largest value.
    Largest,
}

/// Returns the failure of every lookup of a plan for values with `noise`.
pub fn extreme_failures(
    parameters: &Parameters,
    plan: &ExtremePlan,
    noise: CompactNoise,
) -> Vec<LookupFailure> {
    let lookups = LookupNoise::new(parameters);
    let failures = plan.lookups().iter();
    failures
        .map(|lookup| failure(&lookups, lookup, noise))
        .collect()
}

fn failure(lookups: &LookupNoise, lookup: &ExtremeLookup, noise: CompactNoise) -> LookupFailure {
    lookups.failure(
        DecisionHalfWidth(lookup.half_width as f64 * f64::exp2(-64.0)),
        noise.times(values_norm(lookup) as f64),
        results_norm_squared(lookup),
        lookup.interleaved_log2(),
    )
}

/// The norm of the factors of the values, whose errors may be common ones, so that they are added linearly.
fn values_norm(lookup: &ExtremeLookup) -> u64 {
    lookup
        .values
        .iter()
        .map(|factor| factor.unsigned_abs())
        .sum()
}

/// The squared norm of the factors of the results, of which several of one lookup are added linearly.
fn results_norm_squared(lookup: &ExtremeLookup) -> f64 {
    let same = |a: &ExtremeTerm, b: &ExtremeTerm| a.lookup == b.lookup;
    let weight = |results: &[ExtremeTerm]| {
        let factors = results
            .iter()
            .map(|result| result.factor.unsigned_abs() as f64);
        factors.sum::<f64>()
    };
    let of_lookups = lookup.results.chunk_by(same);
    of_lookups.map(|results| weight(results).powi(2)).sum()
}

/// Returns the plan with the fewest lookups for the radix digits of the largest or the smallest of groups of
/// `2^rows_log2` unsigned numbers of `bits` bits below `headroom` clear bits at the top of the torus, with `noise`, each
/// of which fails with at most 2^-128. Returns `None` where no plan meets that, or there is no number to compare.
///
/// All comparisons have chunks of the same lengths, from the lowest bit on that the numbers have there.
///
/// The search takes a tenth of a second and more. Its last results are kept, because a question about groups of rows asks for the same
/// plan once for each.
pub fn extreme_plan(
    parameters: &Parameters,
    widths: (u32, u32),
    noise: CompactNoise,
    group: (Extreme, u32),
) -> Option<ExtremePlan> {
    let Roundings {
        largest,
        squares,
        sum,
    } = noise.rounding;
    let noise_bits = [noise.gaussian.0, largest, squares, sum].map(f64::to_bits);
    let request = (parameters.fingerprint(), widths, noise_bits, group);
    if let Some(known) = known_plans().get(&request) {
        return known.clone();
    }
    let plan = search(parameters, widths, noise, group);
    let mut known = known_plans();
    if known.len() >= MAX_KNOWN {
        known.clear();
    }
    known.insert(request, plan.clone());
    plan
}

/// The arguments of the search: the parameters, the bits of a number and the clear bits above it, the noise, and the group.
type Request = (ParameterFingerprint, (u32, u32), [u64; 4], (Extreme, u32));

/// The most plans that are kept.
const MAX_KNOWN: usize = 256;

/// The plans that are kept.
fn known_plans() -> MutexGuard<'static, HashMap<Request, Option<ExtremePlan>>> {
    static KNOWN: LazyLock<Mutex<HashMap<Request, Option<ExtremePlan>>>> =
        LazyLock::new(Mutex::default);
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn search(
    parameters: &Parameters,
    (bits, headroom): (u32, u32),
    noise: CompactNoise,
    (extreme, rows_log2): (Extreme, u32),
) -> Option<ExtremePlan> {
    // A comparison needs a bit for the sign, and every one doubles the numbers.
    if bits == 0 || rows_log2 == 0 || headroom < rows_log2 {
        return None;
    }
    let builder = Builder {
        parameters,
        noise,
        lookup_noise: LookupNoise::new(parameters),
        bits,
        plaintext_bits: bits + headroom,
        extreme,
        rows_log2,
        known: RefCell::default(),
    };
    let more = headroom - rows_log2;
    let own_digits = digit_plan(parameters, bits, more.min(1), CompactNoise::NONE);
    let mut best: Option<ExtremePlan> = None;
    for chunks in builder.chunk_lists() {
        // The number at the end has the chunks of a difference without the sign, which is above them, and without the lowest
        // bit, which is clear by then.
        let mut same = chunks.clone();
        match same.first_mut() {
            Some(first) if *first > 1 => *first -= 1,
            _ => drop(same.remove(0)),
        }
        // Headroom makes a difference to a last chunk of two bits.
        let more = if same.last() == Some(&2) {
            more.min(1)
        } else {
            0
        };
        let same = DigitPlan::new(bits, more, &same, parameters.block_encoding());
        let mut digits: Vec<DigitPlan> = same.into_iter().chain(own_digits.clone()).collect();
        digits.dedup_by(|a, b| a.chunks() == b.chunks());
        for digits in &digits {
            for gap in builder.gaps(&chunks, digits) {
                let most = best
                    .as_ref()
                    .map_or(usize::MAX, |best| best.lookups().len() - 1);
                if builder.fewest(&chunks, digits, fewest_of(&chunks)) > most {
                    break;
                }
                if let Some(plan) = builder.build(&chunks, digits, gap, most) {
                    best = Some(plan);
                }
            }
        }
    }
    best
}

struct Builder<'p> {
    parameters: &'p Parameters,
    noise: CompactNoise,
    lookup_noise: LookupNoise,
    bits: u32,
    plaintext_bits: u32,
    extreme: Extreme,
    rows_log2: u32,
    /// The largest squared norm of the results that lookups are known to take, and the smallest that they are known not to take.
    known: RefCell<HashMap<Budget, (f64, f64)>>,
}

/// The properties of a lookup that decide how much noise the results have that it may take: the distance to its borders, the norm of the
/// factors of the values, and log2 of the number of functions.
type Budget = (u64, u64, u32);

/// The fewest lookups of a comparison: the top bit of each chunk, the bits below it, and the top bits.
fn fewest_of(chunks: &[u32]) -> usize {
    let others = chunks.split_last().map_or(&[][..], |(_, others)| others);
    let longer = others.iter().filter(|&&chunk| chunk > 1).count();
    chunks.len() + longer + usize::from(!others.is_empty())
}

/// The lists of lengths of `bits` bits in at most `most` chunks, of which the first is at most `first` and the others `others` long.
fn lists(bits: u32, first: u32, others: u32, most: u32) -> Vec<Vec<u32>> {
    if bits == 0 {
        return vec![Vec::new()];
    }
    if most == 0 || bits > first + (most - 1) * others {
        return Vec::new();
    }
    let lengths = (1..=first.min(bits)).rev();
    let with = lengths.flat_map(|chunk| {
        let others = lists(bits - chunk, others, others, most - 1);
        others.into_iter().map(move |others| {
            let mut list = vec![chunk];
            list.extend(others);
            list
        })
    });
    with.collect()
}

impl Builder<'_> {
    /// Returns whether a lookup fails with at most 2^-128.
    fn meets(&self, lookup: &ExtremeLookup) -> bool {
        let interleaved_log2 = lookup.interleaved_log2();
        let values_norm = values_norm(lookup);
        let key = (lookup.half_width, values_norm, interleaved_log2);
        let norm_squared = results_norm_squared(lookup);
        let mut known = self.known.borrow_mut();
        let (met, failed) = known.entry(key).or_insert((-1.0, f64::INFINITY));
        if norm_squared <= *met || norm_squared >= *failed {
            return norm_squared <= *met;
        }
        let meets = failure(&self.lookup_noise, lookup, self.noise).meets(TARGET_LOG2_P_FAIL);
        *(if meets { met } else { failed }) = norm_squared;
        meets
    }

    /// The views that a plan takes after the comparisons of each level, the first level first.
    fn bounds(&self, chunks: &[u32], digits: &DigitPlan) -> Vec<BTreeSet<u32>> {
        let bound = |lookup: &DigitLookup| {
            self.rows_log2 + digits.plaintext_bits() - lookup.view.factor_log2
        };
        let mut bounds: Vec<BTreeSet<u32>> = vec![digits.lookups().iter().map(bound).collect()];
        for level in (1..self.rows_log2).rev() {
            let mut at = bounds.last().cloned().unwrap_or_default();
            at.extend(ends(level, chunks));
            bounds.push(at);
        }
        bounds.reverse();
        bounds
    }

    /// The distances of scales that make a difference between plans.
    fn gaps(&self, chunks: &[u32], digits: &DigitPlan) -> BTreeSet<u32> {
        let bounds = self.bounds(chunks, digits);
        let all: Vec<u32> = bounds.first().into_iter().flatten().copied().collect();
        let distances = all
            .iter()
            .enumerate()
            .flat_map(|(at, upper)| all.iter().take(at).map(move |lower| upper - lower));
        let distances = distances.filter(|distance| *distance <= MAX_GAP);
        std::iter::once(0).chain(distances).collect()
    }

    /// The lengths of the chunks that a sign may have: as few as possible, and one more.
    fn chunk_lists(&self) -> Vec<Vec<u32>> {
        let longest = |has_fraction: bool| {
            let meets = |chunk: &u32| {
                let half_width = torus(1, chunk + 1 + u32::from(has_fraction));
                // A chunk with a fraction has more than half of the unit below it.
                let half_width = if has_fraction {
                    half_width + half_width / 8
                } else {
                    half_width
                };
                let width = DecisionHalfWidth(half_width as f64 * f64::exp2(-64.0));
                let failure = self.lookup_noise.failure(width, CompactNoise::NONE, 1.0, 0);
                failure.meets(TARGET_LOG2_P_FAIL)
            };
            (1..=MAX_CHUNK_BITS).rev().find(meets).unwrap_or(0)
        };
        let (first, others) = (longest(false), longest(true));
        let bits = self.bits + 1;
        if first == 0 || others == 0 {
            return Vec::new();
        }
        let fewest = 1 + bits.saturating_sub(first).div_ceil(others);
        // The top bits of all chunks are looked up together.
        let most = (fewest + 1).min(first);
        let mut lists = lists(bits, first, others, most);
        lists.sort_by_key(|chunks| fewest_of(chunks));
        lists
    }

    /// The fewest lookups of a plan of which a comparison of the first level takes `of_first`.
    fn fewest(&self, chunks: &[u32], digits: &DigitPlan, of_first: usize) -> usize {
        let pairs = 1usize << (self.rows_log2 - 1);
        pairs * of_first + (pairs - 1) * fewest_of(chunks) + digits.lookups().len()
    }

    /// Builds a plan of at most `most` lookups. A result serves the scales that are at most `2^gap` above its own.
    fn build(
        &self,
        chunks: &[u32],
        digits: &DigitPlan,
        gap: u32,
        most: usize,
    ) -> Option<ExtremePlan> {
        let rows = 1usize << self.rows_log2;
        let bounds = self.bounds(chunks, digits);
        let mut program = Program {
            builder: self,
            lookups: Vec::new(),
            most,
        };
        let numbers = (0..rows).map(|at| Number::value(at, rows));
        let mut numbers: Vec<Number> = numbers.collect();
        for (level, bounds) in (0..).zip(&bounds) {
            let comparison = Comparison::new(level, chunks, bounds, gap);
            let mut next = Vec::with_capacity(numbers.len() / 2);
            for pair in numbers.chunks(2) {
                let [a, b] = pair else {
                    return None;
                };
                next.push(program.extreme_of(a, b, &comparison)?);
                let is_first = level == 0 && next.len() == 1;
                if is_first && self.fewest(chunks, digits, program.lookups.len()) > most {
                    return None;
                }
            }
            numbers = next;
        }
        program.digits(numbers.first()?, digits)?;
        Some(ExtremePlan::new(rows, program.lookups, digits.clone()))
    }
}
