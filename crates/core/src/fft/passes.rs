//! The passes of the transform over a whole polynomial, and the table of
//! twiddles in the order in which they read it.
//!
//! A pass of radix `R = 2^r` goes `r` levels down the tree for every node of one
//! depth at once. Its points are loaded as vectors of `LANES` consecutive
//! coefficients while nodes have at least `LANES^2` of them. The last pass holds
//! a node of `LANES^2` points in registers: `LANES` vectors go down one radix,
//! are transposed so that a lane is a node, and go down one more. Results stay
//! transposed, because pointwise operations do not depend on the order.

use super::node::{Complex, join, split};
use super::trigonometry::root_of_unity;
use crate::simd::{Ahead, ColumnsMut, Simd};

/// The radices, as logarithms, of the passes before the last one.
pub(super) struct Schedule {
    radix_logs: [u32; 16],
    len: usize,
    /// The number of levels in all passes before the last one.
    pub(super) depth: u32,
}

impl Schedule {
    pub(super) fn new(log_points: u32, lanes: usize, max_radix_log: u32) -> Self {
        let depth = log_points - 2 * lanes.ilog2();
        let mut schedule = Self {
            radix_logs: [0; 16],
            len: 0,
            depth,
        };
        let mut remaining = depth;
        while remaining > 0 {
            let node_log = remaining + 2 * lanes.ilog2();
            let radix_log = match remaining {
                // Two equal passes are faster than a large one and one of radix 2.
                4 => 2,
                // Sixteen rows a multiple of 4 KiB apart, eight real and eight imaginary,
                // would share one set of a first-level cache that has 8 or 12 ways.
                _ if node_log > 11 => remaining.min(2),
                _ => remaining.min(max_radix_log),
            };
            schedule.radix_logs[schedule.len] = radix_log;
            schedule.len += 1;
            remaining -= radix_log;
        }
        schedule
    }

    pub(super) fn passes(&self) -> &[u32] {
        &self.radix_logs[..self.len]
    }
}

/// Returns the twiddle `z` of node `index` at `depth`, which splits `X^2m - z^2`.
///
/// The root is `X^(N/2) - i`; the square roots on the way to a node make the
/// angle of its `z` a bit-reversed index, `(1 + 4 reverse(index)) / 2^(depth + 3)`
/// turns.
const fn node_twiddle(depth: u32, index: usize) -> (f64, f64) {
    let reversed = match depth {
        0 => 0,
        _ => (index as u32).reverse_bits() >> (32 - depth),
    };
    root_of_unity(1 + 4 * reversed, depth + 3)
}

/// Returns twiddle number `k` of the `R/2` that a radix-R pass needs for a node: first
/// the node's own, then those of the even nodes of every level below. (The twiddle of an odd node
/// is `i` times its left neighbour's.)
pub(super) const fn pass_twiddle(depth: u32, index: usize, k: usize) -> (f64, f64) {
    match k {
        0 => node_twiddle(depth, index),
        _ => {
            let level = k.ilog2() + 1;
            let node = 2 * (k - (1 << (level - 1)));
            node_twiddle(depth + level, (index << level) + node)
        }
    }
}

/// Writes the twiddles of all passes, fewer than `2 * points` doubles, to `table`.
pub(super) fn fill_twiddles<S: Simd>(_simd: S, log_points: u32, table: &mut [f64]) {
    let schedule = Schedule::new(log_points, S::LANES, S::MAX_RADIX_LOG);
    let mut table = table.iter_mut();
    let mut push = |value| *table.next().expect("a table of twiddle_len doubles") = value;
    let mut depth = 0;
    for &radix_log in schedule.passes() {
        for index in 0..1 << depth {
            for k in 0..1 << (radix_log - 1) {
                let (re, im) = pass_twiddle(depth, index, k);
                push(re);
                push(im);
            }
        }
        depth += radix_log;
    }
    for index in 0..1usize << depth {
        for k in 0..S::LANES / 2 {
            let (re, im) = pass_twiddle(depth, index, k);
            push(re);
            push(im);
        }
        for k in 0..S::LANES / 2 {
            let lanes = index * S::LANES..(index + 1) * S::LANES;
            let twiddles = lanes.map(|node| pass_twiddle(depth + S::LANES.ilog2(), node, k));
            twiddles.clone().for_each(|(re, _)| push(re));
            twiddles.for_each(|(_, im)| push(im));
        }
    }
}

