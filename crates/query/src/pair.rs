//! Functions of two expressions, row by row.

use serde::{Deserialize, Serialize};
use tfhe_sbc_columns::PairMeasure;

/// A function of the values of two expressions in the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pair {
    /// The covariance, over one less than the number of rows.
    Cov,
    /// The correlation: Pearson's coefficient.
    Corr,
    /// The sum of the products.
    Dot,
}

impl Pair {
    /// All functions with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Cov, "cov"), (Self::Corr, "corr"), (Self::Dot, "dot")];

    /// The name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cov => "cov",
            Self::Corr => "corr",
            Self::Dot => "dot",
        }
    }

    /// The function as columns have it.
    pub(crate) fn measure(self) -> PairMeasure {
        match self {
            Self::Cov => PairMeasure::Covariance { sample: true },
            Self::Corr => PairMeasure::Correlation,
            Self::Dot => PairMeasure::Dot,
        }
    }

    /// The unit of the function of values with these units.
    pub(crate) fn unit(self, a: &str, b: &str) -> String {
        match (self, a, b) {
            (Self::Corr, ..) => String::new(),
            (_, "", unit) | (_, unit, "") => unit.to_owned(),
            (_, a, b) if a == b => format!("({a})²"),
            (_, a, b) => format!("({a})·({b})"),
        }
    }
}
