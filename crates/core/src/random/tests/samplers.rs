//! Every sampler with every expander: the moments, tight enough for a standard deviation
//! that is wrong by 2 %.

use super::normal::check_moments;
use super::*;

/// Standard normal variates with 40 bits behind the point.
fn normals(expander: &mut AnyExpander, len: usize) -> Vec<f64> {
    let standard_deviation = 2f64.powi(-24);
    let mut values = vec![0u64; len];
    add_noise(
        NoiseDistribution::Gaussian { standard_deviation },
        expander,
        &mut values,
    );
    values
        .into_iter()
        .map(|x| x as i64 as f64 * 2f64.powi(-40))
        .collect()
}

#[test]
fn the_gaussian_has_the_moments_with_every_expander() {
    for kind in ExpanderKind::ALL {
        let sample = normals(&mut stream(kind, 40), 1 << 18);
        check_moments(&sample).unwrap_or_else(|error| panic!("{kind}: {error}"));
        // The same sample is refused if its scale is off by 2 %.
        for factor in [0.98, 1.02] {
            let scaled: Vec<f64> = sample.iter().map(|x| x * factor).collect();
            assert!(check_moments(&scaled).is_err(), "{kind}");
        }
    }
}

#[test]
fn centred_binomial_of_every_word_has_the_exact_masses() {
    for eta in 1..=8u32 {
        let mut values = vec![0u32; 1 << 16];
        let noise = NoiseDistribution::CenteredBinomial { eta };
        add_noise(noise, &mut Counter(0x1234), &mut values);
        let mut square = 0;
        for value in -i64::from(eta)..=i64::from(eta) {
            let count = values
                .iter()
                .filter(|x| i64::from(**x as i32) == value)
                .count();
            // C(2 eta, eta + value) of 4^eta.
            let top = (i64::from(eta) + value) as u64;
            let choose = (0..top).fold(1, |c, i| c * (2 * u64::from(eta) - i) / (i + 1));
            assert_eq!(count as u64, choose << (16 - 2 * eta), "eta {eta}");
            square += value * value * count as i64;
        }
        let variance = square as f64 / 65536.0 * 2f64.powi(-64);
        assert_eq!(variance, noise.variance(32));
    }
}

#[test]
fn centred_binomial_frequencies() {
    const LEN: usize = 1 << 18;
    for kind in ExpanderKind::ALL {
        for eta in [1, 8, 9, 16, 17, 21, 32] {
            let mut values = vec![0u64; LEN];
            let noise = NoiseDistribution::CenteredBinomial { eta };
            add_noise(noise, &mut stream(kind, eta), &mut values);
            let reach = (i64::from(eta)).min(5);
            let mut counts = vec![0; 2 * reach as usize + 1];
            let mut square = 0.0;
            for value in values {
                let value = value as i64;
                assert!(value.unsigned_abs() <= u64::from(eta));
                counts[(value.clamp(-reach, reach) + reach) as usize] += 1;
                square += (value * value) as f64;
            }
            let mass = |value: i64| {
                (0..(i64::from(eta) + value) as u32).fold(0.25f64.powi(eta as i32), |c, i| {
                    c * f64::from(2 * eta - i) / f64::from(i + 1)
                })
            };
            let expected: Vec<f64> = (-reach..=reach)
                .map(|value| {
                    let mut all = mass(value);
                    if value.abs() == reach {
                        all = (reach..=i64::from(eta)).map(mass).sum();
                    }
                    all * LEN as f64
                })
                .collect();
            chi_square(&counts, &expected).unwrap_or_else(|error| panic!("{kind}, {eta}: {error}"));
            let variance = square / LEN as f64 / (f64::from(eta) / 2.0);
            within("variance", variance, 1.0, 0.015).unwrap();
        }
    }
    for eta in [0, 33, u32::MAX] {
        let noise = NoiseDistribution::CenteredBinomial { eta };
        assert_eq!(noise.validate(64), Err(NoiseDistributionError::Eta(eta)));
    }
}
