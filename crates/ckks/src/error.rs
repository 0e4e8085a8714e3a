//! What can go wrong. Every error is a value; nothing panics.

use thiserror::Error;

use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::workspace::WorkspaceError;

use crate::parameters::ParametersError;

/// Why a sink took no more bytes, in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SinkError(
    /// The reason.
    pub &'static str,
);

/// Why there is no ciphertext. Nothing has been sent when one is returned, except for
/// [`Sink`](CkksError::Sink), which comes when sending has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CkksError {
    /// The workspace is too small or misaligned.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Parameters that cannot be.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
    /// The source of randomness failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// Whatever the ciphertext was streamed to failed. What it has taken is no whole
    /// ciphertext, and that ciphertext's seeds are spent.
    #[error("the ciphertext was not sent to its end: {0}")]
    Sink(SinkError),
    /// A key that is not one.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// More values than slots.
    #[error("{found} values do not fit {slots} slots")]
    TooManyValues {
        /// Values given.
        found: usize,
        /// Slots of a ciphertext.
        slots: usize,
    },
    /// A value that is not a number, or infinite.
    #[error("the value at index {index} is not finite")]
    NotFinite {
        /// Its place in the input.
        index: usize,
    },
    /// A scale that is not a positive number.
    #[error("the scale is not a positive number")]
    Scale,
    /// Values that do not fit the moduli. They are plaintexts: they are not told.
    #[error(
        "the values times the scale do not fit the moduli: take a smaller scale, or more primes"
    )]
    TooLarge,
    /// A public key's ciphertexts have no seed.
    #[error("ciphertexts of a public key cannot be seeded: choose another format")]
    NotSeedable,
}

/// Why bytes are not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Its length.
    #[error("the key has {found} bytes, not {needed}")]
    Length {
        /// Bytes of such a key.
        needed: usize,
        /// Bytes given.
        found: usize,
    },
    /// A coefficient that is not -1, 0 or 1. Where, is not told.
    #[error("the secret key is not ternary")]
    NotTernary,
    /// A number that is no residue of its prime.
    #[error("the public key has a number that is not below its prime: it is of other parameters")]
    NotReduced,
    /// Polynomials that the parameters do not ask for.
    #[error("the public key has polynomials for {found} primes, not {needed}")]
    PrimeCount {
        /// How many the parameters have.
        needed: usize,
        /// How many there are.
        found: usize,
    },
}
