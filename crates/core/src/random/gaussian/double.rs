//! The method of Box and Muller in double precision, for any standard deviation.
//!
//! Everything is `+ - *` on `f64` and integer operations on its bits, one pair of
//! variates per lane, so the compiler vectorises the loop and every platform gives
//! the same bytes. The polynomials are minimax approximations (Chebyshev
//! interpolation in 60 digits), with the error named at each.

use super::super::expander::Expander;
use super::super::keystream::Scratch;
use super::super::uniform::fill_uniform;
use crate::simd::{Isa, dispatch};
use crate::torus::{Torus, exp2_neg};

/// The number of pairs made at a time.
const PAIRS: usize = 64;

/// Adds `round(scale * z)` to every element, where `z` is standard normal.
pub(super) fn add<T: Torus>(isa: Isa, scale: f64, expander: &mut impl Expander, values: &mut [T]) {
    let mut words = Scratch::<[u64; 2], PAIRS>::new();
    // One array holds the first word of every pair and later its result, the other the second.
    let mut first = Scratch::<u64, PAIRS>::new();
    let mut second = Scratch::<u64, PAIRS>::new();
    for values in values.chunks_mut(2 * PAIRS) {
        let words = &mut words[..values.len().div_ceil(2)];
        fill_uniform(expander, words.as_flattened_mut());
        let first = &mut first[..words.len()];
        let second = &mut second[..words.len()];
        dispatch!(isa, |_simd| {
            separate(words, first, second);
            rounded_normals(first, second, scale);
            add_joined(first, second, values);
        });
    }
}

/// Returns the first and the second of every pair.
#[inline(always)]
fn separate(words: &[[u64; 2]], first: &mut [u64], second: &mut [u64]) {
    for ((first, second), words) in first.iter_mut().zip(second).zip(words) {
        [*first, *second] = *words;
    }
}

/// Adds the variates of a pair to two neighbours; the last value of an odd number takes the first
/// variate of its pair.
#[inline(always)]
fn add_joined<T: Torus>(first: &[u64], second: &[u64], values: &mut [T]) {
    let sum = |value: T, variate: u64| value.add(T::from_i64(variate as i64));
    let (pairs, odd) = values.as_chunks_mut::<2>();
    for ([even, odd], (first, second)) in pairs.iter_mut().zip(first.iter().zip(second)) {
        *even = sum(*even, *first);
        *odd = sum(*odd, *second);
    }
    if let ([last], [.., first]) = (odd, first) {
        *last = sum(*last, *first);
    }
}

/// Replaces the two words of every pair by its two variates, scaled and rounded:
/// one loop of straight-line code, one pair per lane of a vector.
#[inline(always)]
fn rounded_normals(first: &mut [u64], second: &mut [u64], scale: f64) {
    for (first, second) in first.iter_mut().zip(second) {
        let [x, y] = normal_pair(*first, *second);
        *first = round_wrapping(x * scale) as u64;
        *second = round_wrapping(y * scale) as u64;
    }
}

/// Returns two independent standard normal variates from two uniform words.
#[inline(always)]
pub(in crate::random) fn normal_pair(radius_word: u64, angle_word: u64) -> [f64; 2] {
    let radius = sqrt(minus_two_ln_fraction(radius_word));

    // An odd multiple of 2^-52 in (-1/2, 1/2), so that it is exactly symmetric about zero.
    let turn = f64::from_bits(EXPONENT_OF_1 | (((angle_word >> 11) << 1) & MANTISSA) | 1) - 1.5;
    let (sine, cosine) = sin_cos_half_pi(turn);

    // The angle covers a quarter of the circle; a sign and a swap extend it to the whole.
    let along = f64::from_bits((radius * cosine).to_bits() ^ (angle_word & SIGN)).to_bits();
    let across = (radius * sine).to_bits();
    let swap = (along ^ across) & 0u64.wrapping_sub((angle_word >> 62) & 1);
    [f64::from_bits(along ^ swap), f64::from_bits(across ^ swap)]
}

const SIGN: u64 = 1 << 63;
const MANTISSA: u64 = (1 << 52) - 1;
const EXPONENT_OF_1: u64 = 0x3ff << 52;
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;

/// Returns `-2 ln((word + 1/2) / 2^64)`, in `[0, 90.2]`: relative error below 2^-47 as a
/// function of `word + 1/2` rounded to a double.
#[inline(always)]
fn minus_two_ln_fraction(word: u64) -> f64 {
    let x = u64_to_f64(word) + 0.5;

    // x = mantissa * 2^exponent with mantissa in [sqrt(1/2), sqrt(2)).
    let bits = x.to_bits() + (EXPONENT_OF_1 - SQRT_HALF);
    // The biased exponent, as the low bits of a double in [2^52, 2^53).
    let exponent = f64::from_bits((0x433 << 52) | (bits >> 52)) - (TWO_52 + 1023.0 + 64.0);
    let t = f64::from_bits((bits & MANTISSA) + SQRT_HALF) - 1.0;

    -2.0 * (exponent * core::f64::consts::LN_2 + t * ln_1p_over(t))
}

