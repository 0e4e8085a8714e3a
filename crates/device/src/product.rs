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

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::{GlweSecret, Parameters};
use tfhe_sbc_core::wire::bits::{packed_len, unpack_secret};
use tfhe_sbc_core::workspace::Carver;

use crate::error::DeviceError;
use crate::plan::MemoryPlan;

#[cfg(feature = "fft")]
use fourier::FourierProduct;
#[cfg(feature = "ntt")]
use number_theoretic::{KeptProduct, RemadeProduct};

#[cfg(not(any(feature = "fft", feature = "ntt")))]
compile_error!("tfhe-sbc-device needs one of the features 'fft' and 'ntt'");

/// The number of uniform scalars of a piece.
pub(crate) const PIECE: usize = 64;

/// The number of bytes of packed coefficients that are unpacked at a time.
const PACKED_PIECE: usize = 64;

/// The k uniform polynomials of a sum of products.
pub(crate) trait UniformPolynomials<T> {
    /// Returns polynomial `index`, made in `buffer` or from where it is kept. Indices ascend.
    fn whole<'a>(&'a mut self, index: usize, buffer: &'a mut [T]) -> &'a [T];

    /// Passes polynomial `index` to `take` in pieces of [`PIECE`] scalars, in order. A caller may ask
    /// for the same polynomial again.
    #[cfg_attr(not(feature = "ntt"), expect(dead_code, reason = "for the small plan"))]
    fn pieces(&mut self, index: usize, take: &mut dyn FnMut(&[T]));
}

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

/// Overwrites `out` with the coefficients that `fill` writes in the packed form of `secret`, each
/// converted by `number`.
fn unpack_into<N>(
    secret: GlweSecret,
    out: &mut [N],
    fill: &mut dyn FnMut(&mut [u8]),
    number: impl Fn(i8) -> N,
) {
    let mut packed = zeroize::Zeroizing::new([0; PACKED_PIECE]);
    let bits = secret.packed_bits();
    for out in out.chunks_mut(8 * PACKED_PIECE / bits as usize) {
        let packed = &mut packed[..packed_len(out.len(), bits)];
        fill(packed);
        unpack_secret(secret, packed, out, &number);
    }
}
