//! The number of bytes of an upload, calculated before anything is encrypted: [`UploadSize`].

use crate::encoding::CompactEncoding;
use crate::parameters::{ParameterSet, Parameters};
use crate::wire::ENVELOPE_BYTES;
use crate::wire::columns::{self, ElementEncoding, Segment, has_column_lists};
use crate::wire::glwe::{MAX_ELEMENTS, ciphertext_count, masks_len, payload_len};

/// The size of the message that carries an upload's ciphertexts, and of its parts. Metadata is
/// a message of its own and not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadSize {
    /// The number of readings.
    pub reading_count: usize,
    /// The number of whole readings that one ciphertext holds; 0 if a reading takes more than one. A
    /// reading may begin in one ciphertext and end in the next.
    pub readings_per_ciphertext: usize,
    /// The number of GLWE ciphertexts.
    pub ciphertext_count: usize,
    /// The number of bytes of the header, including the mask's seed, of the checksum, and of the table
    /// of segments, if the column is compact.
    pub envelope_bytes: usize,
    /// The number of bytes of masks: 0 if a seed replaces them.
    pub mask_bytes: usize,
    /// The number of bytes of bodies.
    pub body_bytes: usize,
}

impl UploadSize {
    /// Returns the size of an upload under a device key, of `reading_count` readings of
    /// `blocks_per_reading` plaintexts each (1 for booleans; for numbers see
    /// [`BlockEncoding::block_count`](crate::encoding::BlockEncoding::block_count)).
    ///
    /// Returns `None` if the number of plaintexts is 0 or above [`MAX_ELEMENTS`], which no message
    /// holds.
    ///
    /// # Panics
    /// If the set's polynomial size is 0, which no validated set has.
    pub const fn symmetric(
        set: &ParameterSet,
        reading_count: usize,
        blocks_per_reading: usize,
    ) -> Option<Self> {
        let elements = reading_count.saturating_mul(blocks_per_reading);
        if elements == 0 || elements > MAX_ELEMENTS {
            return None;
        }
        let size = set.polynomial_size;
        Some(Self {
            reading_count,
            readings_per_ciphertext: size / blocks_per_reading,
            ciphertext_count: ciphertext_count(elements, size),
            envelope_bytes: ENVELOPE_BYTES,
            mask_bytes: 0,
            body_bytes: payload_len(elements, size, set.body_bits),
        })
    }

    /// Returns the size of an upload under a device public key: every ciphertext includes its k mask
    /// polynomials, whole ones even if its body is not. Returns `None` also if the set
    /// has no such uploads.
    ///
    /// # Panics
    /// As [`symmetric`](Self::symmetric).
    pub const fn public_key(
        set: &ParameterSet,
        reading_count: usize,
        blocks_per_reading: usize,
    ) -> Option<Self> {
        match Self::symmetric(set, reading_count, blocks_per_reading) {
            Some(symmetric) if set.public_key_mask_bits > 0 => Some(Self {
                mask_bytes: symmetric.ciphertext_count.saturating_mul(masks_len(set)),
                ..symmetric
            }),
            _ => None,
        }
    }

    /// Returns the size of an upload of one compact column of `reading_count` readings: under a device
    /// key, or under a device public key if `masked`.
    ///
    /// Returns `None` if the number of readings is 0 or above [`MAX_ELEMENTS`], or if the parameters have
    /// no compact columns, or no such uploads under a public key.
    pub fn compact(
        parameters: &Parameters,
        reading_count: usize,
        encoding: CompactEncoding,
        masked: bool,
    ) -> Option<Self> {
        let possible = has_column_lists(parameters)
            && (1..=MAX_ELEMENTS).contains(&reading_count)
            && (!masked || parameters.public_key_mask_bits() > 0);
        if !possible {
            return None;
        }
        let segment = core::iter::once(Segment {
            encoding: ElementEncoding::Compact(encoding),
            count: u32::try_from(reading_count).ok()?,
        });
        let len = |masked| columns::payload_len(parameters, segment.clone(), masked);
        let table = columns::table_len(1);
        let size = parameters.polynomial_size().get();
        Some(Self {
            reading_count,
            readings_per_ciphertext: size,
            ciphertext_count: ciphertext_count(reading_count, size),
            envelope_bytes: ENVELOPE_BYTES + table,
            mask_bytes: len(masked) - len(false),
            body_bytes: len(false) - table,
        })
    }

