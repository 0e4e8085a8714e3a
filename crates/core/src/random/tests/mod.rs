//! Statistical and known-answer tests of the whole module, with fixed seeds.
//!
//! A check of a distribution is a function that gives `Err` with what it saw, so
//! that the tests can also hand it broken samples and demand that it notices.
//! Bounds are about five standard deviations of the statistic.

mod continuous;
mod discrete;
mod samplers;
mod seeds;
mod single;
mod streams;

use super::*;

/// A stream of its own for each test.
fn stream(kind: ExpanderKind, number: u32) -> AnyExpander {
    kind.mask_stream(&golden_seed(), number)
}

/// Bytes `e0, e1, .. ff`, for the vectors that an independent reader computed.
fn golden_seed() -> MaskSeed {
    MaskSeed(core::array::from_fn(|i| 0xe0 + i as u8))
}

fn read(expander: &mut impl Expander, len: usize) -> Vec<u8> {
    let mut out = vec![0xa5; len];
    expander.fill(&mut out);
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Pearson's chi-square of `observed` counts against `expected` ones must be within
/// five standard deviations of its mean, on both sides.
fn chi_square(observed: &[u64], expected: &[f64]) -> Result<(), String> {
    assert_eq!(observed.len(), expected.len());
    let statistic: f64 = observed
        .iter()
        .zip(expected)
        .map(|(&seen, mean)| (seen as f64 - mean).powi(2) / mean)
        .sum();
    let freedom = (observed.len() - 1) as f64;
    let score = (statistic - freedom) / (2.0 * freedom).sqrt();
    within("chi-square score", score, 0.0, 5.0)
}

fn within(what: &str, seen: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    if (seen - expected).abs() <= tolerance {
        Ok(())
    } else {
        Err(format!(
            "{what}: {seen} is not within {tolerance} of {expected}"
        ))
    }
}
