//! The errors of reading files of TFHEpp.

use thiserror::Error;

/// The reason why a file of TFHEpp, or an upload for it, was refused.
#[derive(Debug, Error)]
pub enum TfheppError {
    /// A length that no object of lvl1 has.
    #[error(
        "{0} bytes are neither a TLWE nor a TRLWE of lvl1param (N = 1024, 32 bits) nor a vector \
         of them: it is cut off, or of another parameter set"
    )]
    NoCiphertexts(u64),
    /// A vector whose count does not match its length.
    #[error("the vector announces {announced} elements, and {found} are there")]
    Count {
        /// The count that the vector states.
        announced: u64,
        /// The count that follows from its length.
        found: u64,
    },
    /// A length that no known secret key has.
    #[error(
        "{0} bytes are no secret key of TFHEpp v9 (90441) or of 2026's default set (90429): it is \
         cut off, of another version, or of another parameter set"
    )]
    NoSecretKey(u64),
    /// A portable archive that a big-endian machine wrote, or no archive.
    #[error("its first byte is {0}, where a portable archive of a little-endian machine has 1")]
    ByteOrder(u8),
    /// A coefficient that is not -1, 0 or 1.
    #[error("the {0} key has a coefficient that is neither -1, 0 nor 1: it is of another layout")]
    Coefficient(&'static str),
    /// A secret key file that ends with the parameters of another set.
    #[error("the secret key is of another parameter set: its lvl1 has N = {0}, not 1024")]
    PolynomialSize(u32),
    /// An upload under parameters that TFHEpp does not have.
    #[error(
        "the upload is of the set '{0}', and TFHEpp's lvl1 takes bits with N = 1024, k = 1 and \
         q = 2^32: encrypt with a key that was imported from TFHEpp"
    )]
    Parameters(String),
    /// A key of other dimensions than lvl1's.
    #[error("the key is not one of TFHEpp's lvl1 (N = 1024, k = 1)")]
    Key,
}
