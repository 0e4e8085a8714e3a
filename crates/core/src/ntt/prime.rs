//! The prime of the transform, and the arithmetic for constants modulo it.

use crate::simd;

/// The prime, `2^28 + 3·2^18 + 1`. It is the first above 2^28 that is 1 mod 2^17, as a negacyclic
/// transform of 65536 coefficients requires.
pub(super) const P: i32 = 0x100c_0001;

/// `-1/P mod 2^32`, which has this short form because `P` is 1 mod 2^18.
pub(super) const MINUS_P_INVERSE: i32 = P - 2;

/// `1/2`, times 2^32.
pub(super) const HALF: i32 = to_montgomery(P as i64 / 2 + 1);

/// `2^64 mod P`.
pub(super) const SQUARE: i32 = to_montgomery(1 << 32);

/// Returns `a · b / 2^32 mod P`, at most `|a·b| / 2^32 + P/2`, for any `a` and a `b` up to `P`.
#[inline(always)]
pub(super) fn montgomery_mul(a: i32, b: i32) -> i32 {
    simd::montgomery_mul::<P, MINUS_P_INVERSE>(a, b)
}

/// Returns `value · 2^32 mod P`, nearest to zero, which is the form in which [`montgomery_mul`]
/// takes constants.
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

/// Returns `base^exponent mod P` for a `base` in `[0, P)`. The time depends on the
/// exponent, which is public.
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
