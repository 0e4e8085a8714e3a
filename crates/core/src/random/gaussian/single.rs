//! The method of Box and Muller in single precision, with a radius from 64 random
//! bits.
//!
//! Everything is `+ - *` on `f32`, conversions from integers, and integer operations
//! on the bits, one pair of variates per lane: the compiler vectorises the loop, and
//! every platform gives the same bytes. Coefficients are minimax approximations of
//! the relative error, by Remez's exchange algorithm in 50 digits, then rounded to
//! single precision; the error is named at each.
//!
//! The words of a chunk come in order of their kind, so that no lane has to be moved:
//! 16 extensions, 128 radii, 128 angles. A radius and its extension are the 64 bits
//! of the fraction that the logarithm is taken of. An extension serves eight pairs.
//! That is sound because it only continues the fraction below its first 32 bits: it
//! moves a variate by more than a part in 2^k only if the radius word is within 2^(32-k)
//! of either end, which has probability 2^(1-k), and two variates of different pairs
//! depend on each other through it only where both are so, with probability below
//! 2^(2-2k) for a pair of pairs. All that single precision can tell are k <= 24.

use super::super::expander::Expander;
use super::super::keystream::Scratch;
use super::super::uniform::fill_uniform;
use crate::simd::{Isa, dispatch};
use crate::torus::Torus;

/// Values of a chunk.
const CHUNK: usize = 2 * PAIRS;
/// Pairs of a chunk: of pair `p` come the values `p` and `p + PAIRS`.
const PAIRS: usize = 128;
/// Extension words of a chunk: pair `p` takes word `p % EXTENSIONS`.
const EXTENSIONS: usize = 16;
/// Words of the stream that a chunk consumes.
const WORDS: usize = EXTENSIONS + 2 * PAIRS;

/// Chunks whose words are expanded at a time: where expanders have vectors, as many
/// as give them whole groups of blocks; elsewhere one, for the sake of the stack.
const CHUNKS: usize = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    4
} else {
    1
};

/// Adds `round(scale * z)` to every element, `z` standard normal. `scale` is at most
/// 2^18.
pub(super) fn add<T: Torus>(isa: Isa, scale: f32, expander: &mut impl Expander, values: &mut [T]) {
    let root = ROOT.map(|coefficient| coefficient * scale);
    let mut words = Scratch::<u32, { WORDS * CHUNKS }>::new();
    for values in values.chunks_mut(CHUNK * CHUNKS) {
        let words = &mut words[..values.len().div_ceil(CHUNK) * WORDS];
        fill_uniform(expander, words);
        let (words, _) = words.as_chunks_mut::<WORDS>();
        for (words, values) in words.iter_mut().zip(values.chunks_mut(CHUNK)) {
            dispatch!(isa, |_simd| {
                replace_by_normals(words, &root);
                for (value, normal) in values.iter_mut().zip(&words[EXTENSIONS..]) {
                    *value = value.add(T::from_i64((*normal as i32).into()));
                }
            });
        }
    }
}

/// Replaces the words of a chunk, behind the extensions, by its variates, scaled and
/// rounded.
#[inline(always)]
fn replace_by_normals(words: &mut [u32; WORDS], root: &[f32; 4]) {
    let (extensions, words) = words.split_at_mut(EXTENSIONS);
    // What an extension adds to the fraction, and what its complement would.
    let mut low = Scratch::<f32, EXTENSIONS>::new();
    let mut low_complement = Scratch::<f32, EXTENSIONS>::new();
    for (i, &mut extension) in extensions.iter_mut().enumerate() {
        low[i] = low_fraction(extension);
        low_complement[i] = low_fraction(!extension);
    }
    // Without this the compiler moves the conversions into the loop below.
    zeroize::optimization_barrier(&*low);
    zeroize::optimization_barrier(&*low_complement);

    let (radii, angles) = words.split_at_mut(PAIRS);
    let radii = radii.as_chunks_mut::<EXTENSIONS>().0;
    let angles = angles.as_chunks_mut::<EXTENSIONS>().0;
    // Two passes, for the constants of both do not fit the registers at once.
    for radii in &mut *radii {
        for i in 0..EXTENSIONS {
            let radius = radius(radii[i], [low[i], low_complement[i]], root);
            radii[i] = radius.to_bits();
        }
    }
    for (radii, angles) in radii.iter_mut().zip(angles) {
        for i in 0..EXTENSIONS {
            let [x, y] = pair_of_radius(f32::from_bits(radii[i]), angles[i]);
            radii[i] = round(x);
            angles[i] = round(y);
        }
    }
}

/// `(extension + 1/2) / 2^64`.
#[inline(always)]
pub(in crate::random) fn low_fraction(extension: u32) -> f32 {
    const UNIT: f32 = 1.0 / 18_446_744_073_709_551_616.0;
    (extension as f32 + 0.5) * UNIT
}

