//! The product of [`product`](super::product) for N = 1024 on vectors of 8 or 4 doubles. Its
//! 512 = 8^3 complex points take three passes of radix 8 down and three up.
//!
//! ```text
//! torus ─rows─▶ ─columns─▶ ─lanes: down, · key, up─▶ ─columns─▶ ─rows─▶ torus
//! ```
//!
//! It computes the values of the tree at the same roots, and differs in three ways:
//!
//! - A digit of the index is moved into the lanes when vectors are stored, twice in all, while the
//!   general middle pass transposes four times in registers.
//! - On the way up twiddles belong to positions (decimation in time, Cooley and Tukey 1965), which
//!   takes six operations for a pair of points instead of eight, and the first level is merged with
//!   the product by the key.
//! - What remains is to turn every coefficient by its own angle. That takes two operations with the
//!   angle's tangent, because the cosine is part of the rounding, a fused multiplication and
//!   addition.
//!
//! Position `64 r + 8 c + l` has row r, column c and lane l. A half of the points, real or imaginary,
//! is in memory as 8 columns of 8 lines of 8 lanes; a line is one vector, or two parts of L = 4
//! lanes. The first pass down replaces the row by a node n of depth 3 and transposes blocks of L x L,
//! so that the lanes of a vector are nodes. One column:
//!
//! ```text
//!            coefficients      after rows_down, L = 8      after rows_down, L = 4
//!            lanes 0..8        lanes 0..8                  part 0           part 1
//!   line 0   r0, l0..l7        l0, n0..n7                  l0, n0..n3       l4, n0..n3
//!   line 1   r1, l0..l7        l1, n0..n7                  l1, n0..n3       l5, n0..n3
//!   line 2   r2, l0..l7        l2, n0..n7                  l2, n0..n3       l6, n0..n3
//!   line 3   r3, l0..l7        l3, n0..n7                  l3, n0..n3       l7, n0..n3
//!   line 4   r4, l0..l7        l4, n0..n7                  l0, n4..n7       l4, n4..n7
//!   line 5   r5, l0..l7        l5, n0..n7                  l1, n4..n7       l5, n4..n7
//!   line 6   r6, l0..l7        l6, n0..n7                  l2, n4..n7       l6, n4..n7
//!   line 7   r7, l0..l7        l7, n0..n7                  l3, n4..n7       l7, n4..n7
//! ```
//!
//! The second pass replaces the column by a child of the node. The middle pass takes the eight
//! positions l of L nodes into registers and, after the product, transposes back: on the way up, line
//! r of column c holds row r again.

mod tables;

use super::ends::Load;
use super::node::Complex;
use super::node::eight::{
    begin_join, begin_split, finish_join, finish_split, lanes_up, sum_and_difference,
};
use super::product::{Ends, Part, Sink};
use crate::random::Scratch;
use crate::simd::{Cube, Simd};
use tables::{Line, TABLES, Twiddles, node_twiddle};

/// The polynomial size N.
pub(super) const SIZE: usize = 1024;

/// Half a polynomial: its real or its imaginary parts, by column.
type Half = [[Line; 8]; 8];

/// Returns the number of vectors of a line.
const fn parts<S: Simd>() -> usize {
    8 / S::LANES
}

#[inline(always)]
fn load_part<S: Simd>(simd: S, line: &Line, part: usize) -> S::F64 {
    simd.load(&S::chunks(line)[part])
}

#[inline(always)]
fn store_pair<S: Simd>(simd: S, lines: [&mut Line; 2], part: usize, x: &Complex<S::F64>) {
    let [re, im] = lines;
    simd.store(&mut S::chunks_mut(re)[part], x.re);
    simd.store(&mut S::chunks_mut(im)[part], x.im);
}

/// Transforms a key polynomial, multiplied by `factor`, in place.
#[inline(always)]
pub(super) fn prepare_key<S: Cube>(simd: S, key: &mut [f64], factor: f64) {
    struct Doubles;
    impl Load<f64> for Doubles {
        #[inline(always)]
        fn load<S: Simd>(&self, simd: S, input: &[f64]) -> S::F64 {
            simd.load(&S::chunks(input)[0])
        }
    }
    let factor = simd.splat(factor);
    let mut coefficients = Scratch::<f64, SIZE>::new();
    coefficients.copy_from_slice(key);
    let [re, im] = halves_mut(key);
    rows_down(simd, &*coefficients, &Doubles, re, im);
    columns_down(simd, re, im);
    for column in 0..8 {
        for group in 0..parts::<S>() {
            let z = load_twiddles(simd, &TABLES.down_lanes[column], group);
            let eight = begin_split(
                simd,
                #[inline(always)]
                |l| load_down(simd, [re, im], column, group, l),
                &z,
            );
            finish_split(
                simd,
                eight,
                &z,
                #[inline(always)]
                |pair, points| {
                    for (k, x) in points.iter().enumerate() {
                        let (line, part) = down_place::<S>(2 * pair + k, group);
                        let (re, im) = (&mut re[column][line], &mut im[column][line]);
                        let x = Complex {
                            re: simd.mul(x.re, factor),
                            im: simd.mul(x.im, factor),
                        };
                        store_pair(simd, [re, im], part, &x);
                    }
                },
            );
        }
    }
}

