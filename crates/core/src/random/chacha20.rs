//! ChaCha20 (RFC 8439) as a source of blocks.

use super::keystream::{BLOCK_BYTES, BlockSource};
use crate::simd::{Isa, chacha20_blocks};
use crate::workspace::wipe;

/// The words of `expand 32-byte k`.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The blocks of one ChaCha20 keystream, from block counter 0 on. The state is wiped
/// on drop.
pub(super) struct ChaCha20Blocks {
    isa: Isa,
    state: [u32; 16],
    /// The number of blocks that are left of the 32-bit counter.
    left: u64,
}

impl ChaCha20Blocks {
    /// Opens a stream in the layout of [`ExpanderKind::ChaCha20`](super::ExpanderKind::ChaCha20).
    pub(super) fn stream(seed: &[u8; 32], stream: u32) -> Self {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&stream.to_le_bytes());
        Self::with_nonce(seed, nonce)
    }

    pub(super) fn with_nonce(key: &[u8; 32], nonce: [u8; 12]) -> Self {
        Self::on(Isa::detect(), key, nonce)
    }

    fn on(isa: Isa, key: &[u8; 32], nonce: [u8; 12]) -> Self {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&CONSTANTS);
        let bytes = key.as_chunks().0.iter();
        for (word, bytes) in state[4..12].iter_mut().zip(bytes) {
            *word = u32::from_le_bytes(*bytes);
        }
        for (word, bytes) in state[13..].iter_mut().zip(nonce.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Self {
            isa,
            state,
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
        chacha20_blocks(self.isa, &mut self.state, out);
    }
}

impl Drop for ChaCha20Blocks {
    fn drop(&mut self) {
        wipe(&mut self.state);
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

    /// Every instruction set against the `chacha20` crate, for all numbers of blocks
    /// about its vectors, cut in two, with the words of key, nonce and counter varied.
    #[cfg(feature = "std")]
    #[test]
    fn every_instruction_set_gives_the_blocks_of_the_crate() {
        use chacha20::cipher::{KeyIvInit, StreamCipher};

        for case in 0..if cfg!(miri) { 1 } else { 4u8 } {
            let key = core::array::from_fn(|i| (i as u8).wrapping_mul(case * 2 + 37) ^ case);
            let nonce = core::array::from_fn(|i| (i as u8).wrapping_mul(29).wrapping_mul(case));
            let mut expected = [[0; 64]; 70];
            chacha20::ChaCha20::new(&key.into(), &nonce.into())
                .apply_keystream(expected.as_flattened_mut());
            for isa in Isa::available() {
                for len in (0..=expected.len()).step_by(if cfg!(miri) { 33 } else { 1 }) {
                    for cut in [0, len / 2, len.saturating_sub(1)] {
                        let mut out = [[0xa5; 64]; 70];
                        let mut blocks = ChaCha20Blocks::on(isa, &key, nonce);
                        blocks.next_blocks(&mut out[..cut]);
                        blocks.next_blocks(&mut out[cut..len]);
                        assert_eq!(out[..len], expected[..len], "{} {len} {cut}", isa.name());
                        assert_eq!(out[len..], [[0xa5; 64]; 70][len..]);
                    }
                }
            }
        }
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
