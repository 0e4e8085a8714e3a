//! Gadget products: the components of a GLWE ciphertext are decomposed into digits and multiplied
//! with the rows of a key. With the rows of a GGSW ciphertext this is the external product `GGSW ⊡
//! GLWE` (TFHE: Fast Fully Homomorphic Encryption over the Torus, section 3.2), on which the
//! rotation by a block of key bits is built; with those of a switch key it is a GLWE key switch.

mod scratch;

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::fft::external_product::{
    Coefficient, ExternalProductPlan, ProductShape, StepKey,
};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::packing::PackingParameters;
use tfhe_sbc_core::parameters::{
    Decomposition, MAX_GLWE_DIMENSION, MAX_ROWS, PackedWidth, Parameters,
};
use tfhe_sbc_core::simd::{self, DigitPlace, Isa};
use tfhe_sbc_core::torus::Torus;

pub use self::scratch::GadgetProductScratch;
use self::scratch::{polynomials, polynomials_mut};
use crate::bootstrap_key::bytes_of;
use crate::requests::{Requests, Upcoming};

/// The largest number of components of a GLWE ciphertext.
pub(crate) const MAX_OUTPUTS: usize = MAX_GLWE_DIMENSION + 1;

/// The plan of the gadget products of one kind: their shape, and the component and digit that each
/// row of a key belongs to. The rows of a component are ordered from the least significant digit
/// up. The transforms and the arithmetic on them are those of the core's [`ExternalProductPlan`].
#[derive(Clone, Debug)]
pub struct GadgetProduct {
    plan: ExternalProductPlan,
    digits: Vec<(usize, DigitPlace)>,
}

/// The shape of the GLWE ciphertexts that products make, and the scalars that they are made from.
#[derive(Clone, Copy)]
struct GlweShape {
    /// log2 of the modulus of the scalars that are decomposed.
    torus_bits: u32,
    polynomial_size: PolynomialSize,
    outputs: usize,
}

impl From<&Parameters> for GlweShape {
    fn from(parameters: &Parameters) -> Self {
        Self {
            torus_bits: parameters.torus_bits(),
            polynomial_size: parameters.polynomial_size(),
            outputs: parameters.glwe_dimension().0 + 1,
        }
    }
}

impl GadgetProduct {
    /// Returns the plan of the external products of a blind rotation.
    pub fn of_blind_rotation(parameters: &Parameters, isa: Isa) -> Self {
        let k = parameters.glwe_dimension().0;
        let gadgets = (0..k)
            .map(|_| parameters.pbs())
            .chain([parameters.pbs_body()]);
        let block_size = parameters.lwe_block_size() as usize;
        Self::new(GlweShape::from(parameters), isa, gadgets, block_size)
    }

    /// Returns the plan of a device's key switch, which decomposes the masks only.
    pub(crate) fn of_device_switch(
        parameters: &Parameters,
        decomposition: Decomposition,
        isa: Isa,
    ) -> Self {
        let k = parameters.glwe_dimension().0;
        let gadgets = (0..k).map(|_| decomposition);
        Self::new(GlweShape::from(parameters), isa, gadgets, 1)
    }

    /// Returns the plan of a step of packing, which decomposes one polynomial for each of as many mask
    /// coefficients of blocks as there are rows for.
    pub(crate) fn of_packing(packing: &PackingParameters, isa: Isa) -> Self {
        let columns = MAX_ROWS / packing.decomposition.level_count.0;
        let gadgets = (0..columns).map(|_| packing.decomposition);
        let shape = GlweShape {
            torus_bits: u32::BITS,
            polynomial_size: packing.polynomial_size,
            outputs: packing.glwe_dimension.0 + 1,
        };
        Self::new(shape, isa, gadgets, 1)
    }

