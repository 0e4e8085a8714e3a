//! The sizes of the parts of SEAL's objects, and the identity of their parameters.

use tfhe_sbc_core::random::blake2b_256;

use super::header::HEADER_BYTES;
use crate::mask::SEED_BYTES;
use crate::parameters::{MAX_DATA_PRIMES, Parameters};

/// The number of bytes before the words of a ciphertext: its header, eight members, and the header
/// and length of the words.
pub(super) const CIPHERTEXT_PREFIX: usize = HEADER_BYTES + 32 + 1 + 4 * 8 + ARRAY_PREFIX;
/// The number of bytes before the words of an array.
pub(super) const ARRAY_PREFIX: usize = HEADER_BYTES + 8;
/// The number of bytes of a seed with its header and generator.
pub(super) const SEED_INFO_BYTES: usize = HEADER_BYTES + 1 + SEED_BYTES;
/// The number of bytes of a modulus.
pub(super) const MODULUS_BYTES: usize = HEADER_BYTES + 8;
/// SEAL's number for CKKS.
pub(super) const CKKS: u8 = 2;

/// A level of SEAL's modulus switching chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The level of keys, with the special prime.
    Key,
    /// The level of fresh ciphertexts.
    Data,
}

/// Returns SEAL's `parms_id` of a level, which identifies the parameters of an object.
pub fn parms_id(parameters: &Parameters, level: Level) -> [u8; 32] {
    let primes = match level {
        Level::Key => parameters.key_prime_count(),
        Level::Data => parameters.data_prime_count(),
    };
    parms_id_of(parameters, primes)
}

/// Returns the `parms_id` of the first `primes` primes of keys.
pub(super) fn parms_id_of(parameters: &Parameters, primes: usize) -> [u8; 32] {
    // The hash covers scheme, size, primes, and a plain modulus of zero.
    let mut bytes = [0; 8 * (MAX_DATA_PRIMES + 4)];
    let scheme_and_size = [u64::from(CKKS), parameters.polynomial_size() as u64];
    let words = scheme_and_size
        .into_iter()
        .chain(parameters.key_primes().take(primes));
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    blake2b_256(&bytes[..8 * (primes + 3)])
}
