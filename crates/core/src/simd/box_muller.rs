//! Pairs of normal variates by the method of Box and Muller ("A note on the generation of
//! random normal deviates", 1958) in single precision, a chunk of random words at a time.
//!
//! Everything is `+ - *` on `f32`, conversions from integers, and integer operations
//! on the bits, one pair of variates per lane: the compiler vectorises the loops, and
//! every platform gives the same bytes. Coefficients are minimax approximations of
//! the relative error, by Remez's exchange algorithm in 50 digits, then rounded to
//! single precision; the error is named at each.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::Simd;
use crate::random::Scratch;
use crate::torus::Torus;

/// The number of pairs of a chunk.
pub(crate) const PAIRS: usize = 128;
/// The number of extension words of a chunk: pair `p` takes word `p % EXTENSIONS`.
pub(crate) const EXTENSIONS: usize = 16;
/// The number of words of a chunk: extensions, radii, angles.
pub(crate) const WORDS: usize = EXTENSIONS + 2 * PAIRS;

/// Replaces the words of a chunk behind the extensions by its variates, scaled and rounded: the radii
/// by the first variate of each pair, the angles by the second.
#[inline(always)]
pub(super) fn replace_by_normals(words: &mut [u32; WORDS], root: &[f32; 4]) {
    let (extensions, words) = words.split_at_mut(EXTENSIONS);
    // The amount that an extension adds to the fraction.
    let mut low = Scratch::<f32, EXTENSIONS>::new();
    for (low, &mut extension) in low.iter_mut().zip(extensions) {
        *low = low_fraction(extension);
    }
    // Without this the compiler moves the conversions into the loop below.
    zeroize::optimization_barrier(&*low);

    let sign = SignMask::new();
    let (radii, angles) = words.split_at_mut(PAIRS);
    let radii = radii.as_chunks_mut::<EXTENSIONS>().0;
    let angles = angles.as_chunks_mut::<EXTENSIONS>().0;
    // There are two passes, because the constants of both do not fit the registers at once.
    for radii in &mut *radii {
        for i in 0..EXTENSIONS {
            radii[i] = radius(radii[i], low[i], root, sign).to_bits();
        }
    }
    for (radii, angles) in radii.iter_mut().zip(angles) {
        for i in 0..EXTENSIONS {
            let [x, y] = pair_of_radius(f32::from_bits(radii[i]), angles[i], sign);
            radii[i] = round(x);
            angles[i] = round(y);
        }
    }
}

/// Adds the variates of a chunk, as [`replace_by_normals`] makes them, to values.
#[inline(always)]
pub(super) fn add_normals<S: Simd, T: Torus>(
    simd: S,
    words: &mut [u32; WORDS],
    root: &[f32; 4],
    values: &mut [T],
) {
    simd.replace_by_normals(words, root);
    for (value, normal) in values.iter_mut().zip(&words[EXTENSIONS..]) {
        *value = value.add(T::from_i64((*normal as i32).into()));
    }
}

/// Returns `(extension + 1/2) / 2^32`.
#[inline(always)]
pub(crate) fn low_fraction(extension: u32) -> f32 {
    (extension as f32 + 0.5) * UNIT
}

/// Makes masks of signs: all ones for a word whose top bit is set, zero for others.
///
/// The compiler does not know by how many places a word is shifted for that. If it did, it would take the mask for a
/// condition and might branch on it, which code that is optimised for size does.
#[derive(Clone, Copy)]
pub(crate) struct SignMask {
    places: u32,
}

impl SignMask {
    pub(crate) fn new() -> Self {
        Self {
            places: core::hint::black_box(31),
        }
    }

    #[inline(always)]
    fn of(self, word: u32) -> u32 {
        (word as i32).wrapping_shr(self.places) as u32
    }
}

/// Returns the distance of a pair from the origin: `sqrt(-2 ln u)`, times the factor by which
/// `root` is larger than [`ROOT`]. `low` is the [`low_fraction`] of the extension.
#[inline(always)]
pub(crate) fn radius(word: u32, low: f32, root: &[f32; 4], sign: SignMask) -> f32 {
    square_root(minus_two_ln_fraction(word, low, sign), root)
}

/// Returns two independent normal variates, given their distance from the origin and the word of
/// their angle.
#[inline(always)]
pub(crate) fn pair_of_radius(radius: f32, angle_word: u32, sign: SignMask) -> [f32; 2] {
    // The angle is within an eighth of a turn of one of the four half-axes. The lowest bits, which
    // have no weight in the angle, select the half-axis.
    let eighths = angle_word as i32 as f32 * EIGHTH;
    let [sine, cosine] = sin_cos_quarter_pi(eighths);
    let along = radius * f32::from_bits(cosine.to_bits() | ((angle_word << 30) & SIGN));
    let across = radius * sine;
    let swap = sign.of(angle_word << 31);
    [select(swap, across, along), select(swap, along, across)]
}

