//! Decimal arithmetic on offsets and scales.
//!
//! Offsets and scales are decimal fractions that somebody wrote down, but 0.1 is no binary
//! fraction: in binary arithmetic `-40 + 614 · 0.1` is 21.400000000000006. A number of at most 12
//! decimals is therefore taken as the decimal fraction that it is printed as. Values of codes,
//! their sums and their means are computed from whole numbers and rounded once.

use tfhe_sbc_core::encoding::FixedPoint;

/// The most decimals of a number that is taken as a decimal fraction.
const MOST: usize = 12;

/// Returns the number of decimals of a number as it is printed; `None` if there are more than 12.
pub fn decimals(value: f64) -> Option<usize> {
    let text = value.to_string();
    let count = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    (value.is_finite() && count <= MOST).then_some(count)
}

/// Returns the nearest number of `decimals` decimals; the number itself if that is `None`.
pub fn rounded(value: f64, decimals: Option<usize>) -> f64 {
    let text = decimals.map(|decimals| format!("{value:.decimals$}"));
    // Adding 0 makes -0 0.
    text.and_then(|text| text.parse().ok()).unwrap_or(value) + 0.0
}

/// Returns the number of decimals of the values of an encoding.
pub fn decimals_of(offset: f64, scale: f64) -> Option<usize> {
    Some(decimals(offset)?.max(decimals(scale)?))
}

/// Returns `a·b`, rounded to the decimals that both have together.
pub fn product(a: f64, b: f64) -> f64 {
    let decimals = decimals(a).zip(decimals(b)).map(|(a, b)| a + b);
    rounded(a * b, decimals.filter(|&decimals| decimals <= MOST))
}

/// Returns `a + b`, rounded to the decimals of the one that has more.
pub fn sum(a: f64, b: f64) -> f64 {
    rounded(a + b, decimals_of(a, b))
}

/// The numbers `offset + scale·code`, with both as whole multiples of a fraction if they are decimal fractions, or the scale is one
/// divided by a whole number, as steps of means are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decoder {
    offset: f64,
    scale: f64,
    exact: Option<Exact>,
}

/// An encoding in whole multiples of `1 / unit`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exact {
    offset: i128,
    scale: i128,
    /// A power of ten, or a whole multiple of one.
    unit: i128,
}

/// Returns a number times a power of ten, which must make it whole.
fn mantissa(value: f64, decimals: usize) -> Option<i128> {
    format!("{value:.decimals$}").replace('.', "").parse().ok()
}

/// Returns a decimal fraction and the whole number by which it is divided to give a number; `None` if there are none.
fn dividend_of(value: f64) -> Option<(f64, i128)> {
    /// The largest divisor that is looked for: a year of hours.
    const MOST: u32 = 8784;
    /// Dividends have at most six decimals.
    const PARTS: f64 = 1e6;
    if decimals(value).is_some() {
        return Some((value, 1));
    }
    (2..=MOST).find_map(|divisor| {
        let dividend = (value * f64::from(divisor) * PARTS).round() / PARTS;
        let gives = dividend != 0.0 && dividend / f64::from(divisor) == value;
        gives.then_some((dividend, divisor.into()))
    })
}

impl Decoder {
    /// The decoder of an encoding.
    pub fn new(offset: f64, scale: f64) -> Self {
        let exact = dividend_of(scale).and_then(|(dividend, divisor)| {
            let decimals = decimals_of(offset, dividend)?;
            Some(Exact {
                offset: mantissa(offset, decimals)?.checked_mul(divisor)?,
                scale: mantissa(dividend, decimals)?,
                unit: 10i128.checked_pow(decimals as u32)?.checked_mul(divisor)?,
            })
        });
        Self {
            offset,
            scale,
            exact,
        }
    }

    /// Returns the number of a code.
    pub fn value(&self, code: u128) -> f64 {
        self.mean(code, 1)
    }

    /// Returns the sum of the numbers of `rows` codes, from the sum of the codes.
    pub fn sum(&self, codes: u128, rows: u32) -> f64 {
        let exact = self.exact.and_then(|exact| {
            let offset = exact.offset.checked_mul(rows.into())?;
            quotient(exact.above(offset, codes)?, exact.unit)
        });
        exact.unwrap_or_else(|| codes as f64 * self.scale + f64::from(rows) * self.offset)
    }

    /// Returns the mean of the numbers of `rows` codes, from the sum of the codes. `rows` is not 0.
    pub fn mean(&self, codes: u128, rows: u32) -> f64 {
        let exact = self.exact.and_then(|exact| {
            let offset = exact.offset.checked_mul(rows.into())?;
            let unit = exact.unit.checked_mul(rows.into())?;
            quotient(exact.above(offset, codes)?, unit)
        });
        exact.unwrap_or_else(|| self.offset + codes as f64 / f64::from(rows) * self.scale)
    }

    /// Returns the difference of two numbers, from that of their codes.
    pub fn difference(&self, codes: u128) -> f64 {
        let exact = (self.exact).and_then(|exact| quotient(exact.above(0, codes)?, exact.unit));
        exact.unwrap_or(codes as f64 * self.scale)
    }

    /// Returns `numerator / denominator` times the square of the scale: the variance of numbers,
    /// from that of their codes. The denominator is not 0.
    pub fn variance(&self, numerator: u128, denominator: u128) -> f64 {
        let numerator_of = |numerator: i128| self.covariance(self, numerator, denominator);
        let inexact = || numerator as f64 / denominator as f64 * self.scale * self.scale;
        i128::try_from(numerator).map_or_else(|_| inexact(), numerator_of)
    }