/// Goes down the whole tree.
#[inline(always)]
pub(super) fn forward<S: Simd>(simd: S, data: &mut [f64], table: &[f64]) {
    let (re, im) = data.split_at_mut(data.len() / 2);
    let schedule = Schedule::new(re.len().ilog2(), S::LANES, S::MAX_RADIX_LOG);
    let (re, im) = (S::chunks_mut(re), S::chunks_mut(im));
    let mut table = table;
    let mut depth = 0;
    for &radix_log in schedule.passes() {
        let (twiddles, rest) = table.split_at(1 << (depth + radix_log));
        match radix_log {
            3 if S::MAX_RADIX_LOG > 2 => forward_pass::<S, _, 8>(simd, re, im, twiddles, &mut ()),
            2 => forward_pass::<S, _, 4>(simd, re, im, twiddles, &mut ()),
            _ => forward_pass::<S, _, 2>(simd, re, im, twiddles, &mut ()),
        }
        table = rest;
        depth += radix_log;
    }
    match S::LANES {
        8 => last_pass::<S, _, 8, false>(simd, re, im, table, &mut ()),
        4 => last_pass::<S, _, 4, false>(simd, re, im, table, &mut ()),
        _ => last_pass::<S, _, 2, false>(simd, re, im, table, &mut ()),
    }
}

/// Goes up the whole tree.
#[inline(always)]
pub(super) fn inverse<S: Simd>(simd: S, data: &mut [f64], table: &[f64]) {
    let (re, im) = data.split_at_mut(data.len() / 2);
    let schedule = Schedule::new(re.len().ilog2(), S::LANES, S::MAX_RADIX_LOG);
    let (re, im) = (S::chunks_mut(re), S::chunks_mut(im));
    let mut depth = schedule.depth;
    let before_last: usize = schedule
        .passes()
        .iter()
        .scan(0, |depth, radix_log| {
            *depth += radix_log;
            Some(1usize << *depth)
        })
        .sum();
    let (mut table, last) = table.split_at(before_last);
    match S::LANES {
        8 => last_pass::<S, _, 8, true>(simd, re, im, last, &mut ()),
        4 => last_pass::<S, _, 4, true>(simd, re, im, last, &mut ()),
        _ => last_pass::<S, _, 2, true>(simd, re, im, last, &mut ()),
    }
    for &radix_log in schedule.passes().iter().rev() {
        let (rest, twiddles) = table.split_at(table.len() - (1 << depth));
        match radix_log {
            3 if S::MAX_RADIX_LOG > 2 => inverse_pass::<S, _, 8>(simd, re, im, twiddles, &mut ()),
            2 => inverse_pass::<S, _, 4>(simd, re, im, twiddles, &mut ()),
            _ => inverse_pass::<S, _, 2>(simd, re, im, twiddles, &mut ()),
        }
        table = rest;
        depth -= radix_log;
    }
}

/// The largest number of twiddles that a pass needs for a node: R/2 for R = 8.
pub(super) const MAX_TWIDDLES: usize = 4;

pub(super) type Twiddles<S> = [Complex<<S as Simd>::F64>; MAX_TWIDDLES];

#[inline(always)]
pub(super) fn broadcast<S: Simd, const R: usize>(simd: S, twiddles: &[f64]) -> Twiddles<S> {
    let zero = simd.splat(0.0);
    let mut out = [Complex { re: zero, im: zero }; MAX_TWIDDLES];
    for k in 0..R / 2 {
        out[k].re = simd.splat(twiddles[2 * k]);
        out[k].im = simd.splat(twiddles[2 * k + 1]);
    }
    complete::<S, R>(simd, &mut out);
    out
}

