//! The estimator against the lattice estimator's own figures.

use std::time::Instant;

use tfhe_sbc_oracle::estimator::{
    CostModel, Estimate, LweInstance, NotEstimated, SecretDistribution, estimate,
};
use tfhe_sbc_oracle::security::Attack;

const GRID: &str = include_str!("../../data/grid.csv");
const SPARSE: &str = include_str!("../../data/curve-block-binary.csv");

fn rows(file: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = file.lines().skip(1);
    rows.map(|row| row.trim_end().split(',').collect())
}

fn number(field: &str) -> f64 {
    field.parse().unwrap()
}

fn integer(field: &str) -> usize {
    field.parse().unwrap()
}

fn secret(name: &str) -> SecretDistribution {
    match name {
        "binary" => SecretDistribution::Binary,
        "ternary" => SecretDistribution::Ternary,
        _ => panic!("{name}"),
    }
}

/// The estimate for a row of `n,q_log2,secret,sigma_log2,…`.
fn estimate_row(row: &[&str]) -> Estimate {
    let log2_q = number(row[1]);
    let lwe = LweInstance::new(integer(row[0]), log2_q, number(row[3]), secret(row[2]));
    estimate(&lwe.unwrap(), CostModel::Matzov)
}

/// The parameters that the attack of a row was priced with, in the file's columns.
fn parameters(estimate: &Estimate, attack: Attack) -> [Option<usize>; 4] {
    let Estimate {
        usvp,
        bdd,
        dual_hybrid: dual,
    } = estimate;
    match attack {
        Attack::PrimalUsvp => [Some(usvp.block_size), None, None, None],
        Attack::PrimalBdd => [Some(bdd.block_size), Some(bdd.svp_dimension), None, None],
        Attack::DualHybrid => [
            Some(dual.block_size),
            Some(dual.transform_modulus),
            Some(dual.guessed),
            Some(dual.transformed),
        ],
    }
}

#[test]
fn every_estimate_is_reproduced() {
    let mut last = None;
    for row in rows(GRID) {
        let instance = row[..4].to_vec();
        let estimate = match last.take() {
            Some((same, estimate)) if same == instance => estimate,
            _ => estimate_row(&row),
        };
        let attack = Attack::by_name(row[4]).unwrap();
        let computed = estimate.log2_cost(attack);
        // The file has four digits.
        assert!(
            (computed - number(row[5])).abs() < 1e-4,
            "{row:?}: {computed}"
        );
        assert!(
            (estimate.lambda() - number(row[6])).abs() < 1e-4,
            "{row:?}: {}",
            estimate.lambda()
        );
        let expected = [7, 8, 9, 10].map(|at| row[at].parse().ok());
        assert_eq!(parameters(&estimate, attack), expected, "{row:?}");
        last = Some((instance, estimate));
    }
}

#[test]
fn sparse_secrets_are_those_of_the_table() {
    for row in rows(SPARSE) {
        let (n, one_in) = (integer(row[1]), integer(row[2]) + 1);
        if one_in > 6 {
            continue;
        }
        let weight = n / one_in;
        let secret = SecretDistribution::FixedWeight { weight };
        let lwe = LweInstance::new(n, 32.0, number(row[3]), secret).unwrap();
        let estimate = estimate(&lwe, CostModel::Matzov);
        for (attack, at) in [
            (Attack::PrimalUsvp, 6),
            (Attack::PrimalBdd, 7),
            (Attack::DualHybrid, 8),
        ] {
            let (computed, expected) = (estimate.log2_cost(attack), number(row[at]));
            assert!(
                (computed - expected).abs() < 1e-3,
                "{row:?}: {attack:?} {computed}"
            );
        }
    }
}

#[test]
fn other_cost_models_are_reproduced() {
    // (n, log2 σ, model, uSVP, BDD, dual hybrid), rounded to two digits and then to one.
    for (n, log2_sigma, model, usvp, bdd, dual) in [
        (1024, -25.0, CostModel::Matzov, 126.6, 124.8, 122.2),
        (1024, -25.0, CostModel::Bdgl16, 129.3, 126.8, 123.5),
        (1024, -25.0, CostModel::CoreSvp, 99.0, 99.9, 95.5),
        (630, -15.0, CostModel::Matzov, 124.5, 121.7, 118.3),
        (630, -15.0, CostModel::Bdgl16, 127.4, 123.2, 119.9),
        (630, -15.0, CostModel::CoreSvp, 97.8, 98.7, 93.2),
    ] {
        let lwe = LweInstance::new(n, 32.0, log2_sigma, SecretDistribution::Binary).unwrap();
        let estimate = estimate(&lwe, model);
        let computed = [
            estimate.usvp.log2_cost,
            estimate.bdd.log2_cost,
            estimate.dual_hybrid.log2_cost,
        ];
        for (computed, expected) in computed.into_iter().zip([usvp, bdd, dual]) {
            assert!(
                (computed - expected).abs() < 0.056,
                "({n}, {model:?}): {estimate:?}"
            );
        }
    }
}

