//! Statistical and known-answer tests of the whole module, with fixed seeds.
//!
//! A check of a distribution is a function that gives `Err` with what it saw, so
//! that the tests can also hand it broken samples and demand that it notices.
//! Bounds are about five standard deviations of the statistic.

mod continuous;
mod discrete;
mod normal;
mod samplers;
mod seeds;
mod single;
mod streams;

use super::*;
use normal::within;

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

/// The words of 16 bits from a number on, one after the other.
struct Counter(u16);
impl Expander for Counter {
    fn fill(&mut self, out: &mut [u8]) {
        for word in out.chunks_mut(2) {
            word.copy_from_slice(&self.0.to_le_bytes());
            self.0 = self.0.wrapping_add(1);
        }
    }
}
