//! Lists with a seed in place of the masks: the mask of ciphertext `j` is stream `j` of the
//! header's expander under the header's seed.

use super::{check_list, list_header, payload_len};
#[cfg(feature = "alloc")]
use crate::dimensions::{GlweDimension, PolynomialSize};
use crate::parameters::{KeyFingerprint, Parameters};
use crate::random::{ExpanderKind, MaskSeed};
use crate::wire::bits::packed_len;
#[cfg(feature = "alloc")]
use crate::wire::bits::unpack_top_bits;
use crate::wire::{Header, Kind, Message, WireError};

/// Makes the header of a seeded list of `element_count` plaintexts.
pub fn header(
    parameters: &Parameters,
    key: KeyFingerprint,
    expander: ExpanderKind,
    mask_seed: MaskSeed,
    element_count: u32,
) -> Header {
    Header {
        expander: Some(expander),
        element_count,
        mask_seed,
        ..list_header(Kind::SeededGlweList, parameters, key)
    }
}

/// A checked list, in the bytes that it was read from.
#[derive(Clone, Copy, Debug)]
pub struct SeededGlweList<'a> {
    header: Header,
    expander: ExpanderKind,
    payload: &'a [u8],
}

impl<'a> SeededGlweList<'a> {
    /// Checks that a message is a list under these parameters and this key, with
    /// every field as in the parameters and a payload of the right length.
    pub fn check(
        message: Message<'a>,
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, WireError> {
        let size = parameters.polynomial_size().get();
        let body_bits = parameters.body_bits();
        check_list(&message, Kind::SeededGlweList, parameters, key, |count| {
            payload_len(count, size, body_bits)
        })?;
        Ok(Self {
            header: message.header,
            expander: message
                .header
                .expander
                .ok_or(WireError::Field("expander"))?,
            payload: message.payload,
        })
    }

    /// The number of plaintexts.
    pub fn element_count(&self) -> usize {
        self.header.element_count as usize
    }

    /// log2 q of the ciphertexts.
    pub fn torus_bits(&self) -> u32 {
        self.header.torus_bits.into()
    }

    /// The expander of the masks.
    pub fn expander(&self) -> ExpanderKind {
        self.expander
    }

    /// The seed of the masks; the masks of ciphertext `j` are its stream `j`.
    pub fn mask_seed(&self) -> MaskSeed {
        self.header.mask_seed
    }

    /// Returns the packed bodies in order. Each item is the number of coefficients used, and the bytes
    /// of the body.
    pub fn bodies(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let list = *self;
        (0..).map_while(move |index| list.packed(index))
    }

    fn packed(&self, index: usize) -> Option<(usize, &'a [u8])> {
        let size = self.header.polynomial_size as usize;
        let body = packed_len(size, u32::from(self.header.body_bits));
        let packed = self.payload.chunks(body).nth(index)?;
        Some((size.min(self.element_count() - index * size), packed))
    }

    /// Returns GLWE ciphertext `index`, with its masks expanded, or `None` if there are fewer.
    ///
    /// # Panics
    /// If `T` is not the torus of the list's parameters.
    #[cfg(feature = "alloc")]
    pub fn ciphertext<T: crate::torus::Torus>(
        &self,
        index: usize,
    ) -> Option<crate::glwe::GlweCiphertext<T>> {
        assert_eq!(u32::from(self.header.torus_bits), T::BITS);
        let (used, packed) = self.packed(index)?;
        let size = PolynomialSize::new(self.header.polynomial_size as usize).ok()?;
        let mut body = alloc::vec![T::ZERO; size.get()];
        let body_bits = u32::from(self.header.body_bits);
        unpack_top_bits(packed, body_bits, &mut body[..used]);
        Some(crate::glwe::GlweCiphertext::expand(
            GlweDimension(self.header.dimension as usize),
            size,
            self.expander,
            &self.mask_seed(),
            index as u32,
            &body,
        ))
    }
}
