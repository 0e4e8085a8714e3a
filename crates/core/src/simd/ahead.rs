//! Reading ahead: what is needed next is asked for while there is something to compute.
//!
//! A key that streams from memory is too fast in bursts: asked for evenly, a few lines
//! after every few vectors of another computation, it comes as fast as the computation.

use super::Simd;

/// Doubles of a cache line.
const LINE: usize = 8;

/// Told of progress, and asks for what is next.
pub(crate) trait Ahead {
    /// Some vectors have been computed.
    fn after<S: Simd>(&mut self, simd: S, vectors: usize);
}

/// Nothing to ask for.
impl Ahead for () {
    #[inline(always)]
    fn after<S: Simd>(&mut self, _simd: S, _vectors: usize) {}
}

/// A slice to be asked for over a number of vectors.
pub(crate) struct Lines<'a> {
    rest: &'a [f64],
    lines_a_vector: usize,
}

impl<'a> Lines<'a> {
    /// All of `data`, by the time that so many vectors have been computed.
    #[inline(always)]
    pub(crate) fn over(data: &'a [f64], vectors: usize) -> Self {
        Self {
            rest: data,
            lines_a_vector: data.len().div_ceil(LINE * vectors.max(1)),
        }
    }
}

impl Ahead for Lines<'_> {
    #[inline(always)]
    fn after<S: Simd>(&mut self, simd: S, vectors: usize) {
        let doubles = (LINE * self.lines_a_vector * vectors).min(self.rest.len());
        let (now, rest) = self.rest.split_at(doubles);
        for line in now.as_chunks::<LINE>().0 {
            simd.prefetch(line);
        }
        self.rest = rest;
    }
}
