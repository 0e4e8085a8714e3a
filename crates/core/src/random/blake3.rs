//! BLAKE3's keyed extendable output (O'Connor, Aumasson, Neves, Wilcox-O'Hearn 2020)
//! as a source of blocks.
//!
//! The input fits one block, so the whole tree is its root, and block `t` of the
//! output is the root's compression with `t` as its counter (section 2.6 of the
//! paper). All blocks are independent and made side by side. The vectors of the `blake3` crate,
//! which the tests compare with, run along one block instead.

use zeroize::Zeroize;

use super::blake::{CounterMode, output_blocks, rounds};
use super::keystream::{BLOCK_BYTES, BlockSource};

/// The initial value, which is that of SHA-256.
const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];

/// The flags CHUNK_START, CHUNK_END, ROOT and KEYED_HASH.
const FLAGS: u32 = 1 | 2 | 8 | 16;

/// The number of bytes of the input, a stream number.
const INPUT_BYTES: u32 = 4;

/// The order of the message words in every round: the permutation of the paper's
/// table 2, applied once more in each round.
const SCHEDULE: [[u8; 16]; 7] = {
    const PERMUTATION: [u8; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    let mut schedule = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]; 7];
    let mut round = 1;
    while round < 7 {
        let mut i = 0;
        while i < 16 {
            schedule[round][i] = schedule[round - 1][PERMUTATION[i] as usize];
            i += 1;
        }
        round += 1;
    }
    schedule
};

/// The blocks of one keyed output. Wiped on drop.
pub(super) struct Blake3Blocks {
    output: Output,
    /// The number of the next block.
    next: u64,
}

struct Output {
    key: [u32; 8],
    stream: u32,
}

impl Blake3Blocks {
    /// Opens a stream in the layout of [`ExpanderKind::Blake3`](super::ExpanderKind::Blake3).
    pub(super) fn stream(seed: &[u8; 32], stream: u32) -> Self {
        let mut key = [0; 8];
        for (word, bytes) in key.iter_mut().zip(seed.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Self {
            output: Output { key, stream },
            next: 0,
        }
    }
}

impl BlockSource for Blake3Blocks {
    fn next_blocks(&mut self, out: &mut [[u8; BLOCK_BYTES]]) {
        output_blocks(&self.output, self.next, out);
        // No program can read 2^70 bytes, so this does not overflow.
        self.next += out.len() as u64;
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl CounterMode for Output {
    type Word = u32;

    #[inline(always)]
    fn block<const UNROLLED: bool>(&self, number: u64) -> [u32; 16] {
        let mut v = [0; 16];
        v[..8].copy_from_slice(&self.key);
        v[8..12].copy_from_slice(&IV);
        v[12] = number as u32;
        v[13] = (number >> 32) as u32;
        v[14] = INPUT_BYTES;
        v[15] = FLAGS;
        let mut message = [0; 16];
        message[0] = self.stream;
        rounds::<_, UNROLLED>(&mut v, &message, &SCHEDULE);
        for i in 0..8 {
            v[i] ^= v[i + 8];
            v[i + 8] ^= self.key[i];
        }
        v
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_gives_the_same() {
        let seed = core::array::from_fn(|i| 3 * i as u8);
        for stream in [0, 1, 0x0102_0304, u32::MAX] {
            let mut expected = [0; 64 * BLOCK_BYTES];
            let mut hasher = ::blake3::Hasher::new_keyed(&seed);
            hasher.update(&stream.to_le_bytes());
            hasher.finalize_xof().fill(&mut expected);
            for step in [1, 3, 16, 17, 64] {
                let mut blocks = Blake3Blocks::stream(&seed, stream);
                let mut out = [[0; BLOCK_BYTES]; 64];
                out.chunks_mut(step).for_each(|out| blocks.next_blocks(out));
                assert!(out.as_flattened() == expected, "{step} blocks at a time");
            }
            // Blocks at which the low word of the counter overflows.
            let mut reader = hasher.finalize_xof();
            reader.set_position((u64::from(u32::MAX) - 2) * BLOCK_BYTES as u64);
            reader.fill(&mut expected);
            let mut out = [[0; BLOCK_BYTES]; 64];
            let mut blocks = Blake3Blocks::stream(&seed, stream);
            blocks.next = u64::from(u32::MAX) - 2;
            blocks.next_blocks(&mut out);
            assert!(out.as_flattened() == expected);
        }
    }
}
