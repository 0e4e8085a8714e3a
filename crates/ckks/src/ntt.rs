//! The negacyclic number-theoretic transform in SEAL's order: value `j` is the polynomial at
//! `ψ^(2·bitrev(j) + 1)`, where `ψ` is the least of the primitive `2n`-th roots of unity.
//!
//! The forward transform uses the butterflies of Cooley and Tukey, the inverse those of Gentleman
//! and Sande, with the powers of `ψ` in bit-reversed order (Longa and Naehrig 2016, algorithms 1
//! and 2). Node `2^d + i` of the tree has the root `ψ^(bitrev(2^d + i))`, reversed in `log2(n)`
//! bits. The roots are read from a table. With [`Roots::OnTheFly`] each is computed from the one
//! before it in the order of exponents, with one multiplication for each node.

use tfhe_sbc_core::simd::{Isa, vectorize};

use crate::modulus::Modulus;
use crate::parameters::MAX_LOG_N;

/// The source of the nodes' roots.
#[derive(Clone, Copy)]
pub(crate) enum Roots<'a> {
    /// A table that [`Ntt::fill_table`] made.
    Table(&'a [u32]),
    /// No table: the roots are computed again in every transform.
    OnTheFly,
}

/// The transform of one size modulo one prime.
#[derive(Clone, Copy)]
pub(crate) struct Ntt {
    modulus: Modulus,
    log_n: u32,
    /// The powers `ψ^(2^i)`, in Montgomery form.
    squares: [u32; MAX_LOG_N as usize + 1],
    isa: Isa,
}

/// Returns the least primitive `2n`-th root of unity, or `None` if there is none, which
/// [`Parameters`](crate::Parameters) rule out. The time depends on public numbers only.
pub(crate) fn least_primitive_root(modulus: Modulus, log_n: u32) -> Option<u32> {
    let q = modulus.value();
    let n = 1 << log_n;
    let cofactor = (q - 1) / (2 * n);
    let minus_one = q - modulus.one();
    let root = (2..q)
        .map(|base| modulus.power(modulus.to_montgomery(base), cofactor))
        .find(|&root| modulus.power(root, n) == minus_one)?;
    // All other primitive roots are odd powers of this one.
    let square = modulus.mul(root, root);
    let powers = core::iter::successors(Some(modulus.mul(root, 1)), |&power| {
        Some(modulus.mul(power, square))
    });
    powers.take(n as usize).min()
}

impl Ntt {
    /// Prepares the transform for the primitive root `root`.
    pub(crate) fn new(modulus: Modulus, log_n: u32, root: u32, isa: Isa) -> Self {
        let mut squares = [0; MAX_LOG_N as usize + 1];
        let mut square = modulus.to_montgomery(root);
        for entry in &mut squares {
            *entry = square;
            square = modulus.mul(square, square);
        }
        Self {
            modulus,
            log_n,
            squares,
            isa,
        }
    }

    /// The prime.
    pub(crate) fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Overwrites `table`, of `n` places, with the roots of all nodes, in Montgomery form.
    pub(crate) fn fill_table(&self, table: &mut [u32]) {
        vectorize(
            self.isa,
            #[inline(always)]
            || {
                table[0] = self.modulus.one();
                for depth in 0..self.log_n {
                    let factor = self.squares[(self.log_n - 1 - depth) as usize];
                    let (known, next) = table.split_at_mut(1 << depth);
                    for (next, &known) in next.iter_mut().zip(&*known) {
                        *next = self.modulus.mul(known, factor);
                    }
                }
            },
        );
    }

    /// Transforms `n` coefficients to values, in place.
    pub(crate) fn forward(&self, roots: Roots<'_>, polynomial: &mut [u32]) {
        vectorize(
            self.isa,
            #[inline(always)]
            || match roots {
                Roots::Table(table) => self.forward_with(table, polynomial),
                Roots::OnTheFly => {
                    for depth in 0..self.log_n {
                        self.each_node(depth, |node, root| {
                            let block = &mut polynomial[self.block(depth, node)];
                            forward_block(self.modulus, block, root);
                        });
                    }
                }
            },
        );
    }

    /// Transforms values to coefficients, in place.
    pub(crate) fn inverse(&self, roots: Roots<'_>, values: &mut [u32]) {
        vectorize(
            self.isa,
            #[inline(always)]
            || {
                // The inverse of a node's root is minus the root of the node's mirror.
                match roots {
                    Roots::Table(table) => self.inverse_with(table, values),
                    Roots::OnTheFly => {
                        for depth in (0..self.log_n).rev() {
                            let last = (1 << depth) - 1;
                            self.each_node(depth, |node, root| {
                                let block = &mut values[self.block(depth, last - node)];
                                inverse_block(self.modulus, block, root);
                            });
                        }
                    }
                }
                let n = self.modulus.to_montgomery(1 << self.log_n);
                let scale = self.modulus.invert(n);
                for value in values {
                    *value = self.modulus.mul(*value, scale);
                }
            },
        );
    }