    /// Returns the plan of a step of a key switch to the small key, which decomposes as many mask polynomials as there are
    /// rows for, and all if it can.
    pub(crate) fn of_key_switch(parameters: &Parameters, isa: Isa) -> Self {
        let decomposition = parameters.key_switch();
        let size = parameters.polynomial_size();
        let rows_for = MAX_ROWS / decomposition.level_count.0;
        let columns = parameters.glwe_dimension().0.min(rows_for);
        let shape = GlweShape {
            torus_bits: parameters.torus_bits(),
            polynomial_size: size,
            outputs: parameters.lwe_dimension().0.div_ceil(size.get()) + 1,
        };
        Self::new(shape, isa, (0..columns).map(|_| decomposition), 1)
    }

    fn new(
        glwe: GlweShape,
        isa: Isa,
        gadgets: impl Iterator<Item = Decomposition>,
        block_size: usize,
    ) -> Self {
        let digits: Vec<_> = gadgets
            .enumerate()
            .flat_map(|(component, gadget)| {
                let (base_log, levels) = (gadget.base_log.0, gadget.level_count.0);
                (0..levels).map(move |level| {
                    let place = DigitPlace::new(glwe.torus_bits, base_log, levels, level);
                    (component, place)
                })
            })
            .collect();
        let shape = ProductShape {
            block_size,
            rows: digits.len(),
            outputs: glwe.outputs,
        };
        Self {
            plan: ExternalProductPlan::new(glwe.polynomial_size, shape, isa),
            digits,
        }
    }

    /// The numbers of polynomials of a product.
    pub fn shape(&self) -> ProductShape {
        self.plan.shape()
    }

    /// The number of doubles of the key of one step.
    pub fn key_len(&self) -> usize {
        self.plan.key_len()
    }

    /// The number of bytes of the key of one step that is packed to integers of `width`.
    pub(crate) fn packed_key_len(&self, width: PackedWidth) -> usize {
        self.plan.packed_key_len(width)
    }

    /// Rounds `key`, the doubles of a step, to `integers` of `width`, and sets `units`, one for each key bit.
    ///
    /// # Panics
    /// If a slice does not have the length that belongs to the key of a step.
    pub(crate) fn pack_key(
        &self,
        width: PackedWidth,
        key: &[f64],
        integers: &mut [u8],
        units: &mut [f64],
    ) {
        self.plan.pack_key(width, key, integers, units);
    }

    /// The number N of coefficients of a polynomial.
    pub(crate) fn polynomial_size(&self) -> usize {
        self.plan.fft().polynomial_size().get()
    }

    /// The instruction set of the kernels.
    pub(crate) fn isa(&self) -> Isa {
        self.plan.fft().isa()
    }

    /// Returns scratch memory for a thread.
    pub fn scratch(&self) -> GadgetProductScratch {
        GadgetProductScratch::new(self.plan.shape(), self.polynomial_size(), 0)
    }

    /// Returns scratch memory for a thread that processes two ciphertexts together.
    pub fn scratch_of_two(&self) -> [GadgetProductScratch; 2] {
        let of =
            |place| GadgetProductScratch::new(self.plan.shape(), self.polynomial_size(), place);
        [of(0), of(1)]
    }

    /// Transforms a polynomial of a key, multiplied by `sign`, and stores it in the key of its
    /// step. `place` is `(bit, row, output)`: component `output` of row `row` of the GGSW
    /// ciphertext of bit `bit` of the block. `scratch` has N elements.
    ///
    /// # Panics
    /// If a length or index does not fit.
    pub fn place_key_polynomial<T: ProductTorus>(
        &self,
        key: &mut [f64],
        place: (usize, usize, usize),
        polynomial: &[T],
        sign: f64,
        scratch: &mut [f64],
    ) {
        let isa = self.isa();
        simd::torus_to_f64(isa, scratch, polynomial);
        simd::scale_f64(isa, scratch, sign * self.plan.key_scale::<T>());
        self.plan.place_key_polynomial(key, place, scratch);
    }

    /// Returns the width in which a key that needs at least `width` is kept in memory; `None` if it is to consist of doubles.
    pub(crate) fn packed_key_width(&self, width: PackedWidth) -> Option<PackedWidth> {
        let width = self.isa().packed_key_width(width)?;
        self.plan.reads_packed_keys(width).then_some(width)
    }

