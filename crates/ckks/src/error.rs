//! The errors of this crate. Every error is a value; nothing panics.

use thiserror::Error;

use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::workspace::WorkspaceError;

use crate::parameters::ParametersError;

/// The reason why a sink refused bytes, in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SinkError(
    /// The reason.
    pub &'static str,
);

/// An error of encryption. Nothing has been sent when one is returned, except for
/// [`Sink`](CkksError::Sink), which is returned after sending has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CkksError {
    /// The workspace is too small or misaligned.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The parameters are not valid.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
    /// The source of randomness failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The sink of a ciphertext failed. The bytes that it took are an incomplete ciphertext, whose seeds are
    /// not used again.
    #[error("the ciphertext was not sent to its end: {0}")]
    Sink(SinkError),
    /// The bytes are not a key of these parameters.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// There are more values than slots.
    #[error("{found} values do not fit {slots} slots")]
    TooManyValues {
        /// The number of values.
        found: usize,
        /// The number of slots of a ciphertext.
        slots: usize,
    },
    /// A value is infinite or not a number.
    #[error("the value at index {index} is not finite")]
    NotFinite {
        /// The index in the input.
        index: usize,
    },
    /// The scale is not a positive number.
    #[error("the scale is not a positive number")]
    Scale,
    /// The values are too large for the moduli. They are plaintexts and not reported.
    #[error(
        "the values times the scale do not fit the moduli: take a smaller scale, or more primes"
    )]
    TooLarge,
    /// The seeded format was asked of a public key, whose ciphertexts have no seed.
    #[error("ciphertexts of a public key cannot be seeded: choose another format")]
    NotSeedable,
}

/// The reason why bytes are not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key has another length.
    #[error("the key has {found} bytes, not {needed}")]
    Length {
        /// The number of bytes of such a key.
        needed: usize,
        /// The number of bytes that were given.
        found: usize,
    },
    /// A coefficient is not -1, 0 or 1. Its index is not reported.
    #[error("the secret key is not ternary")]
    NotTernary,
    /// A number is not below its prime.
    #[error("the public key has a number that is not below its prime: it is of other parameters")]
    NotReduced,
    /// The key has polynomials for another number of primes.
    #[error("the public key has polynomials for {found} primes, not {needed}")]
    PrimeCount {
        /// The number of primes of the parameters.
        needed: usize,
        /// The number of primes of the key.
        found: usize,
    },
}