/// Multiplies `input` by `key`, and passes the product to `sink`; `term` is scratch.
#[inline(always)]
pub(super) fn multiply<S: Cube, P: Part>(
    simd: S,
    input: &[P::Scalar],
    key: &[f64],
    term: &mut [f64],
    sink: Sink<'_, P::Scalar>,
) {
    let [re, im] = halves_mut(term);
    let key = halves(key);
    rows_down(simd, input, &Ends::<P>::NEW, re, im);
    columns_down(simd, re, im);
    let out = match sink {
        Sink::Start(sum) => return to_sum::<S, false>(simd, re, im, key, halves_mut(sum)),
        Sink::Accumulate(sum) => return to_sum::<S, true>(simd, re, im, key, halves_mut(sum)),
        Sink::Only(out) => {
            turn(simd, re, im, key, None);
            out
        }
        Sink::Last(sum, out) => {
            turn(simd, re, im, key, Some(halves(sum)));
            out
        }
    };
    columns_up(simd, re, im);
    rows_up::<S, P>(simd, re, im, out);
}

/// Returns the real and the imaginary half.
///
/// # Panics
/// If there are not [`SIZE`] doubles.
#[inline(always)]
fn halves(data: &[f64]) -> [&Half; 2] {
    let [re, im] = data.as_chunks().0.as_chunks().0.as_chunks().0 else {
        panic!("a product of size {SIZE} of other sizes");
    };
    [re, im]
}

/// Returns the real and the imaginary half, as [`halves`] does.
#[inline(always)]
fn halves_mut(data: &mut [f64]) -> [&mut Half; 2] {
    let [re, im] = data.as_chunks_mut().0.as_chunks_mut().0.as_chunks_mut().0 else {
        panic!("a product of size {SIZE} of other sizes");
    };
    [re, im]
}

#[inline(always)]
fn load_twiddles<S: Simd>(simd: S, twiddles: &Twiddles, part: usize) -> [Complex<S::F64>; 5] {
    let [z0, z1, z2, z3, z01] = twiddles;
    [
        load_pair(simd, &z0[0], &z0[1], part),
        load_pair(simd, &z1[0], &z1[1], part),
        load_pair(simd, &z2[0], &z2[1], part),
        load_pair(simd, &z3[0], &z3[1], part),
        load_pair(simd, &z01[0], &z01[1], part),
    ]
}

/// Goes from coefficients to nodes of depth 3.
#[inline(always)]
fn rows_down<S: Cube, T, F: Load<T>>(simd: S, input: &[T], from: &F, re: &mut Half, im: &mut Half) {
    let input = input.as_chunks::<8>().0;
    let (low, high) = input.split_at(64);
    let high = &high[..64];
    let z = [
        splat_pair(simd, const { node_twiddle(0, 0, 0) }),
        splat_pair(simd, const { node_twiddle(0, 0, 1) }),
        splat_pair(simd, const { node_twiddle(0, 0, 2) }),
        splat_pair(simd, const { node_twiddle(0, 0, 3) }),
        splat_pair(simd, const { node_twiddle(0, 0, 4) }),
    ];
    for column in 0..8 {
        for part in 0..parts::<S>() {
            let lanes = part * S::LANES..(part + 1) * S::LANES;
            let eight = begin_split(
                simd,
                #[inline(always)]
                |row| Complex {
                    re: from.load(simd, &low[8 * row + column][lanes.clone()]),
                    im: from.load(simd, &high[8 * row + column][lanes.clone()]),
                },
                &z,
            );
            let (mut x_re, mut x_im) = ([simd.splat(0.0); 8], [simd.splat(0.0); 8]);
            finish_split(
                simd,
                eight,
                &z,
                #[inline(always)]
                |pair, [x, y]| {
                    (x_re[2 * pair], x_im[2 * pair]) = (x.re, x.im);
                    (x_re[2 * pair + 1], x_im[2 * pair + 1]) = (y.re, y.im);
                },
            );
            for group in 0..parts::<S>() {
                let rows = group * S::LANES..(group + 1) * S::LANES;
                simd.store_transposed(&mut re[column], group, part, &x_re[rows.clone()]);
                simd.store_transposed(&mut im[column], group, part, &x_im[rows]);
            }
        }
    }
}

