//! The one polynomial product of encryption and decryption, `Σ a_i · s_i` in
//! `Z_q[X]/(X^N + 1)` for uniform masks `a_i` and a small secret `s_i`, exact.
//!
//! The secret is transformed once ([`prepare_key_polynomial`]). A mask of 32-bit
//! scalars goes through the double-precision transform in one pass, because every
//! coefficient of the product is an integer below `2^31 · N` that the transform's
//! error cannot move by half a unit. A mask of 64-bit scalars goes as two signed
//! 32-bit halves, for a single pass would lose the low bits.
//!
//! Constant-time in the mask and in the key.

use zeroize::Zeroizing;

use crate::dimensions::PolynomialSize;
use crate::fft::FftPlan;
use crate::simd;
use crate::torus::Torus;

/// A torus scalar whose product with a small polynomial is exact in double precision
/// after it is cut into [`HALVES`](MaskTorus::HALVES) signed 32-bit parts.
pub trait MaskTorus: Torus {
    /// Number of parts.
    const HALVES: usize;

    #[doc(hidden)]
    fn half_to_f64(isa: simd::Isa, half: usize, out: &mut [f64], input: &[Self]);
}

impl MaskTorus for u32 {
    const HALVES: usize = 1;

    fn half_to_f64(isa: simd::Isa, _half: usize, out: &mut [f64], input: &[Self]) {
        simd::torus_to_f64(isa, out, input);
    }
}

impl MaskTorus for u64 {
    const HALVES: usize = 2;

    fn half_to_f64(isa: simd::Isa, half: usize, out: &mut [f64], input: &[Self]) {
        match half {
            0 => simd::torus_low_half_to_f64(isa, out, input),
            _ => simd::torus_high_half_to_f64(isa, out, input),
        }
    }
}

/// Number of doubles of scratch that [`MaskProduct`] wants.
pub const fn mask_product_scratch_len<T: MaskTorus>(size: PolynomialSize) -> usize {
    (1 + T::HALVES) * size.get()
}

/// Transforms one polynomial of a binary key, `out[j] = s_j`, in place, with the
/// transform's normalisation folded in.
///
/// # Panics
/// If `out` does not have `N` places.
pub fn prepare_key_polynomial(plan: FftPlan<'_>, out: &mut [f64]) {
    plan.forward(out);
    simd::scale_f64(plan.isa(), out, 2.0 / plan.polynomial_size().get() as f64);
}

/// An accumulation of `Σ a_i · s_i`, one mask polynomial at a time. Its scratch holds
/// secrets afterwards: whoever owns it wipes it.
pub struct MaskProduct<'p, 's> {
    plan: FftPlan<'p>,
    term: &'s mut [f64],
    sums: &'s mut [f64],
}

impl<'p, 's> MaskProduct<'p, 's> {
    /// An empty sum. `scratch` has [`mask_product_scratch_len`] places.
    ///
    /// # Panics
    /// If `scratch` is shorter than that.
    pub fn new<T: MaskTorus>(plan: FftPlan<'p>, scratch: &'s mut [f64]) -> Self {
        let size = plan.polynomial_size();
        let (term, sums) = scratch[..mask_product_scratch_len::<T>(size)].split_at_mut(size.get());
        sums.fill(0.0);
        Self { plan, term, sums }
    }

    /// Adds `mask · key` to the sum.
    pub fn add<T: MaskTorus>(&mut self, mask: &[T], prepared_key: &[f64]) {
        let size = self.plan.polynomial_size().get();
        for (half, sum) in self.sums.chunks_exact_mut(size).enumerate() {
            T::half_to_f64(self.plan.isa(), half, self.term, mask);
            self.plan.forward(self.term);
            simd::fourier_mul_add(self.plan.isa(), sum, self.term, prepared_key);
        }
    }

    /// `out += sum`, exactly.
    pub fn finish_into<T: MaskTorus>(self, out: &mut [T]) {
        let size = self.plan.polynomial_size().get();
        for (half, sum) in self.sums.chunks_exact_mut(size).enumerate() {
            self.plan.inverse(sum);
            if half == 0 {
                simd::add_rounded_to_torus(self.plan.isa(), out, sum);
            } else {
                add_rounded_high_half(self.plan.isa(), out, sum);
            }
        }
    }
}

/// `out += round(sum) · 2^32`. The rounding comes first: scaling before it would turn
/// the transform's error, below half a unit, into one of up to 2^31.
fn add_rounded_high_half<T: Torus>(isa: simd::Isa, out: &mut [T], sum: &[f64]) {
    const CHUNK: usize = 64;
    for (out, sum) in out.chunks_mut(CHUNK).zip(sum.chunks(CHUNK)) {
        let mut rounded = Zeroizing::new([0u32; CHUNK]);
        let rounded = &mut rounded[..sum.len()];
        simd::add_rounded_to_torus(isa, rounded, sum);
        for (out, &high) in out.iter_mut().zip(rounded.iter()) {
            *out = out.add(T::from_i64(i64::from(high)) << 32);
        }
    }
}
