//! Arithmetic modulo a prime below 2^31, by Montgomery's method (Montgomery 1985) with
//! `R = 2^32`. Residues are fully reduced, in `[0, q)`. All of it is constant-time and free of
//! branches, so that the compiler can vectorise it.

/// Selects the low half of 64 bits.
const LOW: u64 = u32::MAX as u64;

/// A prime, and constants for its arithmetic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modulus {
    q: u32,
    /// `1/q mod 2^32`.
    inverse: u32,
    /// `2^32 mod q`.
    one: u32,
    /// `2^64 mod q`.
    square: u32,
}

impl Modulus {
    /// Takes `q`, an odd number below 2^31.
    pub(crate) fn new(q: u32) -> Self {
        // Newton's iteration doubles the number of correct bits, of which q itself has 3.
        let mut inverse = q;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2u32.wrapping_sub(q.wrapping_mul(inverse)));
        }
        let one = ((1u64 << 32) % u64::from(q)) as u32;
        let square = (u64::from(one) * u64::from(one) % u64::from(q)) as u32;
        Self {
            q,
            inverse,
            one,
            square,
        }
    }

    /// The prime.
    #[inline(always)]
    pub(crate) fn value(self) -> u32 {
        self.q
    }

    /// 1 in Montgomery form.
    #[inline(always)]
    pub(crate) fn one(self) -> u32 {
        self.one
    }

    /// Returns `a + b`.
    #[inline(always)]
    pub(crate) fn add(self, a: u32, b: u32) -> u32 {
        let sum = a + b;
        sum.min(sum.wrapping_sub(self.q))
    }

    /// Returns `a - b`.
    #[inline(always)]
    pub(crate) fn sub(self, a: u32, b: u32) -> u32 {
        let difference = a.wrapping_sub(b);
        difference.min(difference.wrapping_add(self.q))
    }

    /// Returns `a · b / 2^32` for any `a` and a residue `b`. If one factor is in Montgomery form, that
    /// is the product of the two residues.
    #[inline(always)]
    pub(crate) fn mul(self, a: u32, b: u32) -> u32 {
        // All of it is in 64 bits, so that the lanes of vectors keep their width.
        let product = u64::from(a) * u64::from(b);
        let quotient = ((product & LOW) * u64::from(self.inverse)) & LOW;
        let multiple = quotient * u64::from(self.q);
        // The low halves of product and multiple are equal.
        let difference = (product.wrapping_sub(multiple) >> 32) as u32;
        difference.min(difference.wrapping_add(self.q))
    }

    /// Returns the Montgomery form `a · 2^32` of any `a`.
    #[inline(always)]
    pub(crate) fn to_montgomery(self, a: u32) -> u32 {
        self.mul(a, self.square)
    }

    /// Returns the residue of any number.
    #[inline(always)]
    pub(crate) fn reduce(self, a: u64) -> u32 {
        let high = self.mul((a >> 32) as u32, self.square);
        self.add(high, self.mul(a as u32, self.one))
    }

    /// Returns the residue of a signed number. `offset` is that of
    /// [`signed_offset`](Self::signed_offset).
    #[inline(always)]
    pub(crate) fn reduce_signed(self, a: i64, offset: u32) -> u32 {
        self.sub(self.reduce((a as u64) ^ (1 << 63)), offset)
    }

    /// Returns the residue of 2^63, which [`reduce_signed`](Self::reduce_signed) subtracts again.
    pub(crate) fn signed_offset(self) -> u32 {
        self.reduce(1 << 63)
    }

    /// Returns `base^exponent`, with base and result in Montgomery form. The time depends on the
    /// exponent, which is public.
    pub(crate) fn power(self, base: u32, mut exponent: u32) -> u32 {
        let (mut square, mut result) = (base, self.one);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.mul(result, square);
            }
            square = self.mul(square, square);
            exponent >>= 1;
        }
        result
    }

    /// Returns `1/a`, with `a` and the result in Montgomery form.
    pub(crate) fn invert(self, a: u32) -> u32 {
        self.power(a, self.q - 2)
    }

    /// Returns the representative nearest to zero.
    #[inline(always)]
    pub(crate) fn centre(self, a: u32) -> i32 {
        // Reduced as sums are: compilers make a branch of the comparison of `a` with half the prime.
        let half = self.q / 2;
        self.add(a, half).wrapping_sub(half) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRIMES: [u32; 5] = [12289, 134012929, 1053818881, 1062535169, 2147377153];

    proptest! {
        #[test]
        fn agrees_with_division(prime in 0..PRIMES.len(), a: u64, b: u64, signed: i64) {
            let m = Modulus::new(PRIMES[prime]);
            let q = u64::from(m.value());
            prop_assert_eq!(u64::from(m.reduce(a)), a % q);
            let expected = i128::from(signed).rem_euclid(i128::from(q)) as u32;
            prop_assert_eq!(m.reduce_signed(signed, m.signed_offset()), expected);
            let (any, a, b) = (a as u32, (a % q) as u32, (b % q) as u32);
            let wide = |x: u32| u64::from(x);
            prop_assert_eq!(wide(m.add(a, b)), (wide(a) + wide(b)) % q);
            prop_assert_eq!(wide(m.sub(a, b)), (wide(a) + q - wide(b)) % q);
            prop_assert_eq!(wide(m.mul(any, m.to_montgomery(b))), wide(any) * wide(b) % q);
            prop_assert_eq!(wide(m.to_montgomery(any)), (wide(any) << 32) % q);
            if a != 0 {
                let inverse = m.invert(m.to_montgomery(a));
                prop_assert_eq!(m.mul(a, inverse), 1);
            }
            let centred = i64::from(m.centre(a));
            prop_assert!(centred.unsigned_abs() <= q / 2);
            prop_assert_eq!(centred.rem_euclid(q as i64), i64::from(a));
        }
    }

    #[test]
    fn the_ends_of_the_ranges() {
        for q in PRIMES {
            let m = Modulus::new(q);
            assert_eq!(m.add(q - 1, q - 1), q - 2);
            assert_eq!(m.add(0, 0), 0);
            assert_eq!(m.add(1, q - 1), 0);
            assert_eq!(m.sub(0, q - 1), 1);
            assert_eq!(m.mul(u32::MAX, m.to_montgomery(q - 1)), {
                let product = u64::from(u32::MAX) * u64::from(q - 1);
                (product % u64::from(q)) as u32
            });
            assert_eq!(m.reduce(u64::MAX), (u64::MAX % u64::from(q)) as u32);
            assert_eq!(m.power(m.one(), 0), m.one());
        }
    }
}
