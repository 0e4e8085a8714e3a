//! The products of a [`TurnedProduct`] where registers have no room for all sums of two ciphertexts, as with AVX2. They are computed vector of points by
//! vector of points.
//!
//! At a vector of points the innermost loop adds the products of a list of numbers with the key to four sums: of all key bits and
//! rows, the digits times the factors `X^a - 1`, or for [bundles](super::ProductShape::bundles) of all key bits the factors. For two ciphertexts the sums
//! are those of two outputs of both, so that a number of the key is read, and unpacked, once. With bundles the sums are those of one ciphertext after the other.

use super::MOST_TURNED_ROWS;
use super::key_form::Form;
use super::turn::MAX_BLOCK_SIZE;
use super::turned_product::{BUNDLED, TurnedProduct, keys_of};
use crate::fft::node::Complex;
use crate::simd::{Ahead, Lines, Simd, apart};

/// The most numbers that the key is multiplied with: one for each key bit and row.
const MOST_FACTORS: usize = MAX_BLOCK_SIZE * MOST_TURNED_ROWS;
/// The most vectors of a node.
const MOST_LANES: usize = 4;

/// The factors of all key bits, or the digits times the factors: vectors of real and of imaginary parts.
type Factor<S> = [<S as Simd>::F64; 2];

impl<const C: usize> TurnedProduct<'_, C> {
    /// Computes as many outputs as `sums` has room for, at most those of a group, with the keys of `outputs`, in the form `form`.
    #[inline(always)]
    pub(super) fn add_tiles<'k, S: Simd, F: Form<S>>(
        &self,
        simd: S,
        outputs: (F, impl Iterator<Item = &'k [F::Number]>),
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        let group = sums[0].len() / self.digits[0][0].len();
        match (self.shape.bundles(), group) {
            (true, 2) => apart!(
                simd,
                self.add_bundle_tiles::<S, F, 2>(simd, outputs, sums, ahead)
            ),
            (true, _) => apart!(
                simd,
                self.add_bundle_tiles::<S, F, 1>(simd, outputs, sums, ahead)
            ),
            (false, 4) => apart!(
                simd,
                self.add_turned_tiles::<S, F, 4>(simd, outputs, sums, ahead)
            ),
            (false, 3) => apart!(
                simd,
                self.add_turned_tiles::<S, F, 3>(simd, outputs, sums, ahead)
            ),
            (false, 2) => apart!(
                simd,
                self.add_turned_tiles::<S, F, 2>(simd, outputs, sums, ahead)
            ),
            (false, _) => apart!(
                simd,
                self.add_turned_tiles::<S, F, 1>(simd, outputs, sums, ahead)
            ),
        }
    }

    /// Computes `O` outputs. At a vector of points the digits of a ciphertext are multiplied
    /// by the factors, and what comes of it is multiplied with the key.
    #[inline(always)]
    fn add_turned_tiles<'k, S: Simd, F: Form<S>, const O: usize>(
        &self,
        simd: S,
        (form, outputs): (F, impl Iterator<Item = &'k [F::Number]>),
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        let (bits, rows) = (self.exponents[0].len(), self.shape.rows);
        let mut sums = sums.map(|sums| S::chunks_mut(sums));
        let vectors = sums[0].len() / (2 * O);
        let nodes = vectors / S::LANES;
        let keys = keys_of::<S, F, O>(outputs);
        let zero = [simd.splat(0.0); 2];
        let mut factors = [[[zero; MAX_BLOCK_SIZE]; MOST_LANES]; C];
        let mut turned = [[zero; MOST_FACTORS]; C];
        for node in 0..nodes {
            self.factors_at(simd, &mut factors, (node, nodes));
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                for ((turned, factors), digits) in turned.iter_mut().zip(&factors).zip(self.digits)
                {
                    let turned = &mut turned[..bits * rows];
                    let factors = &factors[row][..bits];
                    match digits.len() {
                        1 => turn::<S, 1>(simd, turned, factors, digits, at),
                        2 => turn::<S, 2>(simd, turned, factors, digits, at),
                        3 => turn::<S, 3>(simd, turned, factors, digits, at),
                        4 => turn::<S, 4>(simd, turned, factors, digits, at),
                        _ => turn_rows(simd, turned, factors, digits, at),
                    }
                }
                let turned = turned.each_ref().map(|turned| &turned[..bits * rows]);
                let keys = at_points::<S, F, O>(keys, at, vectors);
                // Registers have room for the sums of four outputs of a ciphertext, or of two outputs of two ciphertexts.
                if C == 1 {
                    let sum = sums_of_products::<S, F, C, 1, O>(simd, form, turned, keys, O);
                    store_sums(simd, &mut sums, sum, (0, vectors, at));
                } else {
                    let (pairs, rest) = keys.as_chunks();
                    for (i, &keys) in pairs.iter().enumerate() {
                        let left = O - 2 * i;
                        let sum = sums_of_products::<S, F, C, 1, 2>(simd, form, turned, keys, left);
                        store_sums(simd, &mut sums, sum, (2 * i, vectors, at));
                    }
                    if let &[key] = rest {
                        let sum = sums_of_products::<S, F, C, 1, 1>(simd, form, turned, [key], 1);
                        store_sums(simd, &mut sums, sum, (O - 1, vectors, at));
                    }
                }
                ahead.after(simd, 1);
            }
        }
    }

    /// Computes one or both of the two outputs of two rows with [bundles](super::ProductShape::bundles): at a vector of points the factors are multiplied
    /// with the key, and what comes of it is multiplied with the digits.
    #[inline(always)]
    fn add_bundle_tiles<'k, S: Simd, F: Form<S>, const O: usize>(
        &self,
        simd: S,
        (form, outputs): (F, impl Iterator<Item = &'k [F::Number]>),
        sums: [&mut [f64]; C],
        ahead: &mut Lines<'_>,
    ) {
        let bits = self.exponents[0].len();
        let mut sums = sums.map(|sums| S::chunks_mut(sums));
        let vectors = sums[0].len() / (2 * O);
        let nodes = vectors / S::LANES;
        let keys = keys_of::<S, F, O>(outputs);
        let zero = [simd.splat(0.0); 2];
        let mut factors = [[[zero; MAX_BLOCK_SIZE]; MOST_LANES]; C];
        for node in 0..nodes {
            self.factors_at(simd, &mut factors, (node, nodes));
            for row in 0..S::LANES {
                let at = node * S::LANES + row;
                let keys = at_points::<S, F, O>(keys, at, vectors);
                for ((factors, digits), sums) in factors.iter().zip(self.digits).zip(&mut sums) {
                    let factors = [&factors[row][..bits]];
                    let [bundles] =
                        sums_of_products::<S, F, 1, BUNDLED, O>(simd, form, factors, keys, O);
                    let digits = digits_at::<S, BUNDLED>(simd, digits, at);
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
        (node, nodes): (usize, usize),
    ) {
        let turns = self.turns_at::<S>(node, nodes);
        for (factors, turns) in factors.iter_mut().zip(&turns) {
            for (bit, turn) in turns[..self.shape.block_size].iter().enumerate() {
                let unit = turn.unit(simd);
                for (row, factors) in factors[..S::LANES].iter_mut().enumerate() {
                    let factor = turn.factor(simd, row, unit);
                    factors[bit] = [factor.re, factor.im];
                }
            }
        }
    }
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

/// Returns the parts of keys that belong to vector of points `at` of `vectors`.
#[inline(always)]
fn at_points<S: Simd, F: Form<S>, const O: usize>(
    keys: [&[F::Number]; O],
    at: usize,
    vectors: usize,
) -> [&[F::Number]; O] {
    let mut now = keys;
    for key in &mut now {
        *key = F::at_points(key, at, vectors);
    }
    now
}

/// Returns the sum `Σ_i factors[c][i] · keys[o][R · i + r]` for each `c`, `o` and `r`, for one or two ciphertexts `c` and one to four outputs `o`, and `R` = 1 or 2. There are `left` outputs in
/// the group, from the first of these on. The keys are read once for all ciphertexts, two pairs of vectors at a time.
#[inline(always)]
fn sums_of_products<S: Simd, F: Form<S>, const C: usize, const R: usize, const T: usize>(
    simd: S,
    form: F,
    factors: [&[Factor<S>]; C],
    keys: [&[F::Number]; T],
    left: usize,
) -> [[[Factor<S>; R]; T]; C] {
    match R {
        2 => sums_of_quads::<S, F, C, R, 1, T>(simd, form, factors, keys, left),
        _ => {
            let mut sums = sums_of_quads::<S, F, C, R, 2, T>(simd, form, factors, keys, left);
            let count = factors[0].len();
            if !count.is_multiple_of(2) {
                for (o, key) in keys.iter().enumerate() {
                    let is_last = o + 1 == left;
                    let key = form.load(simd, F::last_pair(key, is_last, count), is_last);
                    for (sums, factors) in sums.iter_mut().zip(factors) {
                        add_product(simd, &mut sums[o][0], factors[count - 1], key);
                    }
                }
            }
            sums
        }
    }
}

/// Does the same as [`sums_of_products`] for all pairs that can be read two at a time: those of `P` factors, of which each is multiplied with `R`.
#[inline(always)]
fn sums_of_quads<
    S: Simd,
    F: Form<S>,
    const C: usize,
    const R: usize,
    const P: usize,
    const T: usize,
>(
    simd: S,
    form: F,
    factors: [&[Factor<S>]; C],
    keys: [&[F::Number]; T],
    left: usize,
) -> [[[Factor<S>; R]; T]; C] {
    let mut sums = [[[[simd.splat(0.0); 2]; R]; T]; C];
    let numbers = factors[0].as_chunks::<P>().0.iter();
    let numbers = numbers.zip(factors[C - 1].as_chunks::<P>().0);
    let quads = |o: usize| F::quads(keys[o], o + 1 == left);
    // A loop over iterators side by side has no other branch than its own, so that products are not separated from negations.
    match T {
        1 => {
            for (a, x) in quads(0).zip(numbers) {
                add_products(simd, form, &mut sums, x, [a], left);
            }
        }
        2 => {
            for ((a, b), x) in quads(0).zip(quads(1)).zip(numbers) {
                add_products(simd, form, &mut sums, x, [a, b], left);
            }
        }
        3 => {
            for (((a, b), c), x) in quads(0).zip(quads(1)).zip(quads(2)).zip(numbers) {
                add_products(simd, form, &mut sums, x, [a, b, c], left);
            }
        }
        _ => {
            let (below, above) = (quads(0).zip(quads(1)), quads(2).zip(quads(3)));
            for (((a, b), (c, d)), x) in below.zip(above).zip(numbers) {
                add_products(simd, form, &mut sums, x, [a, b, c, d], left);
            }
        }
    }
    sums
}

/// Adds the products of `P` numbers of each of `C` ciphertexts, the second of which are ignored for one, with two pairs of each output.
#[inline(always)]
fn add_products<
    S,
    F,
    const C: usize,
    const R: usize,
    const P: usize,
    const T: usize,
    const K: usize,
>(
    simd: S,
    form: F,
    sums: &mut [[[Factor<S>; R]; T]; C],
    (first, second): (&[Factor<S>; P], &[Factor<S>; P]),
    keys: [F::Quad<'_>; K],
    left: usize,
) where
    S: Simd,
    F: Form<S>,
{
    for o in 0..T.min(K) {
        let is_last = o + 1 == left;
        // One pair after the other, because registers have no room for both.
        let key = form.load_of_quad::<0>(simd, keys[o], is_last);
        for (sums, x) in sums.iter_mut().zip([first, second]) {
            add_product(simd, &mut sums[o][0], x[0], key);
        }
        let key = form.load_of_quad::<1>(simd, keys[o], is_last);
        for (sums, x) in sums.iter_mut().zip([first, second]) {
            add_product(simd, &mut sums[o][R - 1], x[P - 1], key);
        }
    }
}

/// Adds `x · key`.
#[inline(always)]
fn add_product<S: Simd>(
    simd: S,
    sum: &mut Factor<S>,
    [x_re, x_im]: Factor<S>,
    Complex { re, im }: Complex<S::F64>,
) {
    sum[0] = simd.mul_add(x_re, re, sum[0]);
    sum[1] = simd.mul_add(x_re, im, sum[1]);
    sum[0] = simd.neg_mul_add(x_im, im, sum[0]);
    sum[1] = simd.mul_add(x_im, re, sum[1]);
}

/// Stores the sums of outputs from `first` on, of polynomials of twice `vectors` vectors, at vector of points `at`.
#[inline(always)]
fn store_sums<S: Simd, const T: usize, const C: usize>(
    simd: S,
    to: &mut [&mut [S::Chunk]; C],
    sums: [[[Factor<S>; 1]; T]; C],
    (first, vectors, at): (usize, usize, usize),
) {
    for (to, sums) in to.iter_mut().zip(sums) {
        for (o, [[re, im]]) in sums.into_iter().enumerate() {
            let place = 2 * vectors * (first + o) + at;
            simd.store(&mut to[place], re);
            simd.store(&mut to[place + vectors], im);
        }
    }
}
