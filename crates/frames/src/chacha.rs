//! The block function of ChaCha20 (RFC 8439, section 2.3), in little code.
//!
//! The kernels of `tfhe-sbc-core` are vectorised and take kilobytes of flash; a board needs one block at a time.

use zeroize::Zeroize as _;

/// The words of `expand 32-byte k`.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Returns the block of `key` at `input`, which is the block counter and the three words of the nonce.
/// Constant-time.
pub(crate) fn block(key: &[u8; 32], input: [u32; 4]) -> [u32; 16] {
    let mut state = [0; 16];
    state[..4].copy_from_slice(&CONSTANTS);
    for (word, bytes) in state[4..12].iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    state[12..].copy_from_slice(&input);

    let mut mixed = state;
    for _ in 0..10 {
        double_round(&mut mixed);
    }
    for (word, input) in mixed.iter_mut().zip(&state) {
        *word = word.wrapping_add(*input);
    }
    state.zeroize();
    mixed
}

/// Four quarter rounds on columns and four on diagonals.
fn double_round(x: &mut [u32; 16]) {
    quarter_round(x, 0, 4, 8, 12);
    quarter_round(x, 1, 5, 9, 13);
    quarter_round(x, 2, 6, 10, 14);
    quarter_round(x, 3, 7, 11, 15);
    quarter_round(x, 0, 5, 10, 15);
    quarter_round(x, 1, 6, 11, 12);
    quarter_round(x, 2, 7, 8, 13);
    quarter_round(x, 3, 4, 9, 14);
}

#[inline(always)]
fn quarter_round(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(7);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_8439_section_2_3_2() {
        let key = core::array::from_fn(|i| i as u8);
        let block = block(&key, [1, 0x0900_0000, 0x4a00_0000, 0]);
        assert_eq!(
            block,
            [
                0xe4e7_f110,
                0x1559_3bd1,
                0x1fdd_0f50,
                0xc471_20a3,
                0xc7f4_d1c7,
                0x0368_c033,
                0x9aaa_2204,
                0x4e6c_d4c3,
                0x4664_82d2,
                0x09aa_9f07,
                0x05d7_c214,
                0xa202_8bd9,
                0xd19c_12b5,
                0xb94e_16de,
                0xe883_d0cb,
                0x4e3c_50a2,
            ]
        );
    }
}
