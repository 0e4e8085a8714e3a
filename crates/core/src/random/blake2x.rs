//! BLAKE2Xb ("BLAKE2X", Aumasson, Neves, O'Hearn, Winnerlein 2016) as a source of
//! blocks: BLAKE2b with a parameter block that names the place of each output block.

use zeroize::Zeroize;

use super::blake::{CounterMode, output_blocks, rounds};
use super::keystream::{BLOCK_BYTES, BlockSource, Scratch};

/// The XOF digest length that means that the length is not known beforehand.
const UNKNOWN_LENGTH: u32 = u32::MAX;

/// The number of bytes that a compression of BLAKE2b takes.
const MESSAGE_BYTES: usize = 128;

/// BLAKE2b's initial value (RFC 7693, section 2.6).
const IV: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// The message schedule (RFC 7693, section 2.7); the last two rounds repeat the
/// first two.
const SCHEDULE: [[u8; 16]; 12] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
];

/// The blocks of one BLAKE2Xb output of unknown length. Wiped on drop.
pub(super) struct Blake2xbBlocks {
    output: Output,
    /// The number of the next block.
    next: u32,
    /// The number of blocks that are left of the 32-bit node offset.
    left: u64,
}

impl Blake2xbBlocks {
    /// Opens a stream in the layout of [`ExpanderKind::Blake2xb`](super::ExpanderKind::Blake2xb).
    pub(super) fn stream(seed: &[u8; 32], stream: u32) -> Self {
        Self {
            output: Output::new(seed, &stream.to_le_bytes(), UNKNOWN_LENGTH),
            next: 0,
            left: 1 << 32,
        }
    }
}

impl BlockSource for Blake2xbBlocks {
    fn next_blocks(&mut self, out: &mut [[u8; BLOCK_BYTES]]) {
        self.left = self
            .left
            .checked_sub(out.len() as u64)
            .expect("a BLAKE2Xb stream ends after 2^38 bytes");
        output_blocks(&self.output, u64::from(self.next), out);
        self.next = self.next.wrapping_add(out.len() as u32);
    }
}

/// The values that all blocks of an output have in common.
pub(super) struct Output {
    /// The root hash `H_0`, which every block hashes.
    root: [u64; 8],
    /// The XOF digest length.
    xof_length: u32,
}

impl Output {
    /// Computes `H_0 = BLAKE2b(key, input)` of the paper's section 2.1. `key` has 1 to 64 bytes.
    pub(super) fn new(key: &[u8], input: &[u8], xof_length: u32) -> Self {
        // Digest length 64, key length, fanout and depth 1.
        let parameters = 64 | (key.len() as u64) << 8 | 1 << 16 | 1 << 24;
        let mut root = IV;
        root[0] ^= parameters;
        root[1] ^= u64::from(xof_length) << 32;

        let mut block = Scratch::<u8, MESSAGE_BYTES>::new();
        block[..key.len()].copy_from_slice(key);
        let taken = MESSAGE_BYTES as u128;
        compress(&mut root, &block, taken, input.is_empty());
        absorb(&mut root, taken, input);
        Self { root, xof_length }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.root.zeroize();
    }
}

impl CounterMode for Output {
    type Word = u64;

    #[inline(always)]
    fn block<const UNROLLED: bool>(&self, number: u64) -> [u64; 16] {
        // Digest, leaf and inner length 64, the offset of the node and the XOF length. Everything else
        // is 0, including the key length (section 2.2; older reference code and its known answers
        // keep the key length of the root).
        let mut state = IV;
        state[0] ^= 64 | 64 << 32;
        state[1] ^= number | u64::from(self.xof_length) << 32;
        state[2] ^= 64 << 8;

        let mut message = [0; 16];
        message[..8].copy_from_slice(&self.root);
        let mut v = [0; 16];
        v[..8].copy_from_slice(&state);
        v[8..].copy_from_slice(&IV);
        // The block has 64 bytes and is the last one.
        v[12] ^= 64;
        v[14] = !v[14];
        rounds::<_, UNROLLED>(&mut v, &message, &SCHEDULE);
        for i in 0..8 {
            v[i] ^= v[i + 8] ^ state[i];
        }
        v
    }
}

/// Returns the 32-byte BLAKE2b digest of `input`, without a key (RFC 7693, section 3.3). The time
/// depends on the number of bytes.
pub fn blake2b_256(input: &[u8]) -> [u8; 32] {
    let mut state = IV;
    // Digest length, fanout and depth 1.
    state[0] ^= 32 | 1 << 16 | 1 << 24;
    if input.is_empty() {
        compress(&mut state, &[0; MESSAGE_BYTES], 0, true);
    } else {
        absorb(&mut state, 0, input);
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_le_bytes();
    }
    digest
}

