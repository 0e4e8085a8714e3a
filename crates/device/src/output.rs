//! The destinations of a message: a buffer, or a sink that takes it piece by piece.

use tfhe_sbc_core::memcheck::disclose;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::bits::{pack_top_bits, packed_len};
use tfhe_sbc_core::wire::{CHECKSUM_BYTES, Checksum, WireError};

use crate::error::{DeviceError, SinkError};

/// The largest number of bytes that a sink is given at a time.
pub const MAX_PIECE_BYTES: usize = 256;

/// A message while it is written: header, packed coefficients, checksum.
pub(crate) trait Output<T> {
    /// Writes bytes as they are.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), DeviceError>;
    /// Writes the top `bits` bits of every value, padded to a whole byte.
    fn packed(&mut self, values: &[T], bits: u32) -> Result<(), DeviceError>;
    /// Writes the checksum of everything before it.
    fn finish(&mut self) -> Result<(), DeviceError>;
}

/// The destination of the masks of a polynomial, where they are sent.
pub struct MaskOutput<'o, T> {
    pub(crate) out: &'o mut dyn Output<T>,
    /// The number of bits of a mask coefficient that are sent.
    pub(crate) bits: u32,
}

/// A buffer of the message's length.
pub(crate) struct BufferOutput<'o> {
    message: &'o mut [u8],
    at: usize,
}

impl<'o> BufferOutput<'o> {
    /// Takes the first `needed` bytes of `out`.
    pub(crate) fn new(out: &'o mut [u8], needed: usize) -> Result<Self, DeviceError> {
        let found = out.len();
        let message = out
            .get_mut(..needed)
            .ok_or(WireError::BufferTooSmall { needed, found })?;
        Ok(Self { message, at: 0 })
    }

    fn next(&mut self, len: usize) -> Result<&mut [u8], DeviceError> {
        let (found, needed) = (self.message.len(), self.at.saturating_add(len));
        let next = self
            .message
            .get_mut(self.at..needed)
            .ok_or(WireError::BufferTooSmall { needed, found })?;
        self.at = needed;
        Ok(next)
    }
}

impl<T: Torus> Output<T> for BufferOutput<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        self.next(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn packed(&mut self, values: &[T], bits: u32) -> Result<(), DeviceError> {
        let packed = self.next(packed_len(values.len(), bits))?;
        pack_top_bits(values, bits, packed);
        disclose(packed);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), DeviceError> {
        let mut checksum = Checksum::new();
        checksum.update(&self.message[..self.at]);
        self.next(CHECKSUM_BYTES)?
            .copy_from_slice(&checksum.finish());
        Ok(())
    }
}

/// A sink, and the checksum of what it has been given, in pieces of at most [`MAX_PIECE_BYTES`].
pub(crate) struct SinkOutput<'s> {
    sink: &'s mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    checksum: Checksum,
}

impl<'s> SinkOutput<'s> {
    pub(crate) fn new(sink: &'s mut dyn FnMut(&[u8]) -> Result<(), SinkError>) -> Self {
        Self {
            sink,
            checksum: Checksum::new(),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        self.checksum.update(bytes);
        (self.sink)(bytes).map_err(DeviceError::Sink)
    }
}

impl<T: Torus> Output<T> for SinkOutput<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        self.send(bytes)
    }

    fn packed(&mut self, values: &[T], bits: u32) -> Result<(), DeviceError> {
        // A multiple of 32 values ends at a byte, whatever the number of bits.
        let values_each = MAX_PIECE_BYTES * 8 / bits as usize / 32 * 32;
        let mut piece = [0; MAX_PIECE_BYTES];
        for values in values.chunks(values_each) {
            let piece = &mut piece[..packed_len(values.len(), bits)];
            pack_top_bits(values, bits, piece);
            disclose(piece);
            self.send(piece)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), DeviceError> {
        let checksum = core::mem::replace(&mut self.checksum, Checksum::new());
        (self.sink)(&checksum.finish()).map_err(DeviceError::Sink)
    }
}