    #[inline(always)]
    fn forward_with(&self, table: &[u32], polynomial: &mut [u32]) {
        for depth in 0..self.log_n - 3 {
            let blocks = polynomial.chunks_exact_mut(1 << (self.log_n - depth));
            for (block, &root) in blocks.zip(&table[1 << depth..2 << depth]) {
                forward_block(self.modulus, block, root);
            }
        }
        // The last three layers are processed together: straight-line code over eight neighbours, which
        // the compiler applies to as many groups of eight as a vector has lanes.
        let (eights, nodes) = (polynomial.as_chunks_mut::<8>().0, Nodes::of(table));
        for (x, nodes) in eights.iter_mut().zip(nodes) {
            let butterfly = |a, b, root| {
                let product = self.modulus.mul(b, root);
                (self.modulus.add(a, product), self.modulus.sub(a, product))
            };
            let [a0, a1, a2, a3, a4, a5, a6, a7] = *x;
            let (a0, a4) = butterfly(a0, a4, nodes.top);
            let (a1, a5) = butterfly(a1, a5, nodes.top);
            let (a2, a6) = butterfly(a2, a6, nodes.top);
            let (a3, a7) = butterfly(a3, a7, nodes.top);
            let (a0, a2) = butterfly(a0, a2, nodes.middle[0]);
            let (a1, a3) = butterfly(a1, a3, nodes.middle[0]);
            let (a4, a6) = butterfly(a4, a6, nodes.middle[1]);
            let (a5, a7) = butterfly(a5, a7, nodes.middle[1]);
            let (a0, a1) = butterfly(a0, a1, nodes.low[0]);
            let (a2, a3) = butterfly(a2, a3, nodes.low[1]);
            let (a4, a5) = butterfly(a4, a5, nodes.low[2]);
            let (a6, a7) = butterfly(a6, a7, nodes.low[3]);
            *x = [a0, a1, a2, a3, a4, a5, a6, a7];
        }
    }

    #[inline(always)]
    fn inverse_with(&self, table: &[u32], values: &mut [u32]) {
        let (eights, nodes) = (values.as_chunks_mut::<8>().0, Nodes::of(table));
        for (x, mirror) in eights.iter_mut().zip(nodes.rev()) {
            let butterfly = |a, b, root| {
                let difference = self.modulus.sub(b, a);
                (self.modulus.add(a, b), self.modulus.mul(difference, root))
            };
            let [a0, a1, a2, a3, a4, a5, a6, a7] = *x;
            let (a0, a1) = butterfly(a0, a1, mirror.low[3]);
            let (a2, a3) = butterfly(a2, a3, mirror.low[2]);
            let (a4, a5) = butterfly(a4, a5, mirror.low[1]);
            let (a6, a7) = butterfly(a6, a7, mirror.low[0]);
            let (a0, a2) = butterfly(a0, a2, mirror.middle[1]);
            let (a1, a3) = butterfly(a1, a3, mirror.middle[1]);
            let (a4, a6) = butterfly(a4, a6, mirror.middle[0]);
            let (a5, a7) = butterfly(a5, a7, mirror.middle[0]);
            let (a0, a4) = butterfly(a0, a4, mirror.top);
            let (a1, a5) = butterfly(a1, a5, mirror.top);
            let (a2, a6) = butterfly(a2, a6, mirror.top);
            let (a3, a7) = butterfly(a3, a7, mirror.top);
            *x = [a0, a1, a2, a3, a4, a5, a6, a7];
        }
        for depth in (0..self.log_n - 3).rev() {
            let blocks = values.chunks_exact_mut(1 << (self.log_n - depth));
            for (block, &root) in blocks.zip(table[1 << depth..2 << depth].iter().rev()) {
                inverse_block(self.modulus, block, root);
            }
        }
    }

    /// Returns the coefficients below a node.
    #[inline(always)]
    fn block(&self, depth: u32, node: usize) -> core::ops::Range<usize> {
        let log_len = self.log_n - depth;
        node << log_len..(node + 1) << log_len
    }

    /// Visits every node of a depth, with its root, in the order of exponents.
    #[inline(always)]
    fn each_node(&self, depth: u32, mut visit: impl FnMut(usize, u32)) {
        let mut root = self.squares[(self.log_n - 1 - depth) as usize];
        let step = self.squares[(self.log_n - depth) as usize];
        for place in 0..1u32 << depth {
            // For depth 0 this shifts by 32, which must give zero, so the shift is of 64 bits.
            let node = (u64::from(place.reverse_bits()) >> (32 - depth)) as usize;
            visit(node, root);
            root = self.modulus.mul(root, step);
        }
    }
}

