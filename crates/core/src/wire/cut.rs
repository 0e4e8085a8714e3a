//! Lists of cut answers: blocks under the small key, each cut to the bits that decryption needs. A server
//! without a packing key returns them; with one, [packed answers](super::packed) are far smaller.
//!
//! A block is multiplied by `2^(carry bits + 1)` first, so that its message fills the torus up to the top,
//! without carry and padding bit. The header's `element_count` is the number of blocks. The payload is, for
//! every block, its `n` mask coefficients, each cut to the header's [`mask_bits`](Header::mask_bits) top bits
//! and padded to a byte together, and then all bodies, each cut to [`body_bits`](Header::body_bits) and padded
//! together. The header's [`message_bits`](Header::message_bits) are the bits of a block's value.

use alloc::vec::Vec;

use crate::keys::SecretKey;
use crate::lwe::LweCiphertext;
use crate::packing::{SlotBits, slot_scale_log2};
use crate::parameters::{KeyFingerprint, Parameters};
use crate::torus::Torus;
use crate::wire::bits::{pack_top_bits, packed_len, padding_is_zero, unpack_top_bits};
use crate::wire::glwe::MAX_ELEMENTS;
use crate::wire::{ENVELOPE_BYTES, HEADER_BYTES, Header, Kind, Message, WireError, require};

/// Cut answers: messages that fill the torus, under the small key, for decryption only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutList {
    bits: SlotBits,
    ciphertexts: Vec<LweCiphertext<u32>>,
}

impl CutList {
    /// Cuts blocks under the small key. The value of each is a message, without carry. Returns `None` if
    /// there are more than a list holds, 2^22, or if a block has another dimension than the small key.
    ///
    /// The rounding of the mask changes the phase by `-Σ e_i · s_i` with known errors `e_i`. Their sum
    /// times the mean `1/(ℓ+1)` of a key coefficient is added to the body, as in a
    /// [mean-compensated](crate::parameters::ModulusSwitch::MeanCompensated) modulus switch (ePrint 2025/809).
    pub fn new(
        parameters: &Parameters,
        bits: SlotBits,
        mut blocks: Vec<LweCiphertext<u32>>,
    ) -> Option<Self> {
        let dimension = parameters.lwe_dimension();
        let fits = |block: &LweCiphertext<u32>| block.dimension() == dimension;
        if blocks.len() > MAX_ELEMENTS || !blocks.iter().all(fits) {
            return None;
        }
        let scale = slot_scale_log2(parameters);
        let mean = i64::from(parameters.lwe_block_size()) + 1;
        let cut = |value: u32, bits| u32::from_top_bits(value.round_to_bits(bits), bits);
        for block in &mut blocks {
            let (body, mask) = block.as_mut_slice().split_last_mut()?;
            let mut error = 0;
            for a in mask {
                let scaled = *a << scale;
                *a = cut(scaled, bits.mask);
                error += a.sub(scaled).to_i64();
            }
            let scaled = *body << scale;
            *body = cut(scaled.add(u32::from_i64(error.div_euclid(mean))), bits.body);
        }
        Some(Self {
            bits,
            ciphertexts: blocks,
        })
    }

    /// Adds the values of another list behind those of this one. Returns `None`, and adds nothing, if the lists have other
    /// bits, or if there would be more values than a list holds, 2^22.
    pub fn append(&mut self, other: Self) -> Option<()> {
        if self.bits != other.bits || self.len() + other.len() > MAX_ELEMENTS {
            return None;
        }
        self.ciphertexts.extend(other.ciphertexts);
        Some(())
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.ciphertexts.len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.ciphertexts.is_empty()
    }

    /// The ciphertexts, scaled and cut.
    pub fn ciphertexts(&self) -> &[LweCiphertext<u32>] {
        &self.ciphertexts
    }

    /// Decrypts all blocks to their values. Constant-time in the values.
    ///
    /// # Panics
    /// If the blocks are of another dimension than the small key.
    pub fn decrypt(&self, secret: &SecretKey) -> Vec<u8> {
        let bits = secret.parameters().message_bits().0;
        let modulus = (1u64 << bits) - 1;
        let values = self.ciphertexts.iter().map(|block| {
            let phase = secret.lwe().phase(block);
            (phase.round_to_bits(bits) & modulus) as u8
        });
        values.collect()
    }

