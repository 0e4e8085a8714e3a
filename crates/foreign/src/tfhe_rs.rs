//! TFHE-rs: client keys in, ciphertexts out and in, in the bytes of `tfhe` 1.8.
//!
//! Its objects travel in the form of `safe_serialize`: a header that names the type
//! ([`header`]), then the object as bincode writes it, with a version before every value.
//! [`client_key`] takes the GLWE key out of a `ClientKey`; [`integers`] writes `FheUint`,
//! `FheInt` and `FheBool`; [`upload`] makes them of an upload's rows; [`compressed`] reads
//! `CompressedFheUint`, `CompressedFheInt` and `CompressedFheBool`, whose masks are seeds.
//! Nothing here uses the crate `tfhe`: a test outside of this workspace holds the bytes
//! against it.

mod bincode;
pub mod client_key;
pub mod compressed;
mod description;
pub mod header;
pub mod integers;
pub mod upload;

use crate::Library;
pub use description::describe;
use tfhe_sbc_core::parameters::ParameterError;
use tfhe_sbc_core::wire::card::LibraryNumber;
use thiserror::Error;

/// The entry of the registry.
pub const LIBRARY: Library = Library {
    name: "tfhe-rs",
    title: "TFHE-rs",
    number: Some(LibraryNumber(1)),
    describe,
};

/// The version of `tfhe` whose bytes are read and written.
pub const TFHE_VERSION: &str = "1.8";

/// Why bytes were refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TfheRsError {
    /// Not of TFHE-rs, or not in the form that is read.
    #[error(
        "these bytes are not in TFHE-rs's `safe_serialize` form: save the object with `tfhe::safe_serialization::safe_serialize`"
    )]
    Header,
    /// A header of another version.
    #[error(
        "the {what} of this file is '{found}', and '{known}' is known here: save it with tfhe {TFHE_VERSION}"
    )]
    HeaderVersion {
        /// Which of its versions.
        what: &'static str,
        /// What it says.
        found: String,
        /// What is known.
        known: &'static str,
    },
    /// Another type.
    #[error("this is a '{found}' of TFHE-rs, but a '{expected}' is needed here")]
    Type {
        /// What is needed.
        expected: &'static str,
        /// What the header says.
        found: String,
    },
    /// A value of another version.
    #[error(
        "its {what} has version {found}, and version {known} is known here: load and save it with tfhe {TFHE_VERSION}"
    )]
    Version {
        /// Which value.
        what: &'static str,
        /// The version that it has.
        found: u32,
        /// The version that is known.
        known: u32,
    },
    /// Fewer bytes than it announces.
    #[error(
        "the data is cut short or damaged: it announces {needed} bytes, {found} are there: transfer it again"
    )]
    Truncated {
        /// Bytes that it needs up to there.
        needed: u64,
        /// Bytes there.
        found: u64,
    },
    /// Bytes after its end.
    #[error("{0} bytes follow the end of the object: the file is damaged, or holds several")]
    TrailingBytes(usize),
    /// A value that cannot be.
    #[error("its {0} has a value that it cannot have: the file is damaged or forged")]
    Value(&'static str),
    /// A key, or parameters, that TFHE-rs has and this library does not serve.
    #[error(
        "it has {0}, which is not supported: use a key of classic parameters, key switch first, 1 or 2 message bits"
    )]
    Unsupported(&'static str),
    /// A compressed value of a kind that is not served.
    #[error(
        "it has {0}, which is not supported: give values that a client encrypted with `CompressedFheUint`, `CompressedFheInt` or `CompressedFheBool`"
    )]
    UnsupportedValue(&'static str),
    /// A value under other parameters than the key's.
    #[error(
        "it was made under other parameters than the key's: give the client key that encrypted it"
    )]
    OtherParameters,
    /// Parameters that do not validate.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
}
