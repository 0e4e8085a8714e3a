//! Questions about encrypted readings, and their answers.
//!
//! The path of a question: on the key owner's side, [`parse`] makes a [`Question`] of its text.
//! [`request`] carries questions and encrypted thresholds to the server, and [`evaluate`] computes on
//! ciphertexts there. [`results`] carries encrypted answers back and reads them with the secret key.
//! The computation itself is the crate `tfhe-sbc-columns`'s: a question becomes a graph of operators,
//! which is evaluated there, or counted and rehearsed without keys in [`cost`]. [`checks`] finds out servers that
//! compute wrongly. [`progress`] shows and
//! ends an evaluation, and [`device_keys`] holds the switch keys of devices with keys of their own.
//!
//! A question is about [`Expression`]s of columns, [`Condition`]s on rows, or a [`Tree`].
#![forbid(unsafe_code)]

pub mod checks;
mod columns;
pub mod condition;
pub mod cost;
mod error;
pub mod evaluate;
pub mod expression;
mod graph;
mod groups;
mod ordered;
mod pair;
pub mod parse;
pub mod request;
pub mod results;
mod sanitised;
pub mod scope;
mod slices;
pub mod tree;
mod tree_json;

use std::fmt;

use serde::{Deserialize, Serialize};

use condition::{Condition, HIDDEN_THRESHOLD, Threshold};
use expression::Expression;
pub use ordered::{Ordered, Window};
pub use pair::Pair;
pub use tfhe_sbc_columns::{device_keys, progress};
use tree::Tree;

/// A question about the columns of an upload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// A function of the values of all rows.
    Aggregate(Aggregate, Expression),
    /// The smallest value that the given percentage of the rows does not exceed.
    Percentile(Expression, f64),
    /// A function of the values that two expressions have in the same rows.
    Pair(Pair, Expression, Expression),
    /// The number of rows that meet a condition.
    Count(Condition),
    /// The rows that meet a condition.
    Rows(Condition),
    /// The number of rows in each bin. A bin begins at an edge and ends before the next one.
    Histogram(Expression, Vec<f64>),
    /// All values, the smallest first.
    Sort(Expression),
    /// The given number of largest values, the largest first.
    TopK(Expression, u32),
    /// The value of every row.
    Score(Expression),
    /// A function of rows in their order, with a value for every row.
    Ordered(Ordered, Expression),
    /// The logistic function of the value of every row.
    Logistic(Expression),
    /// The leaf of a decision tree that every row comes to.
    Tree(Tree),
}

/// A function of a list of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The difference between the largest and the smallest value.
    Range,
    /// The first row with the smallest value, and that value.
    Argmin,
    /// The first row with the largest value, and that value.
    Argmax,
    /// The number of values that are there.
    Count,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// The mean of the squared differences to the mean.
    Variance,
    /// The square root of the variance.
    Std,
    /// The sum of the squared differences to the mean, divided by one less than the number of rows.
    SampleVariance,
    /// The square root of the sample variance.
    SampleStd,
    /// The 50th percentile.
    Median,
    /// The row of the earliest moment, and its value.
    First,
    /// The row of the latest moment, and its value.
    Last,
}

impl Aggregate {
    /// All functions with their names.
    pub const ALL: [(Self, &'static str); 15] = [
        (Self::Min, "min"),
        (Self::Max, "max"),
        (Self::Range, "range"),
        (Self::Argmin, "argmin"),
        (Self::Argmax, "argmax"),
        (Self::Count, "count"),
        (Self::Sum, "sum"),
        (Self::Mean, "mean"),
        (Self::Variance, "variance"),
        (Self::Std, "std"),
        (Self::SampleVariance, "sample_variance"),
        (Self::SampleStd, "sample_std"),
        (Self::Median, "median"),
        (Self::First, "first"),
        (Self::Last, "last"),
    ];

    /// The name of the function.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(aggregate, _)| *aggregate == self);
        named.map_or("?", |(_, name)| name)
    }
}

impl Question {
    /// Returns the text that the server may see, which does not contain the thresholds that are to be
    /// encrypted.
    pub fn public_text(&self) -> String {
        self.text(&|threshold: &Threshold| match threshold {
            Threshold::ToEncrypt(_) => HIDDEN_THRESHOLD.to_owned(),
            shown => shown.to_string(),
        })
    }

    fn text(&self, shown: &impl Fn(&Threshold) -> String) -> String {
        match self {
            Self::Aggregate(aggregate, of) => format!("{}({of})", aggregate.name()),
            Self::Pair(function, a, b) => format!("{}({a}, {b})", function.name()),
            Self::Percentile(of, percent) => format!("percentile({of}, {percent})"),
            Self::Count(condition) => format!("count({})", condition.text(shown)),
            Self::Rows(condition) => format!("rows({})", condition.text(shown)),
            Self::Histogram(of, edges) => {
                let edges: Vec<_> = edges.iter().map(f64::to_string).collect();
                format!("histogram({of}, {})", edges.join(", "))
            }
            Self::Sort(of) => format!("sort({of})"),
            Self::TopK(of, count) => format!("top_k({of}, {count})"),
            Self::Score(of) => format!("score({of})"),
            Self::Ordered(function, of) => format!("{}({of}{function})", function.name()),
            Self::Logistic(of) => format!("logistic({of})"),
            Self::Tree(tree) => format!("tree({})", tree.name),
        }
    }

