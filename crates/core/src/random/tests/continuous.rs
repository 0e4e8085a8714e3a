//! The Gaussian: the double-precision kernel against the standard library's
//! functions, and the distribution of both kernels against the normal law.

use super::gaussian::double::normal_pair;
use super::normal::{check_moments, check_shape, check_tails, upper_tail};
use super::*;
use crate::torus::Torus;

pub(super) fn gaussian<T: Torus>(
    expander: &mut impl Expander,
    standard_deviation: f64,
    len: usize,
) -> Vec<i64> {
    let mut values = vec![T::ZERO; len];
    add_noise(
        NoiseDistribution::Gaussian { standard_deviation },
        expander,
        &mut values,
    );
    values.into_iter().map(T::to_i64).collect()
}

/// `len` standard normal variates, made in single precision, with 14 bits behind the
/// point.
fn single_normals(kind: ExpanderKind, number: u32, len: usize) -> Vec<f64> {
    gaussian::<u32>(&mut stream(kind, number), 2f64.powi(-18), len)
        .into_iter()
        .map(|x| x as f64 * 2f64.powi(-14))
        .collect()
}

/// `len` standard normal variates, made in double precision, with 40 bits behind the
/// point.
fn normals(kind: ExpanderKind, number: u32, len: usize) -> Vec<f64> {
    gaussian::<u64>(&mut stream(kind, number), 2f64.powi(-24), len)
        .into_iter()
        .map(|x| x as f64 * 2f64.powi(-40))
        .collect()
}

/// The values are those that a reader in Python (`mpmath`, 50 digits) gave from the documentation
/// of [`add_noise`].
#[test]
fn golden_values_of_an_independent_reader() {
    let open = || stream(ExpanderKind::ChaCha20, 7);
    assert_eq!(
        gaussian::<u64>(&mut open(), 2f64.powi(-25), 8),
        [
            -145702352860,
            73374791113,
            -425273700688,
            -593444663447,
            407707738372,
            -69496934644,
            476898711436,
            -362749402895
        ]
    );
}

/// The bits of variates on any platform: a sum over many words that only exact
/// IEEE arithmetic in the documented order gives.
#[test]
fn the_bits_are_pinned() {
    let digest = read(&mut stream(ExpanderKind::ChaCha20, 8), 1 << 18)
        .chunks_exact(16)
        .flat_map(|pair| {
            let word = |half: &[u8]| u64::from_le_bytes(half.try_into().unwrap());
            normal_pair(word(&pair[..8]), word(&pair[8..]))
        })
        .fold(0u64, |sum, x| {
            sum.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ x.to_bits()
        });
    assert_eq!(digest, PINNED, "{digest:#x}");
}

const PINNED: u64 = 0x7110_9715_8362_b472;