    /// Returns `numerator / denominator` times both scales: the covariance of these numbers and of those of another decoder, from
    /// that of their codes. The denominator is not 0.
    pub fn covariance(&self, other: &Self, numerator: i128, denominator: u128) -> f64 {
        let exact = self.exact.zip(other.exact).and_then(|(a, b)| {
            let numerator = numerator.checked_mul(a.scale.checked_mul(b.scale)?)?;
            let unit = a.unit.checked_mul(b.unit)?;
            let denominator = i128::try_from(denominator).ok()?.checked_mul(unit)?;
            quotient(numerator, denominator)
        });
        let inexact = || numerator as f64 / denominator as f64 * self.scale * other.scale;
        exact.unwrap_or_else(inexact)
    }

    /// Returns the sum of the products of the numbers of `rows` codes and those of another decoder, from the sums of the codes of each
    /// and of their products.
    pub fn dot(&self, other: &Self, rows: u32, sums: [u128; 2], products: u128) -> f64 {
        let exact = self.exact.zip(other.exact).and_then(|(a, b)| {
            let of_a = a.above(a.offset.checked_mul(rows.into())?, sums[0])?;
            // (o + s·c)·(o' + s'·c') = o'·(o + s·c) + s'·c'·(o + s·c).
            let of_products = a.above(
                a.offset.checked_mul(i128::try_from(sums[1]).ok()?)?,
                products,
            )?;
            let first = b.offset.checked_mul(of_a)?;
            let second = b.scale.checked_mul(of_products)?;
            quotient(first.checked_add(second)?, a.unit.checked_mul(b.unit)?)
        });
        let inexact = || {
            let (rows, sums) = (f64::from(rows), sums.map(|sum| sum as f64));
            let codes = self.scale * other.scale * products as f64;
            let mixed = self.scale * other.offset * sums[0] + other.scale * self.offset * sums[1];
            codes + mixed + rows * self.offset * other.offset
        };
        exact.unwrap_or_else(inexact)
    }
}

impl Exact {
    /// Returns `offset + scale·codes`.
    fn above(&self, offset: i128, codes: u128) -> Option<i128> {
        let codes = i128::try_from(codes).ok()?;
        self.scale.checked_mul(codes)?.checked_add(offset)
    }
}

/// Returns the number nearest to a fraction, whose denominator is positive; `None` if that is too
/// large to be computed here.
fn quotient(numerator: i128, denominator: i128) -> Option<f64> {
    /// Whole numbers up to this are exact.
    const EXACT: u128 = 1 << 53;
    let size = numerator.unsigned_abs();
    if size <= EXACT && denominator.unsigned_abs() <= EXACT {
        // Adding 0 makes -0 0.
        return Some(numerator as f64 / denominator as f64 + 0.0);
    }
    let denominator = u128::try_from(denominator).ok()?;
    let mut text = format!(
        "{}{}.",
        if numerator < 0 { "-" } else { "" },
        size / denominator
    );
    let mut rest = size % denominator;
    for _ in 0..40 {
        rest = rest.checked_mul(10)?;
        text.push(char::from(b'0' + (rest / denominator) as u8));
        rest %= denominator;
    }
    // Whatever is left only matters where the digits so far are half way between two numbers.
    text.push(if rest == 0 { '0' } else { '1' });
    text.parse::<f64>().ok().map(|value| value + 0.0)
}

/// Returns the number of a code.
pub fn decode(offset: f64, scale: f64, code: u128) -> f64 {
    Decoder::new(offset, scale).value(code)
}

/// Returns the highest number of an encoding.
pub fn maximum(encoding: &FixedPoint) -> f64 {
    let largest = (1u128 << encoding.bits()) - 1;
    decode(encoding.minimum(), encoding.scale(), largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_people_write() {
        let celsius = Decoder::new(-40.0, 0.1);
        assert_eq!(celsius.value(614), 21.4);
        assert_eq!(celsius.value(400), 0.0);
        assert!(celsius.value(400).is_sign_positive());
        assert_eq!(Decoder::new(-50.0, 0.1).value(372), -12.8);
        assert_eq!(celsius.sum(3 * 608, 3), 62.4);
        assert_eq!(celsius.difference(208), 20.8);
        // 376 tenths by 3.
        let mean = celsius.mean(3 * 400 + 376, 3);
        assert_eq!(mean.to_string(), "12.533333333333333");
        assert_eq!(celsius.variance(1, 4), 0.0025);
        assert_eq!(Decoder::new(0.0, 1.0 / 3.0).value(3), 1.0);
        // A mean of 24 values in tenths.
        assert_eq!(Decoder::new(-40.0, 0.1 / 24.0).value(24 * 608), 20.8);
        // The smallest divisor.
        assert_eq!(dividend_of(0.1 / 24.0), Some((0.0125, 3)));
        assert_eq!(dividend_of(0.1 / 7.0), Some((0.1, 7)));
        assert_eq!(dividend_of(std::f64::consts::PI), None);
    }

    #[test]
    fn large_fractions_are_rounded_once() {
        let third = quotient((1 << 60) + 1, 3 << 60).unwrap();
        assert_eq!(third, 1.0 / 3.0);
        assert_eq!(quotient(-(1 << 100), 1 << 99), Some(-2.0));
        assert_eq!(quotient(i128::MAX - 1, i128::MAX), None);
    }

    #[test]
    fn products_and_sums_have_the_decimals_of_their_operands() {
        assert_eq!(product(0.1, 3.0), 0.3);
        assert_eq!(sum(0.1, 0.2), 0.3);
        assert_eq!(rounded(2.0 / 3.0, Some(2)), 0.67);
        assert_eq!(decimals(std::f64::consts::PI), None);
    }
}
