//! Calibration of the statistics on samples of known laws.

use tfhe_sbc_oracle::generator::Generator;
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::special_functions::{gamma_p, normal_quantile};
use tfhe_sbc_oracle::statistics::{
    chi_square_quantile, clopper_pearson, mean, mean_interval, shapiro_francia, variance,
    variance_interval, variance_is_consistent, variance_within,
};

fn gaussians(generator: &mut Generator, count: usize) -> Vec<f64> {
    (0..count).map(|_| generator.gaussian()).collect()
}

#[test]
fn moments() {
    let samples = [1.0, 2.0, 3.0, 6.0];
    assert_eq!(mean(&samples), 3.0);
    assert_eq!(variance(&samples), Variance(14.0 / 3.0));
}

#[test]
fn chi_square_known_values() {
    for (p, freedom, expected) in [
        (0.95, 1.0, 3.841_458_820_694_124),
        (0.005, 10.0, 2.155_856_481_304_642),
        (0.995, 10.0, 25.188_179_571_971_173),
        (0.995, 999.0, 1117.89045267864),
        (0.005, 999.0, 887.621135217519),
        (0.01, 1.0, 0.000157087857909702),
    ] {
        let quantile = chi_square_quantile(p, freedom);
        assert!((quantile / expected - 1.0).abs() < 1e-9, "{quantile}");
    }
    for freedom in [1.0, 2.0, 5.0, 99.0, 15_999.0, 1e6] {
        for p in [1e-6, 0.005, 0.5, 0.995, 1.0 - 1e-6] {
            let x = chi_square_quantile(p, freedom);
            assert!(
                (gamma_p(freedom / 2.0, x / 2.0) - p).abs() < 1e-8,
                "{freedom} {p}"
            );
        }
    }
}

#[test]
fn intervals_cover_as_often_as_they_say() {
    let mut generator = Generator::new(1);
    let (mut means, mut variances) = (0, 0);
    const REPETITIONS: u32 = 4000;
    for _ in 0..REPETITIONS {
        let samples = gaussians(&mut generator, 200);
        means += u32::from(mean_interval(&samples, 0.95).contains(0.0));
        let interval = variance_interval(samples.len(), variance(&samples), 0.95);
        variances += u32::from(interval.contains(1.0));
    }
    // Four standard deviations of the count are 1.4 percent.
    for count in [means, variances] {
        let coverage = f64::from(count) / f64::from(REPETITIONS);
        assert!((coverage - 0.95).abs() < 0.016, "{coverage}");
    }
}

#[test]
fn shapiro_francia_rejects_as_often_as_it_says() {
    let mut generator = Generator::new(2);
    for (count, repetitions) in [(100, 2000), (1000, 1000), (5000, 300)] {
        let rejected = (0..repetitions)
            .filter(|_| {
                let samples = gaussians(&mut generator, count);
                shapiro_francia(&samples).unwrap().p_value < 0.05
            })
            .count();
        let level = rejected as f64 / f64::from(repetitions);
        assert!((0.025..0.105).contains(&level), "{count} samples: {level}");
    }
}

#[test]
fn shapiro_francia_sees_what_is_not_normal() {
    let mut generator = Generator::new(3);
    let uniform: Vec<f64> = (0..1000).map(|_| generator.uniform()).collect();
    assert!(shapiro_francia(&uniform).unwrap().p_value < 1e-6);
    let heavy: Vec<f64> = (0..1000).map(|_| generator.gaussian().powi(3)).collect();
    assert!(shapiro_francia(&heavy).unwrap().p_value < 1e-6);
    let scores: Vec<f64> = (0..1000)
        .map(|i| normal_quantile((f64::from(i) + 0.625) / 1000.25))
        .collect();
    let exact = shapiro_francia(&scores).unwrap();
    assert!(exact.w > 1.0 - 1e-9 && exact.p_value > 0.99);
}

#[test]
fn shapiro_francia_does_not_depend_on_scale_or_place() {
    let samples = gaussians(&mut Generator::new(4), 500);
    let moved: Vec<f64> = samples.iter().map(|x| x.mul_add(1e-9, 0.25)).collect();
    let (a, b) = (shapiro_francia(&samples), shapiro_francia(&moved));
    assert!((a.unwrap().w - b.unwrap().w).abs() < 1e-6);
    assert!(shapiro_francia(&[1.0; 100]).is_none());
    assert!(shapiro_francia(&samples[..4]).is_none());
    assert!(shapiro_francia(&vec![0.0; 5001]).is_none());
}

#[test]
fn a_measured_variance_is_compared_with_its_prediction() {
    let samples = gaussians(&mut Generator::new(5), 16_000);
    let check = variance_within(&samples, Variance(1.0), 0.0625);
    assert!(check.within, "{check:?}");
    assert!(check.interval.contains(check.measured.0));
    assert!(!variance_within(&samples, Variance(1.2), 0.0625).within);
    assert!(!variance_within(&samples, Variance(0.8), 0.0625).within);

    assert!(variance_is_consistent(
        &samples,
        Variance(1.0),
        Variance(0.9)
    ));
    assert!(variance_is_consistent(
        &samples,
        Variance(1.5),
        Variance(0.9)
    ));
    assert!(!variance_is_consistent(
        &samples,
        Variance(0.9),
        Variance(0.5)
    ));
    assert!(!variance_is_consistent(
        &samples,
        Variance(1.5),
        Variance(1.2)
    ));
}

#[test]
fn clopper_pearson_known_values() {
    // 0 of n: the upper end is 1 - (tail)^(1/n).
    let none = clopper_pearson(0, 100, 0.99);
    assert_eq!(none.low, 0.0);
    assert!((none.high - (1.0 - 0.005f64.powf(0.01))).abs() < 1e-12);
    let all = clopper_pearson(100, 100, 0.99);
    assert_eq!(all.high, 1.0);
    assert!((all.low + none.high - 1.0).abs() < 1e-12);
    let some = clopper_pearson(10, 100, 0.95);
    assert!((some.low - 0.049004689221486).abs() < 1e-9, "{some:?}");
    assert!((some.high - 0.176222597740023).abs() < 1e-9, "{some:?}");
}
