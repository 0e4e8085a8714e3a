//! The pointwise part of an external product as in [`product`](super::product), but with the factors `X^a - 1` multiplied with
//! the digits or with the key instead of the sums of a key bit. The key is read once for one or two ciphertexts, and it may be packed.

use super::key_form::{Doubles, Form, Integers};
use super::step_key::StepKey;
use super::turn::{MAX_BLOCK_SIZE, Turn, look_up};
use super::{Monomials, ProductShape};
use crate::parameters::PackedWidth;
use crate::simd::{Isa, Lines, Simd, apart, dispatch};

/// The inputs of the sums of products of `C` ciphertexts.
pub(super) struct TurnedProduct<'a, const C: usize> {
    pub(super) shape: ProductShape,
    pub(super) monomials: &'a Monomials,
    pub(super) digits: [&'a [&'a [f64]]; C],
    pub(super) key: StepKey<'a>,
    pub(super) exponents: [&'a [u32]; C],
    pub(super) next_key: &'a [u8],
}

impl TurnedProduct<'_, 1> {
    fn multiply_one(&self, isa: Isa, first: usize, sums: [&mut [f64]; 1]) {
        dispatch!(isa, |simd| self.multiply(simd, first, sums));
    }
}

impl TurnedProduct<'_, 2> {
    fn multiply_two(&self, isa: Isa, first: usize, sums: [&mut [f64]; 2]) {
        dispatch!(isa, |simd| self.multiply(simd, first, sums));
    }
}

impl<'a, const C: usize> TurnedProduct<'a, C> {
    /// Computes all outputs that `sums` has room for, from output `first` on.
    ///
    /// The functions that it calls are not generic, so that the crates that use this one do not compile the products again.
    ///
    /// # Panics
    /// If there are neither one ciphertext nor two.
    pub(super) fn multiply_on(&self, isa: Isa, first: usize, mut sums: [&mut [f64]; C]) {
        match (&mut sums[..], &self.digits[..], &self.exponents[..]) {
            ([sums], &[digits], &[exponents]) => {
                self.of([digits], [exponents])
                    .multiply_one(isa, first, [sums]);
            }
            ([sums, more_sums], &[digits, more_digits], &[exponents, more_exponents]) => {
                self.of([digits, more_digits], [exponents, more_exponents])
                    .multiply_two(isa, first, [sums, more_sums]);
            }
            _ => panic!("neither one ciphertext nor two"),
        }
    }

    /// Returns the product for the ciphertexts with these digits and exponents.
    fn of<const D: usize>(
        &self,
        digits: [&'a [&'a [f64]]; D],
        exponents: [&'a [u32]; D],
    ) -> TurnedProduct<'a, D> {
        TurnedProduct {
            shape: self.shape,
            monomials: self.monomials,
            digits,
            key: self.key,
            exponents,
            next_key: self.next_key,
        }
    }
}

