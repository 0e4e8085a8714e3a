//! The steps of an external product in a blind rotation. Each is one pass over memory, where
//! the plain transform needs three: the first pass down decomposes into digits when it loads, and
//! the last pass up rounds into the accumulator when it stores.
//!
//! ```text
//! accumulator ─forward_digit─▶ digits ─multiply─▶ sums ─inverse_add─▶ accumulator
//!                                         ▲
//!                key, in the order in which this is read; X^a - 1
//! ```
//!
//! With a key in blocks of `l` bits, of which at most one is set, the ciphertexts of a
//! block share one decomposition of the accumulator (Lee, Min, Seo, Song: Faster TFHE
//! Bootstrapping with Block Binary Keys, ePrint 2023/958, algorithm 2):
//! `acc += Σ_j (X^(a_j) - 1) · (BK_j ⊡ acc)`. The factors are applied pointwise, and the sums
//! are transformed back once.

mod coefficients;
mod key_bundle;
mod key_form;
mod passes;
mod product;
mod step_key;
mod tiles;
mod turn;
mod turned_digits;
mod turned_product;

#[cfg(all(test, feature = "std"))]
mod tests;

use alloc::vec::Vec;

use aligned_vec::{AVec, ConstAlign};

pub use self::coefficients::Coefficient;
use self::coefficients::{Coefficients, CoefficientsMut, View, ViewMut};
use self::passes::{Digit, TurnsDigit, forward_from, inverse_to};
use self::product::Product;
pub use self::step_key::{PackedKey, StepKey};
use self::step_key::{pack_number, packed_key_len, unit_of};
use self::turn::MAX_BLOCK_SIZE;
use self::turned_product::{BUNDLED, TURNED_OUTPUTS, TurnedProduct};
use super::trigonometry::root_of_unity;
use super::{FftPlan, OwnedFftPlan};
use crate::dimensions::PolynomialSize;
use crate::parameters::{MAX_GLWE_DIMENSION, PackedWidth};
use crate::simd::{
    DigitPlace, Isa, Lines, Simd, TorusSlice, TorusSliceMut, dispatch, dispatch_transform,
};
use crate::torus::{Torus, exp2_neg};

/// The numbers of polynomials in one step of a blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductShape {
    /// The number of key bits that share a decomposition.
    pub block_size: usize,
    /// The number of digits of all components of a GLWE ciphertext, which are the rows of a GGSW
    /// ciphertext.
    pub rows: usize,
    /// The number of components of a GLWE ciphertext.
    pub outputs: usize,
}

/// The most rows whose digits are multiplied by the factors of the key bits: one for each component of the largest GLWE ciphertexts.
const MOST_TURNED_ROWS: usize = MAX_GLWE_DIMENSION + 1;

impl ProductShape {
    /// Returns whether there are at most as many digits as sums, as without levels. If so, multiplying the digits by the factors of the key bits
    /// takes no more multiplications than multiplying the sums, and is what is done.
    pub fn few_rows(self) -> bool {
        self.rows <= self.outputs.min(MOST_TURNED_ROWS)
    }

    /// Returns whether the factors of the key bits are multiplied with the key. For `l` bits, `r` rows and `o` outputs this takes
    /// `(l + 1) r o` products of complex numbers, where multiplying the digits takes `l r (o + 1)`: fewer if there are more bits
    /// than outputs. With two rows and two outputs, as ciphertexts of two polynomials have without levels, the bundles of all rows
    /// and outputs stay in registers. The answer does not depend on the instruction set, nor on how outputs are shared out.
    pub fn bundles(self) -> bool {
        self.rows == BUNDLED && self.outputs == BUNDLED && self.block_size > self.outputs
    }
}

/// The transform, the tables of monomials and the order of keys for external products of one
/// shape.
#[derive(Clone, Debug)]
pub struct ExternalProductPlan {
    fft: OwnedFftPlan,
    shape: ProductShape,
    monomials: Monomials,
}