/// The roots of a node and its descendants, down to where eight values are below the node.
struct Nodes<'a> {
    top: u32,
    middle: &'a [u32; 2],
    low: &'a [u32; 4],
}

impl<'a> Nodes<'a> {
    #[inline(always)]
    fn of(table: &'a [u32]) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        let count = table.len() / 8;
        let middle = table[2 * count..4 * count].as_chunks().0;
        let low = table[4 * count..].as_chunks().0;
        let top = &table[count..2 * count];
        (0..count).map(move |node| Self {
            top: top[node],
            middle: &middle[node],
            low: &low[node],
        })
    }
}

#[inline(always)]
fn forward_block(modulus: Modulus, block: &mut [u32], root: u32) {
    let (low, high) = block.split_at_mut(block.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        let product = modulus.mul(*high, root);
        (*low, *high) = (modulus.add(*low, product), modulus.sub(*low, product));
    }
}

#[inline(always)]
fn inverse_block(modulus: Modulus, block: &mut [u32], mirrored_root: u32) {
    let (low, high) = block.split_at_mut(block.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        let difference = modulus.sub(*high, *low);
        (*low, *high) = (
            modulus.add(*low, *high),
            modulus.mul(difference, mirrored_root),
        );
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use super::*;

    fn polynomial(n: usize, q: u32, seed: u64) -> Vec<u32> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 32) % u64::from(q)) as u32
        };
        (0..n).map(|_| next()).collect()
    }

    fn ntt(q: u32, log_n: u32, isa: Isa) -> (Ntt, u32) {
        let modulus = Modulus::new(q);
        let root = least_primitive_root(modulus, log_n).unwrap();
        (Ntt::new(modulus, log_n, root, isa), root)
    }

    /// Horner's rule at `ψ^(2·bitrev(j) + 1)`.
    fn slow_value(polynomial: &[u32], q: u32, root: u32, j: usize) -> u32 {
        let (q, log_n) = (u64::from(q), polynomial.len().ilog2());
        let exponent = 2 * (j.reverse_bits() >> (usize::BITS - log_n)) + 1;
        let point = (0..exponent).fold(1, |power, _| power * u64::from(root) % q);
        let horner = |value, &c: &u32| (value * point + u64::from(c)) % q;
        polynomial.iter().rev().fold(0, horner) as u32
    }

    /// All sizes, instruction sets and ways to the roots against the definition.
    #[test]
    fn values_are_those_of_the_definition() {
        for (q, log_n) in [
            (134012929, 10),
            (134176769, 11),
            (417793, 12),
            (1053818881, 12),
            (1056440321, 13),
            (2147352577, 14),
        ] {
            let n = 1 << log_n;
            let coefficients = polynomial(n, q, u64::from(log_n));
            for isa in Isa::available() {
                let (ntt, root) = ntt(q, log_n, isa);
                let mut table = vec![0; n];
                ntt.fill_table(&mut table);
                let mut values = coefficients.clone();
                ntt.forward(Roots::Table(&table), &mut values);
                for j in [0, 1, 2, 3, 4, 7, 8, 63, n / 2 - 1, n / 2, n - 2, n - 1] {
                    assert_eq!(values[j], slow_value(&coefficients, q, root, j), "{q} {j}");
                }
                let mut again = coefficients.clone();
                ntt.forward(Roots::OnTheFly, &mut again);
                assert!(again == values, "{q} {}", isa.name());
                ntt.inverse(Roots::OnTheFly, &mut again);
                assert!(again == coefficients, "{q} {}", isa.name());
                ntt.inverse(Roots::Table(&table), &mut values);
                assert!(values == coefficients, "{q} {}", isa.name());
            }
        }
    }

    #[test]
    fn the_root_is_the_least() {
        for (q, log_n) in [(12289, 10), (40961, 12)] {
            let n = 1u64 << log_n;
            let modulus = u64::from(q);
            let power = |base: u64, exponent| (0..exponent).fold(1, |x, _| x * base % modulus);
            let slow = (2..modulus).find(|&x| power(x, n) == modulus - 1).unwrap();
            let root = least_primitive_root(Modulus::new(q), log_n).unwrap();
            assert_eq!(u64::from(root), slow);
        }
        // SEAL's own, as its keys use it.
        let root = least_primitive_root(Modulus::new(1053818881), 12);
        assert_eq!(root, Some(503422));
    }
}
