//! The first and the last pass of a transform whose coefficients are scalars or have to be rounded: the pass over the root, which converts
//! coefficients when it loads them, and the pass that joins the root's children, which adds to coefficients.

use super::node::{join, split};
use super::passes::broadcast;
use crate::simd::{Ahead, Columns, ColumnsMut, Simd};

/// The conversion of a coefficient into the number that is transformed.
pub(super) trait Load<T> {
    /// Loads LANES coefficients.
    fn load<S: Simd>(&self, simd: S, input: &[T]) -> S::F64;
}

/// The addition of the result of a transform to coefficients.
pub(super) trait Add<T> {
    /// Adds to LANES coefficients.
    fn add<S: Simd>(&self, simd: S, acc: &mut [T], x: S::F64);
}

macro_rules! by_lanes {
    ($S:ident, $function:ident, ($($generic:tt),*), ($($argument:expr),*)) => {
        match $S::LANES {
            8 => $function::<$S, $($generic,)* 8>($($argument),*),
            4 => $function::<$S, $($generic,)* 4>($($argument),*),
            _ => $function::<$S, $($generic,)* 2>($($argument),*),
        }
    };
}

/// The pass over the root, from coefficients.
#[inline(always)]
pub(super) fn first_pass<S: Simd, T, F: Load<T>, A: Ahead, const R: usize>(
    simd: S,
    input: &[T],
    re: &mut [S::Chunk],
    im: &mut [S::Chunk],
    twiddles: &[f64],
    from: &F,
    ahead: &mut A,
) {
    by_lanes!(
        S,
        first_pass_lanes,
        (T, F, A, R),
        (simd, input, re, im, twiddles, from, ahead)
    );
}

#[inline(always)]
fn first_pass_lanes<S: Simd, T, F: Load<T>, A: Ahead, const R: usize, const L: usize>(
    simd: S,
    input: &[T],
    re: &mut [S::Chunk],
    im: &mut [S::Chunk],
    twiddles: &[f64],
    from: &F,
    ahead: &mut A,
) {
    let (low, high) = input.split_at(input.len() / 2);
    let from_columns = Columns::<[T; L], R>::new(low.as_chunks().0, high.as_chunks().0);
    let to_columns = ColumnsMut::<_, R>::new(re, im);
    let z = broadcast::<S, R>(simd, twiddles);
    for (input, mut out) in from_columns.zip(to_columns) {
        let mut x_re = [simd.splat(0.0); R];
        let mut x_im = [simd.splat(0.0); R];
        for row in 0..R {
            x_re[row] = from.load(simd, input.re(row));
            x_im[row] = from.load(simd, input.im(row));
        }
        split(simd, &mut x_re, &mut x_im, &z);
        for row in 0..R {
            simd.store(out.re(row), x_re[row]);
            simd.store(out.im(row), x_im[row]);
        }
        ahead.after(simd, R);
    }
}

/// The pass that joins the root's children, to coefficients.
#[inline(always)]
pub(super) fn final_pass<S: Simd, T, F: Add<T>, A: Ahead, const R: usize>(
    simd: S,
    re: &[S::Chunk],
    im: &[S::Chunk],
    acc: &mut [T],
    twiddles: &[f64],
    to: &F,
    ahead: &mut A,
) {
    by_lanes!(
        S,
        final_pass_lanes,
        (T, F, A, R),
        (simd, re, im, acc, twiddles, to, ahead)
    );
}

#[inline(always)]
fn final_pass_lanes<S: Simd, T, F: Add<T>, A: Ahead, const R: usize, const L: usize>(
    simd: S,
    re: &[S::Chunk],
    im: &[S::Chunk],
    acc: &mut [T],
    twiddles: &[f64],
    to: &F,
    ahead: &mut A,
) {
    let (low, high) = acc.split_at_mut(acc.len() / 2);
    let to_columns = ColumnsMut::<[T; L], R>::new(low.as_chunks_mut().0, high.as_chunks_mut().0);
    let z = broadcast::<S, R>(simd, twiddles);
    for (input, mut out) in Columns::<_, R>::new(re, im).zip(to_columns) {
        let mut x_re = [simd.splat(0.0); R];
        let mut x_im = [simd.splat(0.0); R];
        for row in 0..R {
            x_re[row] = simd.load(input.re(row));
            x_im[row] = simd.load(input.im(row));
        }
        join(simd, &mut x_re, &mut x_im, &z);
        for row in 0..R {
            to.add(simd, out.re(row), x_re[row]);
            to.add(simd, out.im(row), x_im[row]);
        }
        ahead.after(simd, R);
    }
}
