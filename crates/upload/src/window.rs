//! Sums of neighbouring coefficients of a GLWE ciphertext, without a bootstrap.
//!
//! The product of a ciphertext and `X^-i` has coefficient `i` at place 0 (negacyclic, as in sample
//! extraction: TFHE: Fast Fully Homomorphic Encryption over the Torus, section 4.2). The product with
//! `Σ X^-i` over a window of places therefore has the sum of the window at place 0, and of a window that
//! is one place long, the coefficients behind it at the places behind 0. Prefix sums give the product in
//! time that does not depend on the length of the window.

use std::ops::Range;

use tfhe_sbc_core::glwe::GlweCiphertext;

/// Adds `weight` times the product of `ciphertext` and `Σ X^-i`, for `i` in `window`, to `sum`, mod 2^64.
///
/// # Panics
/// If the ciphertexts have different sizes, or the window reaches beyond the polynomial.
pub fn add_window(
    sum: &mut GlweCiphertext<u64>,
    ciphertext: &GlweCiphertext<u64>,
    window: Range<usize>,
    weight: i64,
) {
    let size = ciphertext.polynomial_size().get();
    assert!(window.end <= size);
    assert_eq!(sum.as_slice().len(), ciphertext.as_slice().len());
    if window.is_empty() {
        return;
    }
    let weight = weight as u64;
    let polynomials = sum.as_mut_slice().chunks_exact_mut(size);
    let mut prefix = Vec::new();
    for (sum, polynomial) in polynomials.zip(ciphertext.as_slice().chunks_exact(size)) {
        if window.len() == 1 {
            let (before, from) = polynomial.split_at(window.start);
            let (low, high) = sum.split_at_mut(from.len());
            for (sum, &coefficient) in low.iter_mut().zip(from) {
                *sum = sum.wrapping_add(weight.wrapping_mul(coefficient));
            }
            for (sum, &coefficient) in high.iter_mut().zip(before) {
                *sum = sum.wrapping_sub(weight.wrapping_mul(coefficient));
            }
            continue;
        }
        // The sums of the first coefficients of the sequence that goes on with the negatives.
        prefix.clear();
        let mut total = 0u64;
        prefix.push(total);
        for &coefficient in polynomial {
            total = total.wrapping_add(coefficient);
            prefix.push(total);
        }
        for &coefficient in polynomial {
            total = total.wrapping_sub(coefficient);
            prefix.push(total);
        }
        for (at, sum) in sum.iter_mut().enumerate() {
            let of_window = prefix[at + window.end].wrapping_sub(prefix[at + window.start]);
            *sum = sum.wrapping_add(weight.wrapping_mul(of_window));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tfhe_sbc_core::dimensions::PolynomialSize;

    use super::*;

    fn ciphertext(words: &[u64]) -> GlweCiphertext<u64> {
        let size = PolynomialSize::new(words.len() / 3).unwrap();
        GlweCiphertext::from_vec(words.to_vec(), size).unwrap()
    }

    proptest! {
        /// The reference adds extracted ciphertexts.
        #[test]
        fn place_0_has_the_sum_of_the_window(
            words in proptest::collection::vec(any::<u64>(), 3 * 256),
            ends in (0usize..=256, 0usize..=256),
            weight in any::<i64>(),
        ) {
            let input = ciphertext(&words);
            let window = ends.0.min(ends.1)..ends.0.max(ends.1);
            let mut sum = ciphertext(&[0; 3 * 256]);
            add_window(&mut sum, &input, window.clone(), weight);
            let mut expected = sum.sample_extract(0);
            for at in window {
                let mut one = input.sample_extract(at);
                one.mul_assign(weight);
                expected.sub_assign(&one);
            }
            prop_assert!(expected.as_slice().iter().all(|&word| word == 0));
        }

        #[test]
        fn a_window_of_one_place_moves_what_is_behind_it_too(
            words in proptest::collection::vec(any::<u64>(), 3 * 256),
            start in 0usize..256,
        ) {
            let input = ciphertext(&words);
            let mut sum = ciphertext(&[0; 3 * 256]);
            add_window(&mut sum, &input, start..start + 1, 1);
            for at in start..256 {
                prop_assert_eq!(sum.sample_extract(at - start), input.sample_extract(at));
            }
        }
    }
}