/// The distance of a pair from the origin: `sqrt(-2 ln u)`, times the factor by which
/// `root` is more than [`ROOT`]. `low` are the [`low_fraction`]s of the extension and of
/// its complement.
#[inline(always)]
pub(in crate::random) fn radius(word: u32, low: [f32; 2], root: &[f32; 4]) -> f32 {
    square_root(minus_two_ln_fraction(word, low), root)
}

/// Two independent normal variates from their distance from the origin and the word of
/// their angle.
#[inline(always)]
pub(in crate::random) fn pair_of_radius(radius: f32, angle_word: u32) -> [f32; 2] {
    // An eighth of a turn to either side; the lowest bits, without weight in the
    // angle, tell to which of the four half-axes.
    let eighths = angle_word as i32 as f32 * (1.0 / 2_147_483_648.0);
    let [sine, cosine] = sin_cos_quarter_pi(eighths);
    let along = radius * f32::from_bits(cosine.to_bits() | ((angle_word << 30) & SIGN));
    let across = radius * sine;
    let swap = 0u32.wrapping_sub(angle_word & 1);
    [select(swap, across, along), select(swap, along, across)]
}

const SIGN: u32 = 1 << 31;
const MANTISSA: u32 = (1 << 23) - 1;
const EXPONENT_OF_HALF: u32 = 126;

/// `-2 ln u`, in `[2^-64, 90.2]`, for the fraction `u` that `word` and the extension
/// spell: relative error below 2^-21.9.
///
/// With `v` the smaller of `u` and `1 - u`, which has all of its bits, the logarithm is
/// `ln(1 - s) - exponent ln 2` for `v = (1 - s) 2^-exponent`, or with `s = v` and no
/// exponent if `v` is `1 - u`. Either way `s` is in `[0, 1/2]`, and neither term
/// takes from the other.
#[inline(always)]
fn minus_two_ln_fraction(word: u32, low: [f32; 2]) -> f32 {
    const UNIT: f32 = 1.0 / 4_294_967_296.0;
    let upper = ((word as i32) >> 31) as u32;
    let v = (word ^ upper) as i32 as f32 * UNIT + select(upper, low[1], low[0]);

    let bits = v.to_bits();
    let mantissa = f32::from_bits((bits & MANTISSA) | (EXPONENT_OF_HALF << 23));
    let exponent = ((EXPONENT_OF_HALF - (bits >> 23)) & !upper) as i32 as f32;
    let s = select(upper, v, 1.0 - mantissa);
    exponent * (2.0 * core::f32::consts::LN_2) + s * polynomial(&MINUS_TWO_LN_1M_OVER, s)
}

/// `-2 ln(1 - s) / s` on `[0, 1/2]`: error 2^-22.6.
const MINUS_TWO_LN_1M_OVER: [f32; 8] = [
    2.0,
    1.000_049_2,
    0.664_258_5,
    0.539_325_8,
    0.101_648,
    1.503_229_9,
    -2.072_330_5,
    2.321_225_2,
];

/// `1 / sqrt(c)` on `[0.754, 0.8482]`: error 2^-21.2.
pub(in crate::random) const ROOT: [f32; 4] = [2.446_262, -3.057_906, 2.292_161_8, -0.681_420_1];

/// The square root of `x`, times the factor by which `root` is more than [`ROOT`]: an
/// estimate `y` of `1 / sqrt(x)` from the bits, of which all that matters is that
/// `c = x y^2` is in the interval of [`ROOT`], and `x y / sqrt(c)`.
#[inline(always)]
fn square_root(x: f32, root: &[f32; 4]) -> f32 {
    let y = f32::from_bits(0x5f20_8000 - (x.to_bits() >> 1));
    let xy = x * y;
    xy * polynomial(root, xy * y)
}

/// `sin` and `cos` of `pi/4 * t` for `t` in `[-1, 1]`: relative errors 2^-28.2 and
/// 2^-24.6.
#[inline(always)]
fn sin_cos_quarter_pi(t: f32) -> [f32; 2] {
    #[allow(clippy::approx_constant, reason = "minimax, not pi/4")]
    const SINE: [f32; 4] = [0.785_398_2, -0.080_745_43, 0.002_490_001, -3.595_045_2e-5];
    const COSINE: [f32; 4] = [1.0, -0.308_424_4, 0.015_850_2, -0.000_319_020_05];
    let z = t * t;
    [t * polynomial(&SINE, z), polynomial(&COSINE, z)]
}

/// A polynomial, the lowest coefficient first.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f32; N], x: f32) -> f32 {
    let (highest, lower) = coefficients.split_last().expect("a coefficient");
    lower.iter().rev().fold(*highest, |sum, c| sum * x + c)
}

/// `yes` where `mask` is all ones, `no` where it is zero.
#[inline(always)]
fn select(mask: u32, yes: f32, no: f32) -> f32 {
    f32::from_bits((yes.to_bits() & mask) | (no.to_bits() & !mask))
}

/// `x` rounded to the nearest integer, ties to even, mod 2^32, for `|x| < 2^22`: adding
/// `1.5 * 2^23` leaves it in the low bits.
#[inline(always)]
fn round(x: f32) -> u32 {
    const ROUNDER: f32 = 12_582_912.0;
    (x + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits())
}
