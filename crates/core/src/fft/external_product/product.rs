//! The pointwise part of an external product, in one pass over the key.
//!
//! The part of the key for one output is contiguous, in the order of the points. For each vector
//! of points it has, bit by bit and row by row, a vector of real parts and one of imaginary parts. So
//! a pass reads one stream for each output, and a thread that computes some of the outputs reads
//! nothing of the others.

use super::{Monomials, ProductShape, StepKey};
use crate::fft::node::Complex;
use crate::parameters::PackedWidth;
use crate::simd::{Ahead, Lines, Simd};

/// The most key bits of a step. What their factors at a node have in common is looked up once for the whole node.
pub(super) const MAX_BLOCK_SIZE: usize = 8;

/// The inputs of the sums of products of `C` ciphertexts, for which the key is read once.
pub(super) struct Product<'a, const C: usize> {
    pub(super) shape: ProductShape,
    pub(super) monomials: &'a Monomials,
    pub(super) digits: [&'a [&'a [f64]]; C],
    pub(super) key: StepKey<'a>,
    pub(super) exponents: [&'a [u32]; C],
    pub(super) next_key: &'a [u8],
}

/// What the factors `X^a - 1` are multiplied with. The choice depends on the instruction set and on the shape alone, so that
/// a ciphertext has the same sums, bit for bit, with others and without.
mod turned {
    /// The digits, before the products: this needs no registers for the sums of one key bit.
    pub(super) const DIGITS: u8 = 0;
    /// The sum of the products of a key bit, of which there may be fewer than digits.
    pub(super) const PRODUCTS: u8 = 1;
    /// Nothing: there are no factors.
    pub(super) const NOTHING: u8 = 2;
}

