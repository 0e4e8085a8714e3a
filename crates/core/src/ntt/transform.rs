//! The transform and its inverse, in place, two layers in a pass.
//!
//! A pass sees the polynomial as blocks of four quarters of `H` coefficients. `H` is a
//! constant, so that a processor with few registers reaches all four from one pointer.

use super::modular::{forward_butterfly, inverse_butterfly, montgomery_mul, reduce};
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
    forward_pass::<16384>(polynomial);
    forward_pass::<4096>(polynomial);
    if size > 8192 {
        for value in polynomial.iter_mut() {
            *value = reduce(*value);
        }
    }
    forward_pass::<1024>(polynomial);
    forward_pass::<256>(polynomial);
    forward_pass::<64>(polynomial);
    forward_pass::<16>(polynomial);
    forward_pass::<4>(polynomial);
    forward_pass::<1>(polynomial);
}

/// Interpolates: `N` times the inverse of [`forward`].
///
/// Values are at most 1.2 P, coefficients then at most 4.8 P. Two layers take values up
/// to `B` to at most `P + B/8`, but for the first quarter, which would be up to `4 B` and
/// is reduced.
pub(super) fn inverse(values: &mut [i32]) {
    let size = values.len();
    inverse_pass::<1>(values);
    inverse_pass::<4>(values);
    inverse_pass::<16>(values);
    inverse_pass::<64>(values);
    inverse_pass::<256>(values);
    inverse_pass::<1024>(values);
    inverse_pass::<4096>(values);
    inverse_pass::<16384>(values);
    if size.ilog2() % 2 == 1 {
        inverse_halves(values);
    }
}

/// The layer at the root.
fn forward_halves(polynomial: &mut [i32]) {
    let z = twiddle(1);
    let (low, high) = polynomial.split_at_mut(polynomial.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        let product = montgomery_mul(*high, z);
        (*low, *high) = (*low + product, *low - product);
    }
}

/// The two layers that begin with remainders of `4 H` coefficients, if there are any.
fn forward_pass<const H: usize>(polynomial: &mut [i32]) {
    let first = polynomial.len() / (4 * H);
    let quarters = polynomial.as_chunks_mut::<H>().0;
    for (block, node) in quarters.as_chunks_mut().0.iter_mut().zip(first..) {
        forward_block(block, &Twiddles::forward(node));
    }
}

#[inline(always)]
fn forward_block<const H: usize>([x0, x1, x2, x3]: &mut [[i32; H]; 4], z: &Twiddles) {
    for j in 0..H {
        let x = [x0[j], x1[j], x2[j], x3[j]];
        [x0[j], x1[j], x2[j], x3[j]] = forward_butterfly(x, z);
    }
}

fn inverse_halves(values: &mut [i32]) {
    let z = twiddle(1);
    let (low, high) = values.split_at_mut(values.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        (*low, *high) = (*low + *high, montgomery_mul(*high - *low, z));
    }
}

fn inverse_pass<const H: usize>(values: &mut [i32]) {
    let first = values.len() / (4 * H);
    let quarters = values.as_chunks_mut::<H>().0;
    for (block, node) in quarters.as_chunks_mut().0.iter_mut().zip(first..) {
        inverse_block(block, &Twiddles::inverse(node));
    }
}

#[inline(always)]
fn inverse_block<const H: usize>([x0, x1, x2, x3]: &mut [[i32; H]; 4], z: &Twiddles) {
    for j in 0..H {
        let x = [x0[j], x1[j], x2[j], x3[j]];
        [x0[j], x1[j], x2[j], x3[j]] = inverse_butterfly(x, z);
    }
}