/// The values of `X^a` at every point of a transform, as products: the root of a point is the root
/// of its node of `LANES^2` points times a `LANES^2`-th root of unity, which is the same at the same
/// place of every node.
#[derive(Clone, Debug)]
struct Monomials {
    /// The powers of the `2N`-th root of unity, real and imaginary part side by side.
    roots: Vec<[f64; 2]>,
    /// The roots of unity within a node, for every exponent mod `LANES^2`, in the order of the points:
    /// vectors of real parts, each followed by its imaginary parts.
    within_node: AVec<f64, ConstAlign<64>>,
}

impl ExternalProductPlan {
    /// Makes a plan for an instruction set.
    ///
    /// # Panics
    /// If a number of the shape is 0, or the block size above 8.
    pub fn new(size: PolynomialSize, shape: ProductShape, isa: Isa) -> Self {
        assert!(
            shape.block_size > 0 && shape.rows > 0 && shape.outputs > 0,
            "an external product of nothing"
        );
        assert!(
            shape.block_size <= MAX_BLOCK_SIZE,
            "an external product of too many key bits"
        );
        Self {
            fft: OwnedFftPlan::new_with_isa(size, isa),
            shape,
            monomials: dispatch!(isa, |simd| Monomials::new(simd, size)),
        }
    }

