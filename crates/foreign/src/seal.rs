//! Keys and ciphertexts of Microsoft SEAL and SEAL-Embedded.
//!
//! SEAL compresses what it saves, so [`uncompressed`] comes first. [`SecretKeyFile`] and
//! [`PublicKeyFile`] read keys in either library's form and write them in SEAL's. [`ciphertexts`]
//! reads the ciphertexts of a stream one after another, and [`convert`] writes a stream in the form
//! that SEAL loads. The cryptography is in the crate `tfhe-sbc-ckks`.

mod ciphertexts;
mod compressed;
mod describe;
mod keys;

pub use ciphertexts::{Converted, StreamError, ciphertexts, convert};
pub use compressed::{CompressedError, uncompressed};
pub use describe::describe;
pub use keys::{EmbeddedFiles, PublicKeyFile, SecretKeyFile, encryption_parameters, is_secret_key};

use crate::Library;
use tfhe_sbc_ckks::Parameters;
use tfhe_sbc_ckks::seal::{Level, parms_id};

/// The entry of the registry. CKKS ciphertexts name their parameters, so that there is no card.
pub const LIBRARY: Library = Library {
    name: "seal",
    title: "Microsoft SEAL",
    number: None,
    describe,
};

/// Returns the parameters of SEAL-Embedded that an uncompressed object of SEAL was made under,
/// according to its `parms_id`. The object is a key or a fresh ciphertext.
pub fn standard_parameters(object: &[u8]) -> Option<Parameters> {
    let id = object.get(16..48)?;
    let is_of = |parameters: &Parameters| {
        [Level::Key, Level::Data]
            .iter()
            .any(|&level| parms_id(parameters, level) == id)
    };
    Parameters::SEAL_EMBEDDED.into_iter().find(is_of)
}
