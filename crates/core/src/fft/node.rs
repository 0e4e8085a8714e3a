//! The arithmetic of one node of the tree on points in registers: up to three
//! levels of splitting `X^2m - z^2` into `X^m - z` and `X^m + z`, and of joining
//! them again.
//!
//! Twiddles come as in the table: the node's own `z`, then the even nodes' of
//! each level below; an odd node has `i` times its left neighbour's.

use crate::simd::Simd;

/// A vector of complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Complex<V> {
    pub(super) re: V,
    pub(super) im: V,
}

/// Goes down log2 of the number of points, 2, 4 or 8.
#[inline(always)]
pub(super) fn split<S: Simd>(
    simd: S,
    re: &mut [S::F64],
    im: &mut [S::F64],
    [z0, z1, z2, z3]: &[Complex<S::F64>; 4],
) {
    let mut points = Points { simd, re, im };
    match points.re.len() {
        2 => points.split(0, 1, z0),
        4 => {
            points.split(0, 2, z0);
            points.split(1, 3, z0);

            points.split(0, 1, z1);
            points.split_by_i(2, 3, z1);
        }
        _ => {
            points.split(0, 4, z0);
            points.split(1, 5, z0);
            points.split(2, 6, z0);
            points.split(3, 7, z0);

            points.split(0, 2, z1);
            points.split(1, 3, z1);
            points.split_by_i(4, 6, z1);
            points.split_by_i(5, 7, z1);

            points.split(0, 1, z2);
            points.split_by_i(2, 3, z2);
            points.split(4, 5, z3);
            points.split_by_i(6, 7, z3);
        }
    }
}

/// Goes up log2 of the number of points, 2, 4 or 8, doubling the points per level.
#[inline(always)]
pub(super) fn join<S: Simd>(
    simd: S,
    re: &mut [S::F64],
    im: &mut [S::F64],
    [z0, z1, z2, z3]: &[Complex<S::F64>; 4],
) {
    let mut points = Points { simd, re, im };
    match points.re.len() {
        2 => points.join(0, 1, z0),
        4 => {
            points.join(0, 1, z1);
            points.join_by_i(2, 3, z1);

            points.join(0, 2, z0);
            points.join(1, 3, z0);
        }
        _ => {
            points.join(0, 1, z2);
            points.join_by_i(2, 3, z2);
            points.join(4, 5, z3);
            points.join_by_i(6, 7, z3);

            points.join(0, 2, z1);
            points.join(1, 3, z1);
            points.join_by_i(4, 6, z1);
            points.join_by_i(5, 7, z1);

            points.join(0, 4, z0);
            points.join(1, 5, z0);
            points.join(2, 6, z0);
            points.join(3, 7, z0);
        }
    }
}

struct Points<'a, S: Simd> {
    simd: S,
    re: &'a mut [S::F64],
    im: &'a mut [S::F64],
}

impl<S: Simd> Points<'_, S> {
    #[inline(always)]
    fn get(&self, index: usize) -> Complex<S::F64> {
        Complex {
            re: self.re[index],
            im: self.im[index],
        }
    }

    #[inline(always)]
    fn set(&mut self, index: usize, re: S::F64, im: S::F64) {
        self.re[index] = re;
        self.im[index] = im;
    }

    /// `(a, b) = (a + z b, a - z b)`.
    #[inline(always)]
    fn split(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        let s = self.simd;
        let (x, y) = (self.get(a), self.get(b));
        if S::FUSED {
            let re = s.neg_mul_add(y.im, z.im, s.mul_add(y.re, z.re, x.re));
            let im = s.mul_add(y.re, z.im, s.mul_add(y.im, z.re, x.im));
            self.set_sum_and_reflection(a, b, x, re, im);
        } else {
            let re = s.neg_mul_add(y.im, z.im, s.mul(y.re, z.re));
            let im = s.mul_add(y.re, z.im, s.mul(y.im, z.re));
            self.set(a, s.add(x.re, re), s.add(x.im, im));
            self.set(b, s.sub(x.re, re), s.sub(x.im, im));
        }
    }

    /// `(a, b) = (a + i z b, a - i z b)`.
    #[inline(always)]
    fn split_by_i(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        let s = self.simd;
        let (x, y) = (self.get(a), self.get(b));
        if S::FUSED {
            let re = s.neg_mul_add(y.im, z.re, s.neg_mul_add(y.re, z.im, x.re));
            let im = s.neg_mul_add(y.im, z.im, s.mul_add(y.re, z.re, x.im));
            self.set_sum_and_reflection(a, b, x, re, im);
        } else {
            let re = s.neg_mul_add(y.im, z.im, s.mul(y.re, z.re));
            let im = s.mul_add(y.re, z.im, s.mul(y.im, z.re));
            self.set(a, s.sub(x.re, im), s.add(x.im, re));
            self.set(b, s.add(x.re, im), s.sub(x.im, re));
        }
    }

    /// Stores the sum `re + i im` and its reflection at `x`, which is the difference:
    /// 6 fused operations for a pair instead of 8.
    #[inline(always)]
    fn set_sum_and_reflection(
        &mut self,
        a: usize,
        b: usize,
        x: Complex<S::F64>,
        re: S::F64,
        im: S::F64,
    ) {
        let s = self.simd;
        let two = s.splat(2.0);
        self.set(a, re, im);
        self.set(b, s.mul_sub(two, x.re, re), s.mul_sub(two, x.im, im));
    }

    /// `(a, b) = (a + b, (a - b) conj(z))`.
    #[inline(always)]
    fn join(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        let s = self.simd;
        let (x, y) = (self.get(a), self.get(b));
        let (re, im) = (s.sub(x.re, y.re), s.sub(x.im, y.im));
        self.set(a, s.add(x.re, y.re), s.add(x.im, y.im));
        self.set(
            b,
            s.mul_add(re, z.re, s.mul(im, z.im)),
            s.mul_sub(im, z.re, s.mul(re, z.im)),
        );
    }

    /// `(a, b) = (a + b, (a - b) conj(i z))`.
    #[inline(always)]
    fn join_by_i(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        let s = self.simd;
        let (x, y) = (self.get(a), self.get(b));
        // The difference times -i.
        let (re, im) = (s.sub(x.im, y.im), s.sub(y.re, x.re));
        self.set(a, s.add(x.re, y.re), s.add(x.im, y.im));
        self.set(
            b,
            s.mul_add(re, z.re, s.mul(im, z.im)),
            s.mul_sub(im, z.re, s.mul(re, z.im)),
        );
    }
}
