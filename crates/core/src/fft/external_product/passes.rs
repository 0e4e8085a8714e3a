//! The transforms of an external product: their first pass down takes digits of scalars,
//! their last pass up adds to scalars. In between they are the plain ones.

use crate::fft::node::{join, split};
use crate::fft::passes::{Schedule, broadcast, forward_pass, inverse_pass, last_pass};
use crate::simd::{Ahead, DigitPlace, Lines, Rows, RowsRef, Simd};

/// How vectors of a scalar type come into a transform and out of it.
pub(super) trait Scalar: Sized {
    fn load_digit<S: Simd>(simd: S, input: &[Self], place: DigitPlace) -> S::F64;
    fn add_turns<S: Simd>(simd: S, acc: &mut [Self], turns: S::F64);
}

impl Scalar for u32 {
    #[inline(always)]
    fn load_digit<S: Simd>(simd: S, input: &[Self], place: DigitPlace) -> S::F64 {
        simd.load_digit_u32(input, place)
    }
    #[inline(always)]
    fn add_turns<S: Simd>(simd: S, acc: &mut [Self], turns: S::F64) {
        simd.add_turns_u32(acc, turns);
    }
}

impl Scalar for u64 {
    #[inline(always)]
    fn load_digit<S: Simd>(simd: S, input: &[Self], place: DigitPlace) -> S::F64 {
        simd.load_digit_u64(input, place)
    }
    #[inline(always)]
    fn add_turns<S: Simd>(simd: S, acc: &mut [Self], turns: S::F64) {
        simd.add_turns_u64(acc, turns);
    }
}

macro_rules! by_radix {
    ($S:ident, $radix_log:expr, $pass:ident, ($($generic:ty),*), ($($argument:expr),*)) => {
        match $radix_log {
            3 if $S::MAX_RADIX_LOG > 2 => $pass::<$S, $($generic,)* 8>($($argument),*),
            2 => $pass::<$S, $($generic,)* 4>($($argument),*),
            _ => $pass::<$S, $($generic,)* 2>($($argument),*),
        }
    };
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

/// Goes down the whole tree from scalars.
#[inline(always)]
pub(super) fn forward_from<S: Simd, T: Scalar>(
    simd: S,
    out: &mut [f64],
    table: &[f64],
    input: &[T],
    place: DigitPlace,
    next_key: &[f64],
) {
    let (re, im) = out.split_at_mut(out.len() / 2);
    let schedule = Schedule::new(re.len().ilog2(), S::LANES, S::MAX_RADIX_LOG);
    let (re, im) = (S::chunks_mut(re), S::chunks_mut(im));
    let ahead = &mut Lines::over(next_key, re.len() * (schedule.passes().len() + 1));
    let mut table = table;
    let mut depth = 0;
    for (pass, &radix_log) in schedule.passes().iter().enumerate() {
        let (twiddles, rest) = table.split_at(1 << (depth + radix_log));
        if pass == 0 {
            by_radix!(
                S,
                radix_log,
                first_pass,
                (T, _),
                (simd, input, re, im, twiddles, place, ahead)
            );
        } else {
            by_radix!(
                S,
                radix_log,
                forward_pass,
                (_),
                (simd, re, im, twiddles, ahead)
            );
        }
        table = rest;
        depth += radix_log;
    }
    match S::LANES {
        8 => last_pass::<S, _, 8, false>(simd, re, im, table, ahead),
        4 => last_pass::<S, _, 4, false>(simd, re, im, table, ahead),
        _ => last_pass::<S, _, 2, false>(simd, re, im, table, ahead),
    }
}

#[inline(always)]
fn first_pass<S: Simd, T: Scalar, A: Ahead, const R: usize>(
    simd: S,
    input: &[T],
    re: &mut [S::Chunk],
    im: &mut [S::Chunk],
    twiddles: &[f64],
    place: DigitPlace,
    ahead: &mut A,
) {
    by_lanes!(
        S,
        first_pass_lanes,
        (T, A, R),
        (simd, input, re, im, twiddles, place, ahead)
    );
}

#[inline(always)]
fn first_pass_lanes<S: Simd, T: Scalar, A: Ahead, const R: usize, const L: usize>(
    simd: S,
    input: &[T],
    re: &mut [S::Chunk],
    im: &mut [S::Chunk],
    twiddles: &[f64],
    place: DigitPlace,
    ahead: &mut A,
) {
    let (low, high) = input.split_at(input.len() / 2);
    let low = RowsRef::<[T; L], R>::new(low.as_chunks().0);
    let high = RowsRef::<[T; L], R>::new(high.as_chunks().0);
    let mut re = Rows::<_, R>::new(re);
    let mut im = Rows::<_, R>::new(im);
    let z = broadcast::<S, R>(simd, twiddles);
    for column in 0..low.columns() {
        let mut x_re = [simd.splat(0.0); R];
        let mut x_im = [simd.splat(0.0); R];
        for row in 0..R {
            x_re[row] = T::load_digit(simd, low.get(row, column), place);
            x_im[row] = T::load_digit(simd, high.get(row, column), place);
        }
        split(simd, &mut x_re, &mut x_im, &z);
        for row in 0..R {
            simd.store(re.get_mut(row, column), x_re[row]);
            simd.store(im.get_mut(row, column), x_im[row]);
        }
        ahead.after(simd, R);
    }
}

/// Goes up the whole tree and adds to scalars.
#[inline(always)]
pub(super) fn inverse_to<S: Simd, T: Scalar>(
    simd: S,
    data: &mut [f64],
    table: &[f64],
    acc: &mut [T],
    next_key: &[f64],
) {
    let (re, im) = data.split_at_mut(data.len() / 2);
    let schedule = Schedule::new(re.len().ilog2(), S::LANES, S::MAX_RADIX_LOG);
    let (re, im) = (S::chunks_mut(re), S::chunks_mut(im));
    let ahead = &mut Lines::over(next_key, re.len() * (schedule.passes().len() + 1));
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
        8 => last_pass::<S, _, 8, true>(simd, re, im, last, ahead),
        4 => last_pass::<S, _, 4, true>(simd, re, im, last, ahead),
        _ => last_pass::<S, _, 2, true>(simd, re, im, last, ahead),
    }
    for (pass, &radix_log) in schedule.passes().iter().enumerate().rev() {
        let (rest, twiddles) = table.split_at(table.len() - (1 << depth));
        if pass == 0 {
            by_radix!(
                S,
                radix_log,
                final_pass,
                (T, _),
                (simd, re, im, acc, twiddles, ahead)
            );
        } else {
            by_radix!(
                S,
                radix_log,
                inverse_pass,
                (_),
                (simd, re, im, twiddles, ahead)
            );
        }
        table = rest;
        depth -= radix_log;
    }
}