impl<const C: usize> TurnedProduct<'_, C> {
    /// Computes all outputs that `sums` has room for, in groups whose sums stay in registers.
    /// A packed key is ignored on instruction sets that do not [read keys of its width](Simd::PACKED_WIDTHS); callers check this first.
    #[inline(always)]
    fn multiply<S: Simd>(&self, simd: S, mut first: usize, mut sums: [&mut [f64]; C]) {
        let size = self.digits[0][0].len();
        let most = match self.shape.bundles() {
            true => BUNDLED,
            false => TURNED_OUTPUTS,
        };
        let outputs = sums[0].len() / size;
        let groups = outputs.div_ceil(most);
        let ahead = &mut Lines::over(self.next_key, groups * size / (2 * S::LANES));
        let output_len = self.exponents[0].len() * self.shape.rows * size;
        let end = first + outputs;
        while first < end {
            let group = (end - first).min(most);
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
                    let all = self.shape.outputs;
                    let outputs = (first..).map(|output| key.of_output(output, all, output_len));
                    // All outputs of a group but the last one are masks.
                    let has_body = first + group == all;
                    match (key.width, has_body) {
                        (PackedWidth::Six, _)
                            if const { PackedWidth::Six.is_among(S::PACKED_WIDTHS) } =>
                        {
                            let form = Integers::<S, 6, 6>::new(simd);
                            self.multiply_some::<S, _>(simd, (form, outputs), now, ahead);
                        }
                        (PackedWidth::SevenAndSix, true)
                            if const { PackedWidth::SevenAndSix.is_among(S::PACKED_WIDTHS) } =>
                        {
                            let form = Integers::<S, 7, 6>::new(simd);
                            self.multiply_some::<S, _>(simd, (form, outputs), now, ahead);
                        }
                        (PackedWidth::SevenAndSix | PackedWidth::Seven, _)
                            if const { PackedWidth::Seven.is_among(S::PACKED_WIDTHS) } =>
                        {
                            let form = Integers::<S, 7, 7>::new(simd);
                            self.multiply_some::<S, _>(simd, (form, outputs), now, ahead);
                        }
                        (PackedWidth::EightAndSix, true)
                            if const { PackedWidth::EightAndSix.is_among(S::PACKED_WIDTHS) } =>
                        {
                            let form = Integers::<S, 8, 6>::new(simd);
                            self.multiply_some::<S, _>(simd, (form, outputs), now, ahead);
                        }
                        (PackedWidth::EightAndSix, false)
                            if const { PackedWidth::EightAndSix.is_among(S::PACKED_WIDTHS) } =>
                        {
                            let form = Integers::<S, 8, 8>::new(simd);
                            self.multiply_some::<S, _>(simd, (form, outputs), now, ahead);
                        }
                        // Refused by the caller.
                        _ => {}
                    }
                }
            }
            first += group;
        }
    }

    /// Computes as many outputs as `sums` has room for, at most those of a group, with the keys of `outputs`.
    #[inline(always)]
    fn multiply_some<'k, S: Simd, F: Form<S>>(
        &self,
        simd: S,
        outputs: (F, impl Iterator<Item = &'k [F::Number]>),
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        if !S::HOLDS_PAIRS {
            self.add_tiles::<S, F>(simd, outputs, sums, ahead);
            return;
        }
        let group = sums[0].len() / self.digits[0][0].len();
        if self.shape.bundles() {
            match group {
                2 => apart!(
                    simd,
                    self.add_key_bundles::<S, F, BUNDLED, 2>(simd, outputs, sums, ahead)
                ),
                _ => apart!(
                    simd,
                    self.add_key_bundles::<S, F, BUNDLED, 1>(simd, outputs, sums, ahead)
                ),
            }
        } else {
            match group {
                4 => apart!(
                    simd,
                    self.add_turned_digits::<S, F, 4>(simd, outputs, sums, ahead)
                ),
                3 => apart!(
                    simd,
                    self.add_turned_digits::<S, F, 3>(simd, outputs, sums, ahead)
                ),
                2 => apart!(
                    simd,
                    self.add_turned_digits::<S, F, 2>(simd, outputs, sums, ahead)
                ),
                _ => apart!(
                    simd,
                    self.add_turned_digits::<S, F, 1>(simd, outputs, sums, ahead)
                ),
            }
        }
    }

    /// Looks up the monomials of all key bits of every ciphertext at node `node` of `nodes`.
    #[inline(always)]
    pub(super) fn turns_at<S: Simd>(
        &self,
        node: usize,
        nodes: usize,
    ) -> [[Turn<'_, S>; MAX_BLOCK_SIZE]; C] {
        let mut turns = [[Turn::<S>::NONE; MAX_BLOCK_SIZE]; C];
        for (turns, exponents) in turns.iter_mut().zip(self.exponents) {
            let unit_of = |bit| self.key.unit(bit);
            look_up(turns, self.monomials, exponents, unit_of, (node, nodes));
        }
        turns
    }
}

/// Returns the keys of the next `O` outputs.
#[inline(always)]
pub(super) fn keys_of<'k, S: Simd, F: Form<S>, const O: usize>(
    mut outputs: impl Iterator<Item = &'k [F::Number]>,
) -> [&'k [F::Number]; O] {
    let mut keys = [const { &[] as &[F::Number] }; O];
    for key in &mut keys {
        *key = outputs.next().unwrap_or(&[]);
    }
    keys
}

/// The number of outputs whose sums stay in registers.
pub(super) const TURNED_OUTPUTS: usize = 4;

/// The numbers of rows and of outputs of the shapes that have [bundles](ProductShape::bundles).
pub(super) const BUNDLED: usize = 2;