const TWO_52: f64 = 4_503_599_627_370_496.0;

/// Returns `ln(1 + t) / t` for `t` in `[sqrt(1/2) - 1, sqrt(2) - 1]`: error 2^-48.6.
#[inline(always)]
fn ln_1p_over(t: f64) -> f64 {
    const EVEN: [f64; 9] = [
        0.9999999999999982,
        0.3333333333356651,
        0.1999999994927493,
        0.142857184516011,
        0.11110946732564925,
        0.09094245643118994,
        0.07660269933848152,
        0.0672671996026464,
        0.06999188890512222,
    ];
    const ODD: [f64; 9] = [
        -0.4999999999999949,
        -0.250000000004906,
        -0.16666666547716802,
        -0.12500011471341066,
        -0.09999461251094016,
        -0.08346792322588518,
        -0.06962422860954641,
        -0.0742774141525569,
        -0.03253855332837162,
    ];
    let z = t * t;
    polynomial(&EVEN, z) + t * polynomial(&ODD, z)
}

/// Returns `sin` and `cos` of `pi/2 * turn` for `turn` in `[-1/2, 1/2]`: relative errors
/// 2^-47 and 2^-53.
#[inline(always)]
fn sin_cos_half_pi(turn: f64) -> (f64, f64) {
    #[allow(clippy::approx_constant, reason = "minimax, not pi/2")]
    const SINE: [f64; 6] = [
        1.57079632679489,
        -0.645964097504309,
        0.07969262615574603,
        -0.004681752591458209,
        0.00016042926504495616,
        -3.556386260704784e-06,
    ];
    const COSINE: [f64; 7] = [
        1.0,
        -1.2337005501361513,
        0.25366950789986475,
        -0.02086348073494657,
        0.000919259950041661,
        -2.520013526428479e-05,
        4.6552961874867623e-07,
    ];
    let z = turn * turn;
    (turn * polynomial(&SINE, z), polynomial(&COSINE, z))
}

/// Returns the square root of `x` in `[0, 2^10]`, with relative error below 2^-51 from 2^-100 on:
/// an estimate of `1/sqrt(x)` from the bits, three Newton steps on it, and one on
/// the root.
#[inline(always)]
fn sqrt(x: f64) -> f64 {
    // Keeps the reciprocal finite at zero, and is negligible beside anything else.
    let x = x + exp2_neg(200);
    let half = 0.5 * x;
    let mut y = f64::from_bits(0x5fe6_eb50_c7b5_37a9 - (x.to_bits() >> 1));
    for _ in 0..3 {
        y = y * (1.5 - half * y * y);
    }
    let root = x * y;
    root + 0.5 * y * (x - root * root)
}

/// Evaluates a polynomial of at most 12 coefficients, the lowest first, by Estrin's scheme:
/// blocks of four in powers of the square, then a sum over the blocks. This keeps the chain of
/// dependent operations short, and the compiler unrolls it.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let at = |i: usize| if i < N { coefficients[i] } else { 0.0 };
    let pair = |i: usize| {
        if i + 1 < N {
            at(i) + x * at(i + 1)
        } else {
            at(i)
        }
    };
    let x2 = x * x;
    let four = |i: usize| {
        if i + 2 < N {
            pair(i) + x2 * pair(i + 2)
        } else {
            pair(i)
        }
    };
    let x4 = x2 * x2;
    if N > 8 {
        four(0) + x4 * (four(4) + x4 * four(8))
    } else {
        four(0) + x4 * four(4)
    }
}

/// Returns `word as f64`, in operations without a branch on any target: the two
/// halves are placed below the exponents of 2^84 and 2^52.
#[inline(always)]
fn u64_to_f64(word: u64) -> f64 {
    let high = f64::from_bits((0x453 << 52) | (word >> 32));
    let low = f64::from_bits((0x433 << 52) | (word & 0xffff_ffff));
    (high - (TWO_52 * 4_294_967_296.0 + TWO_52)) + low
}

/// Returns `x` rounded to the nearest integer, ties to even, mod 2^64, for `|x| < 2^82`. It does not
/// use the conversion instruction, which saturates and which narrow vectors lack.
#[inline(always)]
fn round_wrapping(x: f64) -> i64 {
    // Adding 1.5 * 2^52 leaves the nearest integer in the low bits.
    const ROUNDER: f64 = 1.5 * TWO_52;
    let high = x * exp2_neg(32) + ROUNDER;
    let low = (x - (high - ROUNDER) * 4_294_967_296.0) + ROUNDER;
    let high = high.to_bits().wrapping_sub(ROUNDER.to_bits());
    let low = low.to_bits().wrapping_sub(ROUNDER.to_bits());
    (high << 32).wrapping_add(low) as i64
}
