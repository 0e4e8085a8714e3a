//! Arithmetic modulo the prime of the transform, on signed representatives.
//!
//! A residue is any `i32` congruent to it; [`P`] is just above 2^28, so that an `i32`
//! holds almost 8 p and sums need no reduction for a while. Bounds in this module's
//! documentation are magnitudes. Constant-time throughout, on processors whose
//! multiplication is.

/// The prime, `2^28 + 3·2^18 + 1`: the first above 2^28 that is 1 mod 2^17, which is
/// what a negacyclic transform of 65536 coefficients wants.
pub(super) const P: i32 = 0x100c_0001;

/// `-1/P mod 2^32`; a short form because `P` is 1 mod 2^18.
const MINUS_P_INVERSE: i32 = P - 2;

/// `2^59 / P` to nearest.
const BARRETT: i32 = (((1i64 << 59) + P as i64 / 2) / P as i64) as i32;

/// `1/2`, times 2^32.
pub(super) const HALF: i32 = to_montgomery(P as i64 / 2 + 1);

/// `2^64 mod P`.
pub(super) const SQUARE: i32 = to_montgomery(1 << 32);

/// `a · b / 2^32 mod P`, at most `|a·b| / 2^32 + P/2`: signed Montgomery reduction
/// (Seiler, "Faster AVX2 optimized NTT multiplication for Ring-LWE lattice
/// cryptography", 2018, algorithm 3).
///
/// Requires `|a·b| < 2^31 · (2^32 - P)`, which any `a` and a `b` up to `P` fulfil.
#[inline(always)]
pub(super) const fn montgomery_mul(a: i32, b: i32) -> i32 {
    let product = a as i64 * b as i64;
    let m = (product as i32).wrapping_mul(MINUS_P_INVERSE);
    ((product + m as i64 * P as i64) >> 32) as i32
}

/// The representative of any `a` that is nearest to zero, at most `P/2`; the other
/// one of the two nearest if they are less than 4 apart in magnitude.
///
/// Barrett's quotient, rounded to nearest from 27 fractional bits.
#[inline(always)]
pub(super) const fn reduce(a: i32) -> i32 {
    let quotient_27 = ((a as i64 * BARRETT as i64) >> 32) as i32;
    let quotient = (quotient_27 + (1 << 26)) >> 27;
    a.wrapping_sub(quotient.wrapping_mul(P))
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
