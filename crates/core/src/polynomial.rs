//! Reference arithmetic of `Z_q[X]/(X^N + 1)`: slow and obvious, for testing every fast path
//! against it.

use crate::torus::Torus;

/// Adds `a · b mod X^N + 1` to `out`, by the definition, for an integer polynomial `b`.
///
/// # Panics
/// If the lengths differ.
pub fn reference_multiply_add<T: Torus>(out: &mut [T], a: &[T], b: &[i64]) {
    let size = out.len();
    assert!(
        a.len() == size && b.len() == size,
        "polynomials of different sizes"
    );
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let term = x.mul(T::from_i64(y));
            if i + j < size {
                out[i + j] = out[i + j].add(term);
            } else {
                out[i + j - size] = out[i + j - size].sub(term);
            }
        }
    }
}