/// Published levels of sets that are in none of the files, to two digits at best.
#[test]
fn published_sets_are_reproduced() {
    for (n, log2_q, sigma, lambda) in [
        (630, 32.0, 9.2512e-5f64, 129.35),
        (805, 32.0, 5.86159e-6, 132.0),
        (1536, 32.0, 9.315272083503367e-10, 155.8),
        (866, 64.0, 2.046151696979124e-6, 132.5),
        (2048, 64.0, 2.845267479601915e-15, 133.1),
        (500, 32.0, 2.44e-5, 93.7),
    ] {
        let lwe = LweInstance::new(n, log2_q, sigma.log2(), SecretDistribution::Binary).unwrap();
        let computed = estimate(&lwe, CostModel::Matzov).lambda();
        assert!((computed - lambda).abs() < 0.051, "{n}: {computed}");
    }
}

#[test]
fn only_the_ratio_of_noise_and_modulus_counts() {
    let lwe = |log2_q| LweInstance::new(800, log2_q, -18.0, SecretDistribution::Ternary).unwrap();
    let [small, large] = [32.0, 64.0].map(|log2_q| estimate(&lwe(log2_q), CostModel::Matzov));
    for attack in Attack::ALL {
        assert!((small.log2_cost(attack) - large.log2_cost(attack)).abs() < 0.3);
    }
}

#[test]
fn a_gaussian_as_wide_as_a_binary_secret_is_as_hard() {
    let lwe = |secret| LweInstance::new(630, 32.0, -15.0, secret).unwrap();
    let binary = estimate(&lwe(SecretDistribution::Binary), CostModel::Matzov);
    let gaussian = SecretDistribution::Gaussian { sigma: 0.5 };
    assert_eq!(binary, estimate(&lwe(gaussian), CostModel::Matzov));
    let wider = SecretDistribution::Gaussian { sigma: 3.2 };
    assert!(estimate(&lwe(wider), CostModel::Matzov).lambda() > binary.lambda() + 5.0);
    // A secret wider than the noise is worth no more than one like the noise.
    let lwe = |sigma| {
        let secret = SecretDistribution::Gaussian { sigma };
        LweInstance::new(630, 32.0, -28.0, secret).unwrap()
    };
    let normal = estimate(&lwe(16.0), CostModel::Matzov);
    let wide = estimate(&lwe(1e6), CostModel::Matzov);
    assert!((normal.lambda() - wide.lambda()).abs() < 1e-9);
}

#[test]
fn what_no_formula_covers_is_refused() {
    let binary = SecretDistribution::Binary;
    let new = LweInstance::new;
    for n in [0, 31, 32_769, usize::MAX] {
        let refused = Err(NotEstimated::Dimension { dimension: n });
        assert_eq!(new(n, 32.0, -15.0, binary), refused);
    }
    for log2_q in [1.0, 1025.0, f64::NAN, f64::INFINITY] {
        let result = new(630, log2_q, -15.0, binary);
        assert!(matches!(result, Err(NotEstimated::Modulus { .. })));
    }
    for log2_sigma in [0.0, -1.9, -97.0, f64::NAN, f64::NEG_INFINITY] {
        let result = new(630, 32.0, log2_sigma, binary);
        assert!(matches!(result, Err(NotEstimated::Noise { .. })));
    }
    for weight in [0, 104, 316, usize::MAX] {
        let result = new(630, 32.0, -15.0, SecretDistribution::FixedWeight { weight });
        assert!(matches!(result, Err(NotEstimated::Weight { .. })));
    }
    for sigma in [0.0, 0.4, 2e9, -1.0, f64::NAN] {
        let result = new(630, 32.0, -15.0, SecretDistribution::Gaussian { sigma });
        assert!(matches!(result, Err(NotEstimated::Secret { .. })));
    }
}

/// The corners of what is accepted: numbers, whatever they are worth, and in time.
#[test]
fn extremes_are_estimated() {
    let start = Instant::now();
    let mut estimates = 0;
    for n in [32, 100, 2000, 32_768] {
        for (log2_q, log2_sigma) in [
            (2.0, -2.0),
            (2.0, -66.0),
            (32.0, -2.0),
            (32.0, -32.0),
            (64.0, -128.0),
            (1024.0, -2.0),
            (1024.0, -1088.0),
        ] {
            for model in CostModel::ALL {
                let lwe = LweInstance::new(n, log2_q, log2_sigma, SecretDistribution::Binary);
                let estimate = estimate(&lwe.unwrap(), model);
                for attack in Attack::ALL {
                    let cost = estimate.log2_cost(attack);
                    assert!(
                        cost > 10.0 && !cost.is_nan(),
                        "({n}, {log2_q}, {log2_sigma}, {model:?}): {estimate:?}"
                    );
                }
                estimates += 1;
            }
        }
    }
    // Milliseconds each; tests run beside others.
    assert!(start.elapsed().as_secs() < estimates / 4, "{estimates}");
}
