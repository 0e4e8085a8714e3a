//! Arithmetic modulo the prime of the transform, on signed representatives.
//!
//! A residue is any `i32` congruent to it; [`P`] is just above 2^28, so that an `i32`
//! holds almost 8 p and sums need no reduction for a while. Bounds in this module's
//! documentation are magnitudes. Constant-time throughout, on processors whose
//! multiplication is.

use super::twiddles::Twiddles;
use crate::simd;

/// The prime, `2^28 + 3·2^18 + 1`: the first above 2^28 that is 1 mod 2^17, which is
/// what a negacyclic transform of 65536 coefficients wants.
pub(super) const P: i32 = 0x100c_0001;

/// `-1/P mod 2^32`; a short form because `P` is 1 mod 2^18.
const MINUS_P_INVERSE: i32 = P - 2;

/// `1/2`, times 2^32.
pub(super) const HALF: i32 = to_montgomery(P as i64 / 2 + 1);

/// `2^64 mod P`.
pub(super) const SQUARE: i32 = to_montgomery(1 << 32);

/// `a · b / 2^32 mod P`, at most `|a·b| / 2^32 + P/2`, for any `a` and a `b` up to `P`.
#[inline(always)]
pub(super) fn montgomery_mul(a: i32, b: i32) -> i32 {
    simd::montgomery_mul::<P, MINUS_P_INVERSE>(a, b)
}

/// Two layers of the transform on four coefficients.
#[inline(always)]
pub(super) fn forward_butterfly(x: [i32; 4], z: &Twiddles) -> [i32; 4] {
    simd::ntt_forward_butterfly::<P, MINUS_P_INVERSE>(x, z.node, z.children)
}

/// Two layers of the inverse on four values, the first of them reduced.
#[inline(always)]
pub(super) fn inverse_butterfly(x: [i32; 4], z: &Twiddles) -> [i32; 4] {
    simd::ntt_inverse_butterfly::<P, MINUS_P_INVERSE>(x, z.node, z.children)
}

/// A representative of at most `0.53 P`, for `a` up to `7.4 P`.
#[inline(always)]
pub(super) fn reduce(a: i32) -> i32 {
    simd::ntt_reduce::<P>(a)
}

/// The representative of at most 2^27, if there is one, for `a` up to `7.4 P`.
///
/// `1/P = 2^-28 · (1 - 3/2^10 + ε)` with `ε < 2^-16`, so the quotient before rounding is
/// wrong by at most `2^-13`, and between 2^27 and P/2 there is room for 2^-9.
#[inline(always)]
pub(super) const fn centre(a: i32) -> i32 {
    let quotient_28 = a - (a >> 10) * 3;
    a - ((quotient_28 + (1 << 27)) >> 28) * P
}

/// `value · 2^32 mod P`, nearest to zero: the form in which [`montgomery_mul`] takes
/// constants.
pub(super) const fn to_montgomery(value: i64) -> i32 {
    let p = P as i64;
    let remainder = ((value % p) * ((1i64 << 32) % p) % p + p) % p;
    let centred = if remainder > p / 2 {
        remainder - p
    } else {
        remainder
    };
    centred as i32
}

/// `base^exponent mod P` for a `base` in `[0, P)`, in the time that the public
/// exponent takes.
pub(super) const fn power(base: i64, mut exponent: u32) -> i64 {
    let p = P as i64;
    let (mut square, mut result) = (base, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % p;
        }
        square = square * square % p;
        exponent >>= 1;
    }
    result
}
