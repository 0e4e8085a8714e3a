//! Sums of products of uniform polynomials with small ones, computed as the memory plan says.
//!
//! Symmetric encryption multiplies masks by the key, public-key encryption multiplies the
//! polynomials of the public key by the ephemeral `r`. Both use a [`Product`] of k small
//! polynomials, binary or ternary ones, set by [`set_secret`](Product::set_secret), and k
//! [`UniformPolynomials`].

#[cfg(feature = "fft")]
mod fourier;
#[cfg(feature = "ntt")]
mod number_theoretic;
mod operands;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::{GlweSecret, Parameters};
use tfhe_sbc_core::workspace::Carver;

use crate::error::DeviceError;
use crate::plan::MemoryPlan;

pub(crate) use operands::{PIECE, UniformPolynomials};

#[cfg(feature = "fft")]
use fourier::FourierProduct;
#[cfg(feature = "ntt")]
use number_theoretic::{KeptProduct, RemadeProduct};

#[cfg(not(any(feature = "fft", feature = "ntt")))]
compile_error!("tfhe-sbc-device needs one of the features 'fft' and 'ntt'");

/// k small secret polynomials in the form that the plan multiplies by. Drop wipes them.
pub(crate) enum Product<'w, T: ProductTorus> {
    #[cfg(feature = "fft")]
    Fourier(FourierProduct<'w, T>),
    #[cfg(feature = "ntt")]
    Kept(KeptProduct<'w, T>),
    #[cfg(feature = "ntt")]
    Remade(RemadeProduct<'w>),
}

impl<'w, T: ProductTorus> Product<'w, T> {
    /// Takes the product's memory from `carver`. `uniform_len` is the length of the buffer that
    /// [`UniformPolynomials::whole`] is given. The small polynomials are not set yet.
    pub(crate) fn carve(
        plan: MemoryPlan,
        parameters: &Parameters,
        uniform_len: usize,
        carver: &mut Carver<'w>,
    ) -> Result<Self, DeviceError> {
        match plan {
            #[cfg(feature = "fft")]
            MemoryPlan::Fast => {
                FourierProduct::carve(parameters, uniform_len, carver).map(Self::Fourier)
            }
            #[cfg(feature = "ntt")]
            MemoryPlan::Balanced => {
                KeptProduct::carve(parameters, uniform_len, carver).map(Self::Kept)
            }
            #[cfg(feature = "ntt")]
            MemoryPlan::Small => RemadeProduct::carve(parameters, carver).map(Self::Remade),
            #[cfg(not(all(feature = "fft", feature = "ntt")))]
            _ => Err(DeviceError::PlanNotBuilt(plan)),
        }
    }

    /// Sets small polynomial `index` to the coefficients that `fill` writes, piece after piece, in
    /// the packed form of `secret`.
    pub(crate) fn set_secret(
        &mut self,
        secret: GlweSecret,
        index: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) {
        match self {
            #[cfg(feature = "fft")]
            Self::Fourier(product) => product.set_secret(secret, index, fill),
            #[cfg(feature = "ntt")]
            Self::Kept(product) => product.set_secret(secret, index, fill),
            #[cfg(feature = "ntt")]
            Self::Remade(product) => product.set_secret(secret, index, fill),
        }
    }

    /// Overwrites the small polynomials and everything that was computed from them.
    pub(crate) fn wipe(&mut self) {
        match self {
            #[cfg(feature = "fft")]
            Self::Fourier(product) => product.wipe(),
            #[cfg(feature = "ntt")]
            Self::Kept(product) => product.wipe(),
            #[cfg(feature = "ntt")]
            Self::Remade(product) => product.wipe(),
        }
    }

    /// Memory that [`add_sum`](Self::add_sum) overwrites before it reads it, for other uses until then. It may be empty.
    pub(crate) fn spare(&mut self) -> &mut [T] {
        match self {
            #[cfg(feature = "fft")]
            Self::Fourier(product) => product.spare(),
            #[cfg(feature = "ntt")]
            Self::Kept(_) | Self::Remade(_) => &mut [],
        }
    }

    /// Adds `Σ uniform_j · small_j` to `out`, exactly. Constant-time.
    pub(crate) fn add_sum(&mut self, uniform: &mut impl UniformPolynomials<T>, out: &mut [T]) {
        match self {
            #[cfg(feature = "fft")]
            Self::Fourier(product) => product.add_sum(uniform, out),
            #[cfg(feature = "ntt")]
            Self::Kept(product) => product.add_sum(uniform, out),
            #[cfg(feature = "ntt")]
            Self::Remade(product) => product.add_sum(uniform, out),
        }
    }
}