/// Returns the product of the twiddles of two levels, if a node of four points needs it.
#[inline(always)]
pub(super) fn complete<S: Simd, const R: usize>(simd: S, twiddles: &mut Twiddles<S>) {
    if R == 4 {
        twiddles[2] = twiddles[0].times(simd, &twiddles[1]);
    }
}

macro_rules! scalar_pass {
    ($name:ident, $node:ident) => {
        /// One pass, with one set of twiddles per node.
        #[inline(always)]
        pub(super) fn $name<S: Simd, A: Ahead, const R: usize>(
            simd: S,
            re: &mut [S::Chunk],
            im: &mut [S::Chunk],
            twiddles: &[f64],
            ahead: &mut A,
        ) {
            let nodes = twiddles.len() / R;
            let node_len = re.len() / nodes;
            let node_data = re
                .chunks_exact_mut(node_len)
                .zip(im.chunks_exact_mut(node_len));
            for ((re, im), twiddles) in node_data.zip(twiddles.chunks_exact(R)) {
                let z = broadcast::<S, R>(simd, twiddles);
                for mut column in ColumnsMut::<_, R>::new(re, im) {
                    let mut x_re = [simd.splat(0.0); R];
                    let mut x_im = [simd.splat(0.0); R];
                    for row in 0..R {
                        x_re[row] = simd.load(column.re(row));
                        x_im[row] = simd.load(column.im(row));
                    }
                    $node(simd, &mut x_re, &mut x_im, &z);
                    for row in 0..R {
                        simd.store(column.re(row), x_re[row]);
                        simd.store(column.im(row), x_im[row]);
                    }
                    ahead.after(simd, R);
                }
            }
        }
    };
}

scalar_pass!(forward_pass, split);
scalar_pass!(inverse_pass, join);

/// The pass over nodes of `L^2` points, where L is the number of lanes. It is the first
/// one of an inverse.
#[inline(always)]
pub(super) fn last_pass<S: Simd, A: Ahead, const L: usize, const INVERSE: bool>(
    simd: S,
    re: &mut [S::Chunk],
    im: &mut [S::Chunk],
    twiddles: &[f64],
    ahead: &mut A,
) {
    let node_data = re.chunks_exact_mut(L).zip(im.chunks_exact_mut(L));
    for ((re, im), twiddles) in node_data.zip(twiddles.chunks_exact(L + L * L)) {
        let (scalars, vectors) = twiddles.split_at(L);
        let vectors = S::chunks(vectors);
        let across = broadcast::<S, L>(simd, scalars);
        let mut within = across;
        for k in 0..L / 2 {
            within[k].re = simd.load(&vectors[2 * k]);
            within[k].im = simd.load(&vectors[2 * k + 1]);
        }
        complete::<S, L>(simd, &mut within);
        let mut x_re = [simd.splat(0.0); L];
        let mut x_im = [simd.splat(0.0); L];
        for row in 0..L {
            x_re[row] = simd.load(&re[row]);
            x_im[row] = simd.load(&im[row]);
        }
        if INVERSE {
            join(simd, &mut x_re, &mut x_im, &within);
            simd.transpose(&mut x_re);
            simd.transpose(&mut x_im);
            join(simd, &mut x_re, &mut x_im, &across);
        } else {
            split(simd, &mut x_re, &mut x_im, &across);
            simd.transpose(&mut x_re);
            simd.transpose(&mut x_im);
            split(simd, &mut x_re, &mut x_im, &within);
        }
        for row in 0..L {
            simd.store(&mut re[row], x_re[row]);
            simd.store(&mut im[row], x_im[row]);
        }
        ahead.after(simd, L);
    }
}
