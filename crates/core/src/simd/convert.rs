//! Conversions between torus elements and doubles, and from plaintexts.
//!
//! The 64-bit loops do not use 64-bit conversion instructions, which few
//! processors have for vectors: a double in `[2^52, 2^53)` holds an integer in its
//! low bits, so that adding the right constant and reading the bits converts.

use super::torus_slice::{TorusSlice, TorusSliceMut};
use super::{Simd, fourier};
use crate::torus::{Torus, exp2_neg};

/// `1.5 * 2^52`: adding it to a double below 2^51 in magnitude rounds that to an
/// integer, to nearest even, and leaves the integer in the low 51 bits.
pub(super) const ROUNDER: f64 = 6_755_399_441_055_744.0;

const TWO_32: f64 = 4_294_967_296.0;

/// Returns the signed representatives.
#[inline(always)]
pub(super) fn torus_to_f64<S: Simd, T: Torus>(simd: S, out: &mut [f64], input: &[T]) {
    match TorusSlice::new(input) {
        TorusSlice::U32(input) => {
            for (out, &x) in out.iter_mut().zip(input) {
                *out = f64::from(x as i32);
            }
        }
        TorusSlice::U64(input) => simd.u64_to_f64(out, input),
    }
}

/// Converts the two 32-bit halves to doubles that are biased so that no conversion instruction is
/// needed; adding them rounds once.
#[inline(always)]
pub(super) fn u64_to_f64(out: &mut [f64], input: &[u64]) {
    // Exponents of 2^84 and 2^52: the last mantissa bits count 2^32 and 1. The high
    // half is taken with its sign bit flipped, that is with 2^31 added.
    const HIGH: u64 = (1023 + 84) << 52;
    const LOW: u64 = (1023 + 52) << 52;
    let bias = f64::from_bits(HIGH) + f64::from_bits((1023 + 63) << 52) + f64::from_bits(LOW);
    for (out, &x) in out.iter_mut().zip(input) {
        let high = f64::from_bits(((x >> 32) ^ (1 << 31)) | HIGH);
        let low = f64::from_bits((x & 0xffff_ffff) | LOW);
        *out = (high - bias) + low;
    }
}

/// `ROUNDER` for multiples of `2^-32`, of numbers below 2^19 in magnitude.
const ROUNDER_32: f64 = ROUNDER / TWO_32;
/// `ROUNDER` for multiples of `2^-51`, of numbers below 1 in magnitude.
pub(super) const ROUNDER_51: f64 = ROUNDER / (1u64 << 51) as f64;
/// The number of bits of a double above those that count multiples of `2^-51` of a turn in a sum with [`ROUNDER_51`].
pub(super) const ABOVE_TURN: u32 = 64 - 51;

/// Returns the multiple of `2^-32` nearest to a fraction of the torus, mod 1. It must be below 2^51 in magnitude.
#[inline(always)]
pub(super) fn turns_to_u32(turns: f64) -> u32 {
    fraction_plus(turns, ROUNDER_32).to_bits() as u32
}

/// Returns the multiple of `2^-51` nearest to a fraction of the torus, mod 1. It must be below 2^51 in magnitude; a larger
/// double has no bit below 1/2, so that nothing of the torus is left in it.
///
/// With the shipped sets, the coefficients of a product with a key have a standard deviation of 30 turns and more, so that its transforms, in doubles, have errors of about
/// 2^-48 of a turn and more. Finer multiples than those of 2^-51 would take twice as many operations, for bits that are such errors.
#[inline(always)]
pub(super) fn turns_to_u64(turns: f64) -> u64 {
    fraction_plus(turns, ROUNDER_51).to_bits() << ABOVE_TURN
}

/// Returns the sum of `rounder`, an integer below 2^51, and the representative of `x` mod 1 in `[-1/2, 1/2]`, rounded once. `x` must be below 2^51 in magnitude.
#[inline(always)]
fn fraction_plus(x: f64, rounder: f64) -> f64 {
    // The integer nearest to x, minus the rounder: exact.
    let whole = (x + ROUNDER) - (ROUNDER + rounder);
    x - whole
}

/// Returns the signed representatives as fractions of the torus.
#[inline(always)]
pub(super) fn torus_to_turns<S: Simd, T: Torus>(simd: S, out: &mut [f64], input: &[T]) {
    torus_to_f64(simd, out, input);
    fourier::scale(out, exp2_neg(T::BITS));
}

/// Rounds numbers of turns to scalars of the torus, those of 64 bits to multiples of `2^-51`.
#[inline(always)]
pub(super) fn turns_to_torus<T: Torus>(out: &mut [T], turns: &[f64]) {
    match TorusSliceMut::new(out) {
        TorusSliceMut::U32(out) => {
            for (out, &turns) in out.iter_mut().zip(turns) {
                *out = turns_to_u32(turns);
            }
        }
        TorusSliceMut::U64(out) => {
            for (out, &turns) in out.iter_mut().zip(turns) {
                *out = turns_to_u64(turns);
            }
        }
    }
}

/// Computes `out = low + 2^step_log2 * value`.
#[inline(always)]
pub(super) fn place_on_line<T: Torus>(out: &mut [T], values: &[u8], low: T, step_log2: u32) {
    for (place, &value) in out.iter_mut().zip(values) {
        *place = low.add(T::from_i64(i64::from(value)) << step_log2);
    }
}

/// Returns the signed low half: see [`high_half`].
#[inline(always)]
pub(super) fn low_half(x: u64) -> f64 {
    f64::from(x as i32)
}

/// Returns the signed high half: `x = low + 2^32 * high mod 2^64` with both in
/// `[-2^31, 2^31)`.
#[inline(always)]
pub(super) fn high_half(x: u64) -> f64 {
    // Adding 2^31 returns what a negative low half has borrowed.
    f64::from((x.wrapping_add(1 << 31) >> 32) as i32)
}
