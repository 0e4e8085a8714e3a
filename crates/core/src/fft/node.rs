//! The arithmetic of one node of the tree on points in registers: up to three
//! levels of splitting `X^2m - z^2` into `X^m - z` and `X^m + z`, and of joining
//! them again.
//!
//! Twiddles are given as in the table: the node's own `z`, then those of the even nodes of
//! each level below; the twiddle of an odd node is `i` times its left neighbour's. Two levels together
//! save one product if the product of the two twiddles is given as a third: on the way up always, on the way down
//! where sums are not fused with products.

#[cfg(target_arch = "x86_64")]
pub(super) mod eight;

use crate::simd::Simd;

/// A vector of complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Complex<V> {
    pub(super) re: V,
    pub(super) im: V,
}

impl<V: Copy> Complex<V> {
    /// Multiplies by operations that every instruction set has.
    #[inline(always)]
    pub(super) fn times<S: Simd<F64 = V>>(self, simd: S, z: &Self) -> Self {
        Self {
            re: simd.neg_mul_add(self.im, z.im, simd.mul(self.re, z.re)),
            im: simd.mul_add(self.im, z.re, simd.mul(self.re, z.im)),
        }
    }

    /// Adds `a * b`.
    #[inline(always)]
    #[cfg_attr(not(feature = "alloc"), allow(dead_code))]
    pub(super) fn add_product<S: Simd<F64 = V>>(&mut self, simd: S, a: Self, b: Self) {
        self.re = simd.mul_add(a.re, b.re, self.re);
        self.im = simd.mul_add(a.re, b.im, self.im);
        self.re = simd.neg_mul_add(a.im, b.im, self.re);
        self.im = simd.mul_add(a.im, b.re, self.im);
    }
}

/// Goes down log2(n) levels on n points: 2, 4 or 8.
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
        4 if !S::FUSED => points.split_four([0, 1, 2, 3], z0, z1, z2),
        4 => {
            points.split(0, 2, z0);
            points.split(1, 3, z0);

            points.split(0, 1, z1);
            points.split_by_i(2, 3, z1);
        }
        _ => {
            points.split_twice(z0, z1);

            points.split(0, 1, z2);
            points.split_by_i(2, 3, z2);
            points.split(4, 5, z3);
            points.split_by_i(6, 7, z3);
        }
    }
}

