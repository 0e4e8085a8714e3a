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
mod error;
mod header;
mod keys;
mod layout;
mod read;

pub use ciphertext::{Ciphertext, ciphertext, raw_ciphertext};
pub use error::SealError;
pub use header::Header;
pub use keys::{
    key_scratch_bytes, public_key_bytes, secret_key_bytes, write_public_key, write_secret_key,
};
pub use layout::{Level, parms_id};
pub use read::{encryption_parameters, object_bytes, public_key, secret_key};

use header::{HEADER_BYTES, header};
use layout::{CIPHERTEXT_PREFIX, CKKS, MODULUS_BYTES, SEED_INFO_BYTES};
use tfhe_sbc_core::random::SealGenerator;

use crate::error::{CkksError, SinkError};
use crate::mask::SEED_BYTES;
use crate::output::{Format, Output};
use crate::parameters::Parameters;

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