    /// The transform.
    pub fn fft(&self) -> FftPlan<'_> {
        self.fft.plan()
    }

    /// The numbers of polynomials.
    pub fn shape(&self) -> ProductShape {
        self.shape
    }

    /// The number of outputs whose sums [`multiply`](Self::multiply) keeps in registers. For each group
    /// of that size it computes the factors and reads the digits once.
    pub fn outputs_at_once(&self) -> usize {
        match self.shape.few_rows() {
            true => TURNED_OUTPUTS,
            false => dispatch!(self.fft.isa(), |simd| outputs_at_once_of(simd)),
        }
    }

    /// The number of ciphertexts, 1 or 2, for which [`multiply`](Self::multiply) reads the key once.
    pub fn ciphertexts_at_once(&self) -> usize {
        match self.shape.few_rows() {
            true => 2,
            false => 1,
        }
    }

    /// Returns whether [`multiply`](Self::multiply) can read a [packed](StepKey::Packed) key of this width.
    pub fn reads_packed_keys(&self, width: PackedWidth) -> bool {
        self.shape.few_rows() && self.fft.isa().reads_packed_keys(width)
    }

    /// Returns the number of doubles of the key of one step: all polynomials of all rows of
    /// `block_size` GGSW ciphertexts, output by output.
    pub fn key_len(&self) -> usize {
        self.shape.outputs * self.output_key_len()
    }

    /// Returns the number of doubles of the key of a step for one output.
    pub fn output_key_len(&self) -> usize {
        self.shape.block_size * self.shape.rows * self.fft.polynomial_size().get()
    }

    /// Returns the number of bytes of the integers of the key of a step of `width`, without those [behind](PackedKey::BEHIND) them.
    pub fn packed_key_len(&self, width: PackedWidth) -> usize {
        packed_key_len(width, self.shape.outputs, self.output_key_len())
    }

    /// The number of doubles of a key that belong to the same points: those of all key bits and rows of an output.
    fn numbers_at_points(&self) -> usize {
        let lanes = dispatch!(self.fft.isa(), |simd| lanes_of(simd));
        2 * lanes * self.shape.block_size * self.shape.rows
    }

    /// Returns the key bit that a number of a key belongs to.
    #[cfg(test)]
    pub(crate) fn bit_of_number(&self, number: usize) -> usize {
        let at_points = self.numbers_at_points();
        number % at_points / (at_points / self.shape.block_size)
    }

    /// Rounds `doubles`, the key of a step, to the integers of `width` in `packed`, and sets `units`, one for each key bit, to the least
    /// [units](PackedKey::units) with which the largest double of the bit fits.
    ///
    /// # Panics
    /// If `doubles` does not have [`key_len`](Self::key_len) numbers, `packed` not [`packed_key_len`](Self::packed_key_len) bytes, or
    /// `units` not one number for each key bit.
    pub fn pack_key(
        &self,
        width: PackedWidth,
        doubles: &[f64],
        packed: &mut [u8],
        units: &mut [f64],
    ) {
        let (outputs, block_size) = (self.shape.outputs, self.shape.block_size);
        assert_eq!(doubles.len(), self.key_len());
        assert_eq!(packed.len(), self.packed_key_len(width));
        assert_eq!(units.len(), block_size);
        units.fill(0.0);
        let at_points = self.numbers_at_points();
        let of_bit = at_points / block_size;
        for (i, doubles) in doubles.chunks_exact(of_bit).enumerate() {
            let unit = &mut units[i % block_size];
            *unit = doubles.iter().fold(*unit, |most, x| most.max(x.abs()));
        }
        units.iter_mut().for_each(|unit| *unit = unit_of(*unit));
        let (masks, body) = doubles.split_at((outputs - 1) * self.output_key_len());
        let (packed_masks, packed_body) = packed.split_at_mut(masks.len() * width.mask_bytes());
        for (doubles, packed, bytes) in [
            (masks, packed_masks, width.mask_bytes()),
            (body, packed_body, width.body_bytes()),
        ] {
            let packed = packed.chunks_exact_mut(at_points * bytes);
            for (doubles, packed) in doubles.chunks_exact(at_points).zip(packed) {
                let numbers = doubles.iter().zip(packed.chunks_exact_mut(bytes));
                for (i, (&x, packed)) in numbers.enumerate() {
                    pack_number(x, units[i / of_bit], packed);
                }
                self.fft.isa().arrange_packed(bytes, packed);
            }
        }
    }

    /// Transforms `polynomial`, the component `output` of row `row` of GGSW ciphertext
    /// `bit` of a step, and stores it where [`multiply`](Self::multiply) reads it.
    /// `polynomial` has the signed representatives of its coefficients, times `scale`,
    /// and holds the transform afterwards.
    ///
    /// # Panics
    /// If a length or index does not fit the shape.
    pub fn place_key_polynomial(
        &self,
        key: &mut [f64],
        (bit, row, output): (usize, usize, usize),
        polynomial: &mut [f64],
    ) {
        let shape = self.shape;
        assert!(bit < shape.block_size && row < shape.rows && output < shape.outputs);
        assert_eq!(key.len(), self.key_len());
        let plan = self.fft.plan();
        plan.forward(polynomial);
        let lanes = dispatch!(plan.isa(), |simd| lanes_of(simd));
        let (re, im) = polynomial.split_at(polynomial.len() / 2);
        let key = &mut key[output * self.output_key_len()..][..self.output_key_len()];
        let place = bit * shape.rows + row;
        let vectors = re.chunks_exact(lanes).zip(im.chunks_exact(lanes));
        let steps = key.chunks_exact_mut(shape.block_size * shape.rows * 2 * lanes);
        for (key, (re, im)) in steps.zip(vectors) {
            let (to_re, to_im) = key[2 * place * lanes..][..2 * lanes].split_at_mut(lanes);
            to_re.copy_from_slice(re);
            to_im.copy_from_slice(im);
        }
    }

    /// Returns the factor for the coefficients of a key's polynomials, with which
    /// [`inverse_add`](Self::inverse_add) gets fractions of the torus: the transform's normalisation
    /// times `1/q`, both powers of two.
    pub fn key_scale<T: Torus>(&self) -> f64 {
        2.0 / self.fft.polynomial_size().get() as f64 * exp2_neg(T::BITS)
    }

    /// Transforms one balanced digit of every coefficient, and prefetches `next_key`, which may be empty.
    ///
    /// # Panics
    /// If a slice has not N elements, or the digit is of scalars of another width.
    pub fn forward_digit<X: Coefficient>(
        &self,
        out: &mut [f64],
        input: &[X],
        place: DigitPlace,
        next_key: &[u8],
    ) {
        assert_eq!(input.len(), out.len());
        self.forward_digit_of(out, X::view(input), place, next_key);
    }

    fn forward_digit_of(
        &self,
        out: &mut [f64],
        Coefficients(input): Coefficients<'_>,
        place: DigitPlace,
        next_key: &[u8],
    ) {
        let plan = self.fft.plan();
        plan.check(out);
        let table = plan.twiddles;
        let lines = |vectors| Lines::over(next_key, vectors);
        match input {
            View::Torus(input) => {
                assert_eq!(place.torus_bits, input.bits(), "a digit of other scalars");
                let digit = Digit(place);
                dispatch_transform!(plan.isa(), |simd| match input {
                    TorusSlice::U32(input) => {
                        forward_from(simd, out, table, input, &digit, lines);
                    }
                    TorusSlice::U64(input) => {
                        forward_from(simd, out, table, input, &digit, lines);
                    }
                });
            }
            // Most sets have top digits only. Where the second-level cache has no room for the keys of two steps, most transforms of a batch
            // request nothing, and a pass that need not count its vectors takes fewer instructions.
            View::Turns(input) if place.fraction_bits().0 > 0 => {
                let digit = TurnsDigit::<false>::new(place);
                dispatch_transform!(plan.isa(), |simd| {
                    forward_from(simd, out, table, input, &digit, lines);
                });
            }
            View::Turns(input) if next_key.is_empty() => {
                let digit = TurnsDigit::<true>::new(place);
                dispatch_transform!(plan.isa(), |simd| {
                    forward_from(simd, out, table, input, &digit, |_| ());
                });
            }
            View::Turns(input) => {
                let digit = TurnsDigit::<true>::new(place);
                dispatch_transform!(plan.isa(), |simd| {
                    forward_from(simd, out, table, input, &digit, lines);
                });
            }
        }
    }

    /// Computes `sums = Σ_j (X^(exponents[j]) - 1) · Σ_r digits[r] · key[j][r]` for each of `C` ciphertexts, for as many
    /// outputs from `first_output` on as its sums have room for. If `exponents` is `None`, for blocks of
    /// one bit, there are no factors. Prefetches `next_key`, which may be empty.
    ///
    /// The sums of a ciphertext are the same, bit for bit, with others and without.
    ///
    /// # Panics
    /// If a length does not fit the shape, or the key is packed although keys of its width are [not read](Self::reads_packed_keys),
    /// or there are no factors, which its unit belongs to, or there are neither one ciphertext nor two.
    pub fn multiply<const C: usize>(
        &self,
        sums: [&mut [f64]; C],
        first_output: usize,
        digits: [&[&[f64]]; C],
        key: StepKey<'_>,
        exponents: Option<[&[u32]; C]>,
        next_key: &[u8],
    ) {
        let shape = self.shape;
        let size = self.fft.polynomial_size().get();
        let outputs = sums.first().map_or(0, |sums| sums.len()) / size;
        assert!(first_output + outputs <= shape.outputs);
        assert!(sums.iter().all(|sums| sums.len() == outputs * size));
        for digits in digits {
            assert_eq!(digits.len(), shape.rows);
            assert!(digits.iter().all(|digit| digit.len() == size));
        }
        assert!(key.fits(shape, self.output_key_len()));
        if let StepKey::Packed(key) = key {
            assert!(
                self.reads_packed_keys(key.width),
                "a packed key where none is read"
            );
        }
        let exponents_or_none = exponents.unwrap_or([&[0]; C]);
        assert!(
            exponents_or_none
                .iter()
                .all(|exponents| exponents.len() == shape.block_size)
        );
        let monomials = &self.monomials;
        let isa = self.fft.isa();
        if exponents.is_some() && shape.few_rows() {
            let job = TurnedProduct {
                shape,
                monomials,
                digits,
                key,
                exponents: exponents_or_none,
                next_key,
            };
            job.multiply_on(isa, first_output, sums);
            return;
        }
        let StepKey::Doubles(key) = key else {
            panic!("a packed key where none is read");
        };
        let mut next_key = next_key;
        for ((sums, digits), of_it) in sums.into_iter().zip(digits).zip(exponents_or_none) {
            let next_key = core::mem::take(&mut next_key);
            let job = Product {
                shape,
                monomials,
                digits,
                key,
                exponents: of_it,
                next_key,
            };
            job.multiply_on(isa, exponents.is_some(), first_output, sums);
        }
    }

    /// Transforms `sum` back and adds it, as numbers of turns, to the accumulator. Prefetches
    /// `next_key`, which may be empty.
    ///
    /// # Panics
    /// If a slice has not N elements.
    pub fn inverse_add<X: Coefficient>(&self, acc: &mut [X], sum: &mut [f64], next_key: &[u8]) {
        assert_eq!(acc.len(), sum.len());
        self.inverse_add_to(X::view_mut(acc), sum, next_key);
    }

    fn inverse_add_to(
        &self,
        CoefficientsMut(acc): CoefficientsMut<'_>,
        sum: &mut [f64],
        next_key: &[u8],
    ) {
        let plan = self.fft.plan();
        plan.check(sum);
        let table = plan.twiddles;
        let lines = |vectors| Lines::over(next_key, vectors);
        match acc {
            ViewMut::Torus(acc) => dispatch_transform!(plan.isa(), |simd| match acc {
                TorusSliceMut::U32(acc) => inverse_to(simd, sum, table, acc, lines),
                TorusSliceMut::U64(acc) => inverse_to(simd, sum, table, acc, lines),
            }),
            ViewMut::Turns(acc) if next_key.is_empty() => {
                dispatch_transform!(plan.isa(), |simd| inverse_to(simd, sum, table, acc, |_| ()));
            }
            ViewMut::Turns(acc) => {
                dispatch_transform!(plan.isa(), |simd| inverse_to(simd, sum, table, acc, lines));
            }
        }
    }
}

