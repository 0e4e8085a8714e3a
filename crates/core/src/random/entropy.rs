//! Sources of entropy and how they fail.

use thiserror::Error;

/// Why there is no seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntropyError {
    /// The source of entropy reported a failure, with its reason.
    #[error("the source of entropy failed: {0}")]
    Source(&'static str),
    /// The source reported success, but its output repeats within itself: a TRNG that
    /// is not switched on or is stuck, or a callback that wrote nothing.
    #[error("the source of entropy gave constant output; is the generator switched on?")]
    Constant,
    /// A byte or a bit is far too frequent in the source's output.
    #[error("the source of entropy is biased: check its wiring, clock and supply")]
    Biased,
    /// The source gave the same bytes as at the call before.
    #[error("the source of entropy gave the same bytes twice; is it a constant?")]
    Repeated,
    /// The session has given 2^64 - 1 pairs, and has no source for another seed.
    #[error("the session seed is used up; start a session with fresh entropy")]
    Exhausted,
}

/// Where entropy comes from: the OS, or the board's TRNG. Every
/// `FnMut(&mut [u8]) -> Result<(), EntropyError>` is one.
pub trait EntropySource {
    /// Overwrites `out`, all of it, with full-entropy bytes that it has never given
    /// before, or says why it can't.
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

/// The source of a session that lives of one seed: it has nothing to give.
#[derive(Clone, Copy, Debug)]
pub struct NoSource;

impl EntropySource for NoSource {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), EntropyError> {
        Err(EntropyError::Exhausted)
    }
}
