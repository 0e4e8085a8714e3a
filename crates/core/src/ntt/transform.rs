//! The transform and its inverse, in place.

use super::modular::{montgomery_mul, reduce};
use super::twiddles::{mirror, twiddle};

/// Evaluates the polynomial at all roots of `X^N + 1`, in the order of the tree.
///
/// Coefficients are at most 2^15; values are then below 8 p. Every layer adds at most
/// `p/2` and a 31st of what is there, so 13 layers fit into an `i32`; longer transforms
/// reduce before the last 12.
pub(super) fn forward(polynomial: &mut [i32]) {
    let size = polynomial.len();
    let mut len = size;
    if size.ilog2() % 2 == 1 {
        forward_halves(polynomial, twiddle(1));
        len /= 2;
    }
    while len >= 4 {
        if len == 4096 && size > 8192 {
            for value in polynomial.iter_mut() {
                *value = reduce(*value);
            }
        }
        for (node, block) in (size / len..).zip(polynomial.chunks_exact_mut(len)) {
            forward_quarters(block, node);
        }
        len /= 4;
    }
}

/// One layer: the node that splits `block` into halves.
fn forward_halves(block: &mut [i32], z: i32) {
    let (low, high) = block.split_at_mut(block.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        let product = montgomery_mul(*high, z);
        (*low, *high) = (*low + product, *low - product);
    }
}

/// Two layers: `node`, which splits `block` into halves, and its children.
fn forward_quarters(block: &mut [i32], node: usize) {
    let (z, z0, z1) = (twiddle(node), twiddle(2 * node), twiddle(2 * node + 1));
    for [x0, x1, x2, x3] in quarters(block) {
        let (t2, t3) = (montgomery_mul(*x2, z), montgomery_mul(*x3, z));
        let (a0, a1, a2, a3) = (*x0 + t2, *x1 + t3, *x0 - t2, *x1 - t3);
        let (u1, u3) = (montgomery_mul(a1, z0), montgomery_mul(a3, z1));
        (*x0, *x1, *x2, *x3) = (a0 + u1, a0 - u1, a2 + u3, a2 - u3);
    }
}

/// Interpolates: `N` times the inverse of [`forward`].
///
/// Values are at most 1.1 p, coefficients then at most 4.6 p. Two layers take values up
/// to `B` to at most `max(p/2, p + B/8, p/2 + B/8)`, except the first quarter, which
/// would be four times `B` and is reduced.
pub(super) fn inverse(values: &mut [i32]) {
    let size = values.len();
    let mut len = 4;
    while len <= size {
        for (node, block) in (size / len..).zip(values.chunks_exact_mut(len)) {
            inverse_quarters(block, node);
        }
        len *= 4;
    }
    if len == 2 * size {
        inverse_halves(values, twiddle(1));
    }
}

fn inverse_halves(block: &mut [i32], z: i32) {
    let (low, high) = block.split_at_mut(block.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        (*low, *high) = (*low + *high, montgomery_mul(*high - *low, z));
    }
}

fn inverse_quarters(block: &mut [i32], node: usize) {
    let node = mirror(node);
    let (z, z0, z1) = (twiddle(node), twiddle(2 * node + 1), twiddle(2 * node));
    for [x0, x1, x2, x3] in quarters(block) {
        let (s0, d0) = (*x0 + *x1, montgomery_mul(*x1 - *x0, z0));
        let (s1, d1) = (*x2 + *x3, montgomery_mul(*x3 - *x2, z1));
        (*x0, *x1) = (reduce(s0 + s1), d0 + d1);
        (*x2, *x3) = (montgomery_mul(s1 - s0, z), montgomery_mul(d1 - d0, z));
    }
}

/// The elements at equal places of the four quarters of a block.
#[inline(always)]
fn quarters(block: &mut [i32]) -> impl Iterator<Item = [&mut i32; 4]> {
    let (low, high) = block.split_at_mut(block.len() / 2);
    let (q0, q1) = low.split_at_mut(low.len() / 2);
    let (q2, q3) = high.split_at_mut(high.len() / 2);
    (q0.iter_mut().zip(q1))
        .zip(q2.iter_mut().zip(q3))
        .map(|((x0, x1), (x2, x3))| [x0, x1, x2, x3])
}
