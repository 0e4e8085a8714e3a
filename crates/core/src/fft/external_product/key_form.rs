//! The forms of the coefficients of a key, as the products read them.

use crate::fft::node::Complex;
use crate::simd::Simd;

/// The form of the coefficients of a key.
pub(super) trait Form<S: Simd>: Copy {
    /// The type of the elements of a key: doubles, or the bytes of integers.
    type Number: 'static;
    /// The elements of a vector of real parts and of the vector of imaginary parts behind it.
    type Pair: ?Sized + 'static;

    /// The pairs of the key of an output.
    fn pairs(key: &[Self::Number]) -> impl Iterator<Item = &Self::Pair>;
    /// Reads a pair, in units of the key.
    fn load(self, simd: S, pair: &Self::Pair) -> Complex<S::F64>;
}

/// Doubles.
#[derive(Clone, Copy)]
pub(super) struct Doubles;

impl<S: Simd> Form<S> for Doubles {
    type Number = f64;
    type Pair = [S::Chunk; 2];

    #[inline(always)]
    fn pairs(key: &[f64]) -> impl Iterator<Item = &[S::Chunk; 2]> {
        S::chunks(key).as_chunks().0.iter()
    }

    #[inline(always)]
    fn load(self, simd: S, [re, im]: &[S::Chunk; 2]) -> Complex<S::F64> {
        Complex {
            re: simd.load(re),
            im: simd.load(im),
        }
    }
}

/// Integers of `BYTES` bytes, at these places.
#[derive(Clone, Copy)]
pub(super) struct Integers<S: Simd, const BYTES: usize>(pub(super) S::PackedPlaces);

impl<S: Simd, const BYTES: usize> Form<S> for Integers<S, BYTES> {
    type Number = u8;
    type Pair = [u8];

    #[inline(always)]
    fn pairs(key: &[u8]) -> impl Iterator<Item = &[u8]> {
        key.chunks_exact(2 * S::LANES * BYTES)
    }

    #[inline(always)]
    fn load(self, simd: S, pair: &[u8]) -> Complex<S::F64> {
        let [re, im] = simd.load_packed_pair::<BYTES>(self.0, pair);
        Complex { re, im }
    }
}
