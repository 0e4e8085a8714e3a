//! Weighted sums of neighbours: the same as sums of extracted ciphertexts.

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_upload::linear::add_range;

const SIZE: usize = 256;

fn random_words(count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        state ^ state >> 29
    };
    (0..count).map(|_| next()).collect()
}

/// Ranges of all lengths, the empty ones and the whole polynomial too, for one mask polynomial and for
/// three.
#[test]
fn the_sum_of_a_range_is_that_of_its_extractions() {
    let size = PolynomialSize::new(SIZE).unwrap();
    for masks in [1, 3] {
        let words = random_words((masks + 1) * SIZE, 1);
        let glwe = GlweCiphertext::from_vec(words, size).unwrap();
        let begin = random_words(masks * SIZE + 1, 2);
        for start in (0..=SIZE).step_by(17) {
            for end in (start..=SIZE).rev().step_by(15).chain([start]) {
                let weight = [1, -3, 0, i64::MIN + 5][(start + end) % 4];
                let mut expected = begin.clone();
                for degree in start..end {
                    let extracted = glwe.sample_extract(degree);
                    for (sum, &term) in expected.iter_mut().zip(extracted.as_slice()) {
                        *sum = sum.wrapping_add(term.wrapping_mul(weight as u64));
                    }
                }
                let mut found = LweCiphertext::from_vec(begin.clone()).unwrap();
                add_range(&glwe, start..end, weight, &mut found);
                assert_eq!(found.as_slice(), expected, "{start}..{end} x {weight}");
            }
        }
    }
}
