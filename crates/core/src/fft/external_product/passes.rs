//! The transforms of an external product: the first pass down reads digits of scalars, the last pass
//! up adds to scalars, and the passes in between are those of the plain transform.

use crate::fft::ends::{Add, Load, final_pass, first_pass};
use crate::fft::passes::{Schedule, forward_pass, inverse_pass, last_pass};
use crate::simd::{DigitPlace, Lines, Simd};

/// Reads a digit of a scalar.
pub(super) struct Digit(pub(super) DigitPlace);

/// Rounds fractions of the torus and adds them to scalars.
pub(super) struct Turns;

macro_rules! impl_ends {
    ($scalar:ty, $load:ident, $add:ident) => {
        impl Load<$scalar> for Digit {
            #[inline(always)]
            fn load<S: Simd>(&self, simd: S, input: &[$scalar]) -> S::F64 {
                simd.$load(input, self.0)
            }
        }

        impl Add<$scalar> for Turns {
            #[inline(always)]
            fn add<S: Simd>(&self, simd: S, acc: &mut [$scalar], turns: S::F64) {
                simd.$add(acc, turns);
            }
        }
    };
}

impl_ends!(u32, load_digit_u32, add_turns_u32);
impl_ends!(u64, load_digit_u64, add_turns_u64);

macro_rules! by_radix {
    ($S:ident, $radix_log:expr, $pass:ident, ($($generic:ty),*), ($($argument:expr),*)) => {
        match $radix_log {
            3 if $S::MAX_RADIX_LOG > 2 => $pass::<$S, $($generic,)* 8>($($argument),*),
            2 => $pass::<$S, $($generic,)* 4>($($argument),*),
            _ => $pass::<$S, $($generic,)* 2>($($argument),*),
        }
    };
}

/// Goes down the whole tree, from scalars.
#[inline(always)]
pub(super) fn forward_from<S: Simd, T>(
    simd: S,
    out: &mut [f64],
    table: &[f64],
    input: &[T],
    digit: &Digit,
    next_key: &[u8],
) where
    Digit: Load<T>,
{
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
                (T, _, _),
                (simd, input, re, im, twiddles, digit, ahead)
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

/// Goes up the whole tree and adds to scalars.
#[inline(always)]
pub(super) fn inverse_to<S: Simd, T>(
    simd: S,
    data: &mut [f64],
    table: &[f64],
    acc: &mut [T],
    next_key: &[u8],
) where
    Turns: Add<T>,
{
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
                (T, _, _),
                (simd, re, im, acc, twiddles, &Turns, ahead)
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
