//! The forms of the coefficients of a key, as the products read them.

use super::step_key::PackedKey;
use crate::fft::node::Complex;
use crate::simd::{Simd, quad_shift};

/// The form of the coefficients of a key. The numbers of an output at a vector of points are pairs of vectors, of real and of imaginary parts.
pub(super) trait Form<S: Simd>: Copy {
    /// The type of the elements of a key: doubles, or the bytes of integers.
    type Number: 'static;
    /// The elements of a pair.
    type Pair: ?Sized + 'static;
    /// The elements of two pairs.
    type Quad<'k>: Copy;

    /// The numbers at vector of points `at` of `vectors` in the key of an output. Other numbers may follow.
    fn at_points(key: &[Self::Number], at: usize, vectors: usize) -> &[Self::Number];
    /// The pairs of the key of an output, which is the last one of its group or not.
    fn pairs(key: &[Self::Number], is_last: bool) -> impl Iterator<Item = &Self::Pair>;
    /// The pairs of the key of such an output, two at once.
    fn quads(key: &[Self::Number], is_last: bool) -> impl Iterator<Item = Self::Quad<'_>>;
    /// The last of `pairs` pairs, an odd number, if they are read [two at once](Self::quads).
    fn last_pair(key: &[Self::Number], is_last: bool, pairs: usize) -> &Self::Pair;
    /// Reads a pair of the key of such an output, in units of the key.
    fn load(self, simd: S, pair: &Self::Pair, is_last: bool) -> Complex<S::F64>;
    /// Reads pair `PAIR`, 0 or 1, of two.
    fn load_of_quad<const PAIR: usize>(
        self,
        simd: S,
        quad: Self::Quad<'_>,
        is_last: bool,
    ) -> Complex<S::F64>;
}

/// Doubles.
#[derive(Clone, Copy)]
pub(super) struct Doubles;

impl<S: Simd> Form<S> for Doubles {
    type Number = f64;
    type Pair = [S::Chunk; 2];
    type Quad<'k> = &'k [[S::Chunk; 2]; 2];

    #[inline(always)]
    fn at_points(key: &[f64], at: usize, vectors: usize) -> &[f64] {
        let len = key.len() / vectors;
        &key[at * len..][..len]
    }

    #[inline(always)]
    fn pairs(key: &[f64], _is_last: bool) -> impl Iterator<Item = &[S::Chunk; 2]> {
        S::chunks(key).as_chunks().0.iter()
    }

    #[inline(always)]
    fn quads(key: &[f64], _is_last: bool) -> impl Iterator<Item = &[[S::Chunk; 2]; 2]> {
        S::chunks(key).as_chunks().0.as_chunks().0.iter()
    }

    #[inline(always)]
    fn last_pair(key: &[f64], _is_last: bool, pairs: usize) -> &[S::Chunk; 2] {
        &S::chunks(key).as_chunks().0[pairs - 1]
    }

    #[inline(always)]
    fn load(self, simd: S, [re, im]: &[S::Chunk; 2], _is_last: bool) -> Complex<S::F64> {
        Complex {
            re: simd.load(re),
            im: simd.load(im),
        }
    }

    #[inline(always)]
    fn load_of_quad<const PAIR: usize>(
        self,
        simd: S,
        quad: &[[S::Chunk; 2]; 2],
        is_last: bool,
    ) -> Complex<S::F64> {
        self.load(simd, &quad[PAIR], is_last)
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
    type Quad<'k> = (&'k [u8], &'k [u8]);

    #[inline(always)]
    fn at_points(key: &[u8], at: usize, vectors: usize) -> &[u8] {
        let len = (key.len() - PackedKey::BEHIND) / vectors;
        &key[at * len..][..len + PackedKey::BEHIND]
    }

    #[inline(always)]
    fn pairs(key: &[u8], is_last: bool) -> impl Iterator<Item = &[u8]> {
        key.chunks_exact(Self::pair_len(is_last))
    }

    #[inline(always)]
    fn quads(key: &[u8], is_last: bool) -> impl Iterator<Item = (&[u8], &[u8])> {
        let quad = 2 * Self::pair_len(is_last);
        let shift = quad_shift::<S>(if is_last { LAST } else { BYTES });
        let shifted = &key[shift..];
        key.chunks_exact(quad).zip(shifted.chunks_exact(quad))
    }

    #[inline(always)]
    fn last_pair(key: &[u8], is_last: bool, pairs: usize) -> &[u8] {
        let pair = Self::pair_len(is_last);
        &key[(pairs - 1) * pair..][..pair]
    }

    #[inline(always)]
    fn load(self, simd: S, pair: &[u8], is_last: bool) -> Complex<S::F64> {
        let [re, im] = match is_last {
            true => simd.load_packed_pair::<LAST>(self.last_places, pair),
            false => simd.load_packed_pair::<BYTES>(self.places, pair),
        };
        Complex { re, im }
    }

    #[inline(always)]
    fn load_of_quad<const PAIR: usize>(
        self,
        simd: S,
        (quad, shifted): (&[u8], &[u8]),
        is_last: bool,
    ) -> Complex<S::F64> {
        let [re, im] = match is_last {
            true => simd.load_of_packed_quad::<LAST, PAIR>(self.last_places, quad, shifted),
            false => simd.load_of_packed_quad::<BYTES, PAIR>(self.places, quad, shifted),
        };
        Complex { re, im }
    }
}
