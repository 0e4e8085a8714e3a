//! What can go wrong on a device. Every error is a value; nothing panics.

use thiserror::Error;

use tfhe_sbc_core::encoding::ReadingError;
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_core::wire::glwe::MAX_ELEMENTS;
use tfhe_sbc_core::workspace::WorkspaceError;

use crate::plan::MemoryPlan;

/// Why a sink took no more bytes, in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SinkError(
    /// The reason.
    pub &'static str,
);

/// Why a device did not encrypt. Nothing has been written or sent when one is returned,
/// except for [`Sink`](DeviceError::Sink), which comes when sending has begun.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The key file or an output buffer is not right.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The source of randomness failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The workspace is too small or misaligned.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Whatever the message was streamed to failed. What it has taken is no whole
    /// message, and that message's seeds are spent.
    #[error("the message was not sent to its end: {0}")]
    Sink(SinkError),
    /// A memory plan that this build leaves out.
    #[error("this build has no '{0}' memory plan: choose another, or build with the feature '{feature}'", feature = .0.feature())]
    PlanNotBuilt(MemoryPlan),
    /// A reading has no code.
    #[error("reading {index}: {error}")]
    Reading {
        /// Its place in the input.
        index: usize,
        /// What is wrong with it.
        error: ReadingError,
    },
    /// A block buffer that does not have one place for each block.
    #[error("the block buffer has {found} places, the readings make {needed} blocks")]
    BlockBuffer {
        /// Blocks that the readings make.
        needed: usize,
        /// Places given.
        found: usize,
    },
    /// The key's parameters have another torus than the encryptor's type.
    #[error("the key's parameter set is over a {0}-bit torus: use the encryptor of that width")]
    TorusBits(u32),
    /// The key's parameters encode another kind of plaintext.
    #[error("the key's parameter set does not encode this kind of plaintext")]
    PlaintextKind,
    /// The key's parameters have no public-key uploads.
    #[error("the key's parameter set has no public-key uploads: use a device key")]
    NoPublicKeyUploads,
    /// A bit or block that is not below the message modulus. It is a plaintext: its value is not told.
    #[error("the plaintext at index {index} is not below {modulus}")]
    BlockOutOfRange {
        /// Its place in the input.
        index: usize,
        /// The message modulus.
        modulus: u64,
    },
    /// Columns or rows that no upload can have.
    #[error("the description has {0}")]
    Description(&'static str),
    /// No plaintexts, or too many for one message.
    #[error("{0} plaintexts do not fit one message: send between 1 and {MAX_ELEMENTS}")]
    ElementCount(usize),
}
