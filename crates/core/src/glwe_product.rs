//! The polynomial product of encryption and decryption: `Σ a_i · s_i` in
//! `Z_q[X]/(X^N + 1)` for uniform masks `a_i` and a small secret `s_i`, exact.
//!
//! The secret is transformed once ([`prepare_key_polynomial`]). A mask of 32-bit
//! scalars goes through the double-precision transform in one pass, because every
//! coefficient of the product is an integer below `2^31 · N` that the transform's
//! error cannot move by half a unit. A mask of 64-bit scalars is processed as two signed
//! 32-bit halves, because a single pass would lose the low bits.
//!
//! Constant-time in the mask and in the key.

use crate::dimensions::{GlweDimension, PolynomialSize};
use crate::fft::{FftPlan, HighHalf, LowHalf, Sink, Whole};
use crate::torus::Torus;

/// A torus scalar whose polynomials have exact products with small polynomials in double precision,
/// after each scalar is split into [`HALVES`](ProductTorus::HALVES) signed 32-bit parts.
pub trait ProductTorus: Torus {
    /// The number of parts.
    const HALVES: usize;

    #[doc(hidden)]
    fn multiply_half(
        half: usize,
        plan: FftPlan<'_>,
        mask: &[Self],
        key: &[f64],
        term: &mut [f64],
        sink: HalfSink<'_, Self>,
    );
}

/// The operation that adds the product of a half to the result.
#[doc(hidden)]
pub struct HalfSink<'a, T>(Sink<'a, T>);

impl ProductTorus for u32 {
    const HALVES: usize = 1;

    fn multiply_half(
        _half: usize,
        plan: FftPlan<'_>,
        mask: &[Self],
        key: &[f64],
        term: &mut [f64],
        sink: HalfSink<'_, Self>,
    ) {
        plan.multiply::<Whole>(mask, key, term, sink.0);
    }
}

impl ProductTorus for u64 {
    const HALVES: usize = 2;

    fn multiply_half(
        half: usize,
        plan: FftPlan<'_>,
        mask: &[Self],
        key: &[f64],
        term: &mut [f64],
        sink: HalfSink<'_, Self>,
    ) {
        match half {
            0 => plan.multiply::<LowHalf>(mask, key, term, sink.0),
            _ => plan.multiply::<HighHalf>(mask, key, term, sink.0),
        }
    }
}

/// Returns the number of doubles of scratch that a [`MaskProduct`] of `dimension` terms needs: one
/// polynomial and, if there are several terms, an accumulator for every half.
pub const fn mask_product_scratch_len<T: ProductTorus>(
    size: PolynomialSize,
    dimension: GlweDimension,
) -> usize {
    match dimension.0 {
        0 | 1 => size.get(),
        _ => (1 + T::HALVES) * size.get(),
    }
}

/// Transforms one polynomial of a small key, `out[j] = s_j`, in place. The result includes the
/// normalisation of the transform.
///
/// # Panics
/// If `out` does not have `N` places.
pub fn prepare_key_polynomial(plan: FftPlan<'_>, out: &mut [f64]) {
    plan.prepare_key(out);
}

/// A sum `Σ a_i · s_i`, one mask polynomial at a time: call [`add`](MaskProduct::add) for all
/// but the last, then [`finish_into`](MaskProduct::finish_into) with the last. The
/// scratch holds secrets afterwards, and its owner wipes it.
pub struct MaskProduct<'p, 's> {
    plan: FftPlan<'p>,
    term: &'s mut [f64],
    sums: &'s mut [f64],
    empty: bool,
}

impl<'p, 's> MaskProduct<'p, 's> {
    /// Starts an empty sum. `scratch` has at least [`mask_product_scratch_len`] places for the
    /// number of terms of the sum.
    ///
    /// # Panics
    /// If `scratch` does not hold one polynomial.
    pub fn new(plan: FftPlan<'p>, scratch: &'s mut [f64]) -> Self {
        let (term, sums) = scratch.split_at_mut(plan.polynomial_size().get());
        Self {
            plan,
            term,
            sums,
            empty: true,
        }
    }

    /// Adds `mask · key` to the sum. It must not be the last term.
    ///
    /// # Panics
    /// If a length is not `N`, or the scratch has no accumulators.
    pub fn add<T: ProductTorus>(&mut self, mask: &[T], prepared_key: &[f64]) {
        let size = self.plan.polynomial_size().get();
        let sums = self.sums[..T::HALVES * size].chunks_exact_mut(size);
        for (half, sum) in sums.enumerate() {
            let sink = match self.empty {
                true => Sink::Start(sum),
                false => Sink::Accumulate(sum),
            };
            T::multiply_half(
                half,
                self.plan,
                mask,
                prepared_key,
                self.term,
                HalfSink(sink),
            );
        }
        self.empty = false;
    }

    /// Adds `mask · key`, the last term, to the sum, and the sum to `out`, exactly.
    ///
    /// # Panics
    /// If a length is not `N`.
    pub fn finish_into<T: ProductTorus>(self, mask: &[T], prepared_key: &[f64], out: &mut [T]) {
        let size = self.plan.polynomial_size().get();
        for half in 0..T::HALVES {
            let sink = match self.empty {
                true => Sink::Only(&mut *out),
                false => Sink::Last(&self.sums[half * size..][..size], &mut *out),
            };
            T::multiply_half(
                half,
                self.plan,
                mask,
                prepared_key,
                self.term,
                HalfSink(sink),
            );
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;