#[test]
fn a_variate_is_accurate_to_2_to_the_minus_40() {
    let mut words: Vec<u64> = (0..64)
        .flat_map(|i| [1 << i, !(1 << i), (1 << i) - 1, !0 << i])
        .collect();
    words.extend((1..2000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let mut worst = 0f64;
    for &radius_word in &words {
        // As the kernel, a function of the fraction as a double.
        let fraction = (radius_word as f64 + 0.5) * 2f64.powi(-64);
        let radius = (-2.0 * fraction.ln()).sqrt();
        for &angle_word in words.iter().step_by(3).chain(&[radius_word]) {
            let m = (angle_word >> 11) & ((1 << 51) - 1);
            let turn = (2 * m + 1) as f64 * 2f64.powi(-52) - 0.5;
            let (sine, cosine) = (turn * core::f64::consts::FRAC_PI_2).sin_cos();
            let cosine = if angle_word >> 63 == 1 {
                -cosine
            } else {
                cosine
            };
            let mut expected = [radius * cosine, radius * sine];
            if (angle_word >> 62) & 1 == 1 {
                expected.swap(0, 1);
            }
            for (seen, expected) in normal_pair(radius_word, angle_word)
                .into_iter()
                .zip(expected)
            {
                if expected != 0.0 {
                    worst = worst.max(((seen - expected) / expected).abs());
                } else {
                    assert!(seen.abs() < 1e-29);
                }
            }
        }
    }
    assert!(worst < 2f64.powi(-40), "2^{}", worst.log2());
}

#[test]
fn the_tail_reaches_nine_standard_deviations() {
    let [x, y] = normal_pair(0, 0x1fff_ffff_ffff_ffff);
    within("radius", x.hypot(y), (130f64 * 2f64.ln()).sqrt(), 1e-9).unwrap();
    let [x, y] = normal_pair(u64::MAX, 0);
    assert!(x.hypot(y) < 1e-7);
}

#[test]
#[ignore = "a quarter of a minute of statistics"]
fn moments_tails_and_shape() {
    for kind in ExpanderKind::ALL {
        for normals in [normals, single_normals] {
            let sample = normals(kind, 20, 1 << 20);
            check_shape(sample).unwrap();
            let sample = normals(kind, 21, 1 << 24);
            check_moments(&sample).unwrap();
            check_tails(&sample).unwrap();
        }
    }
}

#[test]
fn neighbours_are_independent() {
    // The variates of a pair are neighbours in double precision, and 128 places apart in single
    // precision.
    check_independence(&normals(ExpanderKind::ChaCha20, 22, 1 << 20), 1).unwrap();
    check_independence(&single_normals(ExpanderKind::ChaCha20, 22, 1 << 20), 128).unwrap();
}

fn check_independence(sample: &[f64], apart: usize) -> Result<(), String> {
    let bound = 5.0 / (sample.len() as f64).sqrt();
    let mean = |f: &dyn Fn(usize) -> f64, len: usize| (0..len).map(f).sum::<f64>() / len as f64;
    for lag in [
        1, 2, 3, 4, 8, 16, 32, 63, 64, 65, 112, 127, 128, 129, 240, 256, 1024,
    ] {
        let len = sample.len() - lag;
        let product = mean(&|i| sample[i] * sample[i + lag], len);
        within("correlation", product, 0.0, bound)?;
        // The two halves of a pair share their radius: squares tell.
        let squares = mean(
            &|i| (sample[i].powi(2) - 1.0) * (sample[i + lag].powi(2) - 1.0),
            len,
        );
        within("correlation of squares", squares, 0.0, 2.0 * bound)?;
    }
    // Quadrants and octants of the plane of a pair.
    let mut counts = [0; 64];
    for block in sample.chunks_exact(2 * apart) {
        let (first, second) = block.split_at(apart);
        for (x, y) in first.iter().zip(second) {
            let turn = y.atan2(*x) / core::f64::consts::TAU + 0.5;
            counts[(turn * 64.0) as usize & 63] += 1;
        }
    }
    chi_square(&counts, &[sample.len() as f64 / 128.0; 64])
}

#[test]
fn the_checks_notice_a_broken_generator() {
    let good = normals(ExpanderKind::ChaCha20, 20, 1 << 20);
    for factor in [0.98, 1.02] {
        let scaled: Vec<f64> = good.iter().map(|x| x * factor).collect();
        assert!(check_moments(&scaled).is_err());
        assert!(check_shape(scaled).is_err());
    }
    // A sum of twelve uniform variates has the variance, not the tails.
    let mut words = vec![0u32; 12 << 20];
    fill_uniform(&mut stream(ExpanderKind::ChaCha20, 23), &mut words);
    let twelve = words.chunks(12).map(|w| {
        w.iter()
            .map(|x| f64::from(*x) * 2f64.powi(-32))
            .sum::<f64>()
            - 6.0
    });
    assert!(check_moments(&twelve.collect::<Vec<_>>()).is_err());
    let shifted: Vec<f64> = good.iter().map(|x| x + 0.01).collect();
    assert!(check_moments(&shifted).is_err());
    // A tail that ends early.
    let clipped: Vec<f64> = normals(ExpanderKind::ChaCha20, 21, 1 << 24)
        .into_iter()
        .map(|x| x.clamp(-3.9, 3.9))
        .collect();
    assert!(check_tails(&clipped).is_err());
}

#[test]
fn upper_tail_is_that_of_the_tables() {
    for (x, expected) in [
        (0.0, 0.5),
        (1.0, 0.158655253931457),
        (2.9, 1.86581330038404e-3),
        (3.1, 9.67603213218366e-4),
        (5.0, 2.86651571879194e-7),
        (-3.5, 0.999767370920964),
    ] {
        within("tail", upper_tail(x) / expected, 1.0, 1e-12).unwrap();
    }
}

#[test]
fn cuts_at_even_positions_do_not_matter() {
    for kind in ExpanderKind::ALL {
        let whole = gaussian::<u64>(&mut stream(kind, 4), 1e-6, 1001);
        for step in [2, 6, 126, 128, 130] {
            let mut expander = stream(kind, 4);
            let mut pieces = Vec::new();
            while pieces.len() < whole.len() {
                let len = step.min(whole.len() - pieces.len());
                pieces.extend(gaussian::<u64>(&mut expander, 1e-6, len));
            }
            assert_eq!(pieces, whole);
        }
    }
}

#[test]
fn the_scale_is_the_fraction_of_q() {
    for (exponent, len) in [(-60, 1 << 16), (-45, 1 << 16), (-5, 1 << 16)] {
        let sigma = 2f64.powi(exponent);
        let wide = gaussian::<u64>(&mut stream(ExpanderKind::ChaCha20, 30), sigma, len);
        let square = wide
            .iter()
            .map(|x| (*x as f64 * 2f64.powi(-64)).powi(2))
            .sum::<f64>()
            / len as f64;
        let expected = NoiseDistribution::Gaussian {
            standard_deviation: sigma,
        }
        .variance(64);
        // Rounding adds 1/12 of a step squared.
        let rounding = 2f64.powi(-128) / 12.0;
        within(
            "variance",
            square / (expected + rounding),
            1.0,
            5.0 * (2.0 / len as f64).sqrt(),
        )
        .unwrap();
    }
    // The same variates in steps of 2^-32.
    let narrow = gaussian::<u32>(&mut stream(ExpanderKind::ChaCha20, 31), 3e-5, 1000);
    let wide = gaussian::<u64>(&mut stream(ExpanderKind::ChaCha20, 31), 3e-5, 1000);
    for (narrow, wide) in narrow.iter().zip(wide) {
        assert_eq!(*narrow, (wide + (1 << 31)) >> 32);
    }
    // At half the torus the noise is all but uniform, and nothing overflows.
    let wrapped = gaussian::<u64>(&mut stream(ExpanderKind::ChaCha20, 32), 0.5, 1 << 16);
    let mut counts = [0; 16];
    wrapped
        .iter()
        .for_each(|x| counts[(*x as u64 >> 60) as usize] += 1);
    let expected: [f64; 16] = core::array::from_fn(|i| {
        let at = |edge: f64| {
            (-20..=20)
                .map(|k| upper_tail((edge / 16.0 + f64::from(k)) * 2.0))
                .sum::<f64>()
        };
        wrapped.len() as f64 * (at(i as f64) - at(i as f64 + 1.0))
    });
    chi_square(&counts, &expected).unwrap();
    assert!(
        gaussian::<u64>(&mut stream(ExpanderKind::ChaCha20, 0), 0.0, 99)
            .iter()
            .all(|x| *x == 0)
    );
}

#[test]
fn ranges_are_checked() {
    for standard_deviation in [-1e-9, 0.51, f64::NAN, f64::INFINITY] {
        let error = NoiseDistribution::Gaussian { standard_deviation }
            .validate(64)
            .unwrap_err();
        assert!(error.to_string().contains("between 0 and 1/2"));
    }
    for (bound_log2, torus_bits, fits) in [
        (30, 32, true),
        (31, 32, false),
        (62, 64, true),
        (63, 64, false),
        (u32::MAX, 64, false),
    ] {
        assert_eq!(
            NoiseDistribution::TUniform { bound_log2 }
                .validate(torus_bits)
                .is_ok(),
            fits
        );
    }
}

#[test]
#[should_panic(expected = "2^31 does not fit a torus of 32 bits")]
fn noise_out_of_range_panics() {
    add_noise(
        NoiseDistribution::TUniform { bound_log2: 31 },
        &mut stream(ExpanderKind::ChaCha20, 0),
        &mut [0u32],
    );
}
