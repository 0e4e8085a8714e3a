//! Microsoft SEAL and SEAL-Embedded: keys between their forms and ours, ciphertexts of boards in
//! the form that SEAL loads, and what files are.
//!
//! [`uncompressed`] comes first, for SEAL compresses what it saves; [`SecretKeyFile`] and
//! [`PublicKeyFile`] take keys in and give them in SEAL's form; [`ciphertexts`] reads what boards and
//! servers send, one ciphertext after another, and [`convert`] writes it as SEAL's. The
//! cryptography is `tfhe-sbc-ckks`'s.

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

/// The parameters of SEAL-Embedded that an uncompressed object of SEAL's is of, a key or a fresh
/// ciphertext, by its `parms_id`.
pub fn standard_parameters(object: &[u8]) -> Option<Parameters> {
    let id = object.get(16..48)?;
    let is_of = |parameters: &Parameters| {
        [Level::Key, Level::Data]
            .iter()
            .any(|&level| parms_id(parameters, level) == id)
    };
    Parameters::SEAL_EMBEDDED.into_iter().find(is_of)
}
