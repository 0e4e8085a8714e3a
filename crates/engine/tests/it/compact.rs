//! Compact values taken apart under real keys, against plain arithmetic.

mod digits;
mod extremes;
mod signs;

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::torus::Torus;

use crate::common::Keys;

/// An encryption of a torus element whose body has only `body_bits` bits.
fn encrypt_rounded(keys: &mut Keys, plaintext: u64, body_bits: u32) -> LweCiphertext<u64> {
    let mut value = keys.encrypt(plaintext);
    if let Some(body) = value.as_mut_slice().last_mut() {
        *body = u64::from_top_bits(body.round_to_bits(body_bits), body_bits);
    }
    value
}

/// An encryption of a code, as an upload has it.
fn encrypt_code(keys: &mut Keys, encoding: CompactEncoding, code: u64) -> LweCiphertext<u64> {
    encrypt_rounded(keys, encoding.encode(code), encoding.body_bits())
}

fn encoding(bits: u32, headroom: u32, body_bits: u32) -> CompactEncoding {
    CompactEncoding::new(bits, headroom, body_bits, BodyRounding::Nearest).unwrap()
}

/// The value of a block under the big key.
fn decrypt(keys: &Keys, block: &LweCiphertext<u64>) -> u64 {
    let encoding = keys.secret.parameters().block_encoding();
    encoding.decode(keys.big.phase(block))
}

/// Some codes below `2^bits`, in no order.
fn codes(bits: u32, count: u64) -> impl Iterator<Item = u64> {
    let scattered = (1..=count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    scattered.map(move |word| word >> (64 - bits))
}