impl<const C: usize> Product<'_, C> {
    /// Computes all outputs that `sums` has room for, in groups whose sums stay in registers.
    #[inline(always)]
    pub(super) fn multiply<S: Simd, const TURN: bool>(
        &self,
        simd: S,
        first: usize,
        sums: [&mut [f64]; C],
    ) {
        if S::TURNS_DIGITS && TURN && self.shape.few_rows() {
            self.multiply_all::<S, { turned::DIGITS }>(simd, first, sums);
        } else if C > 1 {
            // The caller has one ciphertext at a time.
        } else if TURN {
            self.multiply_all::<S, { turned::PRODUCTS }>(simd, first, sums);
        } else {
            self.multiply_all::<S, { turned::NOTHING }>(simd, first, sums);
        }
    }

    #[inline(always)]
    fn multiply_all<S: Simd, const TURNED: u8>(
        &self,
        simd: S,
        mut first: usize,
        mut sums: [&mut [f64]; C],
    ) {
        let size = self.digits[0][0].len();
        let outputs = sums[0].len() / size;
        let groups = outputs.div_ceil(S::PRODUCT_OUTPUTS);
        let ahead = &mut Lines::over(self.next_key, groups * size / (2 * S::LANES));
        let output_len = self.exponents[0].len() * self.shape.rows * size;
        let end = first + outputs;
        while first < end {
            let group = (end - first).min(S::PRODUCT_OUTPUTS);
            let now = sums.each_mut().map(|sums| {
                let (now, rest) = core::mem::take(sums).split_at_mut(group * size);
                *sums = rest;
                now
            });
            match self.key {
                StepKey::Doubles(key) => {
                    let outputs = key.chunks_exact(output_len).skip(first);
                    self.multiply_some::<S, _, TURNED>(simd, (Doubles, outputs), now, ahead);
                }
                StepKey::Packed(key) if TURNED == turned::DIGITS => {
                    let outputs = key.bytes.chunks_exact(output_len * key.width.bytes());
                    let outputs = outputs.skip(first);
                    match key.width {
                        PackedWidth::Six => {
                            let form = Integers::<S, 6>(simd.packed_places::<6>());
                            self.multiply_some::<S, _, TURNED>(simd, (form, outputs), now, ahead);
                        }
                        PackedWidth::Seven => {
                            let form = Integers::<S, 7>(simd.packed_places::<7>());
                            self.multiply_some::<S, _, TURNED>(simd, (form, outputs), now, ahead);
                        }
                    }
                }
                // The caller has refused it.
                StepKey::Packed(_) => {}
            }
            first += group;
        }
    }

    /// Computes as many outputs as `sums` has room for, at most [`PRODUCT_OUTPUTS`](Simd::PRODUCT_OUTPUTS), with the keys of
    /// `outputs`.
    #[inline(always)]
    fn multiply_some<'k, S: Simd, F: Form<S>, const TURNED: u8>(
        &self,
        simd: S,
        outputs: (F, impl Iterator<Item = &'k [F::Number]>),
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        match sums[0].len() / self.digits[0][0].len() {
            4 => self.multiply_group::<S, F, TURNED, 4>(simd, outputs, sums, ahead),
            3 => self.multiply_group::<S, F, TURNED, 3>(simd, outputs, sums, ahead),
            2 => self.multiply_group::<S, F, TURNED, 2>(simd, outputs, sums, ahead),
            _ => self.multiply_group::<S, F, TURNED, 1>(simd, outputs, sums, ahead),
        }
    }

    #[inline(always)]
    fn multiply_group<'k, S: Simd, F: Form<S>, const TURNED: u8, const O: usize>(
        &self,
        simd: S,
        (form, mut outputs): (F, impl Iterator<Item = &'k [F::Number]>),
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        let mut sums = sums.map(|sums| S::chunks_mut(sums));
        let vectors = sums[0].len() / (2 * O);
        let nodes = vectors / S::LANES;
        let zero = simd.splat(0.0);
        let zero = Complex { re: zero, im: zero };
        let unit = simd.splat(self.key.unit());
        let bits = self.exponents[0].len();

        let mut keys = [const { &[] as &[F::Number] }; O];
        for key in &mut keys {
            *key = outputs.next().unwrap_or(&[]);
        }
        let mut keys = keys.map(F::pairs);
        for node in 0..nodes {
            let mut turns = [[Turn::<S>::NONE; MAX_BLOCK_SIZE]; C];
            if TURNED != turned::NOTHING {
                for (turns, exponents) in turns.iter_mut().zip(&self.exponents) {
                    self.look_up(turns, exponents, node, nodes);
                }
            }
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                let mut sum = [[zero; O]; C];
                for bit in 0..bits {
                    let mut factors = [zero; C];
                    if TURNED != turned::NOTHING {
                        for (factor, turns) in factors.iter_mut().zip(&turns) {
                            *factor = turns[bit].factor(simd, row, unit);
                        }
                    }
                    let mut product = [[zero; O]; C];
                    for r in 0..self.shape.rows {
                        let mut digits = [zero; C];
                        for (c, digit) in digits.iter_mut().enumerate() {
                            let all = S::chunks(self.digits[c][r]);
                            digit.re = simd.load(&all[at]);
                            digit.im = simd.load(&all[vectors + at]);
                            if TURNED == turned::DIGITS {
                                *digit = factors[c].times(simd, digit);
                            }
                        }
                        let sums = match TURNED {
                            turned::PRODUCTS => &mut product,
                            _ => &mut sum,
                        };
                        for (o, key) in keys.iter_mut().enumerate() {
                            let Some(key) = key.next() else {
                                return;
                            };
                            let key = form.load(simd, key);
                            for (sum, digit) in sums.iter_mut().zip(&digits) {
                                sum[o].add_product(simd, *digit, key);
                            }
                        }
                    }
                    if TURNED == turned::PRODUCTS {
                        for ((sum, product), factor) in sum.iter_mut().zip(&product).zip(&factors) {
                            for (sum, product) in sum.iter_mut().zip(product) {
                                sum.add_product(simd, *factor, *product);
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

impl<'a, const C: usize> Product<'a, C> {
    /// Looks up the monomials of all key bits of the step at a node.
    #[inline(always)]
    fn look_up<S: Simd>(
        &self,
        turns: &mut [Turn<'a, S>; MAX_BLOCK_SIZE],
        exponents: &[u32],
        node: usize,
        nodes: usize,
    ) {
        let within_node = S::chunks(&self.monomials.within_node).as_chunks().0;
        for (turn, &exponent) in turns.iter_mut().zip(exponents) {
            let place = exponent as usize % (S::LANES * S::LANES) * S::LANES;
            *turn = Turn {
                root: self
                    .monomials
                    .root(exponent, node, nodes.ilog2())
                    .map(|part| part * self.key.unit()),
                within_node: &within_node[place..][..S::LANES],
            };
        }
    }
}

/// The monomial of a key bit at the points of a node: the value at a point is the root of the node times that within it.
#[derive(Clone, Copy)]
struct Turn<'a, S: Simd> {
    /// The root, in units of the key.
    root: [f64; 2],
    /// Vectors of real and of imaginary parts.
    within_node: &'a [[S::Chunk; 2]],
}

impl<S: Simd> Turn<'_, S> {
    const NONE: Self = Self {
        root: [0.0; 2],
        within_node: &[],
    };

    /// `X^a - 1` at the points of row `row`, in units of the key.
    #[inline(always)]
    fn factor(&self, simd: S, row: usize, unit: S::F64) -> Complex<S::F64> {
        let [z_re, z_im] = self.root.map(|part| simd.splat(part));
        let [v_re, v_im] = &self.within_node[row];
        let (v_re, v_im) = (simd.load(v_re), simd.load(v_im));
        Complex {
            re: simd.neg_mul_add(z_im, v_im, simd.mul_sub(z_re, v_re, unit)),
            im: simd.mul_add(z_im, v_re, simd.mul(z_re, v_im)),
        }
    }
}

/// The form of the coefficients of a key.
trait Form<S: Simd>: Copy {
    /// What the key of an output is a slice of.
    type Number: 'static;
    /// A vector of real and one of imaginary parts.
    type Pair: ?Sized + 'static;

    /// The pairs of the key of an output.
    fn pairs(key: &[Self::Number]) -> impl Iterator<Item = &Self::Pair>;
    /// Reads a pair, in units of the key.
    fn load(self, simd: S, pair: &Self::Pair) -> Complex<S::F64>;
}

/// Doubles.
#[derive(Clone, Copy)]
struct Doubles;

impl<S: Simd> Form<S> for Doubles {
    type Number = f64;
    type Pair = [S::Chunk; 2];

    #[inline(always)]
    fn pairs(key: &[f64]) -> impl Iterator<Item = &[S::Chunk; 2]> {
        S::chunks(key).as_chunks().0.iter()
    }

    #[inline(always)]
    fn load(self, simd: S, [re, im]: &[S::Chunk; 2]) -> Complex<S::F64> {
        Complex {
            re: simd.load(re),
            im: simd.load(im),
        }
    }
}

/// Integers of `BYTES` bytes, at these places.
#[derive(Clone, Copy)]
struct Integers<S: Simd, const BYTES: usize>(S::PackedPlaces);

impl<S: Simd, const BYTES: usize> Form<S> for Integers<S, BYTES> {
    type Number = u8;
    type Pair = [u8];

    #[inline(always)]
    fn pairs(key: &[u8]) -> impl Iterator<Item = &[u8]> {
        key.chunks_exact(2 * S::LANES * BYTES)
    }

    #[inline(always)]
    fn load(self, simd: S, pair: &[u8]) -> Complex<S::F64> {
        let [re, im] = simd.load_packed_pair::<BYTES>(self.0, pair);
        Complex { re, im }
    }
}