#[inline(always)]
fn final_pass<S: Simd, T: Scalar, A: Ahead, const R: usize>(
    simd: S,
    re: &[S::Chunk],
    im: &[S::Chunk],
    acc: &mut [T],
    twiddles: &[f64],
    ahead: &mut A,
) {
    by_lanes!(
        S,
        final_pass_lanes,
        (T, A, R),
        (simd, re, im, acc, twiddles, ahead)
    );
}

#[inline(always)]
fn final_pass_lanes<S: Simd, T: Scalar, A: Ahead, const R: usize, const L: usize>(
    simd: S,
    re: &[S::Chunk],
    im: &[S::Chunk],
    acc: &mut [T],
    twiddles: &[f64],
    ahead: &mut A,
) {
    let (low, high) = acc.split_at_mut(acc.len() / 2);
    let mut low = Rows::<[T; L], R>::new(low.as_chunks_mut().0);
    let mut high = Rows::<[T; L], R>::new(high.as_chunks_mut().0);
    let re = RowsRef::<_, R>::new(re);
    let im = RowsRef::<_, R>::new(im);
    let z = broadcast::<S, R>(simd, twiddles);
    for column in 0..re.columns() {
        let mut x_re = [simd.splat(0.0); R];
        let mut x_im = [simd.splat(0.0); R];
        for row in 0..R {
            x_re[row] = simd.load(re.get(row, column));
            x_im[row] = simd.load(im.get(row, column));
        }
        join(simd, &mut x_re, &mut x_im, &z);
        for row in 0..R {
            T::add_turns(simd, low.get_mut(row, column), x_re[row]);
            T::add_turns(simd, high.get_mut(row, column), x_im[row]);
        }
        ahead.after(simd, R);
    }
}
