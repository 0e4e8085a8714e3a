//! Weighted sums of consecutive coefficients, taken out of a GLWE ciphertext at the cost of one.
//!
//! Sample extraction is linear, so the extractions of consecutive coefficients can be added without
//! making them one by one. Let `e` be the negacyclic extension of a mask polynomial `a`: `e(x) = a[x]`
//! for `0 <= x < N`, and `e(x) = -a[N + x]` for `-N <= x < 0`. Mask scalar `j` of the extraction at
//! coefficient `i` is `e(i - j)` (see [`sample_extract`](GlweCiphertext::sample_extract)), so that of
//! the sum over a range is the sum of `e` over a window of the range's length, which moves by one from
//! `j` to `j + 1`. Moving it takes one addition and one subtraction.

use std::ops::Range;

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::torus::Torus;

/// Adds `weight` times the sum of the coefficients `range` of `ciphertext` to `out`, which is under the
/// flattened GLWE key. The result is that of adding [`sample_extract`](GlweCiphertext::sample_extract)
/// of every coefficient of the range, in a time that does not depend on the length of the range.
///
/// # Panics
/// If the range ends behind the last coefficient or before it begins, or `out` has another dimension
/// than an extracted ciphertext.
pub fn add_range<T: Torus>(
    ciphertext: &GlweCiphertext<T>,
    range: Range<usize>,
    weight: i64,
    out: &mut LweCiphertext<T>,
) {
    let size = ciphertext.polynomial_size().get();
    let (masks, body) = ciphertext
        .as_slice()
        .split_at(ciphertext.as_slice().len() - size);
    let out = out.as_mut_slice();
    assert_eq!(
        out.len(),
        masks.len() + 1,
        "a ciphertext of another dimension"
    );
    let sum = |terms: &[T]| terms.iter().fold(T::ZERO, |sum, &term| sum.add(term));
    let weight = T::from_i64(weight);
    let (out_masks, out_body) = out.split_at_mut(masks.len());
    out_body[0] = out_body[0].add(weight.mul(sum(&body[range.clone()])));
    let Range { start, end } = range;
    for (out, mask) in out_masks
        .chunks_exact_mut(size)
        .zip(masks.chunks_exact(size))
    {
        let mut window = sum(&mask[start..end]);
        // The window begins with e(start - j) and ends with e(end - 1 - j).
        let (before_start, rest) = out.split_at_mut(start);
        let (before_end, behind) = rest.split_at_mut(end - start);
        let mut add = |out: &mut T, entering: T, leaving: T| {
            *out = out.add(weight.mul(window));
            window = window.add(entering).sub(leaving);
        };
        // j < start: e(start - 1 - j) = mask[start - 1 - j] enters, mask[end - 1 - j] leaves.
        let leaving = mask[..end].iter().rev();
        for ((out, &entering), &leaving) in before_start
            .iter_mut()
            .zip(mask[..start].iter().rev())
            .zip(leaving)
        {
            add(out, entering, leaving);
        }
        // start <= j < end: -mask[N + start - 1 - j] enters, mask[end - 1 - j] leaves.
        let entering = mask.iter().rev();
        let leaving = mask[..end - start].iter().rev();
        for ((out, &entering), &leaving) in before_end.iter_mut().zip(entering).zip(leaving) {
            add(out, entering.neg(), leaving);
        }
        // end <= j: -mask[N + start - 1 - j] enters, -mask[N + end - 1 - j] leaves.
        let entering = mask[..size - (end - start)].iter().rev();
        let leaving = mask.iter().rev();
        for ((out, &entering), &leaving) in behind.iter_mut().zip(entering).zip(leaving) {
            add(out, entering.neg(), leaving.neg());
        }
    }
}
