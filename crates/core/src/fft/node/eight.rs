//! Three levels on 8 points at once, in two steps. Points are loaded when the first step needs them,
//! and passed on when the second is done with them, so that 16 registers suffice.

use super::{Complex, Points};
use crate::simd::{Cube, Simd};

/// Eight points before their last level.
pub(in crate::fft) struct Eight<V> {
    re: [V; 8],
    im: [V; 8],
}

/// Computes the first two of three levels down from 8 points. `z` includes the product of the first
/// two twiddles. Points are loaded when they are needed, so that 16 registers suffice.
#[inline(always)]
pub(in crate::fft) fn begin_split<S: Cube>(
    simd: S,
    load: impl Fn(usize) -> Complex<S::F64> + Copy,
    [z0, z1, _, _, z01]: &[Complex<S::F64>; 5],
) -> Eight<S::F64> {
    let (mut re, mut im) = ([simd.splat(0.0); 8], [simd.splat(0.0); 8]);
    let mut points = Points {
        simd,
        re: &mut re,
        im: &mut im,
    };
    if !S::ADDERS {
        points.load([0, 1, 2, 3, 4, 5, 6, 7], load);
        points.split_twice(z0, z1);
    } else {
        points.load([0, 2, 4, 6], load);
        points.split_four([0, 2, 4, 6], z0, z1, z01);
        points.load([1, 3, 5, 7], load);
        points.split_four([1, 3, 5, 7], z0, z1, z01);
    }
    Eight { re, im }
}

/// Computes the third level after [`begin_split`]. Pair `k`, points `2 k` and `2 k + 1`, is passed on
/// when it is done.
#[inline(always)]
pub(in crate::fft) fn finish_split<S: Simd>(
    simd: S,
    mut eight: Eight<S::F64>,
    [_, _, z2, z3, _]: &[Complex<S::F64>; 5],
    mut take: impl FnMut(usize, [Complex<S::F64>; 2]),
) {
    let mut points = Points {
        simd,
        re: &mut eight.re,
        im: &mut eight.im,
    };
    points.split_fused(0, 1, z2);
    take(0, [points.get(0), points.get(1)]);
    points.split_by_i_fused(2, 3, z2);
    take(1, [points.get(2), points.get(3)]);
    points.split_fused(4, 5, z3);
    take(2, [points.get(4), points.get(5)]);
    points.split_by_i_fused(6, 7, z3);
    take(3, [points.get(6), points.get(7)]);
}

/// Computes the first two of three levels up of a discrete Fourier transform, from 8 points at the
/// same position of their blocks. Twiddles belong to the position: one for the first level, one
/// for the second, two for the third, and the product of the first two. Half a block further
/// on, a twiddle is `-i` times as much. A pair takes six operations instead of [`join`]'s eight.
#[inline(always)]
pub(in crate::fft) fn begin_join<S: Cube>(
    simd: S,
    load: impl Fn(usize) -> Complex<S::F64> + Copy,
    [z0, z1, _, _, z01]: &[Complex<S::F64>; 5],
) -> Eight<S::F64> {
    let (mut re, mut im) = ([simd.splat(0.0); 8], [simd.splat(0.0); 8]);
    let mut points = Points {
        simd,
        re: &mut re,
        im: &mut im,
    };
    if !S::ADDERS {
        points.load([0, 1, 2, 3, 4, 5, 6, 7], load);
        points.split(0, 1, z0);
        points.split(2, 3, z0);
        points.split(4, 5, z0);
        points.split(6, 7, z0);

        points.split(0, 2, z1);
        points.split_by_minus_i(1, 3, z1);
        points.split(4, 6, z1);
        points.split_by_minus_i(5, 7, z1);
    } else {
        // The sums are the same as on the way down, in another order.
        points.load([0, 1, 2, 3], load);
        points.split_four([0, 2, 1, 3], z0, z1, z01);
        points.swap(1, 3);
        points.load([4, 5, 6, 7], load);
        points.split_four([4, 6, 5, 7], z0, z1, z01);
        points.swap(5, 7);
    }
    Eight { re, im }
}

