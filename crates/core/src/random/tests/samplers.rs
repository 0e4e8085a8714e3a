//! Every sampler with every expander: the moments, tight enough for a standard deviation
//! that is wrong by 2 %, and the tables of the Ziggurat.

use super::super::ziggurat::{LAYER_AREA, LAYER_TABLE, TAIL_START};
use super::continuous::{check_moments, check_shape, check_tails};
use super::*;

/// A sampler over the 64-bit torus, for a standard deviation as a fraction of q.
type Sampler = fn(f64, &mut AnyExpander, &mut [u64]);

const GAUSSIANS: [(&str, Sampler); 3] = [
    ("Box-Muller", |standard_deviation, expander, values| {
        add_noise(
            NoiseDistribution::Gaussian { standard_deviation },
            expander,
            values,
        );
    }),
    ("Ziggurat", |standard_deviation, expander, values| {
        add_gaussian_ziggurat_vartime(standard_deviation, expander, values);
    }),
    ("polar", |standard_deviation, expander, values| {
        add_gaussian_polar_vartime(standard_deviation, expander, values);
    }),
];

/// Standard normal variates with 40 bits behind the point.
fn normals(sampler: Sampler, expander: &mut AnyExpander, len: usize) -> Vec<f64> {
    let mut values = vec![0u64; len];
    sampler(2f64.powi(-24), expander, &mut values);
    values
        .into_iter()
        .map(|x| x as i64 as f64 * 2f64.powi(-40))
        .collect()
}

#[test]
fn every_gaussian_has_the_moments_with_every_expander() {
    for kind in ExpanderKind::ALL {
        for (name, sampler) in GAUSSIANS {
            let sample = normals(sampler, &mut stream(kind, 40), 1 << 18);
            check_moments(&sample).unwrap_or_else(|error| panic!("{name}, {kind}: {error}"));
            // The same sample is refused if its scale is off by 2 %.
            for factor in [0.98, 1.02] {
                let scaled: Vec<f64> = sample.iter().map(|x| x * factor).collect();
                assert!(check_moments(&scaled).is_err(), "{name}, {kind}");
            }
        }
    }
}

#[test]
fn the_samplers_to_compare_with_are_normal() {
    for (name, sampler) in &GAUSSIANS[1..] {
        let sample = normals(*sampler, &mut stream(ExpanderKind::ChaCha20, 41), 1 << 23);
        let named = |error| panic!("{name}: {error}");
        check_tails(&sample).unwrap_or_else(named);
        check_moments(&sample).unwrap_or_else(named);
        check_shape(sample[..1 << 20].to_vec()).unwrap_or_else(named);
    }
}

#[test]
fn narrow_and_wide_samples_of_the_vartime_samplers_agree() {
    for sampler in [
        add_gaussian_polar_vartime::<u32>,
        add_gaussian_ziggurat_vartime::<u32>,
    ] {
        let mut narrow = [0u32; 1001];
        sampler(
            2f64.powi(-25),
            &mut stream(ExpanderKind::ChaCha20, 42),
            &mut narrow,
        );
        let square: f64 = narrow.iter().map(|x| f64::from(*x as i32).powi(2)).sum();
        let ratio = square / (128.0 * 128.0 * 1001.0);
        within("variance", ratio, 1.0, 5.0 * (2f64 / 1001.0).sqrt()).unwrap();
    }
}

/// All layers have the same area, the outermost with the tail, and they end at the top.
#[test]
fn the_layers_fit() {
    let layers = &*LAYER_TABLE;
    for i in 1..256 {
        let area = layers.ends[i] * (layers.densities[i + 1] - layers.densities[i]);
        within("area", area / LAYER_AREA, 1.0, 1e-8).unwrap();
    }
    assert_eq!((layers.ends[256], layers.densities[256]), (0.0, 1.0));
    // The tail by Simpson's rule, to 12 standard deviations.
    let steps = 1 << 14;
    let step = (12.0 - TAIL_START) / f64::from(steps);
    let tail: f64 = (0..=steps)
        .map(|i| {
            let x = TAIL_START + step * f64::from(i);
            let weight = match i {
                0 => 1.0,
                _ if i == steps => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * (-0.5 * x * x).exp() * step / 3.0
        })
        .sum();
    let base = TAIL_START * layers.densities[1] + tail;
    within("base", base / LAYER_AREA, 1.0, 1e-9).unwrap();
}

#[test]
fn centred_binomial_of_every_word_has_the_exact_masses() {
    struct Counter(u16);
    impl Expander for Counter {
        fn fill(&mut self, out: &mut [u8]) {
            for word in out.chunks_mut(2) {
                word.copy_from_slice(&self.0.to_le_bytes());
                self.0 = self.0.wrapping_add(1);
            }
        }
    }
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
            let top = (eta as i64 + value) as u64;
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
            let reach = (eta as i64).min(5);
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