#[inline(always)]
fn outputs_at_once_of<S: Simd>(_simd: S) -> usize {
    S::PRODUCT_OUTPUTS
}

#[inline(always)]
fn lanes_of<S: Simd>(_simd: S) -> usize {
    S::LANES
}

impl Monomials {
    #[inline(always)]
    fn new<S: Simd>(_simd: S, size: PolynomialSize) -> Self {
        let order_log = size.log2() + 1;
        let roots = (0..2 * size.get() as u32)
            .map(|step| <[f64; 2]>::from(root_of_unity(step, order_log)))
            .collect();
        let node_log = 2 * S::LANES.ilog2();
        let mut within_node = AVec::new(64);
        for exponent in 0..1u32 << node_log {
            for row in 0..S::LANES {
                // Below the transposition, each lane is a node of LANES leaves.
                let angles = (0..S::LANES).map(|lane| {
                    let leaf = (lane * S::LANES + row) as u32;
                    let reversed = leaf.reverse_bits() >> (u32::BITS - node_log);
                    let step = (exponent * reversed) % (1 << node_log);
                    root_of_unity(step << 3, node_log + 3)
                });
                angles.clone().for_each(|(re, _)| within_node.push(re));
                angles.for_each(|(_, im)| within_node.push(im));
            }
        }
        Self { roots, within_node }
    }

    /// Returns the root of the `index`-th node to the power `exponent`; it is the root of its first leaf.
    #[inline(always)]
    fn root(&self, exponent: u32, index: usize, index_bits: u32) -> &[f64; 2] {
        let reversed = match index_bits {
            0 => 0,
            _ => (index as u32).reverse_bits() >> (u32::BITS - index_bits),
        };
        let step = exponent.wrapping_mul(1 + 4 * reversed) as usize;
        &self.roots[step & (self.roots.len() - 1)]
    }
}