    /// The number of ciphertexts, 1 or 2, that [`turn_by_block`](Self::turn_by_block) is fastest with.
    pub(crate) fn ciphertexts_at_once(&self) -> usize {
        self.plan.ciphertexts_at_once()
    }

    /// Computes `acc += Σ_j (X^exponents[j] - 1) · (GGSW_j ⊡ acc)` for each of `C` ciphertexts. This multiplies `acc` by the
    /// power of `X` that belongs to the set bit of the block, or only renews its noise if no bit
    /// is set. The exponents are mod 2N. Meanwhile what `requests` has is prefetched.
    ///
    /// The results are the same, bit for bit, for any number of ciphertexts.
    ///
    /// # Panics
    /// If a length does not fit.
    pub fn turn_by_block<X: Coefficient, const C: usize>(
        &self,
        accs: [&mut [X]; C],
        key: StepKey<'_>,
        requests: Requests<'_>,
        exponents: [&[u32]; C],
        scratch: [&mut GadgetProductScratch; C],
    ) {
        let size = self.polynomial_size();
        let mut while_down = Pieces::of(requests.down, C * self.digits.len());
        let mut rows = [NO_ROWS; C];
        let mut sums: [&mut [f64]; C] = std::array::from_fn(|_| &mut [][..]);
        for (((acc, scratch), rows), sums) in accs.iter().zip(scratch).zip(&mut rows).zip(&mut sums)
        {
            assert_eq!(acc.len(), self.plan.shape().outputs * size);
            let (digits, of_sums) = scratch.parts();
            let mut buffers = polynomials_mut(digits, size);
            for (component, polynomial) in acc.chunks_exact(size).enumerate() {
                self.take_digits(component, polynomial, &mut buffers, &mut while_down);
            }
            drop(buffers);
            *rows = gathered(polynomials(digits, size));
            *sums = of_sums;
        }
        let rows = rows.each_ref();
        self.add_rows(accs, 0, rows, (key, requests), Some(exponents), sums);
    }

    /// Computes `(0, …, 0, body) + Σ digit · row` in place, the digits being those of the masks.
    pub(crate) fn switch<T: ProductTorus>(
        &self,
        glwe: &mut [T],
        key: &[f64],
        scratch: &mut GadgetProductScratch,
    ) {
        let size = self.polynomial_size();
        let (digits, sums) = scratch.parts();
        let mut buffers = polynomials_mut(digits, size);
        for (component, polynomial) in glwe.chunks_exact(size).enumerate() {
            self.take_digits(
                component,
                polynomial,
                &mut buffers,
                &mut Pieces::of(Upcoming::NONE, 1),
            );
        }
        let mask_len = glwe.len() - size;
        glwe[..mask_len].fill(T::ZERO);
        drop(buffers);
        let rows = gathered(polynomials(digits, size));
        let key = (StepKey::Doubles(key), Requests::NONE);
        self.add_rows([glwe], 0, [&rows], key, None, [sums]);
    }

    /// Adds `Σ digit · row` to the ciphertext `acc`, the digits being those of the polynomials `inputs`, one for each
    /// component, which may have other scalars.
    pub(crate) fn add_switched<T: ProductTorus, D: Torus>(
        &self,
        acc: &mut [T],
        inputs: &[D],
        key: &[f64],
        scratch: &mut GadgetProductScratch,
    ) {
        let size = self.polynomial_size();
        let (digits, sums) = scratch.parts();
        let mut buffers = polynomials_mut(digits, size);
        for (component, polynomial) in inputs.chunks_exact(size).enumerate() {
            self.take_digits(
                component,
                polynomial,
                &mut buffers,
                &mut Pieces::of(Upcoming::NONE, 1),
            );
        }
        drop(buffers);
        let rows = gathered(polynomials(digits, size));
        let key = (StepKey::Doubles(key), Requests::NONE);
        self.add_rows([acc], 0, [&rows], key, None, [sums]);
    }

    /// The number of components that are decomposed.
    pub(crate) fn component_count(&self) -> usize {
        self.digits
            .last()
            .map_or(0, |&(component, _)| component + 1)
    }

