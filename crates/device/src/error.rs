//! The errors of a device. Every error is a value; nothing panics.

use thiserror::Error;

use tfhe_sbc_core::encoding::ReadingError;
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_core::wire::columns::MAX_SEGMENTS;
use tfhe_sbc_core::wire::glwe::MAX_ELEMENTS;
use tfhe_sbc_core::workspace::WorkspaceError;

use crate::plan::MemoryPlan;

/// The reason why a sink refused bytes, in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SinkError(
    /// The reason.
    pub &'static str,
);

/// An error of encryption. Nothing has been written or sent when one is returned, except for
/// [`Sink`](DeviceError::Sink), which is returned after sending has begun.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The key file or an output buffer was refused.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The source of randomness failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The workspace is too small or misaligned.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The sink of a message failed. The bytes that it took are an incomplete message, whose seeds are not
    /// used again.
    #[error("the message was not sent to its end: {0}")]
    Sink(SinkError),
    /// The memory plan is not part of this build.
    #[error("this build has no '{0}' memory plan: choose another, or build with the feature '{feature}'", feature = .0.feature())]
    PlanNotBuilt(MemoryPlan),
    /// A reading cannot be encoded.
    #[error("reading {index}: {error}")]
    Reading {
        /// The reading's index in the input.
        index: usize,
        /// The reason.
        error: ReadingError,
    },
    /// The block buffer does not have one place for each block.
    #[error("the block buffer has {found} places, the readings make {needed} blocks")]
    BlockBuffer {
        /// The number of blocks that the readings make.
        needed: usize,
        /// The number of places of the buffer.
        found: usize,
    },
    /// The key's parameter set is over another torus than the encryptor's type; its number of bits.
    #[error("the key's parameter set is over a {0}-bit torus: use the encryptor of that width")]
    TorusBits(u32),
    /// The key's parameter set encodes another kind of plaintext.
    #[error("the key's parameter set does not encode this kind of plaintext")]
    PlaintextKind,
    /// The key's parameter set has no public-key uploads.
    #[error("the key's parameter set has no public-key uploads: use a device key")]
    NoPublicKeyUploads,
    /// A bit or block is not below the message modulus. Its value is a plaintext and not reported.
    #[error("the plaintext at index {index} is not below {modulus}")]
    BlockOutOfRange {
        /// The index in the input.
        index: usize,
        /// The message modulus.
        modulus: u64,
    },
    /// The columns or rows cannot be those of an upload.
    #[error("the description has {0}")]
    Description(&'static str),
    /// A reading of a column cannot be encoded.
    #[error("column {column}, reading {index}: {error}")]
    ColumnReading {
        /// The column's index in the input.
        column: usize,
        /// The reading's index in the column.
        index: usize,
        /// The reason.
        error: ReadingError,
    },
    /// The compact encoding of a column is for codes of another width than its values have.
    #[error(
        "the compact encoding is for codes of {compact} bits, the values of the column have codes of \
         {fixed_point}: give both the same width"
    )]
    CodeWidth {
        /// The width of the compact encoding in bits.
        compact: u32,
        /// The width of the codes, of the fixed-point encoding or derived from them, in bits.
        fixed_point: u32,
    },
    /// The number of columns is zero or too large for one message.
    #[error("{0} columns do not fit one message: send between 1 and {MAX_SEGMENTS}")]
    ColumnCount(usize),
    /// The number of plaintexts is zero or too large for one message.
    #[error("{0} plaintexts do not fit one message: send between 1 and {MAX_ELEMENTS}")]
    ElementCount(usize),
}
