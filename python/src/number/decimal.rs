//! Decimal fractions: what scales and offsets are meant as.
//!
//! 0.1 is no binary fraction, so `-40 + 614 · 0.1` is 21.400000000000006. Scales and offsets of few
//! decimals are taken at their word: what is made of them is rounded to as many.

use tfhe_sbc_core::encoding::FixedPoint;

/// Numbers with more decimals are no decimal fractions that somebody wrote down.
const MOST: usize = 12;

/// How many decimals a number has as it is written; `None` if they are many.
pub(super) fn decimals(value: f64) -> Option<usize> {
    let text = value.to_string();
    let count = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    (value.is_finite() && count <= MOST).then_some(count)
}

/// The nearest number of so many decimals; the number itself if that is not known.
pub(crate) fn rounded(value: f64, decimals: Option<usize>) -> f64 {
    let text = decimals.map(|decimals| format!("{value:.decimals$}"));
    // Adding 0 makes -0 0.
    text.and_then(|text| text.parse().ok()).unwrap_or(value) + 0.0
}

/// The decimals of whatever an encoding decodes to.
pub(crate) fn decimals_of(offset: f64, scale: f64) -> Option<usize> {
    Some(decimals(offset)?.max(decimals(scale)?))
}

/// The number of a code.
pub(crate) fn decode(offset: f64, scale: f64, code: u128) -> f64 {
    rounded(offset + code as f64 * scale, decimals_of(offset, scale))
}

/// The highest number of an encoding.
pub(super) fn maximum(encoding: &FixedPoint) -> f64 {
    let decimals = decimals_of(encoding.minimum(), encoding.scale());
    rounded(encoding.maximum(), decimals)
}

/// `a·b`.
pub(super) fn product(a: f64, b: f64) -> f64 {
    let decimals = decimals(a).zip(decimals(b)).map(|(a, b)| a + b);
    rounded(a * b, decimals.filter(|&decimals| decimals <= MOST))
}

/// `a + b`.
pub(super) fn sum(a: f64, b: f64) -> f64 {
    rounded(a + b, decimals_of(a, b))
}
