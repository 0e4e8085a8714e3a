//! The products of a [`TurnedProduct`] where registers have no room for the sums of two ciphertexts, as with AVX2: vector of points by
//! vector of points, and ciphertext by ciphertext. The first ciphertext brings the key of the points into the first-level
//! cache, where the second one finds it.
//!
//! At a vector of points the innermost loop adds the products of a list of numbers with the key to four sums: of all key bits and
//! rows, the digits times the factors `X^a - 1`, or for [bundles](super::ProductShape::bundles) of all key bits the factors.

use super::MOST_TURNED_ROWS;
use super::turn::{MAX_BLOCK_SIZE, Turn, look_up};
use super::turned_product::{BUNDLED, TurnedProduct};
use crate::fft::node::Complex;
use crate::simd::{Ahead, Lines, Simd};

/// The most numbers that the key is multiplied with: one for each key bit and row.
const MOST_FACTORS: usize = MAX_BLOCK_SIZE * MOST_TURNED_ROWS;
/// The most vectors of a node.
const MOST_LANES: usize = 4;

/// The factors of all key bits, or the digits times the factors: vectors of real and of imaginary parts.
type Factor<S> = [<S as Simd>::F64; 2];

impl<const C: usize> TurnedProduct<'_, C> {
    /// Computes as many outputs as `sums` has room for, at most those of a group, with the key of these and more outputs.
    #[inline(always)]
    pub(super) fn add_tiles<S: Simd>(
        &self,
        simd: S,
        key: &[f64],
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        let group = sums[0].len() / self.digits[0][0].len();
        match (self.shape.bundles(), group) {
            (true, 2) => self.add_bundle_tiles::<S, 2>(simd, key, sums, ahead),
            (true, _) => self.add_bundle_tiles::<S, 1>(simd, key, sums, ahead),
            (false, 4) => self.add_turned_tiles::<S, 4>(simd, key, sums, ahead),
            (false, 3) => self.add_turned_tiles::<S, 3>(simd, key, sums, ahead),
            (false, 2) => self.add_turned_tiles::<S, 2>(simd, key, sums, ahead),
            (false, _) => self.add_turned_tiles::<S, 1>(simd, key, sums, ahead),
        }
    }

    /// Computes `O` outputs with the key of these and more outputs. At a vector of points the digits of a ciphertext are multiplied
    /// by the factors, and what comes of it is multiplied with the key.
    #[inline(always)]
    fn add_turned_tiles<S: Simd, const O: usize>(
        &self,
        simd: S,
        key: &[f64],
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        let (bits, rows) = (self.exponents[0].len(), self.shape.rows);
        let mut sums = sums.map(|sums| S::chunks_mut(sums));
        let vectors = sums[0].len() / (2 * O);
        let nodes = vectors / S::LANES;
        let keys = keys_of::<S, O>(key, bits * rows * vectors);
        let zero = [simd.splat(0.0); 2];
        let mut factors = [[[zero; MAX_BLOCK_SIZE]; MOST_LANES]; C];
        let mut turned = [zero; MOST_FACTORS];
        let turned = &mut turned[..bits * rows];
        for node in 0..nodes {
            self.factors_at(simd, &mut factors, (node, nodes));
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                let key = at_points(keys, at, bits * rows);
                for ((factors, digits), sums) in factors.iter().zip(self.digits).zip(&mut sums) {
                    let factors = &factors[row][..bits];
                    match digits.len() {
                        1 => turn::<S, 1>(simd, turned, factors, digits, at),
                        2 => turn::<S, 2>(simd, turned, factors, digits, at),
                        3 => turn::<S, 3>(simd, turned, factors, digits, at),
                        4 => turn::<S, 4>(simd, turned, factors, digits, at),
                        _ => turn_rows(simd, turned, factors, digits, at),
                    }
                    let sum = sums_of_products::<S, 1, O>(simd, turned, key);
                    for (o, [[re, im]]) in sum.into_iter().enumerate() {
                        simd.store(&mut sums[2 * vectors * o + at], re);
                        simd.store(&mut sums[2 * vectors * o + vectors + at], im);
                    }
                }
                ahead.after(simd, 1);
            }
        }
    }

    /// Computes one or both of the two outputs of two rows with [bundles](super::ProductShape::bundles): at a vector of points the factors are multiplied
    /// with the key, and what comes of it is multiplied with the digits.
    #[inline(always)]
    fn add_bundle_tiles<S: Simd, const O: usize>(
        &self,
        simd: S,
        key: &[f64],
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        let bits = self.exponents[0].len();
        let mut sums = sums.map(|sums| S::chunks_mut(sums));
        let vectors = sums[0].len() / (2 * O);
        let nodes = vectors / S::LANES;
        let keys = keys_of::<S, O>(key, bits * BUNDLED * vectors);
        let zero = [simd.splat(0.0); 2];
        let mut factors = [[[zero; MAX_BLOCK_SIZE]; MOST_LANES]; C];
        for node in 0..nodes {
            self.factors_at(simd, &mut factors, (node, nodes));
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                let key = at_points(keys, at, bits * BUNDLED);
                for ((factors, digits), sums) in factors.iter().zip(self.digits).zip(&mut sums) {
                    let factors = &factors[row][..bits];
                    let digits = digits_at::<S, BUNDLED>(simd, digits, at);
                    let bundles = sums_of_products::<S, BUNDLED, O>(simd, factors, key);
                    for (o, bundles) in bundles.iter().enumerate() {
                        let mut sum = Complex {
                            re: zero[0],
                            im: zero[0],
                        };
                        for (digit, &[re, im]) in digits.iter().zip(bundles) {
                            sum.add_product(simd, *digit, Complex { re, im });
                        }
                        simd.store(&mut sums[2 * vectors * o + at], sum.re);
                        simd.store(&mut sums[2 * vectors * o + vectors + at], sum.im);
                    }
                }
                ahead.after(simd, 1);
            }
        }
    }

    /// Computes the factors of all key bits of each ciphertext at the points of node `node` of `nodes`, for each vector of points.
    #[inline(always)]
    fn factors_at<S: Simd>(
        &self,
        simd: S,
        factors: &mut [[[Factor<S>; MAX_BLOCK_SIZE]; MOST_LANES]; C],
        node: (usize, usize),
    ) {
        let one = simd.splat(1.0);
        for (factors, exponents) in factors.iter_mut().zip(self.exponents) {
            let mut turns = [Turn::<S>::NONE; MAX_BLOCK_SIZE];
            let turns = look_up(&mut turns, self.monomials, exponents, |_| 1.0, node);
            for (bit, turn) in turns.iter().enumerate() {
                for (row, factors) in factors[..S::LANES].iter_mut().enumerate() {
                    let factor = turn.factor(simd, row, one);
                    factors[bit] = [factor.re, factor.im];
                }
            }
        }
    }
}