/// Compresses `input`, the last part of a message, after `taken` bytes. Does nothing if it is empty.
fn absorb(state: &mut [u64; 8], mut taken: u128, input: &[u8]) {
    let end = taken + input.len() as u128;
    let mut block = Scratch::<u8, MESSAGE_BYTES>::new();
    for piece in input.chunks(MESSAGE_BYTES) {
        block.fill(0);
        block[..piece.len()].copy_from_slice(piece);
        taken += piece.len() as u128;
        compress(state, &block, taken, taken == end);
    }
}

/// Computes BLAKE2b's function F (RFC 7693, section 3.2). `taken` counts the bytes of the message up
/// to the end of this block.
fn compress(state: &mut [u64; 8], block: &[u8; MESSAGE_BYTES], taken: u128, last: bool) {
    let mut v = Scratch::<u64, 16>::new();
    v[..8].copy_from_slice(state);
    v[8..].copy_from_slice(&IV);
    v[12] ^= taken as u64;
    v[13] ^= (taken >> 64) as u64;
    v[14] ^= if last { u64::MAX } else { 0 };
    let mut message = Scratch::<u64, 16>::new();
    for (word, bytes) in message.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    rounds::<_, false>(&mut v, &message, &SCHEDULE);
    for i in 0..8 {
        state[i] ^= v[i] ^ v[i + 8];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A published answer for an output of unknown length: 256 bytes in, a key of 64
    /// bytes, the first block out.
    #[test]
    fn known_answer_of_unknown_length() {
        let input: [u8; 256] = core::array::from_fn(|i| i as u8);
        let output = Output::new(&input[..64], &input, UNKNOWN_LENGTH);
        let mut out = [[0; BLOCK_BYTES]];
        output_blocks(&output, 0, &mut out);
        let expected: [u128; 4] = [
            0x3dbba8516da76bf7330055c66ea36cf1,
            0x005e92714262b24d9710f51d9e126406,
            0xe1bcd6497059f9331f1091c3634b6954,
            0x28d475ed432f987040575520a1c29f5e,
        ];
        for (seen, expected) in out.as_flattened().as_chunks().0.iter().zip(expected) {
            assert_eq!(u128::from_be_bytes(*seen), expected);
        }
    }

    /// Digests of the reference code, by their first bytes: messages of about the length of
    /// a block, and none.
    #[test]
    fn known_answers_of_256_bits() {
        let bytes: [u8; 257] = core::array::from_fn(|i| i as u8);
        for (input, expected) in [
            (&b"abc"[..], 0xbddd813c634239723171ef3fee98579b),
            (&[], 0x0e5751c026e543b2e8ab2eb06099daa1),
            (&bytes[..127], 0xf2fe67ff342e21b8f45e8f2e0bcd1d92),
            (&bytes[..128], 0xc3582f71ebb2be66fa5dd750f80baae9),
            (&bytes[..129], 0xf7f3c46ba2564ff4c4c162da1f5b605f),
            (&bytes[..], 0x45f7f084c30bac7cbae2e1963bc6e6b0),
        ] {
            let digest = blake2b_256(input);
            let first = u128::from_be_bytes(*digest.first_chunk().unwrap());
            assert_eq!(first, expected, "{} bytes", input.len());
        }
    }

    /// Every width of vector, and blocks alone, give the same.
    #[test]
    fn blocks_do_not_depend_on_their_neighbours() {
        let output = Output::new(&[5; 32], b"number", UNKNOWN_LENGTH);
        let mut together = [[0; BLOCK_BYTES]; 37];
        output_blocks(&output, 1000, &mut together);
        for (place, block) in together.iter().enumerate() {
            let mut alone = [[0; BLOCK_BYTES]];
            output_blocks(&output, 1000 + place as u64, &mut alone);
            assert_eq!(alone[0], *block);
        }
    }

    #[test]
    #[should_panic(expected = "ends after 2^38 bytes")]
    fn a_stream_does_not_wrap() {
        let mut blocks = Blake2xbBlocks::stream(&[1; 32], 0);
        blocks.left = 1;
        blocks.next_blocks(&mut [[0; 64]]);
        blocks.next_blocks(&mut [[0; 64]]);
    }
}
