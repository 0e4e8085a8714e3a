//! The errors of reading SEAL's objects.

use thiserror::Error;

use crate::error::KeyError;
use crate::parameters::ParametersError;

/// The reason why bytes are not the object that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SealError {
    /// The bytes do not begin as SEAL's objects do.
    #[error("this is not an object of Microsoft SEAL's")]
    NotSeal,
    /// The object has the form of a version that is not supported.
    #[error("SEAL {0}.{1} wrote this: save it with a version from 3.4 to 4")]
    Version(u8, u8),
    /// The object is compressed.
    #[error("this is compressed: save it with compr_mode_type::none")]
    Compressed,
    /// Bytes are missing, or there are too many.
    #[error("the object should have {needed} bytes and has {found}")]
    Length {
        /// The number of bytes that the object's header or its parameters ask for.
        needed: u64,
        /// The number of bytes that were given.
        found: usize,
    },
    /// The parameters are of another scheme.
    #[error("these are not parameters of CKKS")]
    Scheme,
    /// The object was made with other parameters.
    #[error("this object was made with other parameters")]
    OtherParameters,
    /// A member of the object has a value that is not possible in it.
    #[error("this is not the object it should be: its {0} is wrong")]
    Member(&'static str),
    /// The public key has a seed in place of its second polynomial.
    #[error("this public key is seeded: load it into SEAL and save it again")]
    Seeded,
    /// A residue of the ciphertext is not below its prime.
    #[error("the ciphertext has a number that is not below its prime: it is of other parameters")]
    NotReduced,
    /// The seed is for a generator that this build does not have.
    #[error("the ciphertext's seed is for a generator {0} that is not known here")]
    Generator(u8),
    /// A buffer has the wrong size.
    #[error("a buffer has {found} places, not {needed}")]
    Buffer {
        /// The number of places that are needed.
        needed: usize,
        /// The number of places that were given.
        found: usize,
    },
    /// This library does not support the parameters.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
    /// The polynomials of the key are wrong.
    #[error(transparent)]
    Key(#[from] KeyError),
}
