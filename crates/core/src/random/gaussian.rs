//! Gaussian noise by the method of Box and Muller ("A note on the generation of
//! random normal deviates", 1958) without branches, tables or libm.
//!
//! Noise of up to [`SINGLE_LIMIT`] steps of q is made in single precision, which has twice as many
//! lanes and is computed in hardware on small boards; wider noise is made in double precision.

pub(super) mod double;
pub(super) mod single;

use super::expander::Expander;
use crate::simd::{Isa, TorusSliceMut};
use crate::torus::{Torus, exp2_neg};

/// The largest standard deviation, in steps of q, of the single-precision method:
/// its error, 2^-19.5 of a variate, stays below a tenth of a step at one standard
/// deviation, and every integer that it may draw has fewer than the 24 bits of a single.
const SINGLE_LIMIT: f64 = 65_536.0;

/// Adds `round(standard_deviation * q * z)` to every element, where `z` is standard normal. `words` is memory for the method of single
/// precision, of any length.
pub(super) fn add<T: Torus>(
    isa: Isa,
    standard_deviation: f64,
    expander: &mut impl Expander,
    values: &mut [T],
    words: &mut [T],
) {
    let scale = standard_deviation / exp2_neg(T::BITS);
    if scale <= SINGLE_LIMIT {
        let words = match TorusSliceMut::new(words) {
            TorusSliceMut::U32(words) => words,
            TorusSliceMut::U64(_) => &mut [],
        };
        single::add(isa, scale as f32, expander, values, words);
    } else {
        double::add(isa, scale, expander, values);
    }
}
