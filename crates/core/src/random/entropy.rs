//! Sources of entropy and their errors.

use thiserror::Error;

/// The reason why there is no seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntropyError {
    /// The source of entropy reported a failure, with its reason.
    #[error("the source of entropy failed: {0}")]
    Source(&'static str),
    /// The source reported success, but its output repeats within itself: the TRNG
    /// is not switched on or is stuck, or the callback wrote nothing.
    #[error("the source of entropy gave constant output; is the generator switched on?")]
    Constant,
    /// A byte or a bit is far too frequent in the source's output.
    #[error("the source of entropy is biased: check its wiring, clock and supply")]
    Biased,
    /// The source gave the same bytes as at the previous call.
    #[error("the source of entropy gave the same bytes twice; is it a constant?")]
    Repeated,
    /// The session has given 2^64 - 1 pairs of seeds, and has no source for another root seed.
    #[error("the session seed is used up; start a session with fresh entropy")]
    Exhausted,
    /// The session was copied by `fork()`: the parent process goes on with it.
    #[error(
        "the session belongs to the process that this one was forked from; start a session here"
    )]
    Forked,
}

/// A source of entropy: the operating system, or the board's TRNG. Every
/// `FnMut(&mut [u8]) -> Result<(), EntropyError>` implements this trait.
pub trait EntropySource {
    /// Overwrites all of `out` with full-entropy bytes that it has never given before.
    ///
    /// # Errors
    ///
    /// [`EntropyError::Source`], with the reason.
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyError>;
}

impl<F: FnMut(&mut [u8]) -> Result<(), EntropyError>> EntropySource for F {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyError> {
        self(out)
    }
}

/// The source of a session that uses one root seed only; it always fails.
#[derive(Clone, Copy, Debug)]
pub struct NoSource;

impl EntropySource for NoSource {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), EntropyError> {
        Err(EntropyError::Exhausted)
    }
}