/// Goes up log2(n) levels on n points, 2, 4 or 8, which doubles them once per level.
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
        4 => points.join_four(z0, z1, z2),
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

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn load<const LEN: usize>(
        &mut self,
        indices: [usize; LEN],
        load: impl Fn(usize) -> Complex<S::F64> + Copy,
    ) {
        for index in indices {
            let x = load(index);
            self.set(index, x.re, x.im);
        }
    }

    /// Goes two levels down from 8 points.
    #[inline(always)]
    fn split_twice(&mut self, z0: &Complex<S::F64>, z1: &Complex<S::F64>) {
        self.split(0, 4, z0);
        self.split(1, 5, z0);
        self.split(2, 6, z0);
        self.split(3, 7, z0);

        self.split(0, 2, z1);
        self.split(1, 3, z1);
        self.split_by_i(4, 6, z1);
        self.split_by_i(5, 7, z1);
    }

    /// Goes two levels down: `X^4m - z0^2` into `X^m ± z1` and `X^m ± i z1`.
    #[inline(always)]
    fn split_four(
        &mut self,
        places: [usize; 4],
        z0: &Complex<S::F64>,
        z1: &Complex<S::F64>,
        z01: &Complex<S::F64>,
    ) {
        let s = self.simd;
        let x = self.get(places[0]);
        let (y1, y2, y3) = (
            self.times(self.get(places[1]), z1),
            self.times(self.get(places[2]), z0),
            self.times(self.get(places[3]), z01),
        );
        let (a, b) = (self.sum(x, y2), self.difference(x, y2));
        let (c, d) = (self.sum(y1, y3), self.difference(y1, y3));
        self.set(places[0], s.add(a.re, c.re), s.add(a.im, c.im));
        self.set(places[1], s.sub(a.re, c.re), s.sub(a.im, c.im));
        self.set(places[2], s.sub(b.re, d.im), s.add(b.im, d.re));
        self.set(places[3], s.add(b.re, d.im), s.sub(b.im, d.re));
    }

    /// Goes two levels up: four times the inverse of [`split_four`](Self::split_four).
    #[inline(always)]
    fn join_four(&mut self, z0: &Complex<S::F64>, z1: &Complex<S::F64>, z01: &Complex<S::F64>) {
        let s = self.simd;
        let (a, c) = (
            self.sum(self.get(0), self.get(1)),
            self.difference(self.get(0), self.get(1)),
        );
        let (b, d) = (
            self.sum(self.get(2), self.get(3)),
            self.difference(self.get(2), self.get(3)),
        );
        let y1 = Complex {
            re: s.add(c.re, d.im),
            im: s.sub(c.im, d.re),
        };
        let y3 = Complex {
            re: s.sub(c.re, d.im),
            im: s.add(c.im, d.re),
        };
        self.set(0, s.add(a.re, b.re), s.add(a.im, b.im));
        self.set_times_conjugate(1, y1, z1);
        self.set_times_conjugate(2, self.difference(a, b), z0);
        self.set_times_conjugate(3, y3, z01);
    }

    #[inline(always)]
    fn sum(&self, x: Complex<S::F64>, y: Complex<S::F64>) -> Complex<S::F64> {
        Complex {
            re: self.simd.add(x.re, y.re),
            im: self.simd.add(x.im, y.im),
        }
    }

    #[inline(always)]
    fn difference(&self, x: Complex<S::F64>, y: Complex<S::F64>) -> Complex<S::F64> {
        Complex {
            re: self.simd.sub(x.re, y.re),
            im: self.simd.sub(x.im, y.im),
        }
    }

    #[inline(always)]
    fn times(&self, y: Complex<S::F64>, z: &Complex<S::F64>) -> Complex<S::F64> {
        y.times(self.simd, z)
    }

    #[inline(always)]
    fn set_times_conjugate(&mut self, index: usize, y: Complex<S::F64>, z: &Complex<S::F64>) {
        let s = self.simd;
        self.set(
            index,
            s.mul_add(y.im, z.im, s.mul(y.re, z.re)),
            s.neg_mul_add(y.re, z.im, s.mul(y.im, z.re)),
        );
    }

    /// Computes `(a, b) = (a + z b, a - z b)`.
    #[inline(always)]
    fn split(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        if S::FUSED {
            return self.split_fused(a, b, z);
        }
        let (x, y) = (self.get(a), self.times(self.get(b), z));
        let (sum, difference) = (self.sum(x, y), self.difference(x, y));
        self.set(a, sum.re, sum.im);
        self.set(b, difference.re, difference.im);
    }

    /// Computes `(a, b) = (a + i z b, a - i z b)`.
    #[inline(always)]
    fn split_by_i(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        if S::FUSED {
            return self.split_by_i_fused(a, b, z);
        }
        let s = self.simd;
        let (x, y) = (self.get(a), self.times(self.get(b), z));
        self.set(a, s.sub(x.re, y.im), s.add(x.im, y.re));
        self.set(b, s.add(x.re, y.im), s.sub(x.im, y.re));
    }

    /// Computes [`split`](Self::split) in six operations, all of them fused.
    #[inline(always)]
    fn split_fused(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        let s = self.simd;
        let (x, y) = (self.get(a), self.get(b));
        let re = s.neg_mul_add(y.im, z.im, s.mul_add(y.re, z.re, x.re));
        let im = s.mul_add(y.re, z.im, s.mul_add(y.im, z.re, x.im));
        self.set_sum_and_reflection(a, b, x, re, im);
    }

    /// Computes [`split_by_i`](Self::split_by_i) in six operations, all of them fused.
    #[inline(always)]
    fn split_by_i_fused(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        let s = self.simd;
        let (x, y) = (self.get(a), self.get(b));
        let re = s.neg_mul_add(y.im, z.re, s.neg_mul_add(y.re, z.im, x.re));
        let im = s.neg_mul_add(y.im, z.im, s.mul_add(y.re, z.re, x.im));
        self.set_sum_and_reflection(a, b, x, re, im);
    }

    /// Computes `(a, b) = (a - i z b, a + i z b)`.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn split_by_minus_i(&mut self, a: usize, b: usize, z: &Complex<S::F64>) {
        self.split_by_i_fused(a, b, z);
        self.swap(a, b);
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn swap(&mut self, a: usize, b: usize) {
        self.re.swap(a, b);
        self.im.swap(a, b);
    }

    /// Stores the sum `re + i im` and the difference, which is the reflection of the sum at `x`:
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

    /// Computes `(a, b) = (a + b, (a - b) conj(z))`.
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

    /// Computes `(a, b) = (a + b, (a - b) conj(i z))`.
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
