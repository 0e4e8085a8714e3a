//! ChaCha20 (RFC 8439) as a source of blocks.

use ::chacha20::cipher::array::Array;
use ::chacha20::cipher::{KeyIvInit, StreamCipherCore};
use ::chacha20::variants::Ietf;
use ::chacha20::{ChaChaCore, R20};

use super::keystream::{BLOCK_BYTES, BlockSource};

/// The blocks of one ChaCha20 keystream, from block counter 0 on. The crate wipes
/// the state on drop.
pub(super) struct ChaCha20Blocks {
    core: ChaChaCore<R20, Ietf>,
    /// How many blocks the 32-bit counter has left.
    left: u64,
}

impl ChaCha20Blocks {
    /// The layout of [`ExpanderKind::ChaCha20`](super::ExpanderKind::ChaCha20).
    pub(super) fn stream(seed: &[u8; 32], stream: u32) -> Self {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&stream.to_le_bytes());
        Self::with_nonce(seed, nonce)
    }

    pub(super) fn with_nonce(key: &[u8; 32], nonce: [u8; 12]) -> Self {
        Self {
            core: ChaChaCore::new(key.into(), &nonce.into()),
            left: 1 << 32,
        }
    }
}

impl BlockSource for ChaCha20Blocks {
    fn next_blocks(&mut self, out: &mut [[u8; BLOCK_BYTES]]) {
        self.left = self
            .left
            .checked_sub(out.len() as u64)
            .expect("a ChaCha20 stream ends after 2^38 bytes");
        self.core
            .write_keystream_blocks(Array::cast_slice_from_core_mut(out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_8439_section_2_3_2() {
        let key = core::array::from_fn(|i| i as u8);
        let nonce = [0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0];
        let mut out = [[0; 64]; 2];
        ChaCha20Blocks::with_nonce(&key, nonce).next_blocks(&mut out);
        // The RFC shows block 1.
        assert_eq!(
            out[1],
            [
                0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20,
                0x71, 0xc4, 0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03, 0x04, 0x22, 0xaa, 0x9a,
                0xc3, 0xd4, 0x6c, 0x4e, 0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa, 0x09, 0x14, 0xc2,
                0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2, 0xb5, 0x12, 0x9c, 0xd1, 0xde, 0x16, 0x4e, 0xb9,
                0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e,
            ]
        );
    }

    #[test]
    #[should_panic(expected = "ends after 2^38 bytes")]
    fn a_stream_does_not_wrap() {
        let mut blocks = ChaCha20Blocks::stream(&[1; 32], 0);
        blocks.left = 1;
        blocks.next_blocks(&mut [[0; 64]]);
        blocks.next_blocks(&mut [[0; 64]]);
    }
}
