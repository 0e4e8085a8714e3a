//! GLWE lists, which devices upload: [`seeded`](SeededGlweList) under a device key,
//! [`masked`](GlweList) under a public key. An [`UploadedGlweList`] is either of these, or a list of
//! columns ([`columns`](crate::wire::columns)).
//!
//! Both hold, for every GLWE ciphertext in order, the used coefficients of its body,
//! [`body_bits`](Header::body_bits) bits each, packed least significant bit first and
//! padded with zeros to a byte. Only the last ciphertext may use fewer than N
//! coefficients.

mod masked;
mod seeded;

pub(crate) use masked::masks_len;
pub use masked::{GlweList, masked_header, masked_payload_len};
pub use seeded::{SeededGlweList, header};

use crate::parameters::{KeyFingerprint, Parameters};
use crate::wire::bits::{packed_len, padding_is_zero};
#[cfg(feature = "alloc")]
use crate::wire::bodies::SeededMasks;
use crate::wire::columns::{ColumnList, ListMasks};
use crate::wire::{ENVELOPE_BYTES, Header, Kind, Message, WireError};

/// The largest number of plaintexts of one list. It keeps a forged header from demanding memory.
pub const MAX_ELEMENTS: usize = 1 << 22;

/// Returns the number of GLWE ciphertexts that hold `element_count` plaintexts.
pub const fn ciphertext_count(element_count: usize, polynomial_size: usize) -> usize {
    element_count.div_ceil(polynomial_size)
}

/// Returns the number of bytes of the whole seeded message, including header and checksum. For
/// counts above [`MAX_ELEMENTS`], which no message has, the result may be too small.
///
/// # Panics
/// If `polynomial_size` is 0.
pub const fn message_len(element_count: usize, polynomial_size: usize, body_bits: u32) -> usize {
    payload_len(element_count, polynomial_size, body_bits).saturating_add(ENVELOPE_BYTES)
}

/// Returns the number of bytes of the seeded message without header and checksum.
///
/// # Panics
/// If `polynomial_size` is 0.
pub const fn payload_len(element_count: usize, polynomial_size: usize, body_bits: u32) -> usize {
    let full = element_count / polynomial_size;
    full.saturating_mul(packed_len(polynomial_size, body_bits))
        .saturating_add(packed_len(element_count % polynomial_size, body_bits))
}

/// Makes the header of a list of either kind, without the fields in which the kinds differ.
fn list_header(kind: Kind, parameters: &Parameters, key: KeyFingerprint) -> Header {
    Header {
        polynomial_size: parameters.polynomial_size().get() as u32,
        dimension: parameters.glwe_dimension().0 as u32,
        torus_bits: parameters.torus_bits() as u8,
        body_bits: parameters.body_bits() as u8,
        plaintext: Some(parameters.plaintext()),
        message_bits: parameters.message_bits().0 as u8,
        carry_bits: parameters.carry_bits().0 as u8,
        ..Header::new(kind, parameters.fingerprint(), key)
    }
}

/// Checks what both kinds have in common: that a list is of this kind, under these parameters and
/// this key, with every field as in the parameters, a payload of the right length
/// and zeros for padding.
fn check_list(
    message: &Message<'_>,
    kind: Kind,
    parameters: &Parameters,
    key: KeyFingerprint,
    payload_len: impl Fn(usize) -> usize,
) -> Result<(), WireError> {
    message.expect(kind)?;
    let header = message.header;
    header.check_belongs(parameters.fingerprint(), key)?;
    header.check_shape(
        parameters,
        parameters.glwe_dimension().0,
        parameters.torus_bits(),
    )?;
    let size = parameters.polynomial_size().get();
    if header.polynomial_size as usize != size {
        return Err(WireError::Field("polynomial size"));
    }
    if u32::from(header.body_bits) != parameters.body_bits() {
        return Err(WireError::Field("body bits"));
    }
    let count = header.element_count as usize;
    if count == 0 || count > MAX_ELEMENTS {
        return Err(WireError::Field("element count"));
    }
    let expected = payload_len(count);
    if message.payload.len() != expected {
        return Err(message.wrong_length(expected));
    }
    // Whole polynomials end at a byte, so only the last body has padding.
    if !padding_is_zero(message.payload, count % size, parameters.body_bits()) {
        return Err(WireError::Field("padding"));
    }
    Ok(())
}

/// A checked list of any kind.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few at a time, and boxes need an allocator"
)]
pub enum UploadedGlweList<'a> {
    /// A list made with a device key.
    Seeded(SeededGlweList<'a>),
    /// A list made with a device public key.
    Masked(GlweList<'a>),
    /// A list of columns with encodings of their own, made with either key.
    Columns(ColumnList<'a>),
}

impl<'a> UploadedGlweList<'a> {
    /// Checks that a message is a list of any kind under these parameters and this
    /// key.
    pub fn check(
        message: Message<'a>,
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, WireError> {
        match message.header.kind {
            Kind::GlweList => GlweList::check(message, parameters, key).map(Self::Masked),
            Kind::SeededColumnList | Kind::ColumnList => {
                ColumnList::check(message, parameters, key).map(Self::Columns)
            }
            _ => SeededGlweList::check(message, parameters, key).map(Self::Seeded),
        }
    }

    /// The number of plaintexts.
    pub fn element_count(&self) -> usize {
        match self {
            Self::Seeded(list) => list.element_count(),
            Self::Masked(list) => list.element_count(),
            Self::Columns(list) => list.element_count(),
        }
    }

    /// Returns whether the list carries its masks, because it was made with a device public key.
    pub fn is_masked(&self) -> bool {
        match self {
            Self::Seeded(_) => false,
            Self::Masked(_) => true,
            Self::Columns(list) => matches!(list.masks(), ListMasks::Sent { .. }),
        }
    }

    /// The seed of the masks, as of a list under the key of the key set; `None` if the list carries its masks.
    #[cfg(feature = "alloc")]
    pub fn seeded_masks(&self) -> Option<SeededMasks> {
        let (expander, seed) = match self {
            Self::Seeded(list) => (list.expander(), list.mask_seed()),
            Self::Masked(_) => return None,
            Self::Columns(list) => match list.masks() {
                ListMasks::Seeded(expander, seed) => (expander, seed),
                ListMasks::Sent { .. } => return None,
            },
        };
        Some(SeededMasks {
            expander,
            seed,
            key: None,
        })
    }

    /// Returns GLWE ciphertext `index` with its masks, or `None` if there are fewer.
    ///
    /// # Panics
    /// If `T` is not the torus of the list's parameters.
    #[cfg(feature = "alloc")]
    pub fn ciphertext<T: crate::torus::Torus>(
        &self,
        index: usize,
    ) -> Option<crate::glwe::GlweCiphertext<T>> {
        match self {
            Self::Seeded(list) => list.ciphertext(index),
            Self::Masked(list) => list.ciphertext(index),
            Self::Columns(list) => list.ciphertext(index),
        }
    }
}