/// Goes down to depth 6.
#[inline(always)]
fn columns_down<S: Cube>(simd: S, re: &mut Half, im: &mut Half) {
    for group in 0..parts::<S>() {
        let z = load_twiddles(simd, &TABLES.down_columns, group);
        for line in group * S::LANES..(group + 1) * S::LANES {
            for part in 0..parts::<S>() {
                let eight = begin_split(
                    simd,
                    #[inline(always)]
                    |column| load_pair(simd, &re[column][line], &im[column][line], part),
                    &z,
                );
                finish_split(
                    simd,
                    eight,
                    &z,
                    #[inline(always)]
                    |pair, points| {
                        for (k, x) in points.iter().enumerate() {
                            let place = [&mut re[2 * pair + k][line], &mut im[2 * pair + k][line]];
                            store_pair(simd, place, part, x);
                        }
                    },
                );
            }
        }
    }
}

/// Returns the line and the part of position, or value, `l` of a group of nodes on the way down.
const fn down_place<S: Simd>(l: usize, group: usize) -> (usize, usize) {
    (S::LANES * group + l % S::LANES, l / S::LANES)
}

/// Loads position, or value, `l` of a group of nodes on the way down.
#[inline(always)]
fn load_down<S: Simd>(
    simd: S,
    [re, im]: [&Half; 2],
    column: usize,
    group: usize,
    l: usize,
) -> Complex<S::F64> {
    let (line, part) = down_place::<S>(l, group);
    load_pair(simd, &re[column][line], &im[column][line], part)
}

/// Returns `sum + x * key`.
#[inline(always)]
fn multiply_add<S: Simd>(
    simd: S,
    sum: &Complex<S::F64>,
    x: &Complex<S::F64>,
    key: &Complex<S::F64>,
) -> Complex<S::F64> {
    Complex {
        re: simd.neg_mul_add(x.im, key.im, simd.mul_add(x.re, key.re, sum.re)),
        im: simd.mul_add(x.im, key.re, simd.mul_add(x.re, key.im, sum.im)),
    }
}

#[inline(always)]
fn splat_pair<S: Simd>(simd: S, (re, im): (f64, f64)) -> Complex<S::F64> {
    Complex {
        re: simd.splat(re),
        im: simd.splat(im),
    }
}

#[inline(always)]
fn load_pair<S: Simd>(simd: S, re: &Line, im: &Line, part: usize) -> Complex<S::F64> {
    Complex {
        re: load_part(simd, re, part),
        im: load_part(simd, im, part),
    }
}

/// Computes the middle pass of a product that is not the last of its sum: down, and into the sum.
#[inline(always)]
fn to_sum<S: Cube, const ADD: bool>(
    simd: S,
    re: &Half,
    im: &Half,
    key: [&Half; 2],
    sum: [&mut Half; 2],
) {
    let [sum_re, sum_im] = sum;
    for column in 0..8 {
        for group in 0..parts::<S>() {
            let z = load_twiddles(simd, &TABLES.down_lanes[column], group);
            let eight = begin_split(
                simd,
                #[inline(always)]
                |l| load_down(simd, [re, im], column, group, l),
                &z,
            );
            finish_split(
                simd,
                eight,
                &z,
                #[inline(always)]
                |pair, points| {
                    for (k, x) in points.iter().enumerate() {
                        let k = 2 * pair + k;
                        let key = load_down(simd, key, column, group, k);
                        let y = match ADD {
                            true => {
                                let sum = load_down(simd, [sum_re, sum_im], column, group, k);
                                multiply_add(simd, &sum, x, &key)
                            }
                            false => x.times(simd, &key),
                        };
                        let (line, part) = down_place::<S>(k, group);
                        let place = [&mut sum_re[column][line], &mut sum_im[column][line]];
                        store_pair(simd, place, part, &y);
                    }
                },
            );
        }
    }
}

/// Computes the middle pass of the last product: down, times the key, plus the sum, and up to eight
/// positions, transposing rows back into the place of lanes. Every node takes two steps, which share
/// few registers, so that a processor can do more out of order.
#[inline(always)]
fn turn<S: Cube>(simd: S, re: &mut Half, im: &mut Half, key: [&Half; 2], sum: Option<[&Half; 2]>) {
    for column in 0..8 {
        for group in 0..parts::<S>() {
            down_and_up(simd, re, im, column, group, key, sum);
        }
    }
    for column in 0..8 {
        for group in 0..parts::<S>() {
            let (mut x_re, mut x_im) = ([simd.splat(0.0); 8], [simd.splat(0.0); 8]);
            for l in 0..8 {
                let x = load_down(simd, [re, im], column, group, l);
                (x_re[l], x_im[l]) = (x.re, x.im);
            }
            lanes_up(simd, &mut x_re, &mut x_im);
            for part in 0..parts::<S>() {
                let rows = part * S::LANES..(part + 1) * S::LANES;
                simd.store_transposed(&mut re[column], group, part, &x_re[rows.clone()]);
                simd.store_transposed(&mut im[column], group, part, &x_im[rows]);
            }
        }
    }
}

