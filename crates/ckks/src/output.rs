//! The form of a ciphertext, and its way to the sink.

use crate::error::{CkksError, SinkError};
use crate::mask::CHUNK;

/// The largest number of bytes that a sink is given at a time.
pub const MAX_PIECE_BYTES: usize = 8 * CHUNK;

/// A function that takes a ciphertext piece by piece.
pub(crate) type Sink<'s> = &'s mut dyn FnMut(&[u8]) -> Result<(), SinkError>;

/// The form of a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Microsoft SEAL's native serialization with both polynomials, one after the other,
    /// uncompressed. See [`seal`](crate::seal).
    Seal,
    /// SEAL's serialization with a seed in place of the second polynomial, which halves the size. Only
    /// for secret keys.
    SealSeeded,
    /// SEAL-Embedded's stream: for each prime the residues of the first polynomial, then those of
    /// the second, as 32-bit words, in the order of the transform.
    Raw,
}

/// A sink, and the form in which it is given residues.
pub(crate) struct Output<'s> {
    sink: Sink<'s>,
    format: Format,
}

impl<'s> Output<'s> {
    pub(crate) fn new(sink: Sink<'s>, format: Format) -> Self {
        Self { sink, format }
    }

    /// The form of the ciphertext.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Sends bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), CkksError> {
        (self.sink)(bytes).map_err(CkksError::Sink)
    }

    /// Sends residues, at most [`CHUNK`] of them.
    pub(crate) fn residues(&mut self, residues: &[u32]) -> Result<(), CkksError> {
        let mut piece = [0; MAX_PIECE_BYTES];
        let len = match self.format {
            Format::Raw => {
                let words = piece.as_chunks_mut().0.iter_mut().zip(residues);
                words.for_each(|(bytes, residue)| *bytes = residue.to_le_bytes());
                4 * residues.len()
            }
            Format::Seal | Format::SealSeeded => {
                let words = piece.as_chunks_mut().0.iter_mut().zip(residues);
                words.for_each(|(bytes, &residue)| *bytes = u64::from(residue).to_le_bytes());
                8 * residues.len()
            }
        };
        self.bytes(&piece[..len])
    }
}
