//! Arithmetic modulo the prime of the transform, on signed representatives.
//!
//! A residue is any `i32` congruent to it; [`P`] is just above 2^28, so that an `i32`
//! holds almost 8 p and sums need no reduction for a while. Bounds in this module's
//! documentation are magnitudes. Constant-time throughout, on processors whose
//! multiplication is.

use super::prime::{MINUS_P_INVERSE, P};
use super::twiddles::Twiddles;
use crate::simd;

/// Computes two layers of the transform on four coefficients.
#[inline(always)]
pub(super) fn forward_butterfly(x: [i32; 4], z: &Twiddles) -> [i32; 4] {
    simd::ntt_forward_butterfly::<P, MINUS_P_INVERSE>(x, z.node, z.children)
}

/// Computes two layers of the inverse on four values, and reduces the first result.
#[inline(always)]
pub(super) fn inverse_butterfly(x: [i32; 4], z: &Twiddles) -> [i32; 4] {
    simd::ntt_inverse_butterfly::<P, MINUS_P_INVERSE>(x, z.node, z.children)
}

/// Returns a representative of at most `0.53 P`, for `a` up to `7.4 P`.
#[inline(always)]
pub(super) fn reduce(a: i32) -> i32 {
    simd::ntt_reduce::<P>(a)
}

/// Returns the representative of at most 2^27, if there is one, for `a` up to `7.4 P`.
///
/// `1/P = 2^-28 · (1 - 3/2^10 + ε)` with `ε < 2^-16`, so the quotient before rounding is
/// wrong by at most `2^-13`, and between 2^27 and P/2 there is room for 2^-9.
#[inline(always)]
pub(super) const fn centre(a: i32) -> i32 {
    let quotient_28 = a - (a >> 10) * 3;
    a - ((quotient_28 + (1 << 27)) >> 28) * P
}
