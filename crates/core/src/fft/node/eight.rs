//! Three levels of 8 points at once, in two steps: points are loaded when the first step needs
//! them, and given away when the second is done with them, which is what 16 registers want.

use super::{Complex, Points};
use crate::simd::{Cube, Simd};

/// Eight points, of which the last level is to come.
pub(in crate::fft) struct Eight<V> {
    re: [V; 8],
    im: [V; 8],
}

/// The first two of three levels down from 8 points, given the product of the first two twiddles
/// too. Points are loaded when they are needed, as 16 registers want it.
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

/// The third level after [`begin_split`]. Pair `k`, of points `2 k` and `2 k + 1`, is given away
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

/// The first two of three levels up of a discrete Fourier transform, from 8 points at the same
/// position of their blocks. A twiddle belongs to the position here: one for the first level, one
/// for the second and two for the third, and the product of the first two; half a block further
/// on it is `-i` times as much. Six operations for a pair instead of [`join`]'s eight.
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
        // The same sums as down, in another order.
        points.load([0, 1, 2, 3], load);
        points.split_four([0, 2, 1, 3], z0, z1, z01);
        points.swap(1, 3);
        points.load([4, 5, 6, 7], load);
        points.split_four([4, 6, 5, 7], z0, z1, z01);
        points.swap(5, 7);
    }
    Eight { re, im }
}

/// The third level after [`begin_join`]. Pair `k`, of points `k` and `k + 4`, is given away when it
/// is done.
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

/// `(x + z y, x - z y)`.
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

/// The second and the third level up, where all twiddles are eighth roots of unity.
#[inline(always)]
pub(in crate::fft) fn lanes_up<S: Simd>(simd: S, re: &mut [S::F64; 8], im: &mut [S::F64; 8]) {
    /// `(a + b, a - b)`.
    macro_rules! plain {
        ($a:literal, $b:literal) => {
            let (x_re, x_im, y_re, y_im) = (re[$a], im[$a], re[$b], im[$b]);
            (re[$a], im[$a]) = (simd.add(x_re, y_re), simd.add(x_im, y_im));
            (re[$b], im[$b]) = (simd.sub(x_re, y_re), simd.sub(x_im, y_im));
        };
    }
    /// `(a - i b, a + i b)`.
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
    // b (1 - i) / sqrt(2), and its product by -i.
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
