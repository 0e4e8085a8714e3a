//! Arithmetic modulo any prime of a key, including a special prime of up to 60 bits:
//! Montgomery's method with `R = 2^64`, and the transform of [`ntt`](crate::ntt) with its roots
//! computed on the fly.
//!
//! An encryptor needs the product of a public key and a ternary polynomial twice for each message,
//! so the product is made in the place of its result and no table is kept. Keys are made with it
//! too. Constant-time, as [`ntt`](crate::ntt).

use crate::parameters::MAX_LOG_N;

/// A prime below 2^60 and its transform.
#[derive(Clone, Copy)]
pub(crate) struct WideRing {
    q: u64,
    /// `1/q mod 2^64`.
    inverse: u64,
    /// `2^64 mod q`.
    one: u64,
    /// `2^128 mod q`.
    square: u64,
    log_n: u32,
    /// The powers `ψ^(2^i)` in Montgomery form, where `ψ` is the least primitive `2n`-th root.
    squares: [u64; MAX_LOG_N as usize + 1],
}

impl WideRing {
    /// Prepares the prime `q`; returns `None` if it has no primitive `2n`-th root.
    pub(crate) fn new(q: u64, log_n: u32) -> Option<Self> {
        // Newton's iteration doubles the number of correct bits, of which q itself has 3.
        let mut inverse = q;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(inverse)));
        }
        let one = ((1u128 << 64) % u128::from(q)) as u64;
        let square = (u128::from(one) * u128::from(one) % u128::from(q)) as u64;
        let mut ring = Self {
            q,
            inverse,
            one,
            square,
            log_n,
            squares: [0; MAX_LOG_N as usize + 1],
        };
        let mut root = ring.least_primitive_root()?;
        for place in 0..ring.squares.len() {
            ring.squares[place] = root;
            root = ring.mul(root, root);
        }
        Some(ring)
    }

    /// Returns the least primitive `2n`-th root, in Montgomery form.
    fn least_primitive_root(&self) -> Option<u64> {
        let n = 1u64 << self.log_n;
        let cofactor = (self.q - 1) / (2 * n);
        let minus_one = self.q - self.one;
        let root = (2..self.q)
            .map(|base| self.power(self.to_montgomery(base), cofactor))
            .find(|&root| self.power(root, n) == minus_one)?;
        // All other primitive roots are odd powers of this one.
        let square = self.mul(root, root);
        let powers = core::iter::successors(Some(root), |&power| Some(self.mul(power, square)));
        powers
            .take(n as usize)
            .min_by_key(|&power| self.mul(power, 1))
    }

    /// The prime.
    pub(crate) fn value(&self) -> u64 {
        self.q
    }

    /// Returns `a + b`.
    #[inline(always)]
    pub(crate) fn add(&self, a: u64, b: u64) -> u64 {
        let sum = a + b;
        sum.min(sum.wrapping_sub(self.q))
    }

    #[inline(always)]
    fn sub(&self, a: u64, b: u64) -> u64 {
        let difference = a.wrapping_sub(b);
        difference.min(difference.wrapping_add(self.q))
    }

    /// Returns `-a`.
    pub(crate) fn negate(&self, a: u64) -> u64 {
        self.sub(0, a)
    }

    /// Returns `a · b / 2^64`.
    #[inline(always)]
    fn mul(&self, a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        let quotient = (product as u64).wrapping_mul(self.inverse);
        let multiple = u128::from(quotient) * u128::from(self.q);
        let difference = ((product >> 64) as u64).wrapping_sub((multiple >> 64) as u64);
        difference.min(difference.wrapping_add(self.q))
    }

    fn to_montgomery(self, a: u64) -> u64 {
        self.mul(a, self.square)
    }

    fn power(&self, base: u64, mut exponent: u64) -> u64 {
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

    /// Returns the residue of a small signed number.
    #[inline(always)]
    pub(crate) fn reduce_small(&self, a: i32) -> u64 {
        let a = i64::from(a) as u64;
        a.min(a.wrapping_add(self.q))
    }

    /// Returns the representative nearest to zero.
    #[inline(always)]
    pub(crate) fn centre(&self, a: u64) -> i64 {
        // Reduced as sums are: compilers make a branch of the comparison of `a` with half the prime.
        let half = self.q / 2;
        self.add(a, half).wrapping_sub(half) as i64
    }

    /// Returns the residue of a product of residues.
    #[inline(always)]
    pub(crate) fn product(&self, a: u64, b: u64) -> u64 {
        self.mul(self.mul(a, b), self.square)
    }

    /// Overwrites `out` with the product of a packed ternary polynomial and a polynomial that is given
    /// by its transform.
    pub(crate) fn ternary_product(&self, packed: &[u8], transform: &[[u8; 8]], out: &mut [u64]) {
        self.transform_ternary(packed, out);
        // The inverse leaves a factor n, and a product with this constant a factor 2^-64.
        let n = self.to_montgomery(1 << self.log_n);
        let scale = self.to_montgomery(self.power(n, self.q - 2));
        for (value, bytes) in out.iter_mut().zip(transform) {
            *value = self.mul(self.mul(*value, u64::from_le_bytes(*bytes)), scale);
        }
        self.inverse(out);
    }

    /// Overwrites `out` with the transform of a packed ternary polynomial.
    pub(crate) fn transform_ternary(&self, packed: &[u8], out: &mut [u64]) {
        for (out, &byte) in out.as_chunks_mut::<4>().0.iter_mut().zip(packed) {
            *out = [6, 4, 2, 0].map(|shift| self.sub(u64::from(byte >> shift & 3), 1));
        }
        self.forward(out);
    }

    /// Transforms coefficients to values, in place.
    pub(crate) fn forward(&self, polynomial: &mut [u64]) {
        for depth in 0..self.log_n {
            self.each_node(depth, |node, root| {
                let (low, high) = halves(polynomial, self.log_n - depth, node);
                for (low, high) in low.iter_mut().zip(high) {
                    let product = self.mul(*high, root);
                    (*low, *high) = (self.add(*low, product), self.sub(*low, product));
                }
            });
        }
    }

    /// Transforms values to `n` times the coefficients, in place.
    fn inverse(&self, values: &mut [u64]) {
        for depth in (0..self.log_n).rev() {
            // The inverse of a node's root is minus the root of the node's mirror.
            let last = (1 << depth) - 1;
            self.each_node(depth, |node, root| {
                let (low, high) = halves(values, self.log_n - depth, last - node);
                for (low, high) in low.iter_mut().zip(high) {
                    let difference = self.sub(*high, *low);
                    (*low, *high) = (self.add(*low, *high), self.mul(difference, root));
                }
            });
        }
    }

    /// Visits every node of a depth, with its root, in the order of exponents.
    fn each_node(&self, depth: u32, mut visit: impl FnMut(usize, u64)) {
        let mut root = self.squares[(self.log_n - 1 - depth) as usize];
        let step = self.squares[(self.log_n - depth) as usize];
        for place in 0..1u32 << depth {
            // For depth 0 this shifts by 32, which must give zero, so the shift is of 64 bits.
            let node = (u64::from(place.reverse_bits()) >> (32 - depth)) as usize;
            visit(node, root);
            root = self.mul(root, step);
        }
    }
}