    /// The number of bytes of the whole message.
    pub const fn total_bytes(&self) -> usize {
        self.envelope_bytes
            .saturating_add(self.mask_bytes)
            .saturating_add(self.body_bytes)
    }

    /// The mean number of bytes for each reading.
    pub fn bytes_per_reading(&self) -> f64 {
        self.total_bytes() as f64 / self.reading_count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::BodyRounding;
    use crate::parameter_sets::{BOOLEAN_1024, GATES, MESSAGE_2_CARRY_2};

    #[test]
    fn sizes_by_hand() {
        // Header and checksum, 5 bits a body.
        const BITS: UploadSize = UploadSize::symmetric(&BOOLEAN_1024, 1024, 1).unwrap();
        assert_eq!(BITS.total_bytes(), 104 + 640);
        assert_eq!(
            (BITS.ciphertext_count, BITS.readings_per_ciphertext),
            (1, 1024)
        );
        let bits = UploadSize::symmetric(&GATES, 1024, 1).unwrap();
        assert_eq!((bits.total_bytes(), bits.ciphertext_count), (744, 2));
        // 1024 bytes are 4096 blocks of two bits, 12 bits a body, 18 a mask coefficient.
        let bytes = UploadSize::symmetric(&MESSAGE_2_CARRY_2, 1024, 4).unwrap();
        assert_eq!(bytes.total_bytes(), 104 + 2 * 3072);
        assert_eq!(
            (bytes.ciphertext_count, bytes.readings_per_ciphertext),
            (2, 512)
        );
        assert_eq!(bytes.bytes_per_reading(), 6248.0 / 1024.0);
        let public = UploadSize::public_key(&MESSAGE_2_CARRY_2, 1024, 4).unwrap();
        assert_eq!(public.total_bytes(), 104 + 2 * (2048 * 18 / 8 + 3072));
        // Three mask polynomials of 512, though one plaintext is all there is.
        let public = UploadSize::public_key(&GATES, 1, 1).unwrap();
        assert_eq!(public.mask_bytes, 3 * 512 * 12 / 8);
        assert_eq!(public.body_bytes, 1);
    }

    #[test]
    fn sizes_of_compact_columns_by_hand() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let encoding = CompactEncoding::new(12, 10, 30, BodyRounding::Nearest).unwrap();
        let size = |count, masked| UploadSize::compact(&parameters, count, encoding, masked);
        // Header, checksum, and a table of one segment; 30 bits a body.
        let seeded = size(2050, false).unwrap();
        assert_eq!(seeded.total_bytes(), 104 + 10 + 7680 + 8);
        assert_eq!((seeded.ciphertext_count, seeded.mask_bytes), (2, 0));
        assert_eq!(seeded.readings_per_ciphertext, 2048);
        // Two mask polynomials, six bits more a coefficient than in the bodies.
        let masked = size(2050, true).unwrap();
        assert_eq!(masked.mask_bytes, 2 * 2048 * 36 / 8);
        assert_eq!(masked.body_bytes, seeded.body_bytes);
        assert_eq!(
            (size(0, false), size(MAX_ELEMENTS + 1, false)),
            (None, None)
        );
        assert!(size(MAX_ELEMENTS, true).is_some());
        let bits = GATES.validate().unwrap();
        assert_eq!(UploadSize::compact(&bits, 1, encoding, false), None);
        let without = ParameterSet {
            public_key_mask_bits: 0,
            ..MESSAGE_2_CARRY_2
        };
        let without = without.validate().unwrap();
        assert_eq!(UploadSize::compact(&without, 1, encoding, true), None);
        assert!(UploadSize::compact(&without, 1, encoding, false).is_some());
    }

    #[test]
    fn what_no_message_holds_has_no_size() {
        assert_eq!(UploadSize::symmetric(&GATES, 0, 1), None);
        assert_eq!(UploadSize::symmetric(&GATES, 1, 0), None);
        assert_eq!(UploadSize::symmetric(&GATES, MAX_ELEMENTS + 1, 1), None);
        assert_eq!(UploadSize::symmetric(&GATES, usize::MAX, 2), None);
        assert!(UploadSize::symmetric(&GATES, MAX_ELEMENTS, 1).is_some());
        let without = ParameterSet {
            public_key_mask_bits: 0,
            ..GATES
        };
        assert_eq!(UploadSize::public_key(&without, 1, 1), None);
    }
}