    /// Returns the message of the list.
    pub fn write(&self, parameters: &Parameters, key: KeyFingerprint) -> Vec<u8> {
        let dimension = parameters.lwe_dimension().0;
        let len = payload_len(dimension, self.len(), self.bits);
        let mut message = alloc::vec![0; HEADER_BYTES + len];
        let masks = packed_len(dimension, self.bits.mask);
        let payload = message.get_mut(HEADER_BYTES..).unwrap_or_default();
        let (mask_bytes, body_bytes) = payload.split_at_mut(masks * self.len());
        for (block, bytes) in self
            .ciphertexts
            .iter()
            .zip(mask_bytes.chunks_exact_mut(masks))
        {
            pack_top_bits(block.mask(), self.bits.mask, bytes);
        }
        let bodies: Vec<u32> = self.ciphertexts.iter().map(LweCiphertext::body).collect();
        pack_top_bits(&bodies, self.bits.body, body_bytes);
        let header = Header {
            dimension: dimension as u32,
            torus_bits: u32::BITS as u8,
            mask_bits: self.bits.mask as u8,
            body_bits: self.bits.body as u8,
            message_bits: parameters.message_bits().0 as u8,
            element_count: self.len() as u32,
            ..Header::new(Kind::CutLweList, parameters.fingerprint(), key)
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
        let header = message.expect_under(Kind::CutLweList, parameters, key)?;
        let dimension = parameters.lwe_dimension().0;
        require(header.dimension as usize == dimension, "dimension")?;
        require(u32::from(header.torus_bits) == u32::BITS, "torus bits")?;
        let bits = header.slot_bits(u32::BITS)?;
        header.check_message_bits(parameters)?;
        let len = header.bounded_count()?;
        let expected = payload_len(dimension, len, bits);
        message.expect_length(expected)?;
        let masks = packed_len(dimension, bits.mask);
        let split = message.payload.split_at_checked(masks * len);
        let (mask_bytes, body_bytes) = split.ok_or(message.wrong_length(expected))?;
        require(padding_is_zero(body_bytes, len, bits.body), "padding")?;
        let mut bodies = alloc::vec![0u32; len];
        unpack_top_bits(body_bytes, bits.body, &mut bodies);
        let mut ciphertexts = Vec::with_capacity(len);
        for (bytes, body) in mask_bytes.chunks_exact(masks).zip(bodies) {
            require(padding_is_zero(bytes, dimension, bits.mask), "padding")?;
            let mut block = alloc::vec![0u32; dimension];
            unpack_top_bits(bytes, bits.mask, &mut block);
            block.push(body);
            ciphertexts.extend(LweCiphertext::from_vec(block));
        }
        Ok(Self { bits, ciphertexts })
    }

    /// Returns the number of bytes of the message of `len` blocks.
    pub fn message_len(parameters: &Parameters, bits: SlotBits, len: usize) -> usize {
        ENVELOPE_BYTES + payload_len(parameters.lwe_dimension().0, len, bits)
    }
}

fn payload_len(dimension: usize, len: usize, bits: SlotBits) -> usize {
    len * packed_len(dimension, bits.mask) + packed_len(len, bits.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_sets::MESSAGE_2_CARRY_2;
    use crate::random::{ExpanderKind, MaskSeed, Seed, SeedSequence};
    use crate::test_words::Words;
    use crate::wire::CHECKSUM_BYTES;

    const KEY: KeyFingerprint = KeyFingerprint([7; 16]);
    const BITS: SlotBits = SlotBits { mask: 10, body: 6 };

    fn parameters() -> Parameters {
        MESSAGE_2_CARRY_2.validate().unwrap()
    }

    fn list(len: usize) -> CutList {
        let dimension = parameters().lwe_dimension().0;
        let block = |seed: usize| LweCiphertext::from_vec(Words(seed as u64).torus(dimension + 1));
        let blocks = (0..len).map(|seed| block(seed + 1).unwrap()).collect();
        CutList::new(&parameters(), BITS, blocks).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        for len in [0, 1, 5, 300] {
            let list = list(len);
            let message = list.write(&parameters(), KEY);
            assert_eq!(
                message.len(),
                CutList::message_len(&parameters(), BITS, len)
            );
            let parsed = Message::parse_only(&message, Kind::CutLweList).unwrap();
            assert_eq!(CutList::read(parsed, &parameters(), KEY).unwrap(), list);
        }
    }

    #[test]
    fn blocks_of_another_dimension_are_no_list() {
        let block = LweCiphertext::from_vec(alloc::vec![0; 5]).unwrap();
        assert_eq!(CutList::new(&parameters(), BITS, alloc::vec![block]), None);
    }

    /// Every message comes back, and the error has the variance `n μ (1-μ) · 2^(-2 bits)/12` of a compensated
    /// rounding, which is less than that of a plain one.
    #[test]
    fn what_is_cut_is_decrypted_with_the_error_of_a_compensated_rounding() {
        let parameters = parameters();
        let mut seeds = SeedSequence::new(Seed::from_bytes([5; 32]));
        let secret = SecretKey::generate(parameters, &mut seeds).unwrap();
        let encoding = parameters.block_encoding();
        let mut masks = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([3; 32]), 0);
        let noise = crate::random::NoiseSeed::from_bytes([4; 32]);
        let mut noise = ExpanderKind::ChaCha20.noise_stream(&noise, 0);
        let blocks: Vec<LweCiphertext<u32>> = (0..400u32)
            .map(|i| {
                let plaintext = encoding.encode(i64::from(i) % 4);
                let noise_of = parameters.lwe_noise();
                secret
                    .lwe()
                    .encrypt(plaintext, noise_of, &mut masks, &mut noise)
            })
            .collect();
        let bits = SlotBits { mask: 10, body: 32 };
        let cut = CutList::new(&parameters, bits, blocks.clone()).unwrap();
        let expected: Vec<u8> = (0..400).map(|i: u32| (i % 4) as u8).collect();
        assert_eq!(cut.decrypt(&secret), expected);
        let scale = slot_scale_log2(&parameters);
        let errors = blocks.iter().zip(cut.ciphertexts()).map(|(whole, cut)| {
            let whole = secret.lwe().phase(whole) << scale;
            secret.lwe().phase(cut).sub(whole).to_signed_fraction()
        });
        let squares: Vec<f64> = errors.map(|e| e * e).collect();
        let found = squares.iter().sum::<f64>() / squares.len() as f64;
        let mean = 1.0 / (f64::from(parameters.lwe_block_size()) + 1.0);
        let dimension = parameters.lwe_dimension().0 as f64;
        let step = f64::exp2(-20.0) / 12.0;
        let ratio = found / (dimension * mean * (1.0 - mean) * step);
        assert!((0.75..1.25).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_is_forged_is_refused() {
        let good = list(5).write(&parameters(), KEY);
        let refused = |change: &dyn Fn(&mut Header, &mut Vec<u8>)| {
            let mut bytes = good[..good.len() - CHECKSUM_BYTES].to_vec();
            let (mut header, _) = Header::parse(&good).unwrap();
            change(&mut header, &mut bytes);
            header.seal_vec(&mut bytes).unwrap();
            let read = CutList::read(Message::parse(&bytes).unwrap().0, &parameters(), KEY);
            read.map(drop).unwrap_err()
        };
        for (change, what) in [
            (
                &(|header: &mut Header| header.dimension -= 1) as &dyn Fn(&mut Header),
                "dimension",
            ),
            (&|header| header.torus_bits = 64, "torus bits"),
            (&|header| header.mask_bits = 0, "mask bits"),
            (&|header| header.mask_bits = 33, "mask bits"),
            (&|header| header.body_bits = 0, "body bits"),
            (&|header| header.message_bits = 3, "message bits"),
            (&|header| header.element_count = u32::MAX, "element count"),
        ] {
            assert_eq!(refused(&|header, _| change(header)), WireError::Field(what));
        }
        let wrong_length = |error| matches!(error, WireError::PayloadLength { .. });
        assert!(wrong_length(
            refused(&|header, _| header.element_count += 1)
        ));
        assert!(wrong_length(refused(&|header, _| header.mask_bits += 1)));
        assert!(wrong_length(refused(&|_, bytes| bytes.push(0))));
        assert!(wrong_length(refused(
            &|_, bytes| bytes.truncate(HEADER_BYTES)
        )));
        assert_eq!(
            refused(&|_, bytes| *bytes.last_mut().unwrap() |= 0x80),
            WireError::Field("padding")
        );
    }
}