    /// The number of digits of a component.
    pub(crate) fn digit_count(&self, component: usize) -> usize {
        self.digits_of(component).count()
    }

    /// The bytes of a step's key that belong to `outputs` components from `first` on.
    pub(crate) fn part_of<'k>(&self, key: StepKey<'k>, first: usize, outputs: usize) -> &'k [u8] {
        let all = bytes_of(key);
        let mask_bytes = match key {
            StepKey::Doubles(_) => size_of::<f64>(),
            StepKey::Packed(packed) => packed.width.mask_bytes(),
        };
        let each = self.plan.output_key_len() * mask_bytes;
        // The last component may have fewer bytes.
        &all[first * each..all.len().min((first + outputs) * each)]
    }

    fn digits_of(&self, component: usize) -> impl Iterator<Item = DigitPlace> {
        let of_it = self.digits.iter().filter(move |(c, _)| *c == component);
        of_it.map(|&(_, place)| place)
    }

    /// Writes the transformed digits of one component to the next buffers, and prefetches a piece
    /// of the key during each transform.
    pub(crate) fn take_digits<'b, X: Coefficient>(
        &self,
        component: usize,
        polynomial: &[X],
        buffers: &mut impl Iterator<Item = &'b mut [f64]>,
        upcoming: &mut Pieces<'_>,
    ) {
        for (place, buffer) in self.digits_of(component).zip(buffers) {
            self.plan
                .forward_digit(buffer, polynomial, place, upcoming.next());
        }
    }

    /// Adds the products of all rows to the components of each of `accs`, the first of which is component
    /// `first` of the ciphertext. `rows` are the transformed digits of all its components, and `sums`
    /// is scratch memory of as many polynomials as the accumulator has. Meanwhile what `requests` has for the products and
    /// the sums is prefetched.
    pub(crate) fn add_rows<X: Coefficient, const C: usize>(
        &self,
        accs: [&mut [X]; C],
        first: usize,
        rows: [&Gathered<'_>; C],
        (key, requests): (StepKey<'_>, Requests<'_>),
        exponents: Option<[&[u32]; C]>,
        mut sums: [&mut [f64]; C],
    ) {
        let rows = rows.map(|rows| &rows[..self.digits.len()]);
        let all_sums = sums.each_mut().map(|sums| &mut **sums);
        self.plan
            .multiply(all_sums, first, rows, key, exponents, requests.products);
        let size = self.polynomial_size();
        let components = accs.iter().map(|acc| acc.len() / size).sum();
        let mut while_up = Pieces::of(requests.up, components);
        for (acc, sums) in accs.into_iter().zip(sums) {
            for (component, sum) in acc.chunks_exact_mut(size).zip(sums.chunks_exact_mut(size)) {
                self.plan.inverse_add(component, sum, while_up.next());
            }
        }
    }
}

/// The transformed digits of all components of a ciphertext; the places behind the last digit are empty.
pub(crate) type Gathered<'d> = [&'d [f64]; MAX_ROWS];

const NO_ROWS: Gathered<'_> = [&[]; MAX_ROWS];

/// Gathers digits, at most [`MAX_ROWS`] polynomials.
pub(crate) fn gathered<'d>(digits: impl Iterator<Item = &'d [f64]>) -> Gathered<'d> {
    let mut all = NO_ROWS;
    for (place, digit) in all.iter_mut().zip(digits) {
        *place = digit;
    }
    all
}

/// A part of the key that is handed out in a number of pieces.
pub(crate) struct Pieces<'k> {
    all: Upcoming<'k>,
    done: usize,
    count: usize,
}

impl<'k> Pieces<'k> {
    pub(crate) fn of(all: Upcoming<'k>, count: usize) -> Self {
        Self {
            all,
            done: 0,
            count,
        }
    }

    /// The next piece. There are `count`.
    pub(crate) fn next(&mut self) -> &'k [u8] {
        let piece = self.all.piece(self.done, self.count);
        self.done += 1;
        piece
    }
}
