//! The folded negacyclic Fourier transform: products of real polynomials mod
//! `X^N + 1` by pointwise products of N/2 complex numbers.
//!
//! A real polynomial of N coefficients folds to the complex polynomial
//! `sum (p[j] + i p[j + N/2]) X^j` mod `X^(N/2) - i`, because `i` stands for
//! `X^(N/2)` and `i^2 = -1` for `X^N`. So the upper half of the coefficients is the
//! imaginary part. The transform evaluates the complex polynomial at the N/2 roots, each of
//! which stands for itself and its conjugate among the roots of `X^N + 1`.
//!
//! The evaluation goes down a binary tree: the remainder mod `X^2m - z^2` splits
//! into those mod `X^m - z` and `X^m + z`, `(a, b) -> (a + z b, a - z b)`, with one
//! twiddle `z` per node. Starting from `X^(N/2) - i` needs no separate twist, and
//! since the values are only multiplied pointwise and transformed back, they are
//! left in the order in which the tree gives them. The inverse goes up the same
//! tree.
//!
//! ```text
//! N coefficients ─forward─▶ N/2 values [re | im] ─simd::fourier_mul(_add)─▶ ─inverse─▶ N/2 times the product
//! ```
//!
//! The product for encryption has passes of its own, which convert, multiply and
//! round on the way (`product.rs`). For N = 1024, the size of devices, there are tuned ones on
//! x86-64 (`cube.rs`).
//!
//! [`FftPlan`] borrows its twiddles, for callers without an allocator;
//! `OwnedFftPlan` owns them. Their table is made without libm and depends on the
//! polynomial size and the instruction set only.

#[cfg(target_arch = "x86_64")]
mod cube;
mod ends;
#[cfg(feature = "alloc")]
pub mod external_product;
mod node;
mod passes;
mod product;
mod trigonometry;

#[cfg(all(test, feature = "std"))]
mod tests;

use thiserror::Error;

use crate::dimensions::PolynomialSize;
use crate::simd::{self, Isa, dispatch};

pub(crate) use product::{HighHalf, LowHalf, Part, Sink, Whole};
pub use trigonometry::root_of_unity;

/// Returns the number of doubles that the twiddles of a plan take.
pub const fn twiddle_len(size: PolynomialSize) -> usize {
    size.get()
}

/// The storage is too short for the twiddles of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the twiddles need {needed} doubles and the storage has {given}")]
pub struct TwiddleStorageError {
    /// The length that [`twiddle_len`] requires.
    pub needed: usize,
    /// The length of the storage.
    pub given: usize,
}

/// The transform of one polynomial size on one instruction set.
///
/// The order of transforms and prepared keys depends on the plan's
/// instruction set, so all plans of a computation must have the same one.
#[derive(Clone, Copy, Debug)]
pub struct FftPlan<'t> {
    size: PolynomialSize,
    isa: Isa,
    twiddles: &'t [f64],
}

impl<'t> FftPlan<'t> {
    /// Computes the twiddles into `storage`, of at least [`twiddle_len`] doubles.
    /// Alignment to 64 bytes makes the transforms faster.
    ///
    /// # Errors
    /// If `storage` is too short.
    pub fn new(
        size: PolynomialSize,
        isa: Isa,
        storage: &'t mut [f64],
    ) -> Result<Self, TwiddleStorageError> {
        let needed = twiddle_len(size);
        let given = storage.len();
        let Some(twiddles) = storage.get_mut(..needed) else {
            return Err(TwiddleStorageError { needed, given });
        };
        let log_points = size.log2() - 1;
        let table = &mut *twiddles;
        dispatch!(isa, |simd| passes::fill_twiddles(simd, log_points, table));
        Ok(Self {
            size,
            isa,
            twiddles,
        })
    }

    /// The number N of coefficients.
    pub const fn polynomial_size(&self) -> PolynomialSize {
        self.size
    }

    /// The instruction set that determines the order of the transforms.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Transforms N real coefficients in place to N/2 complex values, with the
    /// real parts in the first half and the imaginary parts in the second.
    ///
    /// Time and memory accesses do not depend on the coefficients. Alignment to 64
    /// bytes makes it faster.
    ///
    /// # Panics
    ///
    /// If `data` has not N elements.
    pub fn forward(&self, data: &mut [f64]) {
        self.check(data);
        let twiddles = self.twiddles;
        dispatch!(self.isa, |simd| passes::forward(simd, data, twiddles));
    }

