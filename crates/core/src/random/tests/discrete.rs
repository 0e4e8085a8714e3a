//! Uniform torus elements, bits and TUniform.

use super::*;
use crate::parameters::GlweSecret;
use crate::torus::Torus;
use crate::wire::bits::pack_secret;

#[test]
fn golden_values_of_an_independent_reader() {
    let open = || stream(ExpanderKind::ChaCha20, 7);
    let mut words = [0u32; 4];
    fill_uniform(&mut open(), &mut words);
    assert_eq!(words, [0x714e63d2, 0xf4f9348c, 0x9f7dd6dc, 0xb301f6c9]);

    let mut words = [0u64; 3];
    fill_uniform(&mut open(), &mut words);
    assert_eq!(
        words,
        [0xf4f9348c714e63d2, 0xb301f6c99f7dd6dc, 0x69fd7a9b7e5f302c]
    );

    let mut bits = [9; 20];
    fill_binary(&mut open(), &mut bits);
    assert_eq!(
        bits,
        [0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1]
    );

    assert_eq!(
        tuniform::<u32>(&mut open(), 8, 8),
        [233, -89, -186, -131, 110, 191, 101, 129]
    );
    assert_eq!(
        tuniform::<u32>(&mut open(), 17, 8),
        [78313, -91578, 60270, -66715, 104470, 48462, -871, -50262]
    );
    assert_eq!(
        tuniform::<u64>(&mut open(), 46, 4),
        [
            -41479843663383,
            65304168164206,
            -2964614834154,
            -4766702371687
        ]
    );
}

fn tuniform<T: Torus>(expander: &mut impl Expander, bound_log2: u32, len: usize) -> Vec<i64> {
    let mut values = vec![T::ZERO; len];
    add_noise(
        NoiseDistribution::TUniform { bound_log2 },
        expander,
        &mut values,
    );
    values.into_iter().map(T::to_i64).collect()
}

#[test]
fn uniform_elements_do_not_depend_on_chunks() {
    fn check<T: Torus>() {
        for kind in ExpanderKind::ALL {
            let mut whole = vec![T::ZERO; 3000];
            fill_uniform(&mut stream(kind, 1), &mut whole);
            for step in [1, 7, 255, 256, 257] {
                let mut pieces = vec![T::ONE; 3000];
                let mut expander = stream(kind, 1);
                pieces
                    .chunks_mut(step)
                    .for_each(|piece| fill_uniform(&mut expander, piece));
                assert!(pieces == whole);
            }
            let mut sums = whole.clone();
            let mut expander = stream(kind, 1);
            for piece in sums.chunks_mut(701) {
                add_uniform(&mut expander, piece);
            }
            assert!(sums.iter().zip(&whole).all(|(&sum, &x)| sum == x.add(x)));
        }
    }
    check::<u32>();
    check::<u64>();
}

#[test]
fn bits_consume_the_bytes_that_they_need() {
    let bytes = read(&mut stream(ExpanderKind::ChaCha20, 2), 400);
    let mut expander = stream(ExpanderKind::ChaCha20, 2);
    let mut at = 0;
    for len in [0, 1, 8, 9, 100, 1024, 1025] {
        let mut bits = vec![7; len];
        fill_binary(&mut expander, &mut bits);
        for (i, bit) in bits.iter().enumerate() {
            assert_eq!(*bit, (bytes[at + i / 8] >> (i % 8)) & 1);
        }
        at += len.div_ceil(8);
    }
}

#[test]
fn bytes_bits_and_words_are_uniform() {
    const LEN: usize = 1 << 22;
    for kind in ExpanderKind::ALL {
        let mut words = vec![0u32; LEN / 4];
        fill_uniform(&mut stream(kind, 10), &mut words);
        // Each byte of a word on its own, and neighbouring nibbles as pairs.
        for byte in 0..4 {
            let mut counts = [0; 256];
            words
                .iter()
                .for_each(|word| counts[(word >> (8 * byte)) as usize & 255] += 1);
            chi_square(&counts, &[words.len() as f64 / 256.0; 256]).unwrap();
        }
        let mut counts = vec![0; 1 << 12];
        words
            .windows(2)
            .for_each(|w| counts[((w[0] >> 26 << 6) | w[1] >> 26) as usize] += 1);
        chi_square(&counts, &vec![(words.len() - 1) as f64 / 4096.0; 4096]).unwrap();
        // 2^20 words of 32 bits: 128 pairs fall together.
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        within("coincidences", (all - words.len()) as f64, 128.0, 60.0).unwrap();

        let mut bits = vec![0u8; 1 << 20];
        fill_binary(&mut stream(kind, 11), &mut bits);
        let mut runs = [0; 256];
        for octet in bits.chunks(8) {
            runs[octet.iter().fold(0, |sum, bit| 2 * sum + usize::from(*bit))] += 1;
        }
        chi_square(&runs, &[(bits.len() / 8) as f64 / 256.0; 256]).unwrap();
    }
}

