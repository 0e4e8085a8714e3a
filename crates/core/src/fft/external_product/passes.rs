//! The transforms of an external product: the first pass down reads digits of coefficients, the last pass
//! up adds to coefficients, and the passes in between are those of the plain transform.

use crate::fft::ends::{Add, Load, final_pass, first_pass};
use crate::fft::passes::{Schedule, forward_pass, inverse_pass, last_pass};
use crate::simd::{Ahead, DigitPlace, Simd};
use crate::torus::exp2_neg;

/// Reads a digit of a scalar.
pub(super) struct Digit(pub(super) DigitPlace);

/// Reads a digit of a number of turns, which is the top one or not. The digit is that of the nearest number that the digits of its
/// level and those above can represent, less that of the digits above. These differences add up to the number as balanced digits do.
pub(super) struct TurnsDigit<const TOP: bool> {
    /// The number of units of the digit above in a turn, and its inverse.
    above: [f64; 2],
    /// The number of units of the digit in a turn.
    units: f64,
}

impl<const TOP: bool> TurnsDigit<TOP> {
    pub(super) fn new(place: DigitPlace) -> Self {
        let (above, with_it) = place.fraction_bits();
        let units = |bits| 1.0 / exp2_neg(bits);
        Self {
            above: [units(above), exp2_neg(above)],
            units: units(with_it),
        }
    }
}

impl<const TOP: bool> Load<f64> for TurnsDigit<TOP> {
    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, input: &[f64]) -> S::F64 {
        let [x] = S::chunks(input) else {
            unreachable!("one vector");
        };
        let mut x = simd.load(x);
        if !TOP {
            let [units, unit] = self.above.map(|x| simd.splat(x));
            x = simd.neg_mul_add(simd.round(simd.mul(x, units)), unit, x);
        }
        simd.round(simd.mul(x, simd.splat(self.units)))
    }
}

/// Adds numbers of turns to coefficients.
pub(super) struct Turns;

impl Add<f64> for Turns {
    #[inline(always)]
    fn add<S: Simd>(&self, simd: S, acc: &mut [f64], turns: S::F64) {
        let [acc] = S::chunks_mut(acc) else {
            unreachable!("one vector");
        };
        let sum = simd.add(simd.load(acc), turns);
        simd.store(acc, simd.sub(sum, simd.round(sum)));
    }
}

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

/// Goes down the whole tree, from coefficients. `ahead` makes what is informed of the progress, with the number of vectors.
#[inline(always)]
pub(super) fn forward_from<S: Simd, T, D: Load<T>, A: Ahead>(
    simd: S,
    out: &mut [f64],
    table: &[f64],
    input: &[T],
    digit: &D,
    ahead: impl FnOnce(usize) -> A,
) {
    let (re, im) = out.split_at_mut(out.len() / 2);
    let schedule = Schedule::new(re.len().ilog2(), S::LANES, S::MAX_RADIX_LOG);
    let (re, im) = (S::chunks_mut(re), S::chunks_mut(im));
    let ahead = &mut ahead(re.len() * (schedule.passes().len() + 1));
    let mut table = table;
    let mut depth = 0;
    for (pass, &radix_log) in schedule.passes().iter().enumerate() {
        let (twiddles, rest) = table.split_at(1 << (depth + radix_log));
        if pass == 0 {
            by_radix!(
                S,
                radix_log,
                first_pass,
                (T, _, A),
                (simd, input, re, im, twiddles, digit, ahead)
            );
        } else {
            by_radix!(
                S,
                radix_log,
                forward_pass,
                (A),
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

/// Goes up the whole tree and adds to coefficients. `ahead` is as for [`forward_from`].
#[inline(always)]
pub(super) fn inverse_to<S: Simd, T, A: Ahead>(
    simd: S,
    data: &mut [f64],
    table: &[f64],
    acc: &mut [T],
    ahead: impl FnOnce(usize) -> A,
) where
    Turns: Add<T>,
{
    let (re, im) = data.split_at_mut(data.len() / 2);
    let schedule = Schedule::new(re.len().ilog2(), S::LANES, S::MAX_RADIX_LOG);
    let (re, im) = (S::chunks_mut(re), S::chunks_mut(im));
    let ahead = &mut ahead(re.len() * (schedule.passes().len() + 1));
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
                (T, _, A),
                (simd, re, im, acc, twiddles, &Turns, ahead)
            );
        } else {
            by_radix!(
                S,
                radix_log,
                inverse_pass,
                (A),
                (simd, re, im, twiddles, ahead)
            );
        }
        table = rest;
        depth -= radix_log;
    }
}
