//! The security of the TFHE-SBC paper's parameters, its Table 3: N = 1024, q = 2^32, σ = 2^-25.
//! The paper takes them from TFHEpp, whose keys are ternary; binary keys have less.

use super::row::{Row, Tolerance};
use tfhe_sbc_oracle::estimator::{CostModel, LweInstance, SecretDistribution, estimate};
use tfhe_sbc_oracle::security::{SecretKind, security_level};

/// log2 of the noise of Table 3.
pub const LOG2_SIGMA: f64 = -25.0;
const DIMENSION: usize = 1024;
const LOG2_Q: f64 = 32.0;
/// The keys with the figures of the lattice estimator of June 2026: name, distribution, kind in
/// the table, bits.
const KEYS: [(&str, SecretDistribution, SecretKind, f64); 2] = [
    (
        "binary",
        SecretDistribution::Binary,
        SecretKind::Binary,
        122.2,
    ),
    (
        "ternary",
        SecretDistribution::Ternary,
        SecretKind::Ternary,
        127.8,
    ),
];
const BITS: Tolerance = Tolerance::Absolute(0.5);

/// The rows, for a noise of 2^`log2_sigma`.
pub fn rows(log2_sigma: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, distribution, kind, published) in KEYS {
        let name = |by: &str| format!("tfhe-sbc-table-3/{key}/lambda-by-{by}");
        let lambda = LweInstance::new(DIMENSION, LOG2_Q, log2_sigma, distribution)
            .map_or(f64::NAN, |lwe| estimate(&lwe, CostModel::Matzov).lambda());
        let by_table = security_level(DIMENSION, log2_sigma, kind)
            .ok()
            .and_then(|level| level.lambda.lower_bound())
            .unwrap_or(f64::NAN);
        let note = "published: the lattice estimator of June 2026";
        for (by, predicted) in [("estimator", lambda), ("table", by_table)] {
            rows.push(Row::compared(name(by), "bits", predicted, published, BITS).noted(note));
        }
    }
    rows
}
