//! Streams of bytes from generators of whole blocks, and buffers that wipe themselves.

use core::ops::{Deref, DerefMut};

/// The number of bytes of a block of a [`BlockSource`].
pub(super) const BLOCK_BYTES: usize = 64;

/// A generator of a stream in blocks of [`BLOCK_BYTES`].
pub(super) trait BlockSource {
    /// Overwrites `out` with the next blocks.
    fn next_blocks(&mut self, out: &mut [[u8; BLOCK_BYTES]]);
}

/// The stream of a [`BlockSource`], readable in pieces of any length.
pub(super) struct Keystream<S> {
    source: S,
    /// The last block, if it has been read in part only.
    block: Scratch<u8, BLOCK_BYTES>,
    /// The number of bytes of `block` that have been read.
    used: usize,
}

impl<S: BlockSource> Keystream<S> {
    #[inline]
    pub(super) fn new(source: S) -> Self {
        Self {
            source,
            block: Scratch::new(),
            used: BLOCK_BYTES,
        }
    }

    pub(super) fn fill(&mut self, out: &mut [u8]) {
        let (head, out) = out.split_at_mut(out.len().min(BLOCK_BYTES - self.used));
        if !head.is_empty() {
            head.copy_from_slice(&self.block[self.used..self.used + head.len()]);
            self.used += head.len();
        }

        let (blocks, tail) = out.as_chunks_mut();
        if !blocks.is_empty() {
            self.source.next_blocks(blocks);
        }
        if !tail.is_empty() {
            self.source
                .next_blocks(core::slice::from_mut(&mut self.block.0));
            tail.copy_from_slice(&self.block[..tail.len()]);
            self.used = tail.len();
        }
    }
}

/// A buffer on the stack that is overwritten with zeros when it goes out of scope.
#[repr(align(64))]
pub(crate) struct Scratch<T: Copy + Default, const LEN: usize>([T; LEN]);

impl<T: Copy + Default, const LEN: usize> Scratch<T, LEN> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self([T::default(); LEN])
    }
}

impl<T: Copy + Default, const LEN: usize> Drop for Scratch<T, LEN> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.fill(T::default());
        zeroize::optimization_barrier(&self.0);
    }
}

impl<T: Copy + Default, const LEN: usize> Deref for Scratch<T, LEN> {
    type Target = [T; LEN];

    #[inline(always)]
    fn deref(&self) -> &[T; LEN] {
        &self.0
    }
}

impl<T: Copy + Default, const LEN: usize> DerefMut for Scratch<T, LEN> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; LEN] {
        &mut self.0
    }
}
