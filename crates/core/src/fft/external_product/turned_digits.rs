//! The pointwise part of an external product as in [`product`](super::product), but with the factors `X^a - 1` multiplied with
//! the digits instead of the sums of a key bit. The registers then have room for the sums of two ciphertexts, for which the
//! key is read once, and it may be packed.

use super::step_key::StepKey;
use super::turn::{MAX_BLOCK_SIZE, Turn, look_up};
use super::{Monomials, ProductShape};
use crate::fft::node::Complex;
use crate::parameters::PackedWidth;
use crate::simd::{Ahead, Lines, Simd};

/// The inputs of the sums of products of `C` ciphertexts.
pub(super) struct TurnedDigits<'a, const C: usize> {
    pub(super) shape: ProductShape,
    pub(super) monomials: &'a Monomials,
    pub(super) digits: [&'a [&'a [f64]]; C],
    pub(super) key: StepKey<'a>,
    pub(super) exponents: [&'a [u32]; C],
    pub(super) next_key: &'a [u8],
}

impl<const C: usize> TurnedDigits<'_, C> {
    /// Computes all outputs that `sums` has room for, in groups whose sums stay in registers. Where an instruction set does not
    /// [turn digits](Simd::TURNS_DIGITS), it does nothing.
    #[inline(always)]
    pub(super) fn multiply<S: Simd>(&self, simd: S, first: usize, sums: [&mut [f64]; C]) {
        if S::TURNS_DIGITS {
            self.multiply_all(simd, first, sums);
        }
    }

    #[inline(always)]
    fn multiply_all<S: Simd>(&self, simd: S, mut first: usize, mut sums: [&mut [f64]; C]) {
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
                    self.multiply_some::<S, _>(simd, (Doubles, outputs), now, ahead);
                }
                StepKey::Packed(key) => {
                    let outputs = key.bytes.chunks_exact(output_len * key.width.bytes());
                    let outputs = outputs.skip(first);
                    match key.width {
                        PackedWidth::Six => {
                            let form = Integers::<S, 6>(simd.packed_places::<6>());
                            self.multiply_some::<S, _>(simd, (form, outputs), now, ahead);
                        }
                        PackedWidth::Seven => {
                            let form = Integers::<S, 7>(simd.packed_places::<7>());
                            self.multiply_some::<S, _>(simd, (form, outputs), now, ahead);
                        }
                    }
                }
            }
            first += group;
        }
    }

    /// Computes as many outputs as `sums` has room for, at most [`PRODUCT_OUTPUTS`](Simd::PRODUCT_OUTPUTS), with the keys of
    /// `outputs`.
    #[inline(always)]
    fn multiply_some<'k, S: Simd, F: Form<S>>(
        &self,
        simd: S,
        outputs: (F, impl Iterator<Item = &'k [F::Number]>),
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        match sums[0].len() / self.digits[0][0].len() {
            4 => self.multiply_group::<S, F, 4>(simd, outputs, sums, ahead),
            3 => self.multiply_group::<S, F, 3>(simd, outputs, sums, ahead),
            2 => self.multiply_group::<S, F, 2>(simd, outputs, sums, ahead),
            _ => self.multiply_group::<S, F, 1>(simd, outputs, sums, ahead),
        }
    }

    #[inline(always)]
    fn multiply_group<'k, S: Simd, F: Form<S>, const O: usize>(
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
            for (turns, exponents) in turns.iter_mut().zip(self.exponents) {
                look_up(
                    turns,
                    self.monomials,
                    exponents,
                    self.key.unit(),
                    (node, nodes),
                );
            }
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                let mut sum = [[zero; O]; C];
                for bit in 0..bits {
                    let mut factors = [zero; C];
                    for (factor, turns) in factors.iter_mut().zip(&turns) {
                        *factor = turns[bit].factor(simd, row, unit);
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
                            let key = form.load(simd, key);
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

/// The form of the coefficients of a key.
trait Form<S: Simd>: Copy {
    /// The type of the elements of a key: doubles, or the bytes of integers.
    type Number: 'static;
    /// The elements of a vector of real parts and of the vector of imaginary parts behind it.
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
