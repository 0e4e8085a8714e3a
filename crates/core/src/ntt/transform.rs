//! The transform and its inverse, in place, two layers in a pass.
//!
//! A pass processes the polynomial in blocks of four quarters of constant size, four coefficients at
//! a time, so that a processor with few registers reaches all quarters from one pointer.

use super::modular::{forward_butterfly, inverse_butterfly, reduce};
use super::prime::montgomery_mul;
use super::twiddles::{Twiddles, twiddle};

/// Evaluates the polynomial at all roots of `X^N + 1`, in the order of the tree.
///
/// Coefficients are at most 2^15; values are then below 7.9 P. Every layer adds at most
/// `P/2` and a 31st of what is there, so 13 layers fit into an `i32`; longer transforms
/// reduce before the last 12.
pub(super) fn forward(polynomial: &mut [i32]) {
    let size = polynomial.len();
    if size.ilog2() % 2 == 1 {
        forward_halves(polynomial);
    }
    forward_pass::<4096>(polynomial);
    forward_pass::<1024>(polynomial);
    if size > 8192 {
        for value in polynomial.iter_mut() {
            *value = reduce(*value);
        }
    }
    forward_pass::<256>(polynomial);
    forward_pass::<64>(polynomial);
    forward_pass::<16>(polynomial);
    forward_pass::<4>(polynomial);
    forward_pass::<1>(polynomial);
    forward_last(polynomial);
}

/// Interpolates: the result is `N` times the inverse of [`forward`].
///
/// Values are at most 1.2 P, coefficients then at most 4.8 P. Two layers take values up
/// to `B` to at most `P + B/8`, but for the first quarter, which would be up to `4 B` and
/// is reduced.
pub(super) fn inverse(values: &mut [i32]) {
    let size = values.len();
    inverse_first(values);
    inverse_pass::<1>(values);
    inverse_pass::<4>(values);
    inverse_pass::<16>(values);
    inverse_pass::<64>(values);
    inverse_pass::<256>(values);
    inverse_pass::<1024>(values);
    inverse_pass::<4096>(values);
    if size.ilog2() % 2 == 1 {
        inverse_halves(values);
    }
}

/// Computes the layer at the root.
fn forward_halves(polynomial: &mut [i32]) {
    let z = twiddle(1);
    let (low, high) = polynomial.split_at_mut(polynomial.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        let product = montgomery_mul(*high, z);
        (*low, *high) = (*low + product, *low - product);
    }
}

/// Computes the two layers that begin with remainders of `16 Q` coefficients, if there are any.
fn forward_pass<const Q: usize>(polynomial: &mut [i32]) {
    let blocks = blocks::<Q>(polynomial);
    for (node, [x0, x1, x2, x3]) in (blocks.len()..).zip(blocks) {
        let z = Twiddles::at(node);
        for j in 0..Q {
            for i in 0..4 {
                let x = [x0[j][i], x1[j][i], x2[j][i], x3[j][i]];
                [x0[j][i], x1[j][i], x2[j][i], x3[j][i]] = forward_butterfly(x, &z);
            }
        }
    }
}

/// Computes the last two layers.
fn forward_last(polynomial: &mut [i32]) {
    let blocks = polynomial.as_chunks_mut().0;
    for (node, x) in (blocks.len()..).zip(blocks) {
        *x = forward_butterfly(*x, &Twiddles::at(node));
    }
}

fn inverse_halves(values: &mut [i32]) {
    let z = twiddle(1);
    let (low, high) = values.split_at_mut(values.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        (*low, *high) = (*low + *high, montgomery_mul(*high - *low, z));
    }
}

fn inverse_pass<const Q: usize>(values: &mut [i32]) {
    let blocks = blocks::<Q>(values);
    let nodes = blocks.len()..2 * blocks.len();
    for (mirror, [x0, x1, x2, x3]) in nodes.rev().zip(blocks) {
        let z = Twiddles::inverse(mirror);
        for j in 0..Q {
            for i in 0..4 {
                let x = [x0[j][i], x1[j][i], x2[j][i], x3[j][i]];
                [x0[j][i], x1[j][i], x2[j][i], x3[j][i]] = inverse_butterfly(x, &z);
            }
        }
    }
}

/// Computes the first two layers of the inverse.
fn inverse_first(values: &mut [i32]) {
    let blocks = values.as_chunks_mut().0;
    let nodes = blocks.len()..2 * blocks.len();
    for (mirror, x) in nodes.rev().zip(blocks) {
        *x = inverse_butterfly(*x, &Twiddles::inverse(mirror));
    }
}

/// Returns blocks of four quarters of `Q` times four coefficients.
#[inline(always)]
fn blocks<const Q: usize>(polynomial: &mut [i32]) -> &mut [[[[i32; 4]; Q]; 4]] {
    let fours = polynomial.as_chunks_mut().0;
    fours.as_chunks_mut().0.as_chunks_mut().0
}
