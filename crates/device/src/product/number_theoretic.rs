//! The products of the plans `balanced` and `small`: the number-theoretic transform, in integers.

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::ntt::{add_limb_product, add_product, limb_count, load_limb, prepare_small};
use tfhe_sbc_core::parameters::{GlweSecret, Parameters};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::bits::packed_len;
use tfhe_sbc_core::workspace::{Carver, wipe};

use super::operands::{UniformPolynomials, unpack_into};
use crate::error::DeviceError;

/// The product of the plan `balanced`, which keeps the transformed small polynomials.
pub(crate) struct KeptProduct<'w, T: Torus> {
    size: PolynomialSize,
    uniform: &'w mut [T],
    prepared: &'w mut [i32],
    work: &'w mut [i32],
}

impl<'w, T: Torus> KeptProduct<'w, T> {
    pub(super) fn carve(
        parameters: &Parameters,
        uniform_len: usize,
        carver: &mut Carver<'w>,
    ) -> Result<Self, DeviceError> {
        let size = parameters.polynomial_size();
        Ok(Self {
            size,
            uniform: carver.take(uniform_len)?,
            prepared: carver.take(parameters.big_lwe_dimension().0)?,
            work: carver.take(size.get())?,
        })
    }

    pub(super) fn set_secret(
        &mut self,
        secret: GlweSecret,
        index: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) {
        let size = self.size.get();
        let prepared = &mut self.prepared[index * size..][..size];
        unpack_into(secret, prepared, fill, i32::from);
        prepare_small(self.size, prepared);
    }

    pub(super) fn add_sum(&mut self, uniform: &mut impl UniformPolynomials<T>, out: &mut [T]) {
        for (index, prepared) in self.prepared.chunks_exact(self.size.get()).enumerate() {
            let uniform = uniform.whole(index, self.uniform);
            add_product(self.size, uniform, prepared, self.work, out);
        }
    }

    pub(super) fn wipe(&mut self) {
        wipe(self.uniform);
        wipe(self.prepared);
        wipe(self.work);
    }
}

impl<T: Torus> Drop for KeptProduct<'_, T> {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// The product of the plan `small`, which keeps only the packed coefficients of the small
/// polynomials: it transforms them, and makes the uniform polynomials, whenever they are needed.
pub(crate) struct RemadeProduct<'w> {
    size: PolynomialSize,
    secret: GlweSecret,
    prepared: &'w mut [i32],
    work: &'w mut [i32],
    packed: &'w mut [u8],
}

impl<'w> RemadeProduct<'w> {
    pub(super) fn carve(
        parameters: &Parameters,
        carver: &mut Carver<'w>,
    ) -> Result<Self, DeviceError> {
        let size = parameters.polynomial_size();
        Ok(Self {
            size,
            secret: parameters.glwe_secret(),
            prepared: carver.take(size.get())?,
            work: carver.take(size.get())?,
            packed: carver.take(parameters.packed_glwe_key_len())?,
        })
    }

    pub(super) fn set_secret(
        &mut self,
        secret: GlweSecret,
        index: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) {
        let bytes = packed_len(self.size.get(), secret.packed_bits());
        self.secret = secret;
        fill(&mut self.packed[index * bytes..][..bytes]);
    }

    pub(super) fn add_sum<T: Torus>(
        &mut self,
        uniform: &mut impl UniformPolynomials<T>,
        out: &mut [T],
    ) {
        let Self {
            size,
            secret,
            prepared,
            work,
            packed,
        } = self;
        let bytes = packed_len(size.get(), secret.packed_bits());
        for (index, packed) in packed.chunks_exact(bytes).enumerate() {
            let mut rest = packed;
            let mut copy = |out: &mut [u8]| {
                let (piece, after) = rest.split_at(out.len());
                out.copy_from_slice(piece);
                rest = after;
            };
            unpack_into(*secret, prepared, &mut copy, i32::from);
            prepare_small(*size, prepared);
            for limb in 0..limb_count::<T>(*size) {
                let mut rest = &mut work[..];
                uniform.pieces(index, &mut |piece| {
                    let (out, after) = core::mem::take(&mut rest).split_at_mut(piece.len());
                    load_limb(*size, limb, piece, out);
                    rest = after;
                });
                add_limb_product(*size, limb, prepared, work, out);
            }
        }
    }

    pub(super) fn wipe(&mut self) {
        wipe(self.prepared);
        wipe(self.work);
        wipe(self.packed);
    }
}

impl Drop for RemadeProduct<'_> {
    fn drop(&mut self) {
        self.wipe();
    }
}
