//! The pointwise part of an external product, in one pass over the key.
//!
//! The part of the key for one output is contiguous, in the order of the points. For each vector
//! of points it has, bit by bit and row by row, a vector of real parts and one of imaginary parts. So
//! a pass reads one stream for each output, and a thread that computes some of the outputs reads
//! nothing of the others.

use super::turn::{MAX_BLOCK_SIZE, Turn, look_up};
use super::{Monomials, ProductShape};
use crate::fft::node::Complex;
use crate::simd::{Ahead, Isa, Lines, Simd, apart, dispatch};

/// The inputs of the sums of products of a key of doubles, without factors, or where there are more digits than sums: the factors `X^a - 1` are multiplied
/// with the sum of a key bit.
pub(super) struct Product<'a> {
    pub(super) shape: ProductShape,
    pub(super) monomials: &'a Monomials,
    pub(super) digits: &'a [&'a [f64]],
    pub(super) key: &'a [f64],
    pub(super) exponents: &'a [u32],
    pub(super) next_key: &'a [u8],
}

impl Product<'_> {
    /// Computes all outputs that `sums` has room for, from output `first` on, with factors or without.
    pub(super) fn multiply_on(&self, isa: Isa, turn: bool, first: usize, sums: &mut [f64]) {
        dispatch!(isa, |simd| match turn {
            true => apart!(simd, self.multiply::<_, true>(simd, first, sums)),
            false => apart!(simd, self.multiply::<_, false>(simd, first, sums)),
        });
    }

    /// Computes all outputs that `sums` has room for, in groups whose sums stay in registers.
    #[inline(always)]
    fn multiply<S: Simd, const TURN: bool>(&self, simd: S, mut first: usize, sums: &mut [f64]) {
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
                true => look_up(
                    &mut turns,
                    self.monomials,
                    self.exponents,
                    |_| 1.0,
                    (node, nodes),
                ),
                false => &turns[..1],
            };
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                let mut sum = [Complex { re: zero, im: zero }; O];
                for turn in turns {
                    let mut product = [Complex { re: zero, im: zero }; O];
                    for digit in self.digits {
                        let digit = S::chunks(digit);
                        let digit = Complex {
                            re: simd.load(&digit[at]),
                            im: simd.load(&digit[vectors + at]),
                        };
                        for (product, key) in product.iter_mut().zip(&mut keys) {
                            let Some([k_re, k_im]) = key.next() else {
                                return;
                            };
                            let (re, im) = (simd.load(k_re), simd.load(k_im));
                            product.add_product(simd, digit, Complex { re, im });
                        }
                    }
                    if !TURN {
                        sum = product;
                        continue;
                    }
                    let factor = turn.factor(simd, row, one);
                    for (sum, product) in sum.iter_mut().zip(&product) {
                        sum.add_product(simd, factor, *product);
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