/// The numbers of a key: a vector of real parts, then one of imaginary parts.
type Numbers<'k, S> = &'k [[<S as Simd>::Chunk; 2]];

/// Returns the numbers of the first `O` outputs of a key, which has `each` numbers for an output.
#[inline(always)]
fn keys_of<S: Simd, const O: usize>(key: &[f64], each: usize) -> [Numbers<'_, S>; O] {
    let mut outputs = S::chunks(key).as_chunks().0.chunks_exact(each);
    let mut keys: [Numbers<'_, S>; O] = [&[]; O];
    for key in &mut keys {
        *key = outputs.next().unwrap_or(&[]);
    }
    keys
}

/// Returns the numbers at vector of points `at`, of which there are `count` for each output.
#[inline(always)]
fn at_points<C, const O: usize>(keys: [&[C]; O], at: usize, count: usize) -> [&[C]; O] {
    let mut now = keys;
    for key in &mut now {
        *key = &key[at * count..][..count];
    }
    now
}

/// Reads the digits of `R` rows at a vector of points.
#[inline(always)]
fn digits_at<S: Simd, const R: usize>(
    simd: S,
    digits: &[&[f64]],
    at: usize,
) -> [Complex<S::F64>; R] {
    let zero = simd.splat(0.0);
    let mut out = [Complex { re: zero, im: zero }; R];
    for (out, digits) in out.iter_mut().zip(digits) {
        let digits = S::chunks(digits);
        out.re = simd.load(&digits[at]);
        out.im = simd.load(&digits[digits.len() / 2 + at]);
    }
    out
}

/// Multiplies the digits of `R` rows at a vector of points by the factor of each key bit.
#[inline(always)]
fn turn<S: Simd, const R: usize>(
    simd: S,
    turned: &mut [Factor<S>],
    factors: &[Factor<S>],
    digits: &[&[f64]],
    at: usize,
) {
    let digits = digits_at::<S, R>(simd, digits, at);
    for (turned, &[re, im]) in turned.as_chunks_mut::<R>().0.iter_mut().zip(factors) {
        for (turned, digit) in turned.iter_mut().zip(&digits) {
            let product = Complex { re, im }.times(simd, digit);
            *turned = [product.re, product.im];
        }
    }
}

/// Does the same as [`turn`] for any number of rows.
#[inline(always)]
fn turn_rows<S: Simd>(
    simd: S,
    turned: &mut [Factor<S>],
    factors: &[Factor<S>],
    digits: &[&[f64]],
    at: usize,
) {
    for (turned, &[re, im]) in turned.chunks_exact_mut(digits.len()).zip(factors) {
        for (turned, digit) in turned.iter_mut().zip(digits) {
            let [digit] = digits_at::<S, 1>(simd, &[digit], at);
            let product = Complex { re, im }.times(simd, &digit);
            *turned = [product.re, product.im];
        }
    }
}

/// Returns the sum `Σ_i factors[i] · keys[o][R · i + r]` for each `o` and `r`.
///
/// # Panics
/// If a key has fewer than `R` numbers for a factor.
#[inline(always)]
fn sums_of_products<S: Simd, const R: usize, const O: usize>(
    simd: S,
    factors: &[Factor<S>],
    keys: [Numbers<'_, S>; O],
) -> [[Factor<S>; R]; O] {
    let mut rows: [&[[[S::Chunk; 2]; R]]; O] = [&[]; O];
    for (rows, key) in rows.iter_mut().zip(keys) {
        *rows = &key.as_chunks().0[..factors.len()];
    }
    let mut sums = [[[simd.splat(0.0); 2]; R]; O];
    for (i, &[x_re, x_im]) in factors.iter().enumerate() {
        for (sums, rows) in sums.iter_mut().zip(&rows) {
            for (sum, [re, im]) in sums.iter_mut().zip(&rows[i]) {
                let (re, im) = (simd.load(re), simd.load(im));
                sum[0] = simd.mul_add(x_re, re, sum[0]);
                sum[1] = simd.mul_add(x_re, im, sum[1]);
                sum[0] = simd.neg_mul_add(x_im, im, sum[0]);
                sum[1] = simd.mul_add(x_im, re, sum[1]);
            }
        }
    }
    sums
}