/// Computes the third level after [`begin_join`]. Pair `k`, points `k` and `k + 4`, is passed on when
/// it is done.
#[inline(always)]
pub(in crate::fft) fn finish_join<S: Simd>(
    simd: S,
    mut eight: Eight<S::F64>,
    [_, _, z2, z3, _]: &[Complex<S::F64>; 5],
    mut take: impl FnMut(usize, [Complex<S::F64>; 2]),
) {
    let mut points = Points {
        simd,
        re: &mut eight.re,
        im: &mut eight.im,
    };
    points.split_fused(0, 4, z2);
    take(0, [points.get(0), points.get(4)]);
    points.split_fused(1, 5, z3);
    take(1, [points.get(1), points.get(5)]);
    points.split_by_minus_i(2, 6, z2);
    take(2, [points.get(2), points.get(6)]);
    points.split_by_minus_i(3, 7, z3);
    take(3, [points.get(3), points.get(7)]);
}

/// Returns `(x + z y, x - z y)`.
#[inline(always)]
pub(in crate::fft) fn sum_and_difference<S: Simd>(
    simd: S,
    x: Complex<S::F64>,
    y: Complex<S::F64>,
    z: &Complex<S::F64>,
) -> [Complex<S::F64>; 2] {
    let (mut re, mut im) = ([x.re, y.re], [x.im, y.im]);
    let mut points = Points {
        simd,
        re: &mut re,
        im: &mut im,
    };
    points.split_fused(0, 1, z);
    [points.get(0), points.get(1)]
}

/// Computes the second and the third level up, where all twiddles are eighth roots of unity.
#[inline(always)]
pub(in crate::fft) fn lanes_up<S: Simd>(simd: S, re: &mut [S::F64; 8], im: &mut [S::F64; 8]) {
    /// Computes `(a + b, a - b)`.
    macro_rules! plain {
        ($a:literal, $b:literal) => {
            let (x_re, x_im, y_re, y_im) = (re[$a], im[$a], re[$b], im[$b]);
            (re[$a], im[$a]) = (simd.add(x_re, y_re), simd.add(x_im, y_im));
            (re[$b], im[$b]) = (simd.sub(x_re, y_re), simd.sub(x_im, y_im));
        };
    }
    /// Computes `(a - i b, a + i b)`.
    macro_rules! by_minus_i {
        ($a:literal, $b:literal) => {
            let (x_re, x_im, y_re, y_im) = (re[$a], im[$a], re[$b], im[$b]);
            (re[$a], im[$a]) = (simd.add(x_re, y_im), simd.sub(x_im, y_re));
            (re[$b], im[$b]) = (simd.sub(x_re, y_im), simd.add(x_im, y_re));
        };
    }
    plain!(0, 2);
    plain!(4, 6);
    plain!(0, 4);
    by_minus_i!(2, 6);
    by_minus_i!(1, 3);
    by_minus_i!(5, 7);
    // `b (1 - i) / sqrt(2)`, and its product with `-i`.
    let scale = simd.splat(core::f64::consts::FRAC_1_SQRT_2);
    let (t, u) = (simd.add(re[5], im[5]), simd.sub(im[5], re[5]));
    (re[5], im[5]) = (
        simd.neg_mul_add(t, scale, re[1]),
        simd.neg_mul_add(u, scale, im[1]),
    );
    (re[1], im[1]) = (simd.mul_add(t, scale, re[1]), simd.mul_add(u, scale, im[1]));
    let (t, u) = (simd.sub(im[7], re[7]), simd.add(re[7], im[7]));
    (re[7], im[7]) = (
        simd.neg_mul_add(t, scale, re[3]),
        simd.mul_add(u, scale, im[3]),
    );
    (re[3], im[3]) = (
        simd.mul_add(t, scale, re[3]),
        simd.neg_mul_add(u, scale, im[3]),
    );
}