    /// Returns the conditions in the question.
    pub fn conditions(&self) -> Vec<&Condition> {
        match self {
            Self::Count(condition) | Self::Rows(condition) => vec![condition],
            Self::Tree(tree) => tree.nodes.iter().map(|node| &node.condition).collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn conditions_mut(&mut self) -> Vec<&mut Condition> {
        match self {
            Self::Count(condition) | Self::Rows(condition) => vec![condition],
            Self::Tree(tree) => tree.nodes.iter_mut().map(|n| &mut n.condition).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the expressions in the question, with repetitions.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Aggregate(_, of)
            | Self::Percentile(of, _)
            | Self::Histogram(of, _)
            | Self::Sort(of)
            | Self::TopK(of, _)
            | Self::Score(of)
            | Self::Ordered(_, of)
            | Self::Logistic(of) => vec![of],
            Self::Pair(_, a, b) => vec![a, b],
            Self::Count(_) | Self::Rows(_) | Self::Tree(_) => {
                let comparisons = self.conditions().into_iter();
                let comparisons = comparisons.flat_map(Condition::comparisons);
                comparisons.map(|(of, ..)| of).collect()
            }
        }
    }

    /// Returns whether the answer names rows.
    pub(crate) fn names_rows(&self) -> bool {
        match self {
            Self::Aggregate(aggregate, _) => {
                use Aggregate::{Argmax, Argmin, First, Last};
                matches!(aggregate, Argmin | Argmax | First | Last)
            }
            Self::Rows(_)
            | Self::TopK(..)
            | Self::Score(_)
            | Self::Ordered(..)
            | Self::Logistic(_)
            | Self::Tree(_) => true,
            Self::Percentile(..)
            | Self::Pair(..)
            | Self::Count(_)
            | Self::Histogram(..)
            | Self::Sort(_) => false,
        }
    }

    /// Returns whether the server's answer is a linear function of readings, which compact columns of enough
    /// headroom give without a bootstrap.
    pub fn is_linear(&self) -> bool {
        match self {
            Self::Aggregate(aggregate, _) => {
                use Aggregate::{Count, First, Last, Mean, Sum};
                matches!(aggregate, Count | Sum | Mean | First | Last)
            }
            Self::Score(_) | Self::Logistic(_) => true,
            Self::Ordered(function, _) => function.is_linear(),
            _ => false,
        }
    }

    /// Returns a number of bytes that no server's answers to the question exceed, if it is asked about `rows` rows in at most `groups`
    /// groups: see [`largest_answer`](Self::largest_answer).
    pub fn largest_answers(&self, rows: u64, groups: u64) -> u64 {
        // What an answer takes for each row counts once for every row, and the rest once for every group.
        let most_groups = groups.clamp(1, rows.max(1));
        let alone = self.largest_answer(1);
        (self.largest_answer(rows)).saturating_add(alone.saturating_mul(most_groups - 1))
    }

    /// Returns a number of bytes that no server's answer to the question exceeds, if it is about `rows` rows: what
    /// the ciphertexts of every shipped parameter set take without being packed or cut, and the labels of rows.
    ///
    /// It is no estimate, only a bound, so that a key owner need not believe in a result of any length.
    pub fn largest_answer(&self, rows: u64) -> u64 {
        /// The texts of a question and its answer's description, and the seeds of linear answers.
        const DESCRIPTION: u64 = 1 << 20;
        /// A block under the small key.
        const BLOCK: u64 = 1 << 13;
        /// A value or a sum of values, in up to 32 blocks.
        const NUMBER: u64 = 32 * BLOCK;
        /// The value of an expression in one row, in up to 16 blocks.
        const VALUE: u64 = 16 * BLOCK;
        /// The label of a row.
        const LABEL: u64 = 1 << 7;
        let of_rows = |bytes: u64| rows.saturating_mul(bytes);
        let values = match self {
            Self::Aggregate(Aggregate::Argmin | Aggregate::Argmax, _) => {
                of_rows(LABEL).saturating_add(2 * NUMBER)
            }
            // Up to a value of each row, where some may be missing.
            Self::Percentile(..) | Self::Aggregate(Aggregate::Median, _) => {
                of_rows(VALUE).saturating_add(NUMBER)
            }
            Self::Aggregate(..) | Self::Count(_) => 4 * NUMBER,
            Self::Pair(..) => 6 * NUMBER,
            Self::Histogram(_, edges) => (edges.len() as u64).saturating_mul(NUMBER),
            // A value and a place.
            Self::TopK(_, count) => {
                let largest = rows.min(u64::from(*count)).saturating_mul(2 * VALUE);
                of_rows(LABEL).saturating_add(largest)
            }
            Self::Rows(_) => of_rows(LABEL + BLOCK),
            Self::Tree(_) => of_rows(LABEL + 4 * BLOCK),
            Self::Sort(_) => of_rows(LABEL + VALUE),
            // A value, and whether it is there.
            Self::Score(_) | Self::Ordered(..) | Self::Logistic(_) => {
                of_rows(LABEL + VALUE + BLOCK)
            }
        };
        values.saturating_add(DESCRIPTION)
    }

    /// Returns the names of the columns in the question, with repetitions.
    pub fn columns(&self) -> Vec<&str> {
        let expressions = self.expressions().into_iter();
        let terms = expressions.flat_map(|of| &of.terms);
        terms.map(|(name, _)| name.as_str()).collect()
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&Threshold::to_string))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_text_keeps_encrypted_thresholds_to_itself() {
        for (text, public) in [
            (
                "rows(a < 5 and b >= encrypted(31.25))",
                "rows(a < 5 and b >= encrypted(…))",
            ),
            (
                "count(not a in (1, encrypted(2)) or b between encrypted(3) and 4)",
                "count(not a in (1, encrypted(…)) or b between encrypted(…) and 4)",
            ),
            ("max(a)", "max(a)"),
        ] {
            let question: Question = text.parse().unwrap();
            assert_eq!(question.public_text(), public);
            assert_eq!(question.to_string(), text);
        }
    }
}