const SIGN: u32 = 1 << 31;
const MANTISSA: u32 = (1 << 23) - 1;
const EXPONENT_OF_HALF: u32 = 126;
/// 2^-32, the unit of a fraction.
const UNIT: f32 = 1.0 / 4_294_967_296.0;
/// 2^-31, the unit of an eighth of a turn.
const EIGHTH: f32 = 2.0 * UNIT;
const TWO_LN_2: f32 = 2.0 * core::f32::consts::LN_2;

/// Returns `-2 ln u`, in `[2^-64, 90.2]`: relative error below 2^-19.6.
///
/// The word's lower 31 bits and the extension are the digits of a fraction `v` in `(0, 1/2)`, and its
/// top bit selects whether `u` is `v` or `1 - v`. The logarithm is `ln(1 - s) - exponent ln 2`
/// for `v = (1 - s) 2^-exponent`, or, if `u` is `1 - v`, with `s = v` and no exponent.
/// Either way `s` is in `[0, 1/2]`, and the terms do not cancel.
#[inline(always)]
fn minus_two_ln_fraction(word: u32, low: f32, sign: SignMask) -> f32 {
    let upper = sign.of(word);
    // 2^32 v.
    let v = (word & !SIGN) as i32 as f32 + low;

    let bits = v.to_bits();
    let mantissa = f32::from_bits((bits & MANTISSA) | (EXPONENT_OF_HALF << 23));
    let exponent = ((EXPONENT_OF_HALF + 32 - (bits >> 23)) & !upper) as i32 as f32;
    let s = select(upper, v * UNIT, 1.0 - mantissa);
    exponent * TWO_LN_2 + s * polynomial(&MINUS_TWO_LN_1M_OVER, s)
}

/// The polynomial of `-2 ln(1 - s) / s` on `[0, 1/2]`: error 2^-19.9.
const MINUS_TWO_LN_1M_OVER: [f32; 7] = [
    2.000_002,
    0.999_633_5,
    0.677_822_05,
    0.375_064_58,
    1.045_491_1,
    -1.275_844_5,
    1.981_164_9,
];

/// The polynomial of `1 / sqrt(c)` on `[0.754, 0.8482]`: error 2^-21.2.
pub(crate) const ROOT: [f32; 4] = [2.446_262, -3.057_906, 2.292_161_8, -0.681_420_1];

/// The constant from which half of the bits of `x` are subtracted to estimate `1 / sqrt(x)`.
const ROOT_ESTIMATE: u32 = 0x5f20_8000;

/// Returns the square root of `x`, times the factor by which `root` is larger than [`ROOT`]. It
/// takes an estimate `y` of `1 / sqrt(x)` from the bits, which need only be good enough for
/// `c = x y^2` to be in the interval of [`ROOT`], and returns `x y / sqrt(c)`.
#[inline(always)]
fn square_root(x: f32, root: &[f32; 4]) -> f32 {
    let y = f32::from_bits(ROOT_ESTIMATE - (x.to_bits() >> 1));
    let xy = x * y;
    xy * polynomial(root, xy * y)
}

/// The polynomial in `t^2` of `sin(pi/4 * t) / t`, for `t` in `[-1, 1]`: error 2^-28.2.
#[allow(clippy::approx_constant, reason = "minimax, not pi/4")]
const SINE: [f32; 4] = [0.785_398_2, -0.080_745_43, 0.002_490_001, -3.595_045_2e-5];
/// The polynomial in `t^2` of `cos(pi/4 * t)`, for `t` in `[-1, 1]`: error 2^-24.6.
const COSINE: [f32; 4] = [1.0, -0.308_424_4, 0.015_850_2, -0.000_319_020_05];

/// Returns `sin` and `cos` of `pi/4 * t` for `t` in `[-1, 1]`.
#[inline(always)]
fn sin_cos_quarter_pi(t: f32) -> [f32; 2] {
    let z = t * t;
    [t * polynomial(&SINE, z), polynomial(&COSINE, z)]
}

/// Evaluates a polynomial, given its coefficients from the lowest.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f32; N], x: f32) -> f32 {
    let (highest, lower) = coefficients.split_last().expect("a coefficient");
    lower.iter().rev().fold(*highest, |sum, c| sum * x + c)
}

/// Selects `yes` where `mask` is all ones, `no` where it is zero.
#[inline(always)]
fn select(mask: u32, yes: f32, no: f32) -> f32 {
    f32::from_bits((yes.to_bits() & mask) | (no.to_bits() & !mask))
}

/// Returns `x` rounded to the nearest integer, ties to even, mod 2^32, for `|x| < 2^22`: adding
/// `1.5 * 2^23` leaves the integer in the low bits.
#[inline(always)]
fn round(x: f32) -> u32 {
    const ROUNDER: f32 = 12_582_912.0;
    (x + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits())
}
