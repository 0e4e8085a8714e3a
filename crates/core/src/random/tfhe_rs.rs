//! TFHE-rs's generator of masks: AES-128 (FIPS 197) of a little-endian counter from 0, under a
//! seed of 128 bits, which is derived from a seed of ours.

use ::aes::Aes128Enc;
use ::aes::cipher::array::Array;
use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

use super::expander::Expander;
use super::keystream::{BLOCK_BYTES, BlockSource, Keystream};
use super::seed::MaskSeed;

/// A stream of TFHE-rs: with the 16 little-endian bytes of `seed` as the AES-128 key, the
/// encryptions of 0, 1, 2, … as 16 little-endian bytes, one after the other. TFHE-rs expands
/// `Seed(seed)` to this stream in its seeded ciphertexts.
pub struct TfheRsStream(Keystream<TfheRsBlocks>);

impl TfheRsStream {
    /// Opens the stream of a seed of TFHE-rs.
    pub fn new(seed: u128) -> Self {
        Self(Keystream::new(TfheRsBlocks::of_key(&seed.to_le_bytes())))
    }
}

impl Expander for TfheRsStream {
    fn fill(&mut self, out: &mut [u8]) {
        self.0.fill(out);
    }
}

/// Returns the seed of TFHE-rs whose stream is stream `stream` of `seed` under
/// [`ExpanderKind::Aes128CtrLe`](super::ExpanderKind::Aes128CtrLe).
pub fn tfhe_rs_seed(seed: &MaskSeed, stream: u32) -> u128 {
    u128::from_le_bytes(key_of_stream(&seed.0, stream))
}

fn key_of_stream(seed: &[u8; 32], stream: u32) -> [u8; 16] {
    let [key, start] = seed.as_chunks().0 else {
        unreachable!("32 bytes are two blocks");
    };
    let number = u128::from_le_bytes(*start).wrapping_add(u128::from(stream));
    let mut block = Array::from(number.to_le_bytes());
    Aes128Enc::new(key.into()).encrypt_block(&mut block);
    block.into()
}

/// The blocks of one stream. The round keys wipe themselves on drop.
pub(super) struct TfheRsBlocks {
    cipher: Aes128Enc,
    counter: u128,
}

impl TfheRsBlocks {
    /// Opens a stream in the layout of [`ExpanderKind::Aes128CtrLe`](super::ExpanderKind::Aes128CtrLe).
    pub(super) fn stream(seed: &[u8; 32], stream: u32) -> Self {
        let mut key = key_of_stream(seed, stream);
        let blocks = Self::of_key(&key);
        key.zeroize();
        blocks
    }

    fn of_key(key: &[u8; 16]) -> Self {
        Self {
            cipher: Aes128Enc::new(key.into()),
            counter: 0,
        }
    }
}

impl BlockSource for TfheRsBlocks {
    fn next_blocks(&mut self, out: &mut [[u8; BLOCK_BYTES]]) {
        let (blocks, _) = out.as_flattened_mut().as_chunks_mut::<16>();
        for block in blocks.iter_mut() {
            *block = self.counter.to_le_bytes();
            self.counter = self.counter.wrapping_add(1);
        }
        self.cipher
            .encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}
