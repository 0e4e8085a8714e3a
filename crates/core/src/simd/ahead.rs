//! Reading ahead: data that is needed next is prefetched while something else is computed.
//!
//! A key that streams from memory arrives too late if it is prefetched in bursts. Prefetched evenly,
//! a few lines after every few vectors of another computation, it arrives as fast as the computation
//! proceeds.

use core::ops::Range;

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

/// The number of places from which a slice is prefetched in turns. A core has more requests under way if they are for
/// several pages: with one place, a single bootstrap takes a ninth longer on a Zen 3 (`gates`, `message_2_carry_2`), with 8 as long as with 4.
const PLACES: usize = 4;

/// A slice to be prefetched over a number of vectors, in turns from each of [`PLACES`] parts.
pub(crate) struct Lines<'a> {
    lines: &'a [[u8; LINE]],
    /// The number of lines of each part.
    part: usize,
    /// The number of lines of each part that have been prefetched.
    done: usize,
    /// The lines of each part for a vector, times [`UNIT`].
    rate: usize,
    /// The fraction of the next line of each part that is due, times [`UNIT`].
    due: usize,
}

/// The unit of fractions of lines.
const UNIT: usize = 256;

impl<'a> Lines<'a> {
    /// Prefetches all of `data` by the time that `vectors` vectors have been computed.
    #[inline(always)]
    pub(crate) fn over(data: &'a [u8], vectors: usize) -> Self {
        let lines = data.as_chunks().0;
        let part = lines.len().div_ceil(PLACES);
        Self {
            lines,
            part,
            done: 0,
            rate: (UNIT * part).div_ceil(vectors.max(1)),
            due: 0,
        }
    }

    /// Returns the lines of each part that are due after some more vectors.
    #[inline(always)]
    fn advance(&mut self, vectors: usize) -> Range<usize> {
        self.due += self.rate * vectors;
        let from = self.done;
        self.done = self.part.min(from + self.due / UNIT);
        self.due %= UNIT;
        from..self.done
    }
}

impl Ahead for Lines<'_> {
    #[inline(always)]
    fn after<S: Simd>(&mut self, simd: S, vectors: usize) {
        if self.done == self.part {
            return;
        }
        for at in self.advance(vectors) {
            for place in 0..PLACES {
                if let Some(line) = self.lines.get(place * self.part + at) {
                    simd.prefetch(line);
                }
            }
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_due_once_and_evenly() {
        for lines in [0, 1, 3, 4, 5, 63, 64, 1280] {
            for vectors in [1, 7, 64, 100, 5000] {
                let data = vec![0; lines * LINE + 13];
                let mut ahead = Lines::over(&data, vectors);
                let mut seen = vec![0; lines];
                let mut most = 0;
                for _ in 0..vectors {
                    let now = ahead.advance(1);
                    most = most.max(now.len());
                    let places = (0..PLACES).map(|place| place * ahead.part);
                    for at in places.flat_map(|place| now.clone().map(move |at| place + at)) {
                        if let Some(seen) = seen.get_mut(at) {
                            *seen += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|&times| times == 1), "{lines} {vectors}");
                assert!(
                    most <= ahead.part.div_ceil(vectors) + 1,
                    "{lines} {vectors}"
                );
            }
        }
    }
}
