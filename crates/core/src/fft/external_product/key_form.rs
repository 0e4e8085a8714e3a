//! The forms of the coefficients of a key, as the products read them.

use crate::fft::node::Complex;
use crate::simd::Simd;

/// The form of the coefficients of a key.
pub(super) trait Form<S: Simd>: Copy {
    /// The type of the elements of a key: doubles, or the bytes of integers.
    type Number: 'static;
    /// The elements of a vector of real parts and of the vector of imaginary parts behind it.
    type Pair: ?Sized + 'static;
    /// The elements of `R` such pairs.
    type Pairs<const R: usize>: ?Sized + 'static;

    /// The pairs of the key of an output, which is the last one of its group or not.
    fn pairs(key: &[Self::Number], is_last: bool) -> impl Iterator<Item = &Self::Pair>;
    /// The pairs of the key of such an output, `R` at once.
    fn pairs_of<const R: usize>(
        key: &[Self::Number],
        is_last: bool,
    ) -> impl Iterator<Item = &Self::Pairs<R>>;
    /// Pair `r` of `R`.
    fn pair<const R: usize>(pairs: &Self::Pairs<R>, r: usize, is_last: bool) -> &Self::Pair;
    /// Reads a pair of the key of such an output, in units of the key.
    fn load(self, simd: S, pair: &Self::Pair, is_last: bool) -> Complex<S::F64>;
}

/// Doubles.
#[derive(Clone, Copy)]
pub(super) struct Doubles;

impl<S: Simd> Form<S> for Doubles {
    type Number = f64;
    type Pair = [S::Chunk; 2];
    type Pairs<const R: usize> = [[S::Chunk; 2]; R];

    #[inline(always)]
    fn pairs(key: &[f64], _is_last: bool) -> impl Iterator<Item = &[S::Chunk; 2]> {
        S::chunks(key).as_chunks().0.iter()
    }

    #[inline(always)]
    fn pairs_of<const R: usize>(
        key: &[f64],
        _is_last: bool,
    ) -> impl Iterator<Item = &[[S::Chunk; 2]; R]> {
        S::chunks(key).as_chunks().0.as_chunks().0.iter()
    }

    #[inline(always)]
    fn pair<const R: usize>(
        pairs: &[[S::Chunk; 2]; R],
        r: usize,
        _is_last: bool,
    ) -> &[S::Chunk; 2] {
        &pairs[r]
    }

    #[inline(always)]
    fn load(self, simd: S, [re, im]: &[S::Chunk; 2], _is_last: bool) -> Complex<S::F64> {
        Complex {
            re: simd.load(re),
            im: simd.load(im),
        }
    }
}

/// Integers of `BYTES` bytes, and of `LAST` bytes in the last output of a group. Those of 8 bytes are doubles.
#[derive(Clone, Copy)]
pub(super) struct Integers<S: Simd, const BYTES: usize, const LAST: usize> {
    places: S::PackedPlaces,
    last_places: S::PackedPlaces,
}

impl<S: Simd, const BYTES: usize, const LAST: usize> Integers<S, BYTES, LAST> {
    #[inline(always)]
    pub(super) fn new(simd: S) -> Self {
        let places = simd.packed_places::<BYTES>();
        let last_places = match BYTES == LAST {
            true => places,
            false => simd.packed_places::<LAST>(),
        };
        Self {
            places,
            last_places,
        }
    }

    /// The number of bytes of a pair.
    const fn pair_len(is_last: bool) -> usize {
        2 * S::LANES * if is_last { LAST } else { BYTES }
    }
}

impl<S: Simd, const BYTES: usize, const LAST: usize> Form<S> for Integers<S, BYTES, LAST> {
    type Number = u8;
    type Pair = [u8];
    type Pairs<const R: usize> = [u8];

    #[inline(always)]
    fn pairs(key: &[u8], is_last: bool) -> impl Iterator<Item = &[u8]> {
        key.chunks_exact(Self::pair_len(is_last))
    }

    #[inline(always)]
    fn pairs_of<const R: usize>(key: &[u8], is_last: bool) -> impl Iterator<Item = &[u8]> {
        key.chunks_exact(R * Self::pair_len(is_last))
    }

    #[inline(always)]
    fn pair<const R: usize>(pairs: &[u8], r: usize, is_last: bool) -> &[u8] {
        &pairs[r * Self::pair_len(is_last)..][..Self::pair_len(is_last)]
    }

    #[inline(always)]
    fn load(self, simd: S, pair: &[u8], is_last: bool) -> Complex<S::F64> {
        let [re, im] = match is_last {
            true => simd.load_packed_pair::<LAST>(self.last_places, pair),
            false => simd.load_packed_pair::<BYTES>(self.places, pair),
        };
        Complex { re, im }
    }
}
