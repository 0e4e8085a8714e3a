//! Microsoft SEAL's native serialization, uncompressed.
//!
//! This module writes the form of SEAL 3.7, which SEAL 4.0 to 4.4 load, and reads the forms of SEAL
//! 3.4 and later. An object begins with a header of 16 bytes: `5E A1`, the size of the header, major
//! and minor version, kind of compression, two zeros, and the size of the whole object. All numbers
//! are little-endian.
//!
//! SEAL takes the last prime of its `EncryptionParameters` as special if there are several. So the
//! server's context has the primes [`Parameters::key_primes`], and ciphertexts are at its first data
//! level.

mod ciphertext;
mod header;
mod keys;
mod read;

pub use ciphertext::{Ciphertext, ciphertext, raw_ciphertext};
pub use header::Header;
pub use keys::{
    key_scratch_bytes, public_key_bytes, secret_key_bytes, write_public_key, write_secret_key,
};
pub use read::{SealError, encryption_parameters, object_bytes, public_key, secret_key};

use header::HEADER_BYTES;
use tfhe_sbc_core::random::{SealGenerator, blake2b_256};

use crate::error::{CkksError, SinkError};
use crate::mask::SEED_BYTES;
use crate::output::{Format, Output};
use crate::parameters::{MAX_DATA_PRIMES, Parameters};

/// The number of bytes before the words of a ciphertext: its header, eight members, and the header
/// and length of the words.
const CIPHERTEXT_PREFIX: usize = HEADER_BYTES + 32 + 1 + 4 * 8 + ARRAY_PREFIX;
/// The number of bytes before the words of an array.
const ARRAY_PREFIX: usize = HEADER_BYTES + 8;
/// The number of bytes of a seed with its header and generator.
const SEED_INFO_BYTES: usize = HEADER_BYTES + 1 + SEED_BYTES;
/// The number of bytes of a modulus.
const MODULUS_BYTES: usize = HEADER_BYTES + 8;
/// SEAL's number for CKKS.
const CKKS: u8 = 2;

impl Format {
    /// Returns the number of bytes of a ciphertext in this form.
    pub const fn ciphertext_bytes(self, parameters: &Parameters) -> usize {
        let residues = parameters.polynomial_size() * parameters.data_prime_count();
        match self {
            Self::Seal => CIPHERTEXT_PREFIX + 16 * residues,
            Self::SealSeeded => CIPHERTEXT_PREFIX + 8 * residues + SEED_INFO_BYTES,
            Self::Raw => 8 * residues,
        }
    }
}

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
fn parms_id_of(parameters: &Parameters, primes: usize) -> [u8; 32] {
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

/// Returns the number of bytes that [`write_encryption_parameters`] writes.
pub const fn encryption_parameters_bytes(parameters: &Parameters) -> usize {
    HEADER_BYTES + 1 + 8 + 8 + MODULUS_BYTES * (parameters.key_prime_count() + 1)
}

/// Writes SEAL's `EncryptionParameters` with all primes of keys to `sink`, and returns the number
/// of bytes.
///
/// # Errors
/// Those of the sink.
pub fn write_encryption_parameters(
    parameters: &Parameters,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
) -> Result<usize, SinkError> {
    let total = encryption_parameters_bytes(parameters);
    sink(&header(total))?;
    sink(&[CKKS])?;
    sink(&(parameters.polynomial_size() as u64).to_le_bytes())?;
    sink(&(parameters.key_prime_count() as u64).to_le_bytes())?;
    // The plain modulus, which CKKS does not use, is last.
    for modulus in parameters.key_primes().chain([0]) {
        sink(&header(MODULUS_BYTES))?;
        sink(&modulus.to_le_bytes())?;
    }
    Ok(total)
}

/// Returns the header of an object of `total` bytes.
fn header(total: usize) -> [u8; HEADER_BYTES] {
    Header::of_bytes(total).to_bytes()
}

/// Writes what is before the words of a ciphertext, if the form has a header.
pub(crate) fn write_ciphertext_header(
    parameters: &Parameters,
    scale: f64,
    out: &mut Output<'_>,
) -> Result<(), CkksError> {
    let stored = match out.format() {
        Format::Raw => return Ok(()),
        Format::Seal => 2,
        Format::SealSeeded => 1,
    };
    let primes = parameters.data_prime_count();
    out.bytes(&ciphertext::prefix(parameters, primes, 2, stored, scale))
}

/// Writes what follows the words of a seeded ciphertext.
pub(crate) fn write_seed(
    generator: SealGenerator,
    seed: &[u8; SEED_BYTES],
    out: &mut Output<'_>,
) -> Result<(), CkksError> {
    out.bytes(&header(SEED_INFO_BYTES))?;
    out.bytes(&[generator as u8])?;
    out.bytes(seed)
}
