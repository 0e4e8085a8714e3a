//! Splitting compared with tails that are known exactly, and with published sets.

use tfhe_sbc_oracle::convolution::{BoundedSum, UniformErrors};
use tfhe_sbc_oracle::failure::{DecisionHalfWidth, log2_p_fail, log2_p_fail_with_rounding};
use tfhe_sbc_oracle::generator::Generator;
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_sum::{GaussianErrors, NoiseSum};
use tfhe_sbc_oracle::splitting::{Combined, Effort, combine, run};

const EFFORT: Effort = Effort {
    particles: 1000,
    moves: 12,
};

/// Four runs, with step sizes that found 30%.
fn estimate(sum: &NoiseSum, target: f64) -> Combined {
    let root = Generator::new(7);
    let runs: Vec<_> = (0..4)
        .map(|stream| run(sum, target, EFFORT, &mut root.stream(stream)).unwrap())
        .collect();
    for run in &runs {
        assert!(
            run.reached
                .iter()
                .all(|errors| errors.sum().abs() >= target)
        );
        // No proposal is accepted of a kind that the sum does not have.
        let share = run.acceptance.iter().filter(|&&share| share != 0.0);
        assert!(
            share.clone().all(|&share| share > 0.2),
            "{:?}",
            run.acceptance
        );
        assert!(share.count() > 0);
    }
    combine(&runs, EFFORT).unwrap()
}

fn close(found: Combined, exact: f64) {
    println!("{found:?}, exactly {exact}");
    assert!(found.standard_error < 0.5);
    let off = (found.log2_p - exact) / found.standard_error;
    assert!(
        off.abs() < 3.0,
        "{found:?} instead of {exact}: off by {off}"
    );
}

/// ln n!
fn ln_factorial(n: u32) -> f64 {
    (1..=n).map(|i| f64::from(i).ln()).sum()
}

#[test]
fn a_gaussian_reaches_2_to_the_minus_128() {
    let group = |count, deviation| GaussianErrors { count, deviation };
    let sum = NoiseSum {
        offset: 0.0,
        gaussian: vec![group(25, 0.12), group(1, 0.8)],
        bounds: vec![],
    };
    let variance = sum.convolution().variance();
    assert!((variance.0 - 1.0).abs() < 1e-12);
    for t in [4.0, 13.109] {
        let exact = log2_p_fail(DecisionHalfWidth(t), variance);
        close(estimate(&sum, t), exact);
    }
    // An offset of a standard deviation: most of it is on one side.
    let moved = NoiseSum { offset: 1.0, ..sum };
    let exact = log2_p_fail_with_rounding(DecisionHalfWidth(8.0), variance, 0.0, 1.0);
    close(estimate(&moved, 8.0), exact);
}

/// The sum of n errors uniform on [-1, 1] is above n - d with probability (d/2)^n / n!, d at
/// most 2.
#[test]
fn a_sum_of_uniform_errors_has_its_exact_tail() {
    for (n, d, exponent) in [(12u32, 1.0, -40.0), (24, 1.5, -88.0)] {
        let sum = NoiseSum {
            offset: 0.0,
            gaussian: vec![],
            bounds: vec![1.0; n as usize],
        };
        let above = (f64::from(n) * (d / 2.0f64).ln() - ln_factorial(n)) / std::f64::consts::LN_2;
        assert!((above + 1.0 - exponent).abs() < 1.0, "{above}");
        close(estimate(&sum, f64::from(n) - d), above + 1.0);
        // A Gaussian of the same variance is bits away.
        let gaussian = log2_p_fail(
            DecisionHalfWidth(f64::from(n) - d),
            Variance(f64::from(n) / 3.0),
        );
        assert!(gaussian > above + 8.0, "{gaussian}");
    }
}

