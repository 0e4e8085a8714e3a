//! The operands of the products: uniform polynomials, whole or in pieces, and packed secrets.

use tfhe_sbc_core::parameters::GlweSecret;
use tfhe_sbc_core::wire::bits::{packed_len, unpack_secret};

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

/// Overwrites `out` with the coefficients that `fill` writes in the packed form of `secret`, each
/// converted by `number`.
pub(super) fn unpack_into<N>(
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
