//! The least noise that a security level needs, at any dimension: from the table if it has the
//! level and the dimension, otherwise by the estimator.

use crate::estimator::{CostModel, LweInstance, SecretDistribution, estimate};
use crate::security::{
    Attack, Level, MARGIN_LOG2_SIGMA, SecretKind, covers, minimal_log2_sigma, security_level,
};

/// log2 of the modulus of the estimator's instances. Only σ/q matters as long as σ is some
/// integers, which holds here for every dimension in use.
const LOG2_Q: f64 = 128.0;

/// The method by which a level was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Interpolation in the bundled table.
    Table,
    /// This crate's estimator.
    Estimator,
}

impl Source {
    /// The name of the method, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Estimator => "estimator",
        }
    }
}

/// The level of a key, with the margin [`MARGIN_LOG2_SIGMA`] taken off its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliableLevel {
    /// λ in bits.
    pub lambda: f64,
    /// The cheapest attack.
    pub attack: Attack,
    /// The method by which both were found.
    pub source: Source,
}

/// Returns the level of LWE of dimension `n` with noise 2^`log2_sigma`·q: that of the table if it
/// has rows around the point, otherwise that of the estimator. `None` if neither gives a level.
pub fn reliable_level(n: usize, log2_sigma: f64, secret: SecretKind) -> Option<ReliableLevel> {
    let table = security_level(n, log2_sigma, secret).ok();
    let in_table = covers(n, secret) || n > LARGEST_ESTIMATED;
    if let Some(found) = &table
        && let (Level::About(lambda), true) = (found.lambda_with_margin, in_table)
    {
        return Some(ReliableLevel {
            lambda,
            attack: found.limiting_attack,
            source: Source::Table,
        });
    }
    let estimable = n.min(LARGEST_ESTIMATED);
    if let Some((lambda, attack)) = estimated(estimable, log2_sigma - MARGIN_LOG2_SIGMA, secret) {
        return Some(ReliableLevel {
            lambda,
            attack,
            source: Source::Estimator,
        });
    }
    // Such a level is above the table's highest, and the key is longer than the estimator accepts.
    let found = table?;
    Some(ReliableLevel {
        lambda: found.lambda_with_margin.lower_bound()?,
        attack: found.limiting_attack,
        source: Source::Table,
    })
}

/// Returns the smallest log2(σ/q) at which dimension `n` reaches `lambda` bits with the margin.
/// `None` if no noise below 2^-3 does.
pub fn least_log2_sigma(lambda: f64, n: usize, secret: SecretKind) -> Option<f64> {
    if (covers(n, secret) || n > LARGEST_ESTIMATED)
        && let Ok(found) = minimal_log2_sigma(lambda, n, secret)
    {
        return Some(found + MARGIN_LOG2_SIGMA);
    }
    let reaches =
        |log2_sigma| estimated(n, log2_sigma, secret).is_some_and(|(found, _)| found >= lambda);
    // Half a thousandth of a bit is far below the margin.
    const STEPS: f64 = 2048.0;
    let (mut low, mut high) = (-110.0 * STEPS, -3.0 * STEPS);
    if !reaches(high / STEPS) {
        return None;
    }
    while high - low > 1.0 {
        let middle = ((low + high) / 2.0).round();
        if reaches(middle / STEPS) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high / STEPS + MARGIN_LOG2_SIGMA)
}

/// Longer keys are judged as one of this dimension: noise is at the floor of every modulus
/// of use there, and more coefficients make no key weaker.
const LARGEST_ESTIMATED: usize = 4096;

fn estimated(n: usize, log2_sigma: f64, secret: SecretKind) -> Option<(f64, Attack)> {
    let secret = match secret {
        SecretKind::Binary => SecretDistribution::Binary,
        SecretKind::Ternary => SecretDistribution::Ternary,
        SecretKind::Sparse { one_in } => SecretDistribution::FixedWeight {
            weight: n / one_in as usize,
        },
    };
    let lwe = LweInstance::new(n, LOG2_Q, log2_sigma, secret).ok()?;
    let found = estimate(&lwe, CostModel::Matzov);
    Some((found.lambda(), found.limiting_attack()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_agree_where_both_are() {
        for (n, secret) in [
            (630, SecretKind::Binary),
            (1024, SecretKind::Ternary),
            (900, SecretKind::Sparse { one_in: 6 }),
        ] {
            let table = least_log2_sigma(128.0, n, secret).unwrap() - MARGIN_LOG2_SIGMA;
            let (below, _) = estimated(n, table - 0.05, secret).unwrap();
            let (above, _) = estimated(n, table + 0.05, secret).unwrap();
            assert!(below < 128.3 && above > 127.9, "{n}: {below} {above}");
        }
    }

    #[test]
    fn the_estimator_takes_over_outside_of_the_table() {
        let sparse = SecretKind::Sparse { one_in: 6 };
        // The table has no rows of 80 bits for sparse keys, and none below 450 for binary ones.
        for (lambda, n, secret) in [(80.0, 500, sparse), (128.0, 400, SecretKind::Binary)] {
            let sigma = least_log2_sigma(lambda, n, secret).unwrap();
            let level = reliable_level(n, sigma, secret).unwrap();
            assert_eq!(level.source, Source::Estimator);
            assert!((lambda..lambda + 0.6).contains(&level.lambda), "{level:?}");
        }
        assert_eq!(least_log2_sigma(192.0, 64, SecretKind::Binary), None);
    }
}
