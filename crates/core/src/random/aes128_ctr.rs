//! AES-128 in counter mode (FIPS 197, SP 800-38A) as a source of blocks.

use zeroize::Zeroize;

use super::keystream::{BLOCK_BYTES, BlockSource};
use crate::simd::{Aes128, AesIsa};

/// The number of AES blocks in a block of the stream.
const AES_BLOCKS: u128 = 4;

/// The blocks of one AES-128-CTR keystream. The key wipes itself on drop, and drop zeroes
/// the counter too, so that nothing of the seed is left.
pub(super) struct Aes128CtrBlocks {
    cipher: Aes128,
    /// The next input block, as a big-endian integer.
    counter: u128,
}

impl Aes128CtrBlocks {
    /// Opens a stream in the layout of [`ExpanderKind::Aes128Ctr`](super::ExpanderKind::Aes128Ctr).
    #[inline]
    pub(super) fn stream(seed: &[u8; 32], stream: u32) -> Self {
        let isa = AesIsa::detect();
        let [key, start] = seed.as_chunks().0 else {
            unreachable!("32 bytes are two blocks");
        };
        let first = u128::from_be_bytes(*start).wrapping_add(u128::from(stream) << 64);
        Self {
            cipher: Aes128::with_encrypted_key(isa, key, start),
            counter: first,
        }
    }

    /// Starts SP 800-38A's counter mode with the initial counter block `counter`.
    #[cfg(test)]
    fn counter_mode(isa: AesIsa, key: &[u8; 16], counter: u128) -> Self {
        Self {
            cipher: Aes128::new(isa, key),
            counter,
        }
    }
}

impl BlockSource for Aes128CtrBlocks {
    fn next_blocks(&mut self, out: &mut [[u8; BLOCK_BYTES]]) {
        self.cipher.counter_mode(self.counter, out);
        let consumed = AES_BLOCKS * out.len() as u128;
        self.counter = self.counter.wrapping_add(consumed);
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
        let of = |isa, out: &mut _| {
            Aes128CtrBlocks::counter_mode(isa, &key.to_be_bytes(), counter).next_blocks(out);
        };
        of(AesIsa::Crate, &mut out);
        for isa in AesIsa::available() {
            let mut other = [[0; BLOCK_BYTES]];
            of(isa, &mut other);
            assert_eq!(other, out, "{isa:?}");
        }
        core::array::from_fn(|i| u128::from_be_bytes(out[0].as_chunks().0[i]))
    }

    /// For all numbers of blocks about what is in flight, and counters whose low half and
    /// whose whole overflow at every place among them.
    #[test]
    fn every_instruction_set_gives_the_blocks_of_the_crate() {
        let key = core::array::from_fn(|i| (i as u8).wrapping_mul(0x9d) ^ 0x35);
        for high in [0, 0x0123_4567_89ab_cdef, u64::MAX] {
            for low in (0..150).map(|i| 0u64.wrapping_sub(i)).chain([1 << 63]) {
                let counter = u128::from(high) << 64 | u128::from(low);
                let of = |isa| Aes128CtrBlocks::counter_mode(isa, &key, counter);
                let mut expected = [[0; BLOCK_BYTES]; 37];
                of(AesIsa::Crate).next_blocks(&mut expected);
                for isa in AesIsa::available() {
                    let len = (low.wrapping_neg() % 38) as usize;
                    let mut out = [[0xa5; BLOCK_BYTES]; 37];
                    let mut blocks = of(isa);
                    blocks.next_blocks(&mut out[..len]);
                    assert!(out[len..] == [[0xa5; BLOCK_BYTES]; 37][len..]);
                    blocks.next_blocks(&mut out[len..]);
                    assert!(out == expected, "{isa:?} {counter:#x} {len}");
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_opens_the_stream_of_the_crate() {
        let [key, block] = [0x9d, 0x35].map(|step: u8| {
            core::array::from_fn(|i| (i as u8).wrapping_mul(step).wrapping_add(step))
        });
        let of = |isa| {
            let mut out = [[0; BLOCK_BYTES]];
            Aes128::with_encrypted_key(isa, &key, &block).counter_mode(7, &mut out);
            out
        };
        let mut subkey = [[0; BLOCK_BYTES]];
        Aes128::new(AesIsa::Crate, &key).counter_mode(u128::from_be_bytes(block), &mut subkey);
        let (subkey, _) = subkey[0].split_first_chunk().unwrap();
        let mut expected = [[0; BLOCK_BYTES]];
        Aes128::new(AesIsa::Crate, subkey).counter_mode(7, &mut expected);
        for isa in AesIsa::available() {
            assert_eq!(of(isa), expected, "{isa:?}");
        }
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
