//! The product of [`product`](super::product) for N = 1024 on vectors of 8 doubles, whose
//! 512 = 8^3 complex points take three passes of radix 8 down and three up.
//!
//! ```text
//! torus ─rows─▶ ─columns─▶ ─lanes: down, · key, up─▶ ─columns─▶ ─rows─▶ torus
//! ```
//!
//! It gives the values of the tree at the same roots and differs in three ways. A digit of
//! the index is brought into the lanes on the way to memory, twice in all, where the general
//! middle pass transposes four times in registers. On the way up twiddles belong to positions
//! (decimation in time, Cooley and Tukey 1965), which costs six operations for a pair of points
//! instead of eight, and the first level is one with the product by the key. What is left of
//! that is a turn of every coefficient by its own angle, two operations with the angle's
//! tangent, for the cosine goes into the rounding, a fused multiplication and addition.
//!
//! Position `64 r + 8 c + l` is in row r, column c and lane l. Chunk `8 c + l` holds, after
//! the first pass, a node of depth 3 a lane, and on the way up after the middle one, chunk
//! `8 c + r` row r of column c.

use super::node::{Complex, join_positions, split};
use super::passes::pass_twiddle;
use super::product::{Part, Sink};
use super::trigonometry::root_of_unity;
use crate::simd::{Avx512, Simd};

/// N.
pub(super) const SIZE: usize = 1024;

type Vector = <Avx512 as Simd>::F64;
type Chunk = <Avx512 as Simd>::Chunk;
/// Real and imaginary parts of four twiddles a lane.
type Twiddles = [[Chunk; 2]; 4];
/// Half a polynomial: its real or its imaginary parts, by column.
type Half = [[Chunk; 8]; 8];

#[repr(align(64))]
struct Tables {
    /// Down, by node of depth 3 (a lane each).
    down_columns: Twiddles,
    /// Down, by child of these nodes.
    down_lanes: [Twiddles; 8],
    /// Up, by lane.
    up_columns: Twiddles,
    /// Up, by column and lane.
    up_rows: [Twiddles; 8],
    /// By column, row and lane: `tan` of a position's angle and its `cos`, in the upper four
    /// rows, where angles are above `pi/4`, `cot` and `sin`.
    turns: [[[Chunk; 2]; 8]; 8],
}

static TABLES: Tables = Tables::new();

impl Tables {
    const fn new() -> Self {
        let mut tables = Self {
            down_columns: [[[0.0; 8]; 2]; 4],
            down_lanes: [[[[0.0; 8]; 2]; 4]; 8],
            up_columns: [[[0.0; 8]; 2]; 4],
            up_rows: [[[[0.0; 8]; 2]; 4]; 8],
            turns: [[[[0.0; 8]; 2]; 8]; 8],
        };
        let mut lane = 0;
        while lane < 8 {
            let mut k = 0;
            while k < 4 {
                let (re, im) = pass_twiddle(3, lane, k);
                tables.down_columns[k][0][lane] = re;
                tables.down_columns[k][1][lane] = im;
                let (re, im) = position_twiddle(lane, 3, k);
                tables.up_columns[k][0][lane] = re;
                tables.up_columns[k][1][lane] = im;
                let mut column = 0;
                while column < 8 {
                    let (re, im) = pass_twiddle(6, 8 * lane + column, k);
                    tables.down_lanes[column][k][0][lane] = re;
                    tables.down_lanes[column][k][1][lane] = im;
                    let (re, im) = position_twiddle(8 * column + lane, 6, k);
                    tables.up_rows[column][k][0][lane] = re;
                    tables.up_rows[column][k][1][lane] = im;
                    column += 1;
                }
                k += 1;
            }
            let mut place = 0;
            while place < 64 {
                let (column, row) = (place / 8, place % 8);
                let position = 64 * row + 8 * column + lane;
                let (cos, sin) = root_of_unity(position as u32, 11);
                tables.turns[column][row][0][lane] = if row < 4 { sin / cos } else { cos / sin };
                tables.turns[column][row][1][lane] = if row < 4 { cos } else { sin };
                place += 1;
            }
            lane += 1;
        }
        tables
    }
}

