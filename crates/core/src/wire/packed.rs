//! Lists of packed answers: blocks in the slots of few GLWE ciphertexts, cut to the bits that decryption
//! needs.
//!
//! The header's `element_count` is the number of slots in use; every ciphertext but the last uses all of
//! its `N`. The payload is, for every ciphertext, its `k · N` mask coefficients, each cut to the header's
//! [`mask_bits`](Header::mask_bits) top bits, and its used body coefficients, each cut to
//! [`body_bits`](Header::body_bits), both padded to a byte. The header's
//! [`message_bits`](Header::message_bits) are the bits of a slot's value.

use alloc::vec::Vec;

use crate::dimensions::{GlweDimension, PolynomialSize};
use crate::glwe::GlweCiphertext;
use crate::packing::{PackingParameters, SlotBits, cut};
use crate::parameters::{KeyFingerprint, MAX_GLWE_DIMENSION, Parameters};
use crate::torus::Torus;
use crate::wire::bits::{pack_top_bits, packed_len, padding_is_zero, unpack_top_bits};
use crate::wire::glwe::MAX_ELEMENTS;
use crate::wire::{ENVELOPE_BYTES, HEADER_BYTES, Header, Kind, Message, WireError, require};

/// log2 of the modulus of packed ciphertexts.
const TORUS_BITS: u32 = u32::BITS;

/// Packed answers: messages in the slots of ciphertexts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedList {
    bits: SlotBits,
    len: usize,
    glwe_dimension: GlweDimension,
    polynomial_size: PolynomialSize,
    ciphertexts: Vec<GlweCiphertext<u32>>,
}

impl PackedList {
    /// Cuts packed ciphertexts, `len` slots of which are in use, to their bits. All but the last use all of
    /// their slots. Returns `None` if the number of ciphertexts, or their dimensions, are not
    /// those.
    pub fn new(
        packing: &PackingParameters,
        len: usize,
        mut ciphertexts: Vec<GlweCiphertext<u32>>,
    ) -> Option<Self> {
        let bits = packing.slot_bits;
        let (k, size) = (packing.glwe_dimension, packing.polynomial_size);
        let fits = |glwe: &GlweCiphertext<u32>| {
            glwe.polynomial_size() == size && glwe.glwe_dimension() == k
        };
        let count = len.div_ceil(size.get());
        if ciphertexts.len() != count || len > MAX_ELEMENTS || !ciphertexts.iter().all(fits) {
            return None;
        }
        for (place, ciphertext) in ciphertexts.iter_mut().enumerate() {
            cut(ciphertext, bits);
            let used = size.get().min(len - place * size.get());
            let body = k.0 * size.get();
            let (used, unused) = ciphertext.as_mut_slice()[body..].split_at_mut(used);
            for b in used {
                *b = u32::from_top_bits(b.round_to_bits(bits.body), bits.body);
            }
            unused.fill(0);
        }
        Some(Self {
            bits,
            len,
            glwe_dimension: k,
            polynomial_size: size,
            ciphertexts,
        })
    }

