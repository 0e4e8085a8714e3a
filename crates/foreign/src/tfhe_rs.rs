//! Client keys and ciphertexts of TFHE-rs, in the bytes of `tfhe` 1.8.
//!
//! Objects travel in the form of `safe_serialize`: a header that names the type ([`header`]), then the
//! object as bincode writes it, with a version before every value. [`client_key`] takes the GLWE key
//! out of a `ClientKey`. [`integers`] writes `FheUint`, `FheInt` and `FheBool`, and [`upload`] makes
//! them of the rows of an upload. [`compressed`] reads `CompressedFheUint`, `CompressedFheInt` and
//! `CompressedFheBool`, whose masks are seeds. This module does not use the crate `tfhe`; a test
//! outside of this workspace compares the bytes with it.

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

/// The reason why bytes were refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TfheRsError {
    /// Bytes that are not of TFHE-rs, or not in the form of `safe_serialize`.
    #[error(
        "these bytes are not in TFHE-rs's `safe_serialize` form: save the object with `tfhe::safe_serialization::safe_serialize`"
    )]
    Header,
    /// A header with another version.
    #[error(
        "the {what} of this file is '{found}', and '{known}' is known here: save it with tfhe {TFHE_VERSION}"
    )]
    HeaderVersion {
        /// The name of the version in the header.
        what: &'static str,
        /// The version that the header states.
        found: String,
        /// The version that is known here.
        known: &'static str,
    },
    /// An object of another type.
    #[error("this is a '{found}' of TFHE-rs, but a '{expected}' is needed here")]
    Type {
        /// The type that is needed.
        expected: &'static str,
        /// The type that the header names.
        found: String,
    },
    /// A value with another version.
    #[error(
        "its {what} has version {found}, and version {known} is known here: load and save it with tfhe {TFHE_VERSION}"
    )]
    Version {
        /// The name of the value.
        what: &'static str,
        /// The version of the value.
        found: u32,
        /// The version that is known.
        known: u32,
    },
    /// Fewer bytes than the object announces.
    #[error(
        "the data is cut short or damaged: it announces {needed} bytes, {found} are there: transfer it again"
    )]
    Truncated {
        /// The number of bytes that are needed up to that place.
        needed: u64,
        /// The number of bytes that are there.
        found: u64,
    },
    /// Bytes behind the end of the object.
    #[error("{0} bytes follow the end of the object: the file is damaged, or holds several")]
    TrailingBytes(usize),
    /// A value that is out of its range.
    #[error("its {0} has a value that it cannot have: the file is damaged or forged")]
    Value(&'static str),
    /// A key or parameters of TFHE-rs that are not supported here.
    #[error(
        "it has {0}, which is not supported: use a key of classic parameters, key switch first, 1 or 2 message bits"
    )]
    Unsupported(&'static str),
    /// A compressed value of a kind that is not supported here.
    #[error(
        "it has {0}, which is not supported: give values that a client encrypted with `CompressedFheUint`, `CompressedFheInt` or `CompressedFheBool`"
    )]
    UnsupportedValue(&'static str),
    /// A value under other parameters than the key's.
    #[error(
        "it was made under other parameters than the key's: give the client key that encrypted it"
    )]
    OtherParameters,
    /// Parameters that are not valid.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
}