/// Returns the two halves of the coefficients below a node.
fn halves(all: &mut [u64], log_len: u32, node: usize) -> (&mut [u64], &mut [u64]) {
    all[node << log_len..(node + 1) << log_len].split_at_mut(1 << (log_len - 1))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::modulus::Modulus;
    use crate::ntt::{Ntt, Roots, least_primitive_root};
    use tfhe_sbc_core::simd::Isa;

    /// The definition: coefficient by coefficient, for a ternary polynomial of few terms, and the
    /// other polynomial as its values, each from scratch.
    #[test]
    fn products_are_those_of_the_definition() {
        for (q, log_n) in [
            (274877562881u64, 10),
            (281474976546817, 11),
            (1053818881, 10),
        ] {
            let ring = WideRing::new(q, log_n).unwrap();
            let n = 1usize << log_n;
            let wide = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(q)) as u64;
            let polynomial: Vec<u64> = (0..n as u64)
                .map(|i| wide(i * i + 12345, 0x9e37_79b9_7f4a_7c15 % q))
                .collect();
            let root = ring.mul(ring.squares[0], 1);
            let transform: Vec<[u8; 8]> = (0..n)
                .map(|j| {
                    let exponent = 2 * (j.reverse_bits() >> (usize::BITS - log_n)) + 1;
                    let point = (0..exponent).fold(1, |power, _| wide(power, root));
                    let horner = |value, &c: &u64| (wide(value, point) + c) % q;
                    polynomial.iter().rev().fold(0, horner).to_le_bytes()
                })
                .collect();
            // X^3 - X^(n-2) - 1.
            let mut packed = vec![0b01_01_01_01u8; n / 4];
            packed[0] = 0b00_01_01_10;
            packed[n / 4 - 1] = 0b01_01_00_01;
            let mut out = vec![u64::MAX; n];
            ring.ternary_product(&packed, &transform, &mut out);
            for i in 0..n {
                let by = |shift: usize| match i >= shift {
                    true => polynomial[i - shift],
                    false => q - polynomial[n + i - shift],
                };
                let expected = (by(3) + (q - by(n - 2)) + (q - by(0))) % q;
                assert_eq!(out[i] % q, expected, "{q} {i}");
                assert!(out[i] < q);
            }
        }
    }

    /// For a prime that fits both, the narrow transform has the same roots.
    #[test]
    fn the_order_is_that_of_narrow_primes() {
        let modulus = Modulus::new(417793);
        let root = least_primitive_root(modulus, 12).unwrap();
        let ring = WideRing::new(417793, 12).unwrap();
        assert_eq!(ring.mul(ring.squares[0], 1), u64::from(root));
        let ntt = Ntt::new(modulus, 12, root, Isa::detect());
        let mut values: Vec<u32> = (0..4096).map(|i| i * 101).collect();
        let coefficients = values.clone();
        ntt.forward(Roots::OnTheFly, &mut values);
        let transform: Vec<[u8; 8]> = values.iter().map(|&v| u64::from(v).to_le_bytes()).collect();
        let mut one = vec![0b01_01_01_01u8; 1024];
        one[0] = 0b10_01_01_01;
        let mut out = vec![0; 4096];
        ring.ternary_product(&one, &transform, &mut out);
        for (out, expected) in out.iter().zip(coefficients) {
            assert_eq!(*out, u64::from(expected) % 417793);
        }
    }

    #[test]
    fn small_numbers() {
        let ring = WideRing::new(274877562881, 13).unwrap();
        assert_eq!(ring.reduce_small(-21), ring.value() - 21);
        assert_eq!(ring.reduce_small(21), 21);
        assert_eq!(ring.centre(ring.value() - 5), -5);
        assert_eq!(ring.centre(ring.value() / 2), (ring.value() / 2) as i64);
        assert_eq!(
            ring.centre(ring.value() / 2 + 1),
            -((ring.value() / 2) as i64)
        );
    }
}
