//! Numbers of any width in bytes: the first in the lowest bits of the first byte.

/// Writes numbers into a buffer.
pub(crate) struct BitWriter<'a> {
    bytes: core::slice::IterMut<'a, u8>,
    pending: u64,
    pending_bits: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self {
            bytes: bytes.iter_mut(),
            pending: 0,
            pending_bits: 0,
        }
    }

    /// Appends a number below `2^width`, where `width` is at most 48.
    pub(crate) fn put(&mut self, value: u64, width: u8) {
        self.pending |= value << self.pending_bits;
        self.pending_bits += u32::from(width);
        while self.pending_bits >= 8 {
            self.put_byte();
            self.pending_bits -= 8;
        }
    }

    /// Writes the last bits. The others of their byte are zero.
    pub(crate) fn finish(mut self) {
        if self.pending_bits > 0 {
            self.put_byte();
        }
    }

    fn put_byte(&mut self) {
        debug_assert!(self.bytes.len() > 0, "the buffer has room for every number");
        if let Some(byte) = self.bytes.next() {
            *byte = self.pending as u8;
        }
        self.pending >>= 8;
    }
}

/// Reads numbers out of a buffer. Behind its end there are zeros.
#[derive(Clone)]
pub(crate) struct BitReader<'a> {
    bytes: core::slice::Iter<'a, u8>,
    pending: u64,
    pending_bits: u32,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: bytes.iter(),
            pending: 0,
            pending_bits: 0,
        }
    }

    /// Takes the next number of `width` bits, at most 48.
    pub(crate) fn take(&mut self, width: u8) -> u64 {
        let width = u32::from(width);
        while self.pending_bits < width {
            let byte = self.bytes.next().copied().unwrap_or(0);
            self.pending |= u64::from(byte) << self.pending_bits;
            self.pending_bits += 8;
        }
        let value = self.pending & ((1 << width) - 1);
        self.pending >>= width;
        self.pending_bits -= width;
        value
    }
}