/// Of the twiddles that join blocks of `2^log_block` points in three levels, number `k`, for a
/// position in its block.
const fn position_twiddle(position: usize, log_block: u32, k: usize) -> (f64, f64) {
    let (level, offset) = match k {
        0 | 1 => (k as u32, 0),
        2 => (2, 0),
        _ => (2, 1 << log_block),
    };
    let (cos, sin) = root_of_unity((position + offset) as u32, log_block + 1 + level);
    (cos, -sin)
}

/// Brings values of [`passes::forward`](super::passes::forward), times `factor`, to this
/// product's order.
#[inline(always)]
pub(super) fn reorder_key(simd: Avx512, key: &mut [f64], factor: f64) {
    let factor = simd.splat(factor);
    // Nodes of depth 3 and lanes change places.
    for half in halves_mut(key) {
        let chunks = half.as_flattened_mut();
        for place in 0..8 {
            let mut x = [simd.splat(0.0); 8];
            for node in 0..8 {
                x[node] = simd.mul(simd.load(&chunks[8 * node + place]), factor);
            }
            simd.transpose(&mut x);
            for column in 0..8 {
                simd.store(&mut chunks[8 * column + place], x[column]);
            }
        }
    }
}

/// `input · key` into `sink`, by way of `term`.
#[inline(always)]
pub(super) fn multiply<P: Part>(
    simd: Avx512,
    input: &[P::Scalar],
    key: &[f64],
    term: &mut [f64],
    sink: Sink<'_, P::Scalar>,
) {
    let [re, im] = halves_mut(term);
    let key = halves(key);
    rows_down::<P>(simd, input, re, im);
    columns_down(simd, re, im);
    let out = match sink {
        Sink::Start(sum) => return to_sum::<false>(simd, re, im, key, halves_mut(sum)),
        Sink::Accumulate(sum) => return to_sum::<true>(simd, re, im, key, halves_mut(sum)),
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
    rows_up::<P>(simd, re, im, out);
}

/// The real and the imaginary half.
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

/// See [`halves`].
#[inline(always)]
fn halves_mut(data: &mut [f64]) -> [&mut Half; 2] {
    let [re, im] = data.as_chunks_mut().0.as_chunks_mut().0.as_chunks_mut().0 else {
        panic!("a product of size {SIZE} of other sizes");
    };
    [re, im]
}

#[inline(always)]
fn load_twiddles(simd: Avx512, twiddles: &Twiddles) -> [Complex<Vector>; 4] {
    let [z0, z1, z2, z3] = twiddles;
    [
        load_pair(simd, &z0[0], &z0[1]),
        load_pair(simd, &z1[0], &z1[1]),
        load_pair(simd, &z2[0], &z2[1]),
        load_pair(simd, &z3[0], &z3[1]),
    ]
}

/// From coefficients to nodes of depth 3.
#[inline(always)]
fn rows_down<P: Part>(simd: Avx512, input: &[P::Scalar], re: &mut Half, im: &mut Half) {
    let input = input.as_chunks::<8>().0;
    let (low, high) = input.split_at(64);
    let high = &high[..64];
    let z = [
        splat_pair(simd, const { pass_twiddle(0, 0, 0) }),
        splat_pair(simd, const { pass_twiddle(0, 0, 1) }),
        splat_pair(simd, const { pass_twiddle(0, 0, 2) }),
        splat_pair(simd, const { pass_twiddle(0, 0, 3) }),
    ];
    for column in 0..8 {
        let mut x_re = [simd.splat(0.0); 8];
        let mut x_im = [simd.splat(0.0); 8];
        for row in 0..8 {
            x_re[row] = P::load(simd, &low[8 * row + column]);
            x_im[row] = P::load(simd, &high[8 * row + column]);
        }
        split(simd, &mut x_re, &mut x_im, &z);
        simd.store_transposed(&mut re[column], &x_re);
        simd.store_transposed(&mut im[column], &x_im);
    }
}

/// Down to depth 6.
#[inline(always)]
fn columns_down(simd: Avx512, re: &mut Half, im: &mut Half) {
    let z = load_twiddles(simd, &TABLES.down_columns);
    for lane in 0..8 {
        let mut x_re = [simd.splat(0.0); 8];
        let mut x_im = [simd.splat(0.0); 8];
        for column in 0..8 {
            x_re[column] = simd.load(&re[column][lane]);
            x_im[column] = simd.load(&im[column][lane]);
        }
        split(simd, &mut x_re, &mut x_im, &z);
        for column in 0..8 {
            simd.store(&mut re[column][lane], x_re[column]);
            simd.store(&mut im[column][lane], x_im[column]);
        }
    }
}

#[inline(always)]
fn load_eight(simd: Avx512, chunks: &[Chunk; 8]) -> [Vector; 8] {
    let mut x = [simd.splat(0.0); 8];
    for k in 0..8 {
        x[k] = simd.load(&chunks[k]);
    }
    x
}

/// Down to the values at eight of the roots a lane.
#[inline(always)]
fn lanes_down(
    simd: Avx512,
    re: &[Chunk; 8],
    im: &[Chunk; 8],
    twiddles: &Twiddles,
) -> [[Vector; 8]; 2] {
    let mut x_re = load_eight(simd, re);
    let mut x_im = load_eight(simd, im);
    let z = load_twiddles(simd, twiddles);
    split(simd, &mut x_re, &mut x_im, &z);
    [x_re, x_im]
}

/// `sum + x * key`.
#[inline(always)]
fn multiply_add(
    simd: Avx512,
    sum: &Complex<Vector>,
    x: &Complex<Vector>,
    key: &Complex<Vector>,
) -> Complex<Vector> {
    Complex {
        re: simd.neg_mul_add(x.im, key.im, simd.mul_add(x.re, key.re, sum.re)),
        im: simd.mul_add(x.im, key.re, simd.mul_add(x.re, key.im, sum.im)),
    }
}

#[inline(always)]
fn splat_pair(simd: Avx512, (re, im): (f64, f64)) -> Complex<Vector> {
    Complex {
        re: simd.splat(re),
        im: simd.splat(im),
    }
}

#[inline(always)]
fn load_pair(simd: Avx512, re: &Chunk, im: &Chunk) -> Complex<Vector> {
    Complex {
        re: simd.load(re),
        im: simd.load(im),
    }
}

/// The middle pass of a product that others follow: down, and into the sum.
#[inline(always)]
fn to_sum<const ADD: bool>(
    simd: Avx512,
    re: &Half,
    im: &Half,
    key: [&Half; 2],
    sum: [&mut Half; 2],
) {
    let [sum_re, sum_im] = sum;
    for column in 0..8 {
        let twiddles = &TABLES.down_lanes[column];
        let [x_re, x_im] = lanes_down(simd, &re[column], &im[column], twiddles);
        for k in 0..8 {
            let x = Complex {
                re: x_re[k],
                im: x_im[k],
            };
            let key = load_pair(simd, &key[0][column][k], &key[1][column][k]);
            let place = (&mut sum_re[column][k], &mut sum_im[column][k]);
            let y = match ADD {
                true => multiply_add(simd, &load_pair(simd, place.0, place.1), &x, &key),
                false => x.times(simd, &key),
            };
            simd.store(place.0, y.re);
            simd.store(place.1, y.im);
        }
    }
}

/// The middle pass of the last product: down, times the key, with the sum, and up to eight
/// positions, whose rows come into lanes' place.
#[inline(always)]
fn turn(simd: Avx512, re: &mut Half, im: &mut Half, key: [&Half; 2], sum: Option<[&Half; 2]>) {
    for column in 0..8 {
        let twiddles = &TABLES.down_lanes[column];
        let [mut x_re, mut x_im] = lanes_down(simd, &re[column], &im[column], twiddles);
        for pair in 0..4 {
            let k = 2 * pair;
            let x = Complex {
                re: x_re[k],
                im: x_im[k],
            };
            let y = Complex {
                re: x_re[k + 1],
                im: x_im[k + 1],
            };
            let key_x = load_pair(simd, &key[0][column][k], &key[1][column][k]);
            let key_y = load_pair(simd, &key[0][column][k + 1], &key[1][column][k + 1]);
            match sum {
                // The first level up, `(x + y, x - y)`, of products.
                None => {
                    let x = x.times(simd, &key_x);
                    (x_re[k], x_im[k]) = (x.re, x.im);
                    split(simd, &mut x_re[k..k + 2], &mut x_im[k..k + 2], &[key_y; 4]);
                }
                Some([re, im]) => {
                    let sum_x = load_pair(simd, &re[column][k], &im[column][k]);
                    let sum_y = load_pair(simd, &re[column][k + 1], &im[column][k + 1]);
                    let x = multiply_add(simd, &sum_x, &x, &key_x);
                    let y = multiply_add(simd, &sum_y, &y, &key_y);
                    (x_re[k], x_im[k]) = (simd.add(x.re, y.re), simd.add(x.im, y.im));
                    (x_re[k + 1], x_im[k + 1]) = (simd.sub(x.re, y.re), simd.sub(x.im, y.im));
                }
            }
        }
        lanes_up(simd, &mut x_re, &mut x_im);
        simd.store_transposed(&mut re[column], &x_re);
        simd.store_transposed(&mut im[column], &x_im);
    }
}

/// The second and the third level up, where all twiddles are eighth roots of unity.
#[inline(always)]
fn lanes_up(simd: Avx512, re: &mut [Vector; 8], im: &mut [Vector; 8]) {
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
    by_minus_i!(1, 3);
    by_minus_i!(5, 7);
    plain!(0, 4);
    by_minus_i!(2, 6);
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

/// Up from blocks of 8 positions to blocks of 64.
#[inline(always)]
fn columns_up(simd: Avx512, re: &mut Half, im: &mut Half) {
    let z = load_twiddles(simd, &TABLES.up_columns);
    for row in 0..8 {
        let mut x_re = [simd.splat(0.0); 8];
        let mut x_im = [simd.splat(0.0); 8];
        for column in 0..8 {
            x_re[column] = simd.load(&re[column][row]);
            x_im[column] = simd.load(&im[column][row]);
        }
        join_positions(simd, &mut x_re, &mut x_im, &z);
        for column in 0..8 {
            simd.store(&mut re[column][row], x_re[column]);
            simd.store(&mut im[column][row], x_im[column]);
        }
    }
}

/// Up from blocks of 64 positions to coefficients.
#[inline(always)]
fn rows_up<P: Part>(simd: Avx512, re: &Half, im: &Half, out: &mut [P::Scalar]) {
    let (low, high) = out.as_chunks_mut::<8>().0.split_at_mut(64);
    let high = &mut high[..64];
    for column in 0..8 {
        let z = load_twiddles(simd, &TABLES.up_rows[column]);
        let mut x_re = load_eight(simd, &re[column]);
        let mut x_im = load_eight(simd, &im[column]);
        join_positions(simd, &mut x_re, &mut x_im, &z);
        for row in 0..8 {
            let [tangent, scale] = &TABLES.turns[column][row];
            let (tangent, scale) = (simd.load(tangent), simd.load(scale));
            let (re, im) = (x_re[row], x_im[row]);
            let (re, im) = match row {
                0..4 => (
                    simd.mul_add(im, tangent, re),
                    simd.neg_mul_add(re, tangent, im),
                ),
                _ => (simd.mul_add(re, tangent, im), simd.mul_sub(im, tangent, re)),
            };
            let at = 8 * row + column;
            P::add_scaled(simd, &mut low[at], &mut high[at], [re, im], scale);
        }
    }
}
