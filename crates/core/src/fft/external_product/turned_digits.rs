//! The products of a [`TurnedProduct`] with the factors `X^a - 1` multiplied with the digits. The registers then have room for the
//! sums of two ciphertexts.

use super::key_form::Form;
use super::turned_product::{TurnedProduct, keys_of};
use crate::fft::node::Complex;
use crate::simd::{Ahead, Lines, Simd};

impl<const C: usize> TurnedProduct<'_, C> {
    /// Computes `O` outputs with the keys of `outputs`, in the form `form`.
    #[inline(always)]
    pub(super) fn add_turned_digits<'k, S: Simd, F: Form<S>, const O: usize>(
        &self,
        simd: S,
        (form, outputs): (F, impl Iterator<Item = &'k [F::Number]>),
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        let mut sums = sums.map(|sums| S::chunks_mut(sums));
        let vectors = sums[0].len() / (2 * O);
        let nodes = vectors / S::LANES;
        let zero = simd.splat(0.0);
        let zero = Complex { re: zero, im: zero };
        let bits = self.exponents[0].len();

        let mut output = 0;
        let mut keys = keys_of::<S, F, O>(outputs).map(|key| {
            output += 1;
            F::pairs(key, output == O)
        });
        for node in 0..nodes {
            let turns = self.turns_at::<S>(node, nodes);
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                let mut sum = [[zero; O]; C];
                for bit in 0..bits {
                    let mut factors = [zero; C];
                    for (factor, turns) in factors.iter_mut().zip(&turns) {
                        let turn = &turns[bit];
                        *factor = turn.factor(simd, row, turn.unit(simd));
                    }
                    for r in 0..self.shape.rows {
                        let mut digits = [zero; C];
                        for (c, digit) in digits.iter_mut().enumerate() {
                            let all = S::chunks(self.digits[c][r]);
                            digit.re = simd.load(&all[at]);
                            digit.im = simd.load(&all[vectors + at]);
                            *digit = factors[c].times(simd, digit);
                        }
                        for (o, key) in keys.iter_mut().enumerate() {
                            let Some(key) = key.next() else {
                                return;
                            };
                            let key = form.load(simd, key, o + 1 == O);
                            for (sum, digit) in sum.iter_mut().zip(&digits) {
                                sum[o].add_product(simd, *digit, key);
                            }
                        }
                    }
                }
                for (sums, sum) in sums.iter_mut().zip(&sum) {
                    for (o, sum) in sum.iter().enumerate() {
                        simd.store(&mut sums[2 * vectors * o + at], sum.re);
                        simd.store(&mut sums[2 * vectors * o + vectors + at], sum.im);
                    }
                }
                ahead.after(simd, 1);
            }
        }
    }
}
