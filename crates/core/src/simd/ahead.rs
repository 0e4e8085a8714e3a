//! Reading ahead: data that is needed next is prefetched while something else is computed.
//!
//! A key that streams from memory arrives too late if it is prefetched in bursts. Prefetched evenly,
//! a few lines after every few vectors of another computation, it arrives as fast as the computation
//! proceeds.

use super::Simd;

/// The number of bytes of a cache line.
const LINE: usize = 64;

/// A prefetcher that is informed of progress.
pub(crate) trait Ahead {
    /// Reports that `vectors` vectors have been computed.
    fn after<S: Simd>(&mut self, simd: S, vectors: usize);
}

/// Prefetches nothing.
impl Ahead for () {
    #[inline(always)]
    fn after<S: Simd>(&mut self, _simd: S, _vectors: usize) {}
}

/// A slice to be prefetched over a number of vectors.
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
    lines_a_vector: usize,
}

impl<'a> Lines<'a> {
    /// Prefetches all of `data` by the time that `vectors` vectors have been computed.
    #[inline(always)]
    pub(crate) fn over(data: &'a [u8], vectors: usize) -> Self {
        Self {
            rest: data,
            lines_a_vector: data.len().div_ceil(LINE * vectors.max(1)),
        }
    }
}

impl Ahead for Lines<'_> {
    #[inline(always)]
    fn after<S: Simd>(&mut self, simd: S, vectors: usize) {
        if self.rest.is_empty() {
            return;
        }
        let bytes = (LINE * self.lines_a_vector * vectors).min(self.rest.len());
        let (now, rest) = self.rest.split_at(bytes);
        for line in now.as_chunks::<LINE>().0 {
            simd.prefetch(line);
        }
        self.rest = rest;
    }
}
