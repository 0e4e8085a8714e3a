//! The pointwise part of an external product, in one pass over the key.
//!
//! The part of the key for one output is contiguous, in the order of the points. For each vector
//! of points it has, bit by bit and row by row, a vector of real parts and one of imaginary parts. So
//! a pass reads one stream for each output, and a thread that computes some of the outputs reads
//! nothing of the others.

use super::{Monomials, ProductShape};
use crate::fft::node::Complex;
use crate::simd::{Ahead, Lines, Simd};

/// The most key bits of a step. What their factors at a node have in common is looked up once for the whole node.
pub(super) const MAX_BLOCK_SIZE: usize = 8;

/// The inputs of the sums of products.
pub(super) struct Product<'a> {
    pub(super) shape: ProductShape,
    pub(super) monomials: &'a Monomials,
    pub(super) digits: &'a [&'a [f64]],
    pub(super) key: &'a [f64],
    pub(super) exponents: &'a [u32],
    pub(super) next_key: &'a [f64],
}

impl Product<'_> {
    /// Computes all outputs that `sums` has room for, in groups whose sums stay in registers.
    #[inline(always)]
    pub(super) fn multiply<S: Simd, const TURN: bool>(
        &self,
        simd: S,
        mut first: usize,
        sums: &mut [f64],
    ) {
        let size = self.digits[0].len();
        let groups = (sums.len() / size).div_ceil(S::PRODUCT_OUTPUTS);
        let ahead = &mut Lines::over(self.next_key, groups * size / (2 * S::LANES));
        for sums in sums.chunks_mut(S::PRODUCT_OUTPUTS * size) {
            let group = sums.len() / size;
            match group {
                4 => self.multiply_group::<S, TURN, 4>(simd, first, sums, ahead),
                3 => self.multiply_group::<S, TURN, 3>(simd, first, sums, ahead),
                2 => self.multiply_group::<S, TURN, 2>(simd, first, sums, ahead),
                _ => self.multiply_group::<S, TURN, 1>(simd, first, sums, ahead),
            }
            first += group;
        }
    }

    #[inline(always)]
    fn multiply_group<S: Simd, const TURN: bool, const O: usize>(
        &self,
        simd: S,
        first: usize,
        sums: &mut [f64],
        ahead: &mut Lines<'_>,
    ) {
        let rows = self.shape.rows;
        let sums = S::chunks_mut(sums);
        let vectors = sums.len() / (2 * O);
        let nodes = vectors / S::LANES;
        let zero = simd.splat(0.0);
        let one = simd.splat(1.0);

        let mut keys = S::chunks(self.key)
            .chunks_exact(self.exponents.len() * rows * 2 * vectors)
            .skip(first);
        let mut keys: [_; O] = core::array::from_fn(|_| {
            let key = keys.next().unwrap_or(&[]);
            key.as_chunks::<2>().0.iter()
        });
        for node in 0..nodes {
            let mut turns = [Turn::<S>::NONE; MAX_BLOCK_SIZE];
            let turns = match TURN {
                true => self.turns(&mut turns, node, nodes),
                false => &turns[..1],
            };
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                let mut sum = [Complex { re: zero, im: zero }; O];
                for turn in turns {
                    let mut product = [Complex { re: zero, im: zero }; O];
                    for digit in self.digits {
                        let digit = S::chunks(digit);
                        let d_re = simd.load(&digit[at]);
                        let d_im = simd.load(&digit[vectors + at]);
                        for (product, key) in product.iter_mut().zip(&mut keys) {
                            let Some([k_re, k_im]) = key.next() else {
                                return;
                            };
                            let (k_re, k_im) = (simd.load(k_re), simd.load(k_im));
                            product.re = simd.mul_add(d_re, k_re, product.re);
                            product.im = simd.mul_add(d_re, k_im, product.im);
                            product.re = simd.neg_mul_add(d_im, k_im, product.re);
                            product.im = simd.mul_add(d_im, k_re, product.im);
                        }
                    }
                    if !TURN {
                        sum = product;
                        continue;
                    }
                    let [z_re, z_im] = turn.root.map(|part| simd.splat(part));
                    let [v_re, v_im] = &turn.within_node[row];
                    let (v_re, v_im) = (simd.load(v_re), simd.load(v_im));
                    // X^a - 1.
                    let f_re = simd.neg_mul_add(z_im, v_im, simd.mul_sub(z_re, v_re, one));
                    let f_im = simd.mul_add(z_im, v_re, simd.mul(z_re, v_im));
                    for (sum, product) in sum.iter_mut().zip(&product) {
                        sum.re = simd.mul_add(f_re, product.re, sum.re);
                        sum.im = simd.mul_add(f_re, product.im, sum.im);
                        sum.re = simd.neg_mul_add(f_im, product.im, sum.re);
                        sum.im = simd.mul_add(f_im, product.re, sum.im);
                    }
                }
                for (o, sum) in sum.iter().enumerate() {
                    simd.store(&mut sums[2 * vectors * o + at], sum.re);
                    simd.store(&mut sums[2 * vectors * o + vectors + at], sum.im);
                }
                ahead.after(simd, 1);
            }
        }
    }
}

impl<'a> Product<'a> {
    /// Looks up the monomials of all key bits of the step at a node.
    #[inline(always)]
    fn turns<'t, S: Simd>(
        &self,
        turns: &'t mut [Turn<'a, S>; MAX_BLOCK_SIZE],
        node: usize,
        nodes: usize,
    ) -> &'t [Turn<'a, S>] {
        let within_node = S::chunks(&self.monomials.within_node).as_chunks().0;
        let turns = &mut turns[..self.exponents.len()];
        for (turn, &exponent) in turns.iter_mut().zip(self.exponents) {
            let place = exponent as usize % (S::LANES * S::LANES) * S::LANES;
            *turn = Turn {
                root: *self.monomials.root(exponent, node, nodes.ilog2()),
                within_node: &within_node[place..][..S::LANES],
            };
        }
        turns
    }
}

/// The monomial of a key bit at the points of a node: the value at a point is the root of the node times that within it.
#[derive(Clone, Copy)]
struct Turn<'a, S: Simd> {
    root: [f64; 2],
    /// Vectors of real and of imaginary parts.
    within_node: &'a [[S::Chunk; 2]],
}

impl<S: Simd> Turn<'_, S> {
    const NONE: Self = Self {
        root: [0.0; 2],
        within_node: &[],
    };
}
