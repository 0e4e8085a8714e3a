//! The products of a [`TurnedProduct`] with the factors `X^a - 1` multiplied with the key: the key of every row and output is one
//! polynomial, the sum over the key bits of their keys, each times its factor, and the digits are multiplied with
//! this *bundle* (Zhou, Yang, Liu, Zhang, Li: Faster Bootstrapping with Multiple Addends, IEEE Access 6, 2018).

use super::key_form::Form;
use super::turned_product::{TurnedProduct, keys_of};
use crate::fft::node::Complex;
use crate::simd::{Ahead, Lines, Simd};

impl<const C: usize> TurnedProduct<'_, C> {
    /// Computes `O` outputs of `R` rows with the keys of `outputs`, in the form `form`. The bundles stay in registers: two
    /// vectors for each row, output and ciphertext.
    #[inline(always)]
    pub(super) fn add_key_bundles<'k, S: Simd, F: Form<S>, const R: usize, const O: usize>(
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
                // All loops over bundles have constant lengths, without which the compiler keeps bundles in memory.
                let mut bundles = [[[zero; C]; O]; R];
                for bit in 0..bits {
                    let mut factors = [zero; C];
                    for (factor, turns) in factors.iter_mut().zip(&turns) {
                        let turn = &turns[bit];
                        *factor = turn.factor(simd, row, turn.unit(simd));
                    }
                    for bundles in &mut bundles {
                        for (o, (bundles, key)) in bundles.iter_mut().zip(&mut keys).enumerate() {
                            let Some(key) = key.next() else {
                                return;
                            };
                            let key = form.load(simd, key, o + 1 == O);
                            for (bundle, factor) in bundles.iter_mut().zip(&factors) {
                                bundle.add_product(simd, *factor, key);
                            }
                        }
                    }
                }
                for (c, sums) in sums.iter_mut().enumerate() {
                    let mut sum = [zero; O];
                    for (r, bundles) in bundles.iter().enumerate() {
                        let digits = S::chunks(self.digits[c][r]);
                        let digit = Complex {
                            re: simd.load(&digits[at]),
                            im: simd.load(&digits[vectors + at]),
                        };
                        for (sum, bundles) in sum.iter_mut().zip(bundles) {
                            sum.add_product(simd, digit, bundles[c]);
                        }
                    }
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