/// Goes down, multiplies by the key, adds the sum, and goes the first level up.
#[inline(always)]
fn down_and_up<S: Cube>(
    simd: S,
    re: &mut Half,
    im: &mut Half,
    column: usize,
    group: usize,
    key: [&Half; 2],
    sum: Option<[&Half; 2]>,
) {
    let z = load_twiddles(simd, &TABLES.down_lanes[column], group);
    let eight = begin_split(
        simd,
        #[inline(always)]
        |l| load_down(simd, [re, im], column, group, l),
        &z,
    );
    finish_split(
        simd,
        eight,
        &z,
        #[inline(always)]
        |pair, [x, y]| {
            let k = 2 * pair;
            let key_x = load_down(simd, key, column, group, k);
            let key_y = load_down(simd, key, column, group, k + 1);
            let points = match sum {
                None => sum_and_difference(simd, x.times(simd, &key_x), y, &key_y),
                Some(sum) => {
                    let sum_x = load_down(simd, sum, column, group, k);
                    let sum_y = load_down(simd, sum, column, group, k + 1);
                    let x = multiply_add(simd, &sum_x, &x, &key_x);
                    let y = multiply_add(simd, &sum_y, &y, &key_y);
                    [
                        Complex {
                            re: simd.add(x.re, y.re),
                            im: simd.add(x.im, y.im),
                        },
                        Complex {
                            re: simd.sub(x.re, y.re),
                            im: simd.sub(x.im, y.im),
                        },
                    ]
                }
            };
            for (i, x) in points.iter().enumerate() {
                let (line, part) = down_place::<S>(k + i, group);
                let place = [&mut re[column][line], &mut im[column][line]];
                store_pair(simd, place, part, x);
            }
        },
    );
}

/// Goes up from blocks of 8 positions to blocks of 64.
#[inline(always)]
fn columns_up<S: Cube>(simd: S, re: &mut Half, im: &mut Half) {
    for part in 0..parts::<S>() {
        let z = load_twiddles(simd, &TABLES.up_columns, part);
        for line in 0..8 {
            let eight = begin_join(
                simd,
                #[inline(always)]
                |column| load_pair(simd, &re[column][line], &im[column][line], part),
                &z,
            );
            finish_join(
                simd,
                eight,
                &z,
                #[inline(always)]
                |k, points| {
                    for (i, x) in points.iter().enumerate() {
                        let column = k + 4 * i;
                        let place = [&mut re[column][line], &mut im[column][line]];
                        store_pair(simd, place, part, x);
                    }
                },
            );
        }
    }
}

/// Goes up from blocks of 64 positions to coefficients.
#[inline(always)]
fn rows_up<S: Cube, P: Part>(simd: S, re: &Half, im: &Half, out: &mut [P::Scalar]) {
    let (low, high) = out.as_chunks_mut::<8>().0.split_at_mut(64);
    let high = &mut high[..64];
    for column in 0..8 {
        for part in 0..parts::<S>() {
            let z = load_twiddles(simd, &TABLES.up_rows[column], part);
            let eight = begin_join(
                simd,
                #[inline(always)]
                |row| load_pair(simd, &re[column][row], &im[column][row], part),
                &z,
            );
            let lanes = part * S::LANES..(part + 1) * S::LANES;
            finish_join(
                simd,
                eight,
                &z,
                #[inline(always)]
                |k, points| {
                    for (i, x) in points.iter().enumerate() {
                        let row = k + 4 * i;
                        let [tangent, scale] = &TABLES.turns[column][row];
                        let tangent = load_part(simd, tangent, part);
                        let scale = load_part(simd, scale, part);
                        let turned = match row {
                            0..4 => [
                                simd.mul_add(x.im, tangent, x.re),
                                simd.neg_mul_add(x.re, tangent, x.im),
                            ],
                            _ => [
                                simd.mul_add(x.re, tangent, x.im),
                                simd.mul_sub(x.im, tangent, x.re),
                            ],
                        };
                        let at = 8 * row + column;
                        let (low, high) =
                            (&mut low[at][lanes.clone()], &mut high[at][lanes.clone()]);
                        P::add_scaled(simd, low, high, turned, scale);
                    }
                },
            );
        }
    }
}