    /// Adds the values of another list behind those of this one. Returns `None`, and adds nothing, if a slot of this list
    /// is unused, if the lists have other bits or dimensions, or if there would be more values than a list holds, 2^22.
    pub fn append(&mut self, other: Self) -> Option<()> {
        let shape = |list: &Self| (list.bits, list.glwe_dimension, list.polynomial_size);
        let len = self.len + other.len;
        let is_full = self.len.is_multiple_of(self.polynomial_size.get());
        if !is_full || len > MAX_ELEMENTS || shape(self) != shape(&other) {
            return None;
        }
        self.ciphertexts.extend(other.ciphertexts);
        self.len = len;
        Some(())
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number k of mask polynomials.
    pub fn glwe_dimension(&self) -> GlweDimension {
        self.glwe_dimension
    }

    /// The number N of slots of a ciphertext.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// The ciphertexts. Unused slots have the body 0.
    pub fn ciphertexts(&self) -> &[GlweCiphertext<u32>] {
        &self.ciphertexts
    }

    /// Returns the number of bytes of the message of `len` slots.
    pub fn message_len(packing: &PackingParameters, len: usize) -> usize {
        let layout = Layout {
            bits: packing.slot_bits,
            mask_len: packing.secret_dimension().0,
            size: packing.polynomial_size.get(),
        };
        ENVELOPE_BYTES + layout.payload_len(len)
    }

    fn layout(&self) -> Layout {
        Layout {
            bits: self.bits,
            mask_len: self.glwe_dimension.0 * self.polynomial_size.get(),
            size: self.polynomial_size.get(),
        }
    }

    /// Returns the message of the list.
    pub fn write(&self, parameters: &Parameters, key: KeyFingerprint) -> Vec<u8> {
        let layout = self.layout();
        let mut message = alloc::vec![0; HEADER_BYTES];
        for (ciphertext, used) in self.ciphertexts.iter().zip(layout.used(self.len)) {
            let (masks, body) = ciphertext.as_slice().split_at(layout.mask_len);
            let body = body.get(..used).unwrap_or(body);
            for (values, bits) in [(masks, self.bits.mask), (body, self.bits.body)] {
                let start = message.len();
                message.resize(start + packed_len(values.len(), bits), 0);
                pack_top_bits(values, bits, &mut message[start..]);
            }
        }
        let header = Header {
            polynomial_size: layout.size as u32,
            dimension: self.glwe_dimension.0 as u32,
            torus_bits: TORUS_BITS as u8,
            mask_bits: self.bits.mask as u8,
            body_bits: self.bits.body as u8,
            message_bits: parameters.message_bits().0 as u8,
            element_count: self.len as u32,
            ..Header::new(Kind::PackedList, parameters.fingerprint(), key)
        };
        header.sealed(message)
    }

    /// Reads a message that [`write`](Self::write) made under these parameters and this key.
    ///
    /// # Errors
    /// The first defect.
    pub fn read(
        message: Message<'_>,
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, WireError> {
        let header = message.expect_under(Kind::PackedList, parameters, key)?;
        let polynomial_size = PolynomialSize::new(header.polynomial_size as usize)
            .map_err(|_| WireError::Field("polynomial size"))?;
        let glwe_dimension = GlweDimension(header.dimension as usize);
        require(
            (1..=MAX_GLWE_DIMENSION).contains(&glwe_dimension.0),
            "dimension",
        )?;
        require(u32::from(header.torus_bits) == TORUS_BITS, "torus bits")?;
        let bits = header.slot_bits(TORUS_BITS)?;
        header.check_message_bits(parameters)?;
        let len = header.bounded_count()?;
        let layout = Layout {
            bits,
            mask_len: glwe_dimension.extracted_lwe_dimension(polynomial_size).0,
            size: polynomial_size.get(),
        };
        let expected = layout.payload_len(len);
        message.expect_length(expected)?;
        let mut rest = message.payload;
        let mut ciphertexts = Vec::with_capacity(len.div_ceil(layout.size));
        for used in layout.used(len) {
            let mut words = alloc::vec![0u32; layout.mask_len + layout.size];
            let (masks, body) = words.split_at_mut(layout.mask_len);
            for (values, bits) in [(masks, bits.mask), (&mut body[..used], bits.body)] {
                let (packed, behind) = rest
                    .split_at_checked(packed_len(values.len(), bits))
                    .ok_or(message.wrong_length(expected))?;
                require(padding_is_zero(packed, values.len(), bits), "padding")?;
                unpack_top_bits(packed, bits, values);
                rest = behind;
            }
            let ciphertext = GlweCiphertext::from_vec(words, polynomial_size);
            ciphertexts.push(ciphertext.ok_or(WireError::Field("dimension"))?);
        }
        Ok(Self {
            bits,
            len,
            glwe_dimension,
            polynomial_size,
            ciphertexts,
        })
    }
}

/// The layout of a payload.
#[derive(Clone, Copy)]
struct Layout {
    bits: SlotBits,
    mask_len: usize,
    size: usize,
}

impl Layout {
    /// The numbers of used slots of the ciphertexts of `len` slots.
    fn used(self, len: usize) -> impl Iterator<Item = usize> {
        (0..len.div_ceil(self.size)).map(move |place| self.size.min(len - place * self.size))
    }

    fn payload_len(self, len: usize) -> usize {
        let mask = packed_len(self.mask_len, self.bits.mask);
        let bodies = self.used(len).map(|used| packed_len(used, self.bits.body));
        bodies.map(|body| mask + body).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_sets::{MESSAGE_2_CARRY_2, packing_of};
    use crate::test_words::Words;
    use crate::wire::CHECKSUM_BYTES;

    const KEY: KeyFingerprint = KeyFingerprint([7; 16]);

    fn list(len: usize) -> (Parameters, PackingParameters, PackedList) {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let packing = packing_of(&parameters).unwrap();
        let size = packing.polynomial_size;
        let ciphertext = |seed: usize| {
            let words = Words(seed as u64).torus(packing.secret_dimension().0 + size.get());
            GlweCiphertext::from_vec(words, size).unwrap()
        };
        let ciphertexts = (0..len.div_ceil(size.get())).map(ciphertext).collect();
        let list = PackedList::new(&packing, len, ciphertexts).unwrap();
        (parameters, packing, list)
    }

    #[test]
    fn what_is_written_is_read() {
        for len in [0, 1, 255, 256, 257, 600] {
            let (parameters, packing, list) = list(len);
            let message = list.write(&parameters, KEY);
            assert_eq!(message.len(), PackedList::message_len(&packing, len));
            let parsed = Message::parse_only(&message, Kind::PackedList).unwrap();
            assert_eq!(PackedList::read(parsed, &parameters, KEY).unwrap(), list);
        }
    }

    #[test]
    fn ciphertexts_of_another_number_or_shape_are_no_list() {
        let (_, packing, list) = list(300);
        let all = list.ciphertexts().to_vec();
        let new = |len, all| PackedList::new(&packing, len, all);
        assert_eq!(new(300, all.clone()), Some(list));
        assert_eq!(new(256, all.clone()), None);
        assert_eq!(new(513, all.clone()), None);
        let size = packing.polynomial_size;
        let short = GlweCiphertext::from_vec(alloc::vec![0; 2 * size.get()], size).unwrap();
        assert_eq!(new(300, alloc::vec![all[0].clone(), short]), None);
    }

    #[test]
    fn what_is_forged_is_refused() {
        let (parameters, _, list) = list(259);
        let good = list.write(&parameters, KEY);
        let refused = |change: &dyn Fn(&mut Header, &mut Vec<u8>)| {
            let mut bytes = good[..good.len() - CHECKSUM_BYTES].to_vec();
            let (mut header, _) = Header::parse(&good).unwrap();
            change(&mut header, &mut bytes);
            header.seal_vec(&mut bytes).unwrap();
            let read = PackedList::read(Message::parse(&bytes).unwrap().0, &parameters, KEY);
            read.map(drop).unwrap_err()
        };
        let field = WireError::Field;
        for (change, what) in [
            (
                &(|header: &mut Header| header.polynomial_size = 300) as &dyn Fn(&mut Header),
                "polynomial size",
            ),
            (&|header| header.dimension = 0, "dimension"),
            (&|header| header.dimension = 9, "dimension"),
            (&|header| header.torus_bits = 64, "torus bits"),
            (&|header| header.mask_bits = 0, "mask bits"),
            (&|header| header.mask_bits = 33, "mask bits"),
            (&|header| header.body_bits = 0, "body bits"),
            (&|header| header.message_bits = 3, "message bits"),
            (&|header| header.element_count = u32::MAX, "element count"),
        ] {
            assert_eq!(refused(&|header, _| change(header)), field(what));
        }
        let wrong_length = |error| matches!(error, WireError::PayloadLength { .. });
        assert!(wrong_length(
            refused(&|header, _| header.element_count += 2)
        ));
        assert!(wrong_length(refused(
            &|header, _| header.polynomial_size = 1024
        )));
        assert!(wrong_length(refused(&|_, bytes| bytes.push(0))));
        assert!(wrong_length(refused(
            &|_, bytes| bytes.truncate(HEADER_BYTES)
        )));
        assert_eq!(
            refused(&|_, bytes| *bytes.last_mut().unwrap() |= 0x80),
            field("padding")
        );
        let parsed = Message::parse(&good).unwrap().0;
        assert!(matches!(
            PackedList::read(parsed, &parameters, KeyFingerprint([8; 16])),
            Err(WireError::WrongKey { .. })
        ));
    }

    #[test]
    fn bodies_are_rounded_and_unused_slots_are_zero() {
        let (_, packing, list) = list(10);
        let body = &list.ciphertexts()[0].as_slice()[packing.secret_dimension().0..];
        let bits = packing.slot_bits.body;
        assert!(
            body[..10]
                .iter()
                .all(|b| *b == u32::from_top_bits(b.round_to_bits(bits), bits))
        );
        assert!(body[10..].iter().all(|&b| b == 0));
    }
}