    /// Transforms back in place, without normalisation: the result is N/2 times the
    /// polynomial whose transform `data` is.
    ///
    /// Time and memory accesses do not depend on the values.
    ///
    /// # Panics
    ///
    /// If `data` has not N elements.
    pub fn inverse(&self, data: &mut [f64]) {
        self.check(data);
        let twiddles = self.twiddles;
        dispatch!(self.isa, |simd| passes::inverse(simd, data, twiddles));
    }

    /// Transforms a key polynomial for [`multiply`](Self::multiply), in place, including the
    /// normalisation. Constant-time.
    ///
    /// # Panics
    ///
    /// If `data` has not N elements.
    pub(crate) fn prepare_key(&self, data: &mut [f64]) {
        let factor = 2.0 / self.size.get() as f64;
        #[cfg(target_arch = "x86_64")]
        if self.size.get() == cube::SIZE {
            match self.isa {
                Isa::Portable => {}
                Isa::Avx2(simd) => {
                    return simd.vectorize(
                        #[inline(always)]
                        || cube::prepare_key(simd, data, factor),
                    );
                }
                Isa::Avx512(simd) => {
                    return simd.vectorize(
                        #[inline(always)]
                        || cube::prepare_key(simd, data, factor),
                    );
                }
            }
        }
        self.forward(data);
        simd::scale_f64(self.isa, data, factor);
    }

    /// Multiplies a part of a polynomial by a prepared key polynomial, and passes the product to `sink`.
    /// `term` is scratch. Constant-time in all of them.
    ///
    /// # Panics
    ///
    /// If a slice has not N elements.
    pub(crate) fn multiply<P: Part>(
        &self,
        input: &[P::Scalar],
        key: &[f64],
        term: &mut [f64],
        sink: Sink<'_, P::Scalar>,
    ) {
        let sizes = match &sink {
            Sink::Start(sum) | Sink::Accumulate(sum) => [sum.len(); 2],
            Sink::Only(out) => [out.len(); 2],
            Sink::Last(sum, out) => [sum.len(), out.len()],
        };
        let sizes = [input.len(), key.len(), term.len(), sizes[0], sizes[1]];
        assert!(
            sizes.iter().all(|&len| len == self.size.get()),
            "a product of size {} of other sizes",
            self.size
        );
        #[cfg(target_arch = "x86_64")]
        if self.size.get() == cube::SIZE {
            match self.isa {
                Isa::Portable => {}
                Isa::Avx2(simd) => {
                    return simd.vectorize(
                        #[inline(always)]
                        move || cube::multiply::<_, P>(simd, input, key, term, sink),
                    );
                }
                Isa::Avx512(simd) => {
                    return match simd.adders() {
                        Some(simd) => simd.vectorize(
                            #[inline(always)]
                            move || cube::multiply::<_, P>(simd, input, key, term, sink),
                        ),
                        None => simd.vectorize(
                            #[inline(always)]
                            move || cube::multiply::<_, P>(simd, input, key, term, sink),
                        ),
                    };
                }
            }
        }
        let table = self.twiddles;
        dispatch!(self.isa, |simd| product::multiply::<_, P>(
            simd, table, input, key, term, sink
        ));
    }

    #[track_caller]
    fn check(&self, data: &[f64]) {
        assert!(
            data.len() == self.size.get(),
            "a transform of size {} on {} doubles",
            self.size,
            data.len()
        );
    }
}

/// A plan that owns its twiddles.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub struct OwnedFftPlan {
    size: PolynomialSize,
    isa: Isa,
    twiddles: aligned_vec::AVec<f64, aligned_vec::ConstAlign<64>>,
}

#[cfg(feature = "alloc")]
impl OwnedFftPlan {
    /// Makes a plan for the fastest instruction set of this processor.
    pub fn new(size: PolynomialSize) -> Self {
        Self::new_with_isa(size, Isa::detect())
    }

    /// Makes a plan for a given instruction set.
    pub fn new_with_isa(size: PolynomialSize, isa: Isa) -> Self {
        let zeros = core::iter::repeat_n(0.0, twiddle_len(size));
        let mut twiddles = aligned_vec::AVec::from_iter(64, zeros);
        let filled = FftPlan::new(size, isa, &mut twiddles);
        debug_assert!(filled.is_ok());
        Self {
            size,
            isa,
            twiddles,
        }
    }

    /// Borrows the plan.
    pub fn plan(&self) -> FftPlan<'_> {
        FftPlan {
            size: self.size,
            isa: self.isa,
            twiddles: &self.twiddles,
        }
    }

    /// The number N of coefficients.
    pub const fn polynomial_size(&self) -> PolynomialSize {
        self.size
    }

    /// The instruction set that determines the order of the transforms.
    pub const fn isa(&self) -> Isa {
        self.isa
    }
}
