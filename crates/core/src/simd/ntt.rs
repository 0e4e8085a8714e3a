//! The arithmetic of [`crate::ntt`], modulo a prime `P` just above 2^28 with
//! `MINUS_P_INVERSE = -1/P mod 2^32`, on signed representatives. Bounds are magnitudes.
#![cfg_attr(all(target_arch = "arm", target_abi = "eabihf"), allow(dead_code))]

/// Returns `a · b / 2^32` modulo `P`, at most `|a·b| / 2^32 + P/2`, by signed Montgomery reduction
/// (Seiler, "Faster AVX2 optimized NTT multiplication for Ring-LWE lattice cryptography",
/// 2018, algorithm 3).
///
/// Requires `|a·b| < 2^62`.
#[inline(always)]
pub(crate) fn montgomery_mul<const P: i32, const MINUS_P_INVERSE: i32>(a: i32, b: i32) -> i32 {
    let product = i64::from(a) * i64::from(b);
    let m = (product as i32).wrapping_mul(MINUS_P_INVERSE);
    ((product + i64::from(m) * i64::from(P)) >> 32) as i32
}

/// Returns a representative near zero; the quotient is by 2^28 instead of `P`.
#[inline(always)]
pub(crate) fn ntt_reduce<const P: i32>(a: i32) -> i32 {
    a - ((a + (1 << 27)) >> 28) * P
}

/// Computes `(x0, x1) ± z (x2, x3)`, and then `±` each pair's second times its child's twiddle.
#[inline(always)]
pub(crate) fn ntt_forward_butterfly<const P: i32, const MINUS_P_INVERSE: i32>(
    [x0, x1, x2, x3]: [i32; 4],
    z: i32,
    [left, right]: [i32; 2],
) -> [i32; 4] {
    let mul = montgomery_mul::<P, MINUS_P_INVERSE>;
    let (t2, t3) = (mul(x2, z), mul(x3, z));
    let (a0, a1, a2, a3) = (x0 + t2, x1 + t3, x0 - t2, x1 - t3);
    let (u1, u3) = (mul(a1, left), mul(a3, right));
    [a0 + u1, a0 - u1, a2 + u3, a2 - u3]
}

/// Undoes [`ntt_forward_butterfly`] up to a factor of four, given the negated inverse twiddles, and
/// reduces the first output.
#[inline(always)]
pub(crate) fn ntt_inverse_butterfly<const P: i32, const MINUS_P_INVERSE: i32>(
    [x0, x1, x2, x3]: [i32; 4],
    z: i32,
    [left, right]: [i32; 2],
) -> [i32; 4] {
    let mul = montgomery_mul::<P, MINUS_P_INVERSE>;
    let (s0, d0) = (x0 + x1, mul(x1 - x0, left));
    let (s1, d1) = (x2 + x3, mul(x3 - x2, right));
    let y0 = ntt_reduce::<P>(s0 + s1);
    [y0, d0 + d1, mul(s1 - s0, z), mul(d1 - d0, z)]
}

#[cfg(all(test, feature = "std", target_arch = "arm", target_abi = "eabihf"))]
mod tests {
    use crate::simd;

    const P: i32 = 0x100c_0001;
    const MINUS_P_INVERSE: i32 = P - 2;

    #[test]
    fn arm_agrees_with_portable() {
        let mut state = 1u64;
        let mut next = |bound: i32| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 32) as i32 % bound
        };
        for _ in 0..100_000 {
            let [z, left, right] = [(); 3].map(|()| next(P / 2));
            let x = [(); 4].map(|()| next(6 * P));
            assert_eq!(
                simd::montgomery_mul::<P, MINUS_P_INVERSE>(x[0], z),
                super::montgomery_mul::<P, MINUS_P_INVERSE>(x[0], z)
            );
            assert_eq!(
                simd::ntt_forward_butterfly::<P, MINUS_P_INVERSE>(x, z, [left, right]),
                super::ntt_forward_butterfly::<P, MINUS_P_INVERSE>(x, z, [left, right])
            );
            let x = [(); 4].map(|()| next(P));
            assert_eq!(
                simd::ntt_inverse_butterfly::<P, MINUS_P_INVERSE>(x, z, [left, right]),
                super::ntt_inverse_butterfly::<P, MINUS_P_INVERSE>(x, z, [left, right])
            );
        }
    }
}
