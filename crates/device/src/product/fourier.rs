//! The product of the plan `fast`: the double-precision Fourier transform, with its tables and the
//! transformed small polynomials kept.

use tfhe_sbc_core::fft::{FftPlan, twiddle_len};
use tfhe_sbc_core::glwe_product::{MaskProduct, ProductTorus, prepare_key_polynomial};
use tfhe_sbc_core::parameters::{GlweSecret, Parameters};
use tfhe_sbc_core::simd::Isa;
use tfhe_sbc_core::workspace::{Carver, WorkspaceError, wipe};

use super::operands::{UniformPolynomials, unpack_into};
use crate::error::DeviceError;
use crate::plan::scratch_len;

pub(crate) struct FourierProduct<'w, T: ProductTorus> {
    plan: FftPlan<'w>,
    prepared: &'w mut [f64],
    scratch: &'w mut [f64],
    uniform: &'w mut [T],
}

impl<'w, T: ProductTorus> FourierProduct<'w, T> {
    pub(super) fn carve(
        parameters: &Parameters,
        uniform_len: usize,
        carver: &mut Carver<'w>,
    ) -> Result<Self, DeviceError> {
        let (size, dimension) = (parameters.polynomial_size(), parameters.glwe_dimension());
        let twiddles = carver.take(twiddle_len(size))?;
        Ok(Self {
            plan: FftPlan::new(size, Isa::detect(), twiddles).map_err(|short| {
                WorkspaceError::TooSmall {
                    needed: short.needed,
                    found: short.given,
                }
            })?,
            prepared: carver.take(dimension.0 * size.get())?,
            scratch: carver.take(scratch_len(size, dimension, T::BITS))?,
            uniform: carver.take(uniform_len)?,
        })
    }

    pub(super) fn set_secret(
        &mut self,
        secret: GlweSecret,
        index: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) {
        let size = self.plan.polynomial_size().get();
        let prepared = &mut self.prepared[index * size..][..size];
        unpack_into(secret, prepared, fill, f64::from);
        prepare_key_polynomial(self.plan, prepared);
    }

    pub(super) fn spare(&mut self) -> &mut [T] {
        self.uniform
    }

    pub(super) fn add_sum(&mut self, uniform: &mut impl UniformPolynomials<T>, out: &mut [T]) {
        let size = self.plan.polynomial_size().get();
        let mut product = MaskProduct::new(self.plan, self.scratch);
        let last = self.prepared.len() / size - 1;
        let (firsts, last_prepared) = self.prepared.split_at(last * size);
        for (index, prepared) in firsts.chunks_exact(size).enumerate() {
            product.add(uniform.whole(index, self.uniform), prepared);
        }
        product.finish_into(uniform.whole(last, self.uniform), last_prepared, out);
    }

    pub(super) fn wipe(&mut self) {
        wipe(self.prepared);
        wipe(self.scratch);
        wipe(self.uniform);
    }
}

impl<T: ProductTorus> Drop for FourierProduct<'_, T> {
    fn drop(&mut self) {
        self.wipe();
    }
}
