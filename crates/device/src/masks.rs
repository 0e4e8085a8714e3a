//! Masks drawn from a seed, whole or piece by piece.

use tfhe_sbc_core::random::{AnyExpander, ExpanderKind, MaskSeed, fill_uniform};
use tfhe_sbc_core::torus::Torus;

use crate::product::{PIECE, UniformPolynomials};

/// The mask polynomials of one stream, in order.
pub(crate) struct SeededMasks<'s> {
    expander: ExpanderKind,
    seed: &'s MaskSeed,
    stream: u32,
    size: usize,
    open: AnyExpander,
    /// The index of the polynomial that `open` yields next.
    next: usize,
}

impl<'s> SeededMasks<'s> {
    /// Opens stream number `stream` of a seed, for masks of `size` coefficients each.
    pub(crate) fn new(
        expander: ExpanderKind,
        seed: &'s MaskSeed,
        stream: u32,
        size: usize,
    ) -> Self {
        Self {
            expander,
            seed,
            stream,
            size,
            open: expander.mask_stream(seed, stream),
            next: 0,
        }
    }

    /// Moves to the beginning of polynomial `index`; going back reopens the stream.
    fn seek<T: Torus>(&mut self, index: usize) {
        if index < self.next {
            self.open = self.expander.mask_stream(self.seed, self.stream);
            self.next = 0;
        }
        while self.next < index {
            self.pieces::<T>(self.next, &mut |_| {});
        }
    }

    /// Overwrites `out` with polynomial `index`.
    pub(crate) fn fill<T: Torus>(&mut self, index: usize, out: &mut [T]) {
        self.seek::<T>(index);
        fill_uniform(&mut self.open, out);
        self.next = index + 1;
    }

    /// Passes polynomial `index` to `take`, in pieces of [`PIECE`] scalars.
    pub(crate) fn pieces<T: Torus>(&mut self, index: usize, take: &mut dyn FnMut(&[T])) {
        self.seek::<T>(index);
        let mut piece = [T::ZERO; PIECE];
        for _ in 0..self.size / PIECE {
            fill_uniform(&mut self.open, &mut piece);
            take(&piece);
        }
        self.next = index + 1;
    }
}

impl<T: Torus> UniformPolynomials<T> for SeededMasks<'_> {
    fn whole<'a>(&'a mut self, index: usize, buffer: &'a mut [T]) -> &'a [T] {
        self.fill(index, buffer);
        buffer
    }

    fn pieces(&mut self, index: usize, take: &mut dyn FnMut(&[T])) {
        SeededMasks::pieces(self, index, take);
    }
}
