//! AES-128 in counter mode (FIPS 197, SP 800-38A) as a source of blocks.

use ::aes::Aes128Enc;
use ::aes::cipher::array::Array;
use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

use super::keystream::{BLOCK_BYTES, BlockSource, Scratch};

const AES_BLOCK_BYTES: usize = 16;
/// Blocks per call of the cipher: what its widest code takes at once, 1 KiB.
const BATCH: usize = 64;

/// The blocks of one AES-128-CTR keystream. The crate wipes the round keys on
/// drop; with the counter zeroed too, nothing of the seed is left.
pub(super) struct Aes128CtrBlocks {
    cipher: Aes128Enc,
    /// The next input block, as a big-endian integer.
    counter: u128,
}

impl Aes128CtrBlocks {
    /// The layout of [`ExpanderKind::Aes128Ctr`](super::ExpanderKind::Aes128Ctr).
    pub(super) fn stream(seed: &[u8; 32], stream: u32) -> Self {
        let [key, start] = seed.as_chunks().0 else {
            unreachable!("32 bytes are two blocks");
        };
        let mut subkey = Scratch::<u8, AES_BLOCK_BYTES>::new();
        Aes128Enc::new(key.into()).encrypt_block_b2b(start.into(), (&mut *subkey).into());
        let start = u128::from_be_bytes(*start).wrapping_add(u128::from(stream) << 64);
        Self::counter_mode(&subkey, start)
    }

    /// SP 800-38A's counter mode with the initial counter block `counter`.
    fn counter_mode(key: &[u8; AES_BLOCK_BYTES], counter: u128) -> Self {
        Self {
            cipher: Aes128Enc::new(key.into()),
            counter,
        }
    }
}

impl BlockSource for Aes128CtrBlocks {
    fn next_blocks(&mut self, out: &mut [[u8; BLOCK_BYTES]]) {
        let (blocks, _) = out.as_flattened_mut().as_chunks_mut::<AES_BLOCK_BYTES>();
        for batch in blocks.chunks_mut(BATCH) {
            for block in batch.iter_mut() {
                *block = self.counter.to_be_bytes();
                self.counter = self.counter.wrapping_add(1);
            }
            self.cipher
                .encrypt_blocks(Array::cast_slice_from_core_mut(batch));
        }
    }
}

impl Drop for Aes128CtrBlocks {
    fn drop(&mut self) {
        self.counter.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output_blocks(key: u128, counter: u128) -> [u128; 4] {
        let mut out = [[0; BLOCK_BYTES]];
        Aes128CtrBlocks::counter_mode(&key.to_be_bytes(), counter).next_blocks(&mut out);
        core::array::from_fn(|i| u128::from_be_bytes(out[0].as_chunks().0[i]))
    }

    #[test]
    fn sp_800_38a_section_f_5_1() {
        let blocks = output_blocks(
            0x2b7e1516_28aed2a6_abf71588_09cf4f3c,
            0xf0f1f2f3_f4f5f6f7_f8f9fafb_fcfdfeff,
        );
        assert_eq!(
            blocks,
            [
                0xec8cdf73_98607cb0_f2d21675_ea9ea1e4,
                0x362b7c3c_67735163_18a077d7_fc5073ae,
                0x6a2cc378_7889374f_beb4c81b_17ba6c44,
                0xe89c399f_f0f198c6_d40a31db_156cabfe,
            ]
        );
    }

    #[test]
    fn fips_197_appendices_b_and_c_1() {
        let key = 0x2b7e1516_28aed2a6_abf71588_09cf4f3c;
        let input = 0x3243f6a8_885a308d_313198a2_e0370734;
        assert_eq!(
            output_blocks(key, input)[0],
            0x3925841d_02dc09fb_dc118597_196a0b32
        );
        let key = 0x00010203_04050607_08090a0b_0c0d0e0f;
        let input = 0x00112233_44556677_8899aabb_ccddeeff;
        assert_eq!(
            output_blocks(key, input)[0],
            0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a
        );
    }
}
