//! Lists with their masks, made by public-key encryption: for every ciphertext its
//! `k · N` mask coefficients, [`mask_bits`](Header::mask_bits) bits each, and then its
//! body.

use super::{check_list, list_header};
#[cfg(feature = "alloc")]
use crate::dimensions::PolynomialSize;
use crate::parameters::{KeyFingerprint, ParameterSet, Parameters};
use crate::wire::bits::packed_len;
#[cfg(feature = "alloc")]
use crate::wire::bits::unpack_top_bits;
use crate::wire::{Header, Kind, Message, WireError};

/// Returns the number of bytes of the masks of one ciphertext.
pub(crate) const fn masks_len(set: &ParameterSet) -> usize {
    packed_len(set.polynomial_size, set.public_key_mask_bits).saturating_mul(set.glwe_dimension.0)
}

/// Returns the number of bytes of the message without header and checksum.
///
/// # Panics
/// If the polynomial size is 0.
pub const fn masked_payload_len(set: &ParameterSet, element_count: usize) -> usize {
    let size = set.polynomial_size;
    super::ciphertext_count(element_count, size)
        .saturating_mul(masks_len(set))
        .saturating_add(super::payload_len(element_count, size, set.body_bits))
}

/// Makes the header of a list with masks of `element_count` plaintexts.
pub fn masked_header(parameters: &Parameters, key: KeyFingerprint, element_count: u32) -> Header {
    Header {
        mask_bits: parameters.public_key_mask_bits() as u8,
        element_count,
        ..list_header(Kind::GlweList, parameters, key)
    }
}

/// A checked list with masks, in the bytes that it was read from.
#[derive(Clone, Copy, Debug)]
pub struct GlweList<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> GlweList<'a> {
    /// Checks that a message is a list under these parameters and this key, with
    /// every field as in the parameters and a payload of the right length.
    pub fn check(
        message: Message<'a>,
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, WireError> {
        check_list(&message, Kind::GlweList, parameters, key, |count| {
            masked_payload_len(parameters.as_set(), count)
        })?;
        let bits = parameters.public_key_mask_bits();
        if bits == 0 || u32::from(message.header.mask_bits) != bits {
            return Err(WireError::Field("mask bits"));
        }
        Ok(Self {
            header: message.header,
            payload: message.payload,
        })
    }

    /// The number of plaintexts.
    pub fn element_count(&self) -> usize {
        self.header.element_count as usize
    }

    /// Returns the packed ciphertexts in order. Each item is the number of body coefficients used, the
    /// bytes of the masks, and the bytes of the body.
    pub fn ciphertexts(&self) -> impl Iterator<Item = (usize, &'a [u8], &'a [u8])> + use<'a> {
        let list = *self;
        (0..).map_while(move |index| list.packed(index))
    }

    fn packed(&self, index: usize) -> Option<(usize, &'a [u8], &'a [u8])> {
        let size = self.header.polynomial_size as usize;
        let masks =
            packed_len(size, u32::from(self.header.mask_bits)) * self.header.dimension as usize;
        let body = packed_len(size, u32::from(self.header.body_bits));
        let packed = self.payload.chunks(masks + body).nth(index)?;
        let used = size.min(self.element_count() - index * size);
        let (masks, body) = packed.split_at(masks);
        Some((used, masks, body))
    }

    /// Returns GLWE ciphertext `index`, or `None` if there are fewer.
    ///
    /// # Panics
    /// If `T` is not the torus of the list's parameters.
    #[cfg(feature = "alloc")]
    pub fn ciphertext<T: crate::torus::Torus>(
        &self,
        index: usize,
    ) -> Option<crate::glwe::GlweCiphertext<T>> {
        assert_eq!(u32::from(self.header.torus_bits), T::BITS);
        let (used, masks, body) = self.packed(index)?;
        let size = PolynomialSize::new(self.header.polynomial_size as usize).ok()?;
        let mask_len = self.header.dimension as usize * size.get();
        let mut data = alloc::vec![T::ZERO; mask_len + size.get()];
        let (mask, rest) = data.split_at_mut(mask_len);
        unpack_top_bits(masks, u32::from(self.header.mask_bits), mask);
        unpack_top_bits(body, u32::from(self.header.body_bits), &mut rest[..used]);
        crate::glwe::GlweCiphertext::from_vec(data, size)
    }
}