#[test]
fn the_convolution_has_the_exact_tails() {
    // Without uniform errors it is the Gaussian's, to rounding.
    let gaussian = BoundedSum {
        offset: 0.25,
        gaussian: Variance(1.0),
        uniform: vec![],
    };
    for t in [2.0, 13.0, 40.0] {
        let exact = log2_p_fail_with_rounding(DecisionHalfWidth(t), Variance(1.0), 0.0, 0.25);
        let found = gaussian.log2_p_fail(DecisionHalfWidth(t));
        assert!((found - exact).abs() < 1e-4, "{t}: {found} {exact}");
    }
    // One uniform error: the worst case of the approximation.
    let one = BoundedSum {
        offset: 0.0,
        gaussian: Variance(1.0),
        uniform: vec![UniformErrors {
            count: 1,
            bound: 2.0,
        }],
    };
    for t in [6.0, 12.0] {
        let exact = log2_p_fail_with_rounding(DecisionHalfWidth(t), Variance(1.0), 2.0, 0.0);
        let found = one.log2_p_fail(DecisionHalfWidth(t));
        assert!((found - exact).abs() < 0.1, "{t}: {found} {exact}");
    }
    // 24 uniform errors, of which a little Gaussian noise takes the end away.
    let many = BoundedSum {
        offset: 0.0,
        gaussian: Variance(1e-4),
        uniform: vec![UniformErrors {
            count: 24,
            bound: 1.0,
        }],
    };
    let exact = 1.0 + (24.0 * 0.75f64.ln() - ln_factorial(24)) / std::f64::consts::LN_2;
    let found = many.log2_p_fail(DecisionHalfWidth(22.5));
    assert!((found - exact).abs() < 0.1, "{found} {exact}");
}

/// TFHE-rs's sets of 2 and 2 bits: small dimension, noise of fresh ciphertexts under the small
/// key, whether the modulus switch is centred, and what is known of their failures: by erfc, by
/// the convolution and by splitting.
const PUBLISHED: [(usize, f64, bool, [f64; 3]); 3] = [
    (796, 6.84626e-6, false, [-40.489, -40.571, -40.54]),
    (833, 3.61584e-6, false, [-64.066, -64.677, -64.58]),
    (866, 2.04615e-6, true, [-128.597, -130.041, -129.77]),
];

#[test]
fn published_sets_fail_as_often_as_others_computed() {
    use tfhe_sbc_oracle::blind_rotation::{BlindRotation, FftErrorModel, GgswGadgets, KeyRounding};
    use tfhe_sbc_oracle::noise::{Gadget, GlweSecret, KeyBlocks};
    use tfhe_sbc_oracle::noise_budget::{NoiseBudget, PbsParameters};

    let t = DecisionHalfWidth::radix(2, 2);
    for (n, sigma, centred, [erfc, convolution, splitting]) in PUBLISHED {
        let set = PbsParameters {
            small_key: KeyBlocks::binary(n),
            shared_coefficients: 0,
            glwe_secret: GlweSecret::Binary,
            lwe_variance: Variance::from_standard_deviation(sigma),
            glwe_dimension: 1,
            polynomial_size: 2048,
            glwe_variance: Variance::from_standard_deviation(2.84527e-15),
            key_rounding: KeyRounding::ZERO,
            torus_log2: 64,
            small_torus_log2: 64,
            blind_rotation: BlindRotation::ControlledRotations,
            pbs: GgswGadgets::same(Gadget {
                base_log: 23,
                level: 1,
            }),
            ks_base_log: 3,
            ks_level: 5,
            centred_modulus_switch: centred,
        };
        let budget = NoiseBudget::with_fft_model(&set, FftErrorModel::TfheRs);
        // Half a step of 1/2N, times what a coefficient's error meets: the key's bit and 1 of the
        // body, or the bit less 1/2. A key of weight n/2.
        let half = 1.0 / 8192.0;
        let bounds = match centred {
            false => vec![half; n / 2 + 1],
            true => vec![0.5 * half; n],
        };
        let group = |count, variance: Variance| GaussianErrors {
            count,
            deviation: variance.standard_deviation(),
        };
        let sum = NoiseSum {
            offset: 0.0,
            gaussian: vec![group(25, budget.pbs), group(1, budget.key_switch)],
            bounds,
        };
        let by_convolution = sum.convolution().log2_p_fail(t);
        let by_erfc = log2_p_fail(t, sum.convolution().variance());
        let found = estimate(&sum, t.0);
        println!("n = {n}: {by_erfc} {by_convolution} {found:?}");
        assert!((by_erfc - erfc).abs() < 0.06, "{by_erfc}");
        assert!(
            (by_convolution - convolution).abs() < 0.06,
            "{by_convolution}"
        );
        close(found, by_convolution);
        assert!((found.log2_p - splitting).abs() < 0.8);
    }
}