#[test]
fn ternary_coefficients_are_thirds_of_their_words() {
    // Not a multiple of the buffer.
    let mut words = vec![0u64; 300];
    fill_uniform(&mut stream(ExpanderKind::ChaCha20, 12), &mut words);
    let mut coefficients = vec![7i8; 300];
    fill_ternary(&mut stream(ExpanderKind::ChaCha20, 12), &mut coefficients);
    for (word, &coefficient) in words.iter().zip(&coefficients) {
        let third = (u128::from(*word) * 3) >> 64;
        assert_eq!(i128::from(coefficient), third as i128 - 1);
    }
    // Packed as key files are, and those of a binary key as the stream is.
    let mut packed = vec![0; 300 / 4];
    let mut open = stream(ExpanderKind::ChaCha20, 12);
    fill_packed_secret(GlweSecret::Ternary, &mut open, &mut packed);
    let mut expected = packed.clone();
    pack_secret(GlweSecret::Ternary, &coefficients, &mut expected);
    assert_eq!(packed, expected);
    let mut open = stream(ExpanderKind::ChaCha20, 12);
    fill_packed_secret(GlweSecret::Binary, &mut open, &mut packed);
    assert_eq!(packed, read(&mut stream(ExpanderKind::ChaCha20, 12), 75));
}

#[test]
fn ternary_coefficients_are_uniform() {
    for kind in ExpanderKind::ALL {
        let mut coefficients = vec![0i8; 1 << 20];
        fill_secret(
            GlweSecret::Ternary,
            &mut stream(kind, 13),
            &mut coefficients,
        );
        // In threes, so that neighbours are independent.
        let mut counts = [0; 27];
        for three in coefficients.chunks_exact(3) {
            counts[three.iter().fold(0, |at, &s| 3 * at + (s + 1) as usize)] += 1;
        }
        chi_square(&counts, &[(coefficients.len() / 3) as f64 / 27.0; 27]).unwrap();
    }
}

/// Every value of `r` once: the masses are exact.
#[test]
fn tuniform_of_every_word_has_the_exact_masses() {
    for bound_log2 in 0..=14 {
        let bound = 1i64 << bound_log2;
        // Above the low bits anything may stand.
        let start = (0xb000_u32 << (bound_log2 + 2)) as u16;
        let drawn = tuniform::<u32>(&mut Counter(start), bound_log2, 4 << bound_log2);
        let mut counts = std::collections::BTreeMap::new();
        for &value in &drawn {
            *counts.entry(value).or_insert(0) += 1;
        }
        assert!(counts.keys().all(|value| value.abs() <= bound));
        for value in -bound..=bound {
            assert_eq!(
                counts[&value],
                if value.abs() == bound { 1 } else { 2 },
                "b={bound_log2}"
            );
        }
        let variance = drawn.iter().map(|x| (x * x) as f64).sum::<f64>() / drawn.len() as f64;
        let claimed = NoiseDistribution::TUniform { bound_log2 }.variance(32) * 2f64.powi(64);
        assert_eq!(variance, claimed);
    }
}

#[test]
fn tuniform_frequencies_and_moments() {
    const LEN: usize = 1 << 20;
    for kind in ExpanderKind::ALL {
        for bound_log2 in [0, 1, 3, 6] {
            let bound = 1i64 << bound_log2;
            let mut counts = vec![0; 2 * bound as usize + 1];
            for value in tuniform::<u32>(&mut stream(kind, bound_log2), bound_log2, LEN) {
                counts[(value + bound) as usize] += 1;
            }
            let mut expected = vec![LEN as f64 / (2 * bound) as f64; counts.len()];
            expected[0] /= 2.0;
            *expected.last_mut().unwrap() /= 2.0;
            chi_square(&counts, &expected).unwrap();
        }
        // All word widths, up to the largest bound.
        for bound_log2 in [14, 15, 30, 31, 46, 62] {
            let drawn = tuniform::<u64>(&mut stream(kind, bound_log2), bound_log2, LEN);
            let bound = 2f64.powi(bound_log2 as i32);
            let unit: Vec<f64> = drawn.iter().map(|x| *x as f64 / bound).collect();
            let mean = unit.iter().sum::<f64>() / LEN as f64;
            let square = unit.iter().map(|x| x * x).sum::<f64>() / LEN as f64;
            let deviation = (LEN as f64).sqrt().recip();
            within("mean", mean, 0.0, 5.0 * deviation / 3f64.sqrt()).unwrap();
            within(
                "variance",
                square,
                1.0 / 3.0,
                5.0 * deviation * (4f64 / 45.0).sqrt(),
            )
            .unwrap();
            assert!(unit.iter().all(|x| x.abs() <= 1.0));
        }
    }
}

#[test]
fn noise_is_added_mod_q() {
    let noise = NoiseDistribution::TUniform { bound_log2: 10 };
    let mut from_zero = [0u32; 100];
    add_noise(
        noise,
        &mut stream(ExpanderKind::ChaCha20, 0),
        &mut from_zero,
    );
    let mut from_top = [u32::MAX; 100];
    add_noise(noise, &mut stream(ExpanderKind::ChaCha20, 0), &mut from_top);
    for (zero, top) in from_zero.iter().zip(from_top) {
        assert_eq!(zero.wrapping_sub(1), top);
    }
}
