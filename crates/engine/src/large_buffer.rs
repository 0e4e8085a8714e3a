//! Buffers of many megabytes that a computation reads from end to end: prepared keys.
//!
//! A key streams through the caches once for each batch, and the processor needs a translation of every page that it comes
//! to. With pages of 2 MiB instead of 4 KiB a bootstrap of one ciphertext takes a twentieth less time where the key does not
//! fit the caches (docs/engine.md).

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::cache_aligned::{CacheAligned, cache_aligned};

/// The number of bytes from which a buffer has pages of its own.
const LARGE: usize = 4 << 20;

/// A buffer at the boundary of a cache line, in large pages if it is large and the system has them.
pub(crate) enum LargeBuffer<T> {
    /// Pages of its own.
    Pages(MmapMut, PhantomData<T>),
    /// An allocation like any other.
    Heap(CacheAligned<T>),
}

impl<T: Pod> LargeBuffer<T> {
    /// Returns a buffer of `len` elements, each of which is 0.
    pub(crate) fn zeroed(len: usize) -> Self {
        match pages(len * size_of::<T>()) {
            Some(pages) => Self::Pages(pages, PhantomData),
            None => Self::Heap(cache_aligned(T::zeroed(), len)),
        }
    }
}

impl<T: Pod> Clone for LargeBuffer<T> {
    /// Returns a copy, which the calling thread is the first to write to.
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

/// Returns zeroed pages of their own for `bytes` bytes; `None` if these are few, or the system gives none.
fn pages(bytes: usize) -> Option<MmapMut> {
    if bytes < LARGE {
        return None;
    }
    let pages = MmapMut::map_anon(bytes).ok()?;
    // Without large pages the buffer is as good as an allocation.
    #[cfg(target_os = "linux")]
    let _ = pages.advise(memmap2::Advice::HugePage);
    Some(pages)
}

impl<T: Pod> Deref for LargeBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Pages(pages, _) => bytemuck::cast_slice(pages),
            Self::Heap(buffer) => buffer,
        }
    }
}

impl<T: Pod> DerefMut for LargeBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Pages(pages, _) => bytemuck::cast_slice_mut(pages),
            Self::Heap(buffer) => buffer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_all_sizes_are_zeroed_aligned_and_as_long_as_asked_for() {
        for len in [0, 1, 1000, LARGE / 8 - 1, LARGE / 8, LARGE / 8 + 77] {
            let mut buffer = LargeBuffer::<f64>::zeroed(len);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|&x| x == 0.0));
            assert!(buffer.as_ptr().addr().is_multiple_of(64));
            let large = matches!(buffer, LargeBuffer::Pages(..));
            assert_eq!(large, len * 8 >= LARGE && cfg!(unix));
            buffer.fill(1.5);
            assert!(buffer.iter().all(|&x| x == 1.5));
            let copy = buffer.clone();
            assert!(*copy == *buffer && (len == 0 || copy.as_ptr() != buffer.as_ptr()));
        }
        let tiles = LargeBuffer::<[u32; 64]>::zeroed(LARGE / 256);
        assert_eq!(tiles.as_flattened().len(), LARGE / 4);
    }
}
