//! Pointwise arithmetic on transforms in `[re half | im half]` layout.

use super::Simd;

/// Computes `out = a * b`.
#[inline(always)]
pub(super) fn mul<S: Simd>(simd: S, out: &mut [f64], a: &[f64], b: &[f64]) {
    let (out_re, out_im) = halves_mut::<S>(out);
    let (a_re, a_im) = halves::<S>(a);
    let (b_re, b_im) = halves::<S>(b);
    let operands = a_re.iter().zip(a_im).zip(b_re.iter().zip(b_im));
    for ((out_re, out_im), ((a_re, a_im), (b_re, b_im))) in
        out_re.iter_mut().zip(out_im).zip(operands)
    {
        let (a_re, a_im) = (simd.load(a_re), simd.load(a_im));
        let (b_re, b_im) = (simd.load(b_re), simd.load(b_im));
        let re = simd.mul_sub(a_re, b_re, simd.mul(a_im, b_im));
        let im = simd.mul_add(a_re, b_im, simd.mul(a_im, b_re));
        simd.store(out_re, re);
        simd.store(out_im, im);
    }
}

/// Computes `data *= factor`.
#[inline(always)]
pub(super) fn scale(data: &mut [f64], factor: f64) {
    for x in data {
        *x *= factor;
    }
}

#[inline(always)]
fn halves<S: Simd>(data: &[f64]) -> (&[S::Chunk], &[S::Chunk]) {
    let (re, im) = data.split_at(data.len() / 2);
    (S::chunks(re), S::chunks(im))
}

#[inline(always)]
fn halves_mut<S: Simd>(data: &mut [f64]) -> (&mut [S::Chunk], &mut [S::Chunk]) {
    let (re, im) = data.split_at_mut(data.len() / 2);
    (S::chunks_mut(re), S::chunks_mut(im))
}
